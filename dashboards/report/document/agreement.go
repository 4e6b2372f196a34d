package document

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// Agreement says how far vapshadow was compared with the decisions that the apiserver itself recorded, in the logs that
// end in the period.
type Agreement struct {
	// Sentence says it in words; it begins with "verified" or "not verified".
	Sentence string `json:"sentence"`
	// Logs is how many logs were compared; First and Last bound their events.
	Logs  int       `json:"logs"`
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Decisions are those of policies and bindings on requests, Values those of audit annotations.
	Decisions sink.AgreementCounts `json:"decisions"`
	Values    sink.AgreementCounts `json:"values"`
	// Disagreements are split by kind, those with most first, maxListed at most; OtherKinds is how many more there are.
	Disagreements []Disagreement `json:"disagreements"`
	OtherKinds    int            `json:"otherKinds"`
	// NotCompared counts what could not be compared, by outcome and reason.
	NotCompared map[string]map[string]int64 `json:"notCompared"`
}

// Disagreement counts disagreements of a kind.
type Disagreement struct {
	Cluster    string `json:"cluster"`
	Policy     string `json:"policy"`
	Binding    string `json:"binding"`
	Annotation string `json:"annotation,omitempty"`
	Kind       string `json:"kind"`
	Count      int64  `json:"count"`
	// AuditIDs are the first of the events.
	AuditIDs []string `json:"auditIDs"`
}

// agreementIn reads what was compared. Annotations belong to a policy, so that they count whatever the binding is.
func agreementIn(ctx context.Context, r sink.Reader, f sink.Filter) (Agreement, error) {
	s, err := sink.SumAgreement(ctx, r, f)
	if err != nil {
		return Agreement{}, err
	}
	a := Agreement{
		Sentence: s.Sentence(), Logs: s.Logs, First: s.First, Last: s.Last, Decisions: s.Decisions, Values: s.Values,
		Disagreements: []Disagreement{}, NotCompared: map[string]map[string]int64{},
	}
	for i, g := range s.Disagreements {
		if i == maxListed {
			a.OtherKinds = len(s.Disagreements) - maxListed
			break
		}
		a.Disagreements = append(a.Disagreements, Disagreement{g.Cluster, g.Policy, g.Binding, g.Annotation, g.Reason, g.Count, g.AuditIDs})
	}
	for _, g := range s.NotCompared {
		if a.NotCompared[g.Outcome] == nil {
			a.NotCompared[g.Outcome] = map[string]int64{}
		}
		a.NotCompared[g.Outcome][g.Reason] += g.Count
	}
	return a, nil
}

// lines are the sentence, and what a reader needs to look further.
func (a *Agreement) lines() []string {
	out := []string{a.Sentence}
	if a.Logs == 0 {
		return out
	}
	logs := "1 log"
	if a.Logs > 1 {
		logs = fmt.Sprintf("%d logs", a.Logs)
	}
	out = append(out, fmt.Sprintf("%s, from %s to %s", logs, moment(a.First), moment(a.Last)))
	for i := range a.Disagreements {
		out = append(out, a.Disagreements[i].line())
	}
	if a.OtherKinds > 0 {
		out = append(out, fmt.Sprintf("%d more kinds of disagreement", a.OtherKinds))
	}
	return out
}

func (d *Disagreement) line() string {
	b := Binding{Readiness: sink.Readiness{Cluster: d.Cluster, Policy: d.Policy, Binding: d.Binding}}
	what := b.scope()
	if d.Annotation != "" {
		what += ", audit annotation " + plain(d.Annotation)
	}
	return fmt.Sprintf("%s: %s %d, such as %s", what, plain(d.Kind), d.Count, plain(strings.Join(d.AuditIDs, " ")))
}
