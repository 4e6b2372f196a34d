package sink

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Readiness is what is known of one binding of a policy in one cluster over a period: may it be enforced? docs/readiness.md
// has the formulas. Every surface shows this one, so that none says otherwise than another.
type Readiness struct {
	Cluster string `json:"cluster"`
	Policy  string `json:"policy"`
	// Binding is empty for a policy that no binding names, or that is misconfigured as a whole.
	Binding string `json:"binding"`
	// Namespace is empty unless the readiness is that of a namespace; there, that of the objects in none.
	Namespace string `json:"namespace,omitempty"`
	// Team is the one that Namespace belonged to last; empty where none is known.
	Team string `json:"team,omitempty"`

	Verdict ReadinessVerdict `json:"verdict"`
	// Lacking says what evidence is missing; only where the verdict is NotEnoughEvidence.
	Lacking []string `json:"lacking,omitempty"`

	// First and Last are the first and the last minute in which something matched; zero where nothing did.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Days is the time from the first minute to the end of the last one.
	Days float64 `json:"days"`
	// SilentDays are the days (UTC) among them in which no policy matched anything in the whole cluster: most likely
	// nothing was recorded.
	SilentDays int64 `json:"silentDays"`
	// Now is the time that FailingNow looks back from: the end of the last minute that the cluster has data of, or the time
	// that was given. It is zero where there is neither.
	Now time.Time `json:"now,omitzero"`

	// Matched counts evaluations, one for each params object of a request. It is the sum of the four that follow.
	Matched          int64 `json:"matched"`
	DecidedExact     int64 `json:"decidedExact"`
	DecidedPresumed  int64 `json:"decidedPresumed"`
	DecidedOtherwise int64 `json:"decidedOtherwise"`
	Unknown          int64 `json:"unknown"`
	// UnknownByReason splits Unknown; nil where there is none.
	UnknownByReason map[string]int64 `json:"unknownByReason,omitempty"`
	// Texts is how many different texts of the policy and the binding were evaluated; TextSince is the first minute of the
	// one that came last, and the hashes name it. They are empty where none is known.
	Texts       int64     `json:"texts"`
	TextSince   time.Time `json:"textSince,omitzero"`
	PolicyHash  string    `json:"policyHash,omitempty"`
	BindingHash string    `json:"bindingHash,omitempty"`

	// WouldFail are the admission requests that would be rejected, were the binding set to [Deny]. ClusterScoped are those
	// of them that are in no namespace.
	WouldFail     int64 `json:"wouldFail"`
	ClusterScoped int64 `json:"clusterScoped"`
	// Repeats are those of WouldFail that only repeat: the object failed before the update in each of the ways that it
	// fails now.
	Repeats int64 `json:"repeats"`
	// Workloads, Namespaces and Users are whose requests WouldFail are. A workload is the owner of the object, or the
	// object itself where it has none.
	Workloads  int64 `json:"workloads"`
	Namespaces int64 `json:"namespaces"`
	Users      int64 `json:"users"`
	// NewWorkloads are those of Workloads with a failure that does not repeat: what was written for them was bad. The
	// others were bad before the period, and have been left as they are.
	NewWorkloads int64 `json:"newWorkloads"`
	// FailingNow are the workloads that failed in the last 24 hours before Now, Healed all others of Workloads. It is not
	// known of a healed workload that it would pass, only that it has not failed since.
	FailingNow int64 `json:"failingNow"`
	Healed     int64 `json:"healed"`
	// BlocksAnyway are the requests that are rejected whatever validationActions say, ConfigErrors those whose evaluation as
	// a whole could not be made.
	BlocksAnyway int64 `json:"blocksAnyway"`
	ConfigErrors int64 `json:"configErrors"`
	// SystemActors is how many users of the system itself WouldFail hits; SystemActorNames are the first of their names.
	SystemActors     int64    `json:"systemActors"`
	SystemActorNames []string `json:"systemActorNames,omitempty"`
}

// ReadinessVerdict says in a word whether a binding may be enforced.
type ReadinessVerdict string

// The verdicts, from the one that weighs most to the one that is left when no other applies.
const (
	// Misconfigured: the policy or its binding blocks requests whatever the actions are, or cannot be evaluated.
	Misconfigured ReadinessVerdict = "Misconfigured"
	// WouldBreak: requests would be rejected.
	WouldBreak ReadinessVerdict = "WouldBreak"
	// NotEnoughEvidence: nothing failed, and too little is known to say that nothing would.
	NotEnoughEvidence ReadinessVerdict = "NotEnoughEvidence"
	// Ready: enough is known, and nothing failed.
	Ready ReadinessVerdict = "Ready"
)

// Criteria say how much evidence makes a binding ready.
type Criteria struct {
	// Days are the whole days that have to be observed; 0 is 7, less is none.
	Days int
	// Coverage is the percentage of the matched that has to be decided; 0 is 99, less is none.
	Coverage float64
	// Now is the time that "failing now" looks back from; zero is the end of the data.
	Now time.Time
}

// WithDefaults puts the defaults where nothing is said.
func (c Criteria) WithDefaults() Criteria {
	c.Days = cmp.Or(c.Days, 7)
	c.Coverage = cmp.Or(c.Coverage, 99)
	return c
}

// Decided are the evaluations whose result is known.
func (r *Readiness) Decided() int64 { return r.DecidedExact + r.DecidedPresumed + r.DecidedOtherwise }

// Coverage is Decided over Matched, from 0 to 1. Where nothing matched there is none: known is false.
func (r *Readiness) Coverage() (share float64, known bool) {
	if r.Matched == 0 {
		return 0, false
	}
	return float64(r.Decided()) / float64(r.Matched), true
}

// Judge sets the verdict, which follows from all else.
func (r *Readiness) Judge(c Criteria) {
	c = c.WithDefaults()
	r.Lacking = nil
	switch {
	case r.BlocksAnyway > 0 || r.ConfigErrors > 0:
		r.Verdict = Misconfigured
	case r.WouldFail > 0:
		r.Verdict = WouldBreak
	default:
		r.Verdict, r.Lacking = Ready, r.Lacks(c)
		if len(r.Lacking) > 0 {
			r.Verdict = NotEnoughEvidence
		}
	}
}

// Lacks says what evidence is missing by the criteria, whatever failed.
func (r *Readiness) Lacks(c Criteria) []string {
	c = c.WithDefaults()
	if r.Matched == 0 {
		return []string{"nothing matched"}
	}
	var out []string
	// A period of seven days holds little more than six from the first match to the last.
	if observed := max(r.Days-float64(r.SilentDays), 0); math.Round(observed) < float64(c.Days) {
		lacks := fmt.Sprintf("%.1f of %d days observed", observed, c.Days)
		if r.SilentDays > 0 {
			lacks += fmt.Sprintf(" (without %s that the cluster has no data of)", counted(r.SilentDays, "day", "days"))
		}
		out = append(out, lacks)
	}
	if float64(r.Decided())*100 < c.Coverage*float64(r.Matched) {
		out = append(out, fmt.Sprintf("%d of %d decided (%s), %g%% are asked for", r.Decided(), r.Matched, r.Percent(), c.Coverage))
	}
	if r.Texts > 1 {
		out = append(out, "its text changed in this time: look at what came since "+r.TextSince.Format(time.RFC3339))
	}
	return out
}

// Percent shows the coverage. It is rounded down, so that 100% is said of nothing less, and is "-" where nothing matched.
func (r *Readiness) Percent() string {
	if r.Matched == 0 {
		return "-"
	}
	if r.Decided() == r.Matched {
		return "100%"
	}
	return fmt.Sprintf("%.1f%%", math.Floor(float64(r.Decided())*1000/float64(r.Matched))/10)
}

// Sentence says the verdict in words.
func (r *Readiness) Sentence() string {
	switch r.Verdict {
	case Misconfigured:
		if r.BlocksAnyway > 0 {
			return fmt.Sprintf("misconfigured: %s blocked whatever the actions are", counted(r.BlocksAnyway, "request is", "requests are"))
		}
		return fmt.Sprintf("misconfigured: %s not be evaluated", counted(r.ConfigErrors, "request could", "requests could"))
	case WouldBreak:
		return "would break " + counted(r.Workloads, "workload", "workloads")
	case NotEnoughEvidence:
		return "not enough evidence: " + strings.Join(r.Lacking, "; ")
	case Ready:
		return "ready"
	default:
		return string(r.Verdict)
	}
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}
