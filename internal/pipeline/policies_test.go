package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/internal/pipeline"
	"github.com/vapshadow/vapshadow/replay"
)

// policyText is a policy on ConfigMaps with a binding of its name.
func policyText(name, expression string) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]}
  validations: [{expression: %[2]q}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Audit]}
`, name, expression)
}

const (
	holds  = "true"
	broken = "no.such.variable"
)

// refusedPolicy is one that no apiserver takes in, whose binding it does.
func refusedPolicy(name string) string { return policyText(name, broken) }

// log is what was logged. It is safe for use by several goroutines.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func openPolicies(t *testing.T, dir string) (*pipeline.Policies, *log) {
	t.Helper()
	l := &log{}
	p, err := pipeline.OpenPolicies(pipeline.PoliciesConfig{
		Paths: []string{dir}, Minor: 37, Every: time.Millisecond, Settle: time.Millisecond, Log: slog.New(slog.NewTextHandler(l, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, l
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func pairs(p *pipeline.Policies) string {
	var out []string
	for _, pair := range p.Current().Pairs {
		out = append(out, pair.Policy+"/"+pair.Binding)
	}
	return strings.Join(out, " ")
}

// TestPoliciesReload: what is in the files is in effect, and files that cannot be used leave it as it was.
func TestPoliciesReload(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.yaml", policyText("a", holds))
	writeFile(t, dir, "old.yaml", refusedPolicy("old"))
	p, l := openPolicies(t, dir)
	if got := p.Current().Refusals; len(got) == 0 || !strings.Contains(got[0], `"old"`) {
		t.Errorf("refused at the start: %q", got)
	}
	for _, tt := range []struct {
		name, file, text string
		want             string
		err              string
	}{
		{"another", "b.yaml", policyText("b", holds), "a/a b/b", ""},
		{"one that is refused", "c.yaml", refusedPolicy("c"), "a/a b/b", `"c" is refused`},
		{"the same again", "c.yaml", refusedPolicy("c"), "a/a b/b", `"c" is refused`},
		{"mended", "c.yaml", policyText("c", holds), "a/a b/b c/c", ""},
		{"broken text", "d.yaml", "kind: [", "a/a b/b c/c", "d.yaml"},
		{"none of it", "d.yaml", "", "a/a b/b c/c", ""},
		{"one that was refused before, elsewhere", "old.yaml", "# a line more\n" + refusedPolicy("old"), "a/a b/b c/c", ""},
		{"one less", "b.yaml", "", "a/a c/c", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := p.Status()
			writeFile(t, dir, tt.file, tt.text)
			err := p.Reload()
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if got := pairs(p); got != tt.want {
				t.Errorf("evaluated are %s, want %s", got, tt.want)
			}
			after := p.Status()
			wanted := before
			wanted.Err, wanted.Since = after.Err, after.Since
			wanted.Failures++
			if err == nil {
				set := p.Current()
				wanted = pipeline.PoliciesStatus{
					Loaded: set.Loaded, Hash: set.Hash, Policies: set.Policies, Bindings: set.Bindings, Evaluated: len(set.Pairs), Refused: len(set.Refusals),
					Texts: set.Texts, Reloads: before.Reloads + 1, Failures: before.Failures,
				}
			}
			if diff := cmp.Diff(wanted, after, cmp.Comparer(func(a, b error) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (after.Err == nil) != (err == nil) || (after.Since.IsZero()) != (err == nil) {
				t.Errorf("status %v since %v", after.Err, after.Since)
			}
		})
	}
	if n := l.count("level=ERROR"); n != 2 {
		t.Errorf("%d errors were logged, want each of the two once:\n%s", n, &l.text)
	}
}

// TestPoliciesSame: a change that is none to the verdicts keeps the engine, and what it knows.
func TestPoliciesSame(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.yaml", policyText("a", holds))
	p, _ := openPolicies(t, dir)
	before := p.Current()
	writeFile(t, dir, "a.yaml", "# as it was\n"+policyText("a", holds))
	if err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	if now := p.Current(); now == before || now.Engine != before.Engine || now.Hash != before.Hash {
		t.Errorf("the engine is another")
	}
	writeFile(t, dir, "a.yaml", policyText("a", "1 == 1"))
	if err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	if now := p.Current(); now.Engine == before.Engine || now.Hash == before.Hash {
		t.Errorf("the engine is the same")
	}
}

func TestPoliciesNothing(t *testing.T) {
	empty, refused, other := t.TempDir(), t.TempDir(), t.TempDir()
	writeFile(t, refused, "a.yaml", refusedPolicy("a"))
	writeFile(t, other, "a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
	for path, want := range map[string]string{
		"": "no such file", "-": "cannot be read again", empty: "has no .yaml", refused: `"a" is refused`, other: "no ValidatingAdmissionPolicy",
	} {
		if _, err := pipeline.OpenPolicies(pipeline.PoliciesConfig{Paths: []string{path}, Minor: 37}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
}

// watch watches until the test ends.
func watch(t *testing.T, p *pipeline.Policies) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { p.Watch(ctx) })
	t.Cleanup(func() {
		cancel()
		watching.Wait()
		goleak.VerifyNone(t, goleak.IgnoreCurrent())
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("it did not happen: %s", what)
		}
		time.Sleep(time.Millisecond) // polling
	}
}

// TestPoliciesWatchConfigMap changes policies as the kubelet does those of a mounted ConfigMap: by a link to another
// folder.
func TestPoliciesWatchConfigMap(t *testing.T) {
	dir := t.TempDir()
	mount := func(name string, files map[string]string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			writeFile(t, filepath.Join(dir, name), file, text)
		}
		next := filepath.Join(dir, "..data_tmp")
		if err := os.Symlink(name, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	mount("..1", map[string]string{"a.yaml": policyText("a", holds), "b.yaml": ""})
	for _, file := range []string{"a.yaml", "b.yaml"} {
		if err := os.Symlink(filepath.Join("..data", file), filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	p, l := openPolicies(t, dir)
	watch(t, p)
	mount("..2", map[string]string{"a.yaml": policyText("a", holds), "b.yaml": policyText("b", holds)})
	eventually(t, "a second policy", func() bool { return pairs(p) == "a/a b/b" })
	mount("..3", map[string]string{"a.yaml": "", "b.yaml": refusedPolicy("b")})
	eventually(t, "an error", func() bool { return p.Status().Err != nil })
	failures := p.Status().Failures
	mount("..4", map[string]string{"a.yaml": "", "b.yaml": policyText("b", "1 == 1")})
	eventually(t, "one policy", func() bool { return pairs(p) == "b/b" && p.Status().Err == nil })
	if failures != 1 || p.Status().Failures != 1 || l.count("level=ERROR") != 1 {
		t.Errorf("it failed %d and then %d times, and was logged %d times", failures, p.Status().Failures, l.count("level=ERROR"))
	}
}

// TestPoliciesWatchGone: a folder that goes and comes again changes nothing but the status.
func TestPoliciesWatchGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policies")
	away := dir + ".away"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "a.yaml", policyText("a", holds))
	p, l := openPolicies(t, dir)
	set := p.Current()
	watch(t, p)
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an error", func() bool { return p.Status().Err != nil })
	if p.Current() != set || p.Status().Policies != 1 {
		t.Errorf("status %+v", p.Status())
	}
	if err := os.Rename(away, dir); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no error", func() bool { return p.Status().Err == nil })
	if pairs(p) != "a/a" || l.count("level=ERROR") != 1 {
		t.Errorf("evaluated are %s, logged:\n%s", pairs(p), &l.text)
	}
}

// TestPoliciesKeep: objects that the policies come to hang on are kept from then on.
func TestPoliciesKeep(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.yaml", policyText("a", "request.userInfo.username != ''"))
	p, _ := openPolicies(t, dir)
	r := p.Replayer(replay.Config{Minor: 37})
	if err := r.Snapshot("v1", "Namespace", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop", "uid": "n", "resourceVersion": "1"}}); err != nil {
		t.Fatal(err)
	}
	n := 0
	patched := func() string {
		n++
		at := time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC)
		d := replay.Decode(&ingest.Event{
			Kind: "Event", APIVersion: "audit.k8s.io/v1", AuditID: fmt.Sprint(n), Level: ingest.LevelRequestResponse, Stage: ingest.StageResponseComplete,
			Verb: "update", RequestURI: "/api/v1/namespaces/shop/configmaps/c", RequestReceivedTimestamp: at, StageTimestamp: at.Add(time.Millisecond),
			User:           ingest.UserInfo{Username: "alice"},
			ObjectRef:      &ingest.ObjectReference{Resource: "configmaps", Namespace: "shop", Name: "c", APIVersion: "v1"},
			ResponseStatus: &ingest.Status{Code: 200},
			ResponseObject: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"shop","uid":"u","resourceVersion":"%d"}}`, n),
		})
		r.Observe(d)
		req := r.Requests(d)[0]
		e := p.Evaluate(req).Evaluations[0]
		return string(e.Result) + string(req.OldObject.Because)
	}
	if got := patched(); got != "PassNotKept" {
		t.Fatalf("got %s", got)
	}
	writeFile(t, dir, "a.yaml", policyText("a", "oldObject.metadata.name == 'c'"))
	if err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := patched(); got != "UnknownNotKept" {
		t.Errorf("the first time: %s", got)
	}
	if got := patched(); got != "Pass" {
		t.Errorf("the second time: %s", got)
	}
}

// TestPoliciesWatchOnce: files are read once a change, and not while they are being written. The clock is not the real
// one: it moves when all wait.
func TestPoliciesWatchOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		writeFile(t, dir, "a.yaml", policyText("a", holds))
		p, err := pipeline.OpenPolicies(pipeline.PoliciesConfig{Paths: []string{dir}, Minor: 37, Every: 5 * time.Second, Settle: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go p.Watch(ctx)
		defer synctest.Wait()
		defer cancel()
		time.Sleep(50 * time.Millisecond) // Never at the moment that Watch looks.
		for i := range 40 {
			writeFile(t, dir, "b.yaml", refusedPolicy(fmt.Sprintf("b%d", i)))
			time.Sleep(500 * time.Millisecond)
		}
		if got := p.Status(); got.Failures != 0 {
			t.Errorf("it was read while it was written: %v", got.Err)
		}
		time.Sleep(time.Minute)
		if got := p.Status(); got.Failures != 1 || got.Err == nil {
			t.Errorf("it was read %d times: %v", got.Failures, got.Err)
		}
		writeFile(t, dir, "b.yaml", policyText("b", holds))
		time.Sleep(time.Minute)
		if got := p.Status(); got.Reloads != 1 || got.Failures != 1 || got.Err != nil {
			t.Errorf("status %+v", got)
		}
	})
}

// TestPoliciesBeside: params that stand beside the policies are not read again, and that is told.
func TestPoliciesBeside(t *testing.T) {
	dir := t.TempDir()
	const limits = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: shop}\ndata: {max: %q}\n"
	writeFile(t, dir, "a.yaml", policyText("a", holds))
	writeFile(t, dir, "limits.yaml", fmt.Sprintf(limits, "3"))
	p, _ := openPolicies(t, dir)
	for _, tt := range []struct {
		name, max string
		warnings  int
	}{{"the same", "3", 0}, {"another value", "4", 1}, {"that value still", "4", 1}, {"as at the start", "3", 0}} {
		writeFile(t, dir, "limits.yaml", fmt.Sprintf(limits, tt.max))
		if err := p.Reload(); err != nil {
			t.Fatal(err)
		}
		if got := p.Current(); len(got.Beside) != 1 || len(got.Warnings) != tt.warnings {
			t.Errorf("%s: %d beside, warnings %q", tt.name, len(got.Beside), got.Warnings)
		}
	}
}
