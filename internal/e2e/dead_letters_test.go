package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
)

// TestDeadLetters: a line that is too long for a service is a dead letter, and none any more once it is tried again with
// another limit: the store holds the rows of a replay then.
func TestDeadLetters(t *testing.T) {
	want := baseline(t)
	dir := t.TempDir()
	store, log := "sqlite:"+filepath.Join(dir, "served.db"), filepath.Join(dir, "audit.log")
	w := &rotatingLog{t: t, path: log}
	w.write(recorded(t))
	w.write([][]byte{[]byte("no JSON at all\n")})
	w.close()
	small := strings.Replace(fileConfig(store, log), "file: {paths", "file: {maxLineBytes: 12Ki, paths", 1)
	s := serve(t, "service", small)
	awaitStored(t, store, want.Ledger["Ingested "]+1)
	s.stop()
	before := letters(t, store)
	if len(before) < 3 {
		t.Fatalf("%d dead letters: the limit is too large to show anything", len(before))
	}
	list := vapshadow(t, "dead-letters", "list", "--store", store)
	if !strings.Contains(list, "TooLarge") || !strings.Contains(list, "InvalidJSON") {
		t.Errorf("the list does not name the reasons:\n%s", list)
	}

	config := filepath.Join(dir, "large.yaml")
	must(t, os.WriteFile(config, []byte(fileConfig(store, log)), 0o600))
	out, code := vapshadowExits(t, "dead-letters", "retry", "--config", config)
	if code != 1 || strings.Count(out, "left: ") != 1 {
		t.Errorf("exit code %d, want 1, with one letter left:\n%s", code, out)
	}
	if after := letters(t, store); len(after) != 1 || after[0].Reason != "InvalidJSON" {
		t.Errorf("left are %v, want the line that is no JSON", after)
	}
	got := read(t, store)
	got.Ledger["Ingested "]--
	delete(got.Ledger, "DeadLettered InvalidJSON")
	for reason, n := range got.Ledger {
		if n == 0 {
			delete(got.Ledger, reason)
		}
	}
	if fmt.Sprint(got.Ledger) != fmt.Sprint(want.Ledger) {
		t.Errorf("ledger: want %v, got %v", want.Ledger, got.Ledger)
	}
	// What was written around the line that could not be read may stay Unknown; that it failed is known now.
	if len(got.Failures) < len(want.Failures) {
		t.Errorf("%d failures, want %d or more", len(got.Failures), len(want.Failures))
	}
}

func letters(t testing.TB, store string) (out []sink.DeadLetter) {
	t.Helper()
	db, err := connect.Open(t.Context(), store)
	must(t, err)
	defer func() { _ = db.Close() }()
	for letter, err := range db.DeadLetters(t.Context(), sink.Filter{}) {
		must(t, err)
		out = append(out, letter)
	}
	return out
}
