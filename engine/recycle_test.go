package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vapshadow/vapshadow/engine"
)

// TestRecycle: what was copied of a decision stays as it was when its list is used again.
func TestRecycle(t *testing.T) {
	r := readRecording(t, "v1.37.1", 37)
	e, again := r.engine(t), r.engine(t)
	for i := range min(200, len(r.requests)) {
		req := r.request(t, i)
		want := e.Evaluate(req)
		decision := again.Evaluate(req)
		got := engine.Decision{Evaluations: append([]engine.Evaluation(nil), decision.Evaluations...), Annotations: decision.Annotations}
		decision.Recycle()
		again.Evaluate(r.request(t, 0)).Recycle()
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(engine.Evaluation{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("request %d: -want +got:\n%s", i, diff)
		}
	}
}
