package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/sink"
)

const examples = "../../examples"

// command runs the program, which has to succeed, and gives what it prints.
func command(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	s := stdio{in: strings.NewReader(""), out: &out, err: &errs}
	if code := run(t.Context(), args, func(string) string { return "" }, s); code != exitDone {
		t.Fatalf("vapshadow %s ends with %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// TestPlanDeniesNothing replays the recording with the plan that was made of it. What would be enforced is a good part
// of what there is, and stops nobody.
func TestPlanDeniesNothing(t *testing.T) {
	dir := t.TempDir()
	store := "sqlite:" + filepath.Join(dir, "rows.db")
	log := []string{"--cluster", examples + "/cluster", "--cluster", examples + "/objects-before.yaml.gz", "--audit-log", examples + "/audit.log.gz"}
	command(t, append([]string{"replay", "--policies", examples + "/policies", "--store", store}, log...)...)
	// The recording is five seconds long.
	plan := command(t, "plan", "--store", store, "--days", "0")
	if plan != command(t, "plan", "--store", store, "--days", "0") {
		t.Error("the same store gives another plan")
	}
	planned := objects(t, plan)
	if len(planned) < 10 {
		t.Fatalf("the plan has %d bindings:\n%s", len(planned), plan)
	}
	all := planned
	files, err := filepath.Glob(examples + "/policies/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(t, string(text)) {
			if !slices.ContainsFunc(planned, func(p object) bool { return p.is(o) }) {
				all = append(all, o)
			}
		}
	}
	file := filepath.Join(dir, "enforced.yaml")
	var text bytes.Buffer
	for _, o := range all {
		text.WriteString("---\n" + o.text)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	before := evaluations(t, command(t, append([]string{"replay", "--policies", examples + "/policies", "-o", "jsonl"}, log...)...))
	after := evaluations(t, command(t, append([]string{"replay", "--policies", file, "-o", "jsonl"}, log...)...))
	if after.denied > 0 {
		t.Errorf("the plan denies %d requests", after.denied)
	}
	if after.enforced < 100 || before.enforced != 0 {
		t.Errorf("%d evaluations are of bindings that deny, and %d were before", after.enforced, before.enforced)
	}
	// Split in two, a binding holds for each request once, so that none falls between the two, or under both.
	if after.all != before.all || after.audited != before.audited {
		t.Errorf("%d evaluations and %d audited, and %d and %d before", after.all, after.audited, before.all, before.audited)
	}
}

func TestPlanOfSevenDays(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "rows.db")
	command(t, "replay", "--policies", examples+"/policies", "--cluster", examples+"/cluster", "--audit-log", examples+"/audit.log.gz", "--store", store)
	plan := command(t, "plan", "--store", store)
	if planned := objects(t, plan); len(planned) != 0 {
		t.Errorf("five seconds are enough evidence for %d bindings", len(planned))
	}
	if !strings.Contains(plan, "0.0 of 7 days observed") {
		t.Errorf("the plan does not say what is lacking:\n%s", plan)
	}
}

type counts struct{ all, enforced, denied, audited int }

func evaluations(t *testing.T, lines string) (n counts) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(lines))
	for decoder.More() {
		var r sink.Record
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Evaluations {
			n.all++
			if slices.Contains(e.ValidationActions, "Deny") {
				n.enforced++
			}
			if strings.Contains(e.Effect, "Deny") && !e.BlocksAnyway {
				n.denied++
			}
			if strings.Contains(e.Effect, "Audit") {
				n.audited++
			}
		}
	}
	return n
}

type object struct{ kind, name, text string }

func (o object) is(other object) bool { return o.kind == other.kind && o.name == other.name }

func objects(t *testing.T, text string) (out []object) {
	t.Helper()
	for part := range strings.SplitSeq("\n"+text, "\n---\n") {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(part), &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind != "" {
			out = append(out, object{o.Kind, o.Metadata.Name, part + "\n"})
		}
	}
	return out
}
