package report

import (
	"cmp"
	"slices"
	"time"
)

// Agreement says how far the decisions that an apiserver recorded in its audit log are vapshadow's own. Its JSON field
// names are stable; additions only.
type Agreement struct {
	// Period bounds the events; nil where there were none.
	Period *Period `json:"period"`
	// KubernetesVersion is that of the apiserver that wrote the log, as given. Where OneFailure is true, such an apiserver
	// records no more than one failure of a request.
	KubernetesVersion string `json:"kubernetesVersion"`
	OneFailure        bool   `json:"oneFailure"`
	// Events were read, of every stage; Recorded of them hold a decision.
	Events   int64 `json:"events"`
	Recorded int64 `json:"recorded"`
	// Unfinished are requests with a decision whose end the log does not hold.
	Unfinished int64 `json:"unfinished"`

	Decisions        Compared         `json:"decisions"`
	AuditAnnotations Compared         `json:"auditAnnotations"`
	UndecidedBecause map[string]int64 `json:"undecidedBecause"`

	// Policies and Annotations are ordered: what disagrees first, then by name.
	Policies    []ComparedPolicy     `json:"policies"`
	Annotations []ComparedAnnotation `json:"annotations"`

	// Disagreements are the first ones of the log; OtherDisagreements is how many more there are.
	Disagreements      []Disagreement `json:"disagreements"`
	OtherDisagreements int64          `json:"otherDisagreements"`

	// NotGiven are policies and bindings whose decisions the log holds, but which were not there to be evaluated.
	NotGiven []NotGiven `json:"notGiven"`
	Notes    []string   `json:"notes"`
	Refused  []string   `json:"refused"`
	Warnings []string   `json:"warnings"`
	// Skipped counts the pieces of input that could not be used, by reason.
	Skipped map[string]int64 `json:"skipped"`
}

// Compared counts comparisons. Compared is the sum of Agreed and Disagreed.
type Compared struct {
	Compared  int64 `json:"compared"`
	Agreed    int64 `json:"agreed"`
	Disagreed int64 `json:"disagreed"`
	// Undecided: the log does not hold what vapshadow needs. NotRecorded: it does not hold what the apiserver decided.
	Undecided   int64 `json:"undecided"`
	NotRecorded int64 `json:"notRecorded"`
	// Reordered are those of Agreed that have the same words in another order.
	Reordered int64 `json:"reordered"`
}

// ComparedPolicy counts the decisions of a policy with one of its bindings; each is of one request. BothFail are those of
// Agreed that are failures.
type ComparedPolicy struct {
	Policy  string `json:"policy"`
	Binding string `json:"binding"`
	Compared
	BothFail int64 `json:"bothFail"`
}

// ComparedAnnotation counts the values of an audit annotation of a policy.
type ComparedAnnotation struct {
	Policy string `json:"policy"`
	Key    string `json:"key"`
	Compared
}

// NotGiven is a policy with a binding that only the log names, in so many events.
type NotGiven struct {
	Policy  string `json:"policy"`
	Binding string `json:"binding"`
	Events  int64  `json:"events"`
}

// Disagreement is one validation, rejection or audit annotation on which the two sides differ.
type Disagreement struct {
	AuditID        string    `json:"auditID"`
	StageTimestamp time.Time `json:"stageTimestamp"`
	Operation      string    `json:"operation"`
	Group          string    `json:"group"`
	Resource       string    `json:"resource"`
	SubResource    string    `json:"subResource"`
	Namespace      string    `json:"namespace"`
	Name           string    `json:"name"`

	Policy  string `json:"policy"`
	Binding string `json:"binding"`
	// ExpressionIndex is of a validation, Annotation the key of an audit annotation; neither where it is about the
	// rejection of the request.
	ExpressionIndex *int   `json:"expressionIndex,omitempty"`
	Annotation      string `json:"annotation,omitempty"`

	Apiserver Side `json:"apiserver"`
	Vapshadow Side `json:"vapshadow"`
}

// Side is what one side says. Said is Fail or Pass of a validation; Deny or Admit of a request; Value or NoValue of an
// audit annotation. vapshadow may also say Skipped (a match condition is false), NotMatched or NotAdmission.
type Side struct {
	Said              string   `json:"said"`
	Message           string   `json:"message,omitempty"`
	ValidationActions []string `json:"validationActions,omitempty"`
}

// Add counts a policy with one of its bindings.
func (a *Agreement) Add(p ComparedPolicy) {
	p.Compared.Compared = p.Agreed + p.Disagreed
	a.Decisions.add(p.Compared)
	a.Policies = append(a.Policies, p)
	slices.SortStableFunc(a.Policies, func(a, b ComparedPolicy) int {
		return cmp.Or(-cmp.Compare(a.Disagreed, b.Disagreed), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Binding, b.Binding))
	})
}

// AddAnnotation counts an audit annotation of a policy.
func (a *Agreement) AddAnnotation(c ComparedAnnotation) {
	c.Compared.Compared = c.Agreed + c.Disagreed
	a.AuditAnnotations.add(c.Compared)
	a.Annotations = append(a.Annotations, c)
	slices.SortStableFunc(a.Annotations, func(a, b ComparedAnnotation) int {
		return cmp.Or(-cmp.Compare(a.Disagreed, b.Disagreed), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Key, b.Key))
	})
}

func (c *Compared) add(d Compared) {
	c.Compared += d.Compared
	c.Agreed += d.Agreed
	c.Disagreed += d.Disagreed
	c.Undecided += d.Undecided
	c.NotRecorded += d.NotRecorded
	c.Reordered += d.Reordered
}

// Disagreed says whether the two sides differ on anything.
func (a *Agreement) Disagreed() bool { return a.Decisions.Disagreed+a.AuditAnnotations.Disagreed > 0 }

// Nothing says why the agreement proves nothing, and what to do; it is empty where it does.
func (a *Agreement) Nothing() string {
	switch {
	case a.Disagreed():
		return ""
	case len(a.Policies) == 0 && len(a.NotGiven) == 0 && a.Recorded == 0:
		return "no policy matched a request, and no event holds a decision of one: verify needs the log of a cluster on which the policies were bound with Audit or Deny"
	case len(a.NotGiven) > 0 && a.Decisions.Compared == 0:
		return "the log holds decisions only of policies that are not given: take them, with their bindings, from that cluster with --cluster or --policies"
	case a.Recorded == 0:
		return "no event holds a decision of a policy, and that none failed proves nothing: verify needs the log of a time at which the policies were bound with Audit or Deny, and some request failed them"
	case a.Decisions.Compared+a.AuditAnnotations.Compared == 0:
		return "every recorded decision hangs on what the log does not hold: give the state of the cluster when the log began with --cluster, and log at level RequestResponse"
	}
	return ""
}
