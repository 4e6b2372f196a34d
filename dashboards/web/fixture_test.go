package web_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/dashboards/web"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
)

const root = "../.."

// recorded is a database that the recording in examples was replayed into. It is made once, and only read.
var recorded = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "vapshadow-web-")
	if err != nil {
		return "", err
	}
	binary, url := filepath.Join(dir, "vapshadow"), "sqlite:"+filepath.Join(dir, "recording.db")
	for _, args := range [][]string{
		{"go", "build", "-o", binary, "./cmd/vapshadow"},
		{binary, "replay", "--policies", "examples/policies", "--cluster", "examples/cluster", "--audit-log", "examples/audit.log.gz", "--store", url},
		{binary, "verify", "--policies", "examples/policies", "--cluster", "examples/cluster", "--audit-log", "examples/audit.log.gz", "--store", url},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return dir, nil
})

// recording opens the database of the recording.
func recording(t testing.TB) sink.Database {
	t.Helper()
	dir, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	return open(t, "sqlite:"+filepath.Join(dir, "recording.db"))
}

// empty makes a database without rows.
func empty(t testing.TB) sink.Database {
	t.Helper()
	url := "sqlite:" + filepath.Join(t.TempDir(), "empty.db")
	if _, err := connect.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return open(t, url)
}

func open(t testing.TB, url string) sink.Database {
	t.Helper()
	db, err := connect.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// clean are the policies that nothing fails in the fortnight.
var clean = []string{"op-connect-exec", "op-mc-user"}

// fortnight is the recording as though it were that of each of fourteen days, in which workloads are mended one after
// the other, and one policy is changed in the middle.
func fortnight(t testing.TB) sink.Database {
	t.Helper()
	from, db := recording(t), empty(t)
	failures, rollups, texts, annotations := rows(t, from)
	const days, mended = 14, 5
	for day := range days {
		by := time.Duration(day-days+1) * 24 * time.Hour
		b := &sink.Batch{Policies: texts}
		for i, f := range failures {
			if f.Result == "Fail" && (i%mended < day*mended/days || slices.Contains(clean, f.Policy)) {
				continue
			}
			f.StageTimestamp = f.StageTimestamp.Add(by)
			if day < days-1 {
				f.AuditID = fmt.Sprintf("%s-%02d", f.AuditID, day)
			}
			if f.Policy == "op-nsobj" && day < 6 {
				f.PolicyHash = strings.Repeat("0f", 16)
			}
			b.Failures = append(b.Failures, f)
		}
		for _, r := range rollups {
			r.Minute = r.Minute.Add(by)
			if r.Policy == "op-nsobj" && day < 6 {
				r.PolicyHash = strings.Repeat("0f", 16)
			}
			kept := r.Count * int64(mended-day*mended/days) / mended
			if slices.Contains(clean, r.Policy) {
				kept = 0
			}
			if r.Result == "Fail" && kept < r.Count {
				pass := r
				pass.Result, pass.Effect, pass.Count = "Pass", "", r.Count-kept
				b.Rollups = append(b.Rollups, pass)
				r.Count = kept
			}
			if r.Count > 0 {
				b.Rollups = append(b.Rollups, r)
			}
		}
		if day == days-1 {
			failed := map[string]bool{}
			for _, f := range b.Failures {
				failed[f.AuditID] = true
			}
			for _, a := range annotations {
				if failed[a.AuditID] {
					b.Annotations = append(b.Annotations, a)
				}
			}
			b.Ledger, b.Moves = ledger(t, from)
		}
		commit(t, db, b)
	}
	compare(t, from, db)
	return db
}

// compare takes over the comparison of the recording, and adds one of a day before in which the two sides differed.
func compare(t testing.TB, from, db sink.Database) {
	t.Helper()
	runs, rows := agreements(t, from)
	for _, run := range runs {
		fatal(t, db.SaveAgreement(t.Context(), run, rows))
		run.Run, run.Log, run.FirstEvent, run.LastEvent = "before", "before", run.FirstEvent.Add(-24*time.Hour), run.LastEvent.Add(-24*time.Hour)
		differs := sink.Agreement{Policy: "op-nsobj", Binding: "op-nsobj-b", Outcome: sink.Disagreed, Reason: "OtherMessage", Count: 2, AuditIDs: []string{"5a1e0c1c-0000-4000-8000-000000000001", "5a1e0c1c-0000-4000-8000-000000000002"}}
		fatal(t, db.SaveAgreement(t.Context(), run, append(rows, differs)))
	}
}

func agreements(t testing.TB, db sink.Database) (runs []sink.AgreementRun, rows []sink.Agreement) {
	t.Helper()
	for row, err := range db.AgreementRuns(t.Context(), sink.Filter{}) {
		fatal(t, err)
		runs = append(runs, row)
	}
	for row, err := range db.Agreement(t.Context(), sink.Filter{}) {
		fatal(t, err)
		rows = append(rows, row)
	}
	return runs, rows
}

func rows(t testing.TB, db sink.Database) (failures []sink.Failure, rollups []sink.Rollup, texts []sink.PolicyText, annotations []sink.Annotation) {
	t.Helper()
	for row, err := range db.Failures(t.Context(), sink.Filter{}) {
		failures = append(failures, row)
		fatal(t, err)
	}
	for row, err := range db.Rollups(t.Context(), sink.Filter{}) {
		rollups = append(rollups, row)
		fatal(t, err)
	}
	for row, err := range db.Policies(t.Context(), sink.Filter{}) {
		texts = append(texts, row)
		fatal(t, err)
	}
	for row, err := range db.Annotations(t.Context(), sink.Filter{}) {
		annotations = append(annotations, row)
		fatal(t, err)
	}
	return failures, rollups, texts, annotations
}

func ledger(t testing.TB, db sink.Database) (lines []sink.LedgerLine, moves []sink.Move) {
	t.Helper()
	for line, err := range db.Ledger(t.Context(), sink.Filter{}) {
		fatal(t, err)
		line.Source, line.Partition = "audit", "kubernetes-audit/0"
		lines = append(lines, line)
	}
	return lines, []sink.Move{{
		Source: "audit", Partition: "kubernetes-audit/0", To: sink.Mark{Offset: 1700}, EventTime: time.Date(2026, 11, 21, 6, 49, 30, 0, time.UTC),
	}}
}

func commit(t testing.TB, db sink.Database, b *sink.Batch) {
	t.Helper()
	fatal(t, db.Commit(t.Context(), b))
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve serves the pages of a database on an address of this machine.
func serve(t testing.TB, c web.Config) *httptest.Server {
	t.Helper()
	c.Log = slog.New(slog.NewTextHandler(testLog{t}, nil))
	c.Version = "v0.0.0"
	handler, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

// testLog fails a test where the server logs: it logs only what goes wrong on its side.
type testLog struct{ t testing.TB }

func (l testLog) Write(line []byte) (int, error) {
	l.t.Errorf("the server logs: %s", line)
	return len(line), nil
}

// reply is what came of a request.
type reply struct {
	code   int
	header http.Header
	body   string
}

// get asks for a page.
func get(t testing.TB, url string, change ...func(*http.Request)) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	fatal(t, err)
	for _, c := range change {
		c(r)
	}
	return do(t, r)
}

// do sends a request, and follows no redirect.
func do(t testing.TB, r *http.Request) reply {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	fatal(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fatal(t, err)
	return reply{resp.StatusCode, resp.Header, string(body)}
}
