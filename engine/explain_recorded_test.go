package engine_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/engine/policy"
	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/file"
	"github.com/vapshadow/vapshadow/internal/manifest"
	"github.com/vapshadow/vapshadow/replay"
)

// TestExplainRecorded holds explanations of every request of the example to the verdicts of Evaluate.
func TestExplainRecorded(t *testing.T) {
	for _, minor := range []int{36, 37} {
		t.Run(fmt.Sprintf("1.%d", minor), func(t *testing.T) {
			t.Parallel()
			e, requests := example(t, minor)
			explained := 0
			for _, req := range requests {
				x := e.Explain(req)
				if want := e.Evaluate(req); !reflect.DeepEqual(want, x.Decision) {
					t.Fatalf("%s: explained %+v, evaluated %+v", req.Event.AuditID, x.Decision, want)
				}
				if err := consistent(x); err != nil {
					t.Errorf("%s: %v", req.Event.AuditID, err)
				}
				explained += len(x.Decision.Evaluations)
			}
			if explained < 500 {
				t.Errorf("only %d evaluations were explained", explained)
			}
		})
	}
}

// BenchmarkExplain tells what an explanation costs beside the verdicts alone, for all requests of the example.
func BenchmarkExplain(b *testing.B) {
	e, requests := example(b, engine.NewestMinor)
	b.Run("Evaluate", func(b *testing.B) {
		for b.Loop() {
			for _, req := range requests {
				e.Evaluate(req)
			}
		}
	})
	b.Run("Explain", func(b *testing.B) {
		for b.Loop() {
			for _, req := range requests {
				e.Explain(req)
			}
		}
	})
}

// example is the recording of examples/: its policies, and its requests.
func example(t testing.TB, minor int) (*engine.Engine, []*replay.Request) {
	t.Helper()
	set, refusals, _ := policy.Load(manifests(t, "../examples/policies"), policy.Options{Minor: minor})
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	cfg := engine.Config{Minor: minor}
	for _, p := range set.Policies {
		cfg.Policies = append(cfg.Policies, p.ValidatingAdmissionPolicy)
	}
	for _, b := range set.Bindings {
		cfg.Bindings = append(cfg.Bindings, b.ValidatingAdmissionPolicyBinding)
	}
	e, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var cluster []map[string]any
	for _, o := range manifests(t, "../examples/cluster") {
		cluster = append(cluster, o.Content)
	}
	world, err := replayer(minor, cluster)
	if err != nil {
		t.Fatal(err)
	}
	return e, recordedRequests(t, world)
}

func manifests(t testing.TB, path string) []manifest.Object {
	t.Helper()
	objects, problems, err := manifest.Read([]string{path}, manifest.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return objects
}

func recordedRequests(t testing.TB, world *replay.Replayer) []*replay.Request {
	t.Helper()
	source, err := file.Open([]string{"../examples/audit.log.gz"}, file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var decoded []*replay.Decoded
	for {
		entry, err := source.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		events, skips := ingest.Decode(entry)
		if len(skips) > 0 {
			t.Fatal(skips)
		}
		for _, ev := range events {
			decoded = append(decoded, replay.Decode(ev))
			world.Observe(decoded[len(decoded)-1])
		}
	}
	var out []*replay.Request
	for _, d := range decoded {
		if d.Operation != "" {
			out = append(out, world.Requests(d)...)
		}
	}
	return out
}
