package pipeline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/ingest"
)

const (
	// From this minor on an apiserver lists all failures of a request; before, the first one that it comes upon.
	listsFailuresFrom = 37
	// It lists no more than so many, and cuts the value of an audit annotation at so many bytes.
	mostListed = 50
	cutAt      = 10 * 1024
)

// recorded is what an event holds of the apiserver's own decisions.
type recorded struct {
	code      int32
	failures  []failure
	rejection *rejection
	// values are those of the audit annotations of policies, by "policy/key".
	values map[string]string
	// unreadable: there is a list of failures, but not in a form that is known.
	unreadable bool
	// perhapsNone: a deletecollection of which nothing shows whether there was any object.
	perhapsNone bool
	// perhapsRetried: the annotations may be of an earlier state of the object than the last.
	perhapsRetried bool
}

// failure is an entry of the list of failures.
type failure struct {
	Message           string   `json:"message"`
	Policy            string   `json:"policy"`
	Binding           string   `json:"binding"`
	ExpressionIndex   int      `json:"expressionIndex"`
	ValidationActions []string `json:"validationActions"`
	reason            string   // vapshadow's only
}

// rejection is the decision that a client was told of: the first that denies, of however many.
type rejection struct{ policy, binding, message, reason string }

// pairName names a policy with a binding; the binding is empty where the policy is misconfigured as a whole.
type pairName struct{ policy, binding string }

func (f *failure) pair() pairName { return pairName{f.Policy, f.Binding} }

func (r *rejection) pair() pairName { return pairName{r.policy, r.binding} }

var rejected = regexp.MustCompile(`(?s)ValidatingAdmissionPolicy '([^']+)'(?: with binding '([^']+)')? denied request: (.*)$`)

// readRecorded reads the decisions in an event. Other admission plugins and the apiserver itself annotate events too,
// so that the names of policies have to be known.
func readRecorded(ev *ingest.Event, isPolicy func(string) bool) *recorded {
	r := &recorded{values: map[string]string{}}
	if s := ev.ResponseStatus; s != nil {
		r.code = s.Code
		if m := rejected.FindStringSubmatch(s.Message); m != nil && s.Code >= 400 {
			r.rejection = &rejection{policy: m[1], binding: m[2], message: m[3], reason: s.Reason}
		}
	}
	for key, value := range ev.Annotations {
		if key == engine.FailureAnnotation {
			r.unreadable = json.Unmarshal([]byte(value), &r.failures) != nil
			continue
		}
		if policy, _, ok := strings.Cut(key, "/"); ok && isPolicy(policy) {
			r.values[key] = value
		}
	}
	return r
}

// any says whether there is a decision.
func (r *recorded) any() bool {
	return len(r.failures) > 0 || r.rejection != nil || len(r.values) > 0 || r.unreadable
}

// admitted: policies were evaluated, and none rejected the request, as it succeeded.
func (r *recorded) admitted() bool { return r.code > 0 && r.code < 400 && !r.perhapsNone }

// evaluated says whether policies were certainly evaluated. A request that failed may not have come that far.
func (r *recorded) evaluated() bool { return r.admitted() || r.any() }

// complete says whether a failure that is not listed is none.
func (r *recorded) complete(minor int) bool {
	if !r.evaluated() || r.unreadable {
		return false
	}
	if minor < listsFailuresFrom && len(r.failures) <= 1 {
		return len(r.failures) == 0
	}
	return len(r.failures) < mostListed
}

func (r *recorded) of(p pairName) []failure {
	var out []failure
	for _, f := range r.failures {
		if f.pair() == p {
			out = append(out, f)
		}
	}
	return out
}

// pairs are the policies and bindings that are named, each once.
func (r *recorded) pairs() []pairName {
	var out []pairName
	add := func(p pairName) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, f := range r.failures {
		add(f.pair())
	}
	if r.rejection != nil {
		add(r.rejection.pair())
	}
	return out
}
