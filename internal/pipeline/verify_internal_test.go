package pipeline

import (
	"testing"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/sink"
)

// FuzzVerify puts anything in the place of what an apiserver records. Whatever stands there, each policy that was
// evaluated has exactly one decision. It is inside the package as compiling policies would take all the time.
func FuzzVerify(f *testing.F) {
	f.Add(`[{"message":"m","policy":"p","binding":"b","expressionIndex":0,"validationActions":["Audit"]}]`, "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: m", int32(422), "v")
	f.Add(`[{"policy":"p"},null,{}]`, "ValidatingAdmissionPolicy 'p' denied request: ", int32(403), "x, v")
	f.Add(`{}`, "", int32(200), "")
	none, err := engine.New(engine.Config{Minor: engine.NewestMinor})
	if err != nil {
		f.Fatal(err)
	}
	record := &sink.Record{
		Evaluations: []sink.Evaluation{
			{Policy: "p", Binding: "b", ValidationActions: []string{"Audit", "Deny"}, Result: "Fail", Verdicts: []sink.Verdict{{Result: "Fail", Message: "m", Reason: "Invalid"}}},
			{Policy: "q", Binding: "b", ValidationActions: []string{"Audit"}, Result: "Unknown", Because: "NoBody"},
		},
		Annotations: map[string]string{"p/k": "v"},
	}
	f.Fuzz(func(t *testing.T, failures, message string, code int32, value string) {
		c := newComparison(engine.NewestMinor, newTimeline(engine.NewestMinor, none), func(Disagreement) {})
		c.learn()
		c.known, c.knownPolicies = map[pairName]bool{{"p", "b"}: true, {"p", ""}: true, {"q", "b"}: true}, map[string]bool{"p": true, "q": true}
		c.event(&ingest.Event{
			Stage: ingest.StageResponseComplete, Verb: "create", AuditID: "a",
			ResponseStatus: &ingest.Status{Code: code, Message: message},
			Annotations:    map[string]string{engine.FailureAnnotation: failures, "p/k": value},
		}, "", []*sink.Record{record})
		for _, name := range []pairName{{"p", "b"}, {"q", "b"}} {
			p := c.pairs[name]
			if n := p.Failed + p.Passed + p.Disagreed + p.Undecided + p.NotRecorded; n != 1 {
				t.Errorf("policy %s has %d decisions, want 1", name.policy, n)
			}
		}
	})
}
