package engine_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/replay"
)

var update = flag.Bool("update", false, "rewrite what the files of testdata want; read the difference before you keep it")

// TestSemantics evaluates the requests of each file of testdata, and asks the apiserver's own code too wherever every
// input is known.
func TestSemantics(t *testing.T) {
	eachRule(t, func(t *testing.T, path string, data []byte) {
		f, err := readRules(data)
		if err != nil {
			t.Fatal(err)
		}
		f.test(t)
		if *update {
			if err := os.WriteFile(path, txtar.Format(f.archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// eachRule runs a test for each file of testdata.
func eachRule(t *testing.T, test func(t *testing.T, path string, data []byte)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			test(t, path, data)
		})
	}
}

func (f *ruleFile) test(t *testing.T) {
	world, err := f.world()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{Minor: f.minor, Policies: f.policies, Bindings: f.bindings})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.requests {
		req, err := c.request.build(world)
		if err != nil {
			t.Fatalf("request %s: %v", c.name, err)
		}
		decision := e.Evaluate(req)
		got := written(decision)
		if *update {
			f.archive.Files[c.wanted].Data = []byte(got)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("request %q (-want +got):\n%s", c.name, diff)
		}
		e.ForgetEvaluations()
		if diff := cmp.Diff(got, written(e.Evaluate(req))); diff != "" {
			t.Errorf("request %q with what is remembered of the expressions (-anew +remembered):\n%s", c.name, diff)
		}
		if f.notUpstream == "" && c.request.known() {
			t.Run("upstream", func(t *testing.T) { compareUpstream(t, f, req, decision) })
		}
	}
}

// written is a decision in the language of the files.
func written(d engine.Decision) string {
	var out strings.Builder
	for _, e := range d.Evaluations {
		fmt.Fprintf(&out, "%s: %s\n", subject(e), strings.Join(headline(e), ", "))
		if e.ConfigError != "" {
			fmt.Fprintf(&out, "  configuration error %s\n", compact(e.ConfigError))
		}
		if e.AnnotationError != "" {
			fmt.Fprintf(&out, "  annotation error %s\n", compact(e.AnnotationError))
		}
		if len(e.Unknown) > 0 {
			fmt.Fprintf(&out, "  hangs on %s\n", hangsOn(e.Unknown, e.Because))
		}
		for _, v := range e.Verdicts {
			fmt.Fprintf(&out, "  %d %s\n", v.ExpressionIndex, verdict(v))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.Annotations)) {
		fmt.Fprintf(&out, "annotation %s = %s\n", key, compact(shortened(d.Annotations[key])))
	}
	if out.Len() == 0 {
		return "nothing matches\n"
	}
	return out.String()
}

func subject(e engine.Evaluation) string {
	s := e.Policy
	if e.Binding != "" {
		s += "/" + e.Binding
	}
	if p := e.Params; p != nil {
		s += "[" + strings.TrimPrefix(p.Namespace+"/"+p.Name, "/") + "]"
	}
	return s
}

func headline(e engine.Evaluation) []string {
	out := []string{string(e.Result)}
	if e.Effect != "" {
		out = append(out, e.Effect)
	}
	if e.BlocksAnyway {
		out = append(out, "blocks anyway")
	}
	if e.Evidence == replay.Presumed {
		out = append(out, "presumed")
	}
	return out
}

func verdict(v engine.Verdict) string {
	switch v.Result {
	case engine.Fail:
		return fmt.Sprintf("Fail %s %s", v.Reason, compact(shortened(v.Message)))
	case engine.Error:
		s := "Error " + compact(v.Message)
		if v.Ignored {
			s += " ignored"
		}
		return s
	default:
		return fmt.Sprintf("%s: hangs on %s", v.Result, hangsOn(v.Unknown, v.Because))
	}
}

func hangsOn(on []string, because replay.Reason) string {
	return fmt.Sprintf("%s (%s)", strings.Join(on, ", "), because)
}

// shortened is a text of which only the beginning and the length are shown where it is long.
func shortened(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:20], len(s))
}
