// Package report sums records up and shows the sum to a person or a program: how many requests each policy would
// have stopped, whose they were, and how much of that is known.
package report

import "time"

// Summary is what a run of records came to. Its JSON field names are stable; additions only.
type Summary struct {
	// Period bounds the events; nil where there were none.
	Period *Period `json:"period"`
	// Events were read, of every stage.
	Events int64 `json:"events"`
	// OutOfPeriod are the events that were left out because of their time.
	OutOfPeriod int64 `json:"outOfPeriod"`
	// NotAdmission counts the events that are no admission request, by reason.
	NotAdmission map[string]int64 `json:"notAdmission"`
	// Skipped counts the pieces of input that could not be used, by reason.
	Skipped map[string]int64 `json:"skipped"`

	// Requests are the admission requests, one an object for deletecollection.
	Requests int64 `json:"requests"`
	// WouldStop are the requests that at least one policy would stop, were its binding set to [Deny].
	WouldStop int64 `json:"wouldStop"`
	// BlocksAnyway are the requests that are rejected whatever validationActions say.
	BlocksAnyway int64 `json:"blocksAnyway"`
	// Undecided are the requests that no policy is known to stop and of which at least one policy is not known.
	Undecided int64 `json:"undecided"`

	// Policies holds each policy with each of its bindings, the worst first.
	Policies []Policy `json:"policies"`
	// Advice is what to supply or to log for what is unknown to be decided, what helps most first.
	Advice []Advice `json:"advice"`
	// Refused are the policies and bindings that an apiserver would refuse, with its reasons. They were not evaluated.
	Refused []string `json:"refused"`
	// Warnings are what an apiserver would warn of, and what was odd in the input.
	Warnings []string `json:"warnings"`
}

// Period is a span of stageTimestamps.
type Period struct {
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// Policy is what a policy with one of its bindings came to. It counts requests: several params objects of one request
// count once, as the worst of them.
type Policy struct {
	Policy string `json:"policy"`
	// Binding is empty where a policy is misconfigured as a whole.
	Binding           string   `json:"binding"`
	ValidationActions []string `json:"validationActions"`

	// Matched are the requests that the match constraints match. It is the sum of Skipped (a match condition is
	// false), Passed, Failed, Errors and Unknown.
	Matched int64 `json:"matched"`
	Skipped int64 `json:"skipped"`
	Passed  int64 `json:"passed"`
	Failed  int64 `json:"failed"`
	Errors  int64 `json:"errors"`
	Unknown int64 `json:"unknown"`

	// ErrorsIgnored are those of Errors that failurePolicy Ignore lets through.
	ErrorsIgnored int64 `json:"errorsIgnored"`
	// WouldStop are the requests that a binding set to [Deny] would stop, BlocksAnyway included.
	WouldStop int64 `json:"wouldStop"`
	// Repeats are those of WouldStop that only repeat: the object failed before the update, which left what fails as it was.
	Repeats int64 `json:"repeats"`
	// AlreadyFailed are those of WouldStop that failed in the log, for whatever reason.
	AlreadyFailed int64 `json:"alreadyFailed"`
	// WouldDeny, WouldWarn and WouldAudit count what the binding does as it is; a binding may do several.
	WouldDeny  int64 `json:"wouldDeny"`
	WouldWarn  int64 `json:"wouldWarn"`
	WouldAudit int64 `json:"wouldAudit"`
	// BlocksAnyway are the requests that are rejected whatever validationActions say.
	BlocksAnyway int64 `json:"blocksAnyway"`

	Coverage       Coverage  `json:"coverage"`
	UnknownBecause []Because `json:"unknownBecause,omitempty"`
	// Stopped tells of WouldStop; nil where there are none.
	Stopped *Stopped `json:"stopped,omitempty"`
}

// Coverage splits the matched requests by how well their outcome is known.
type Coverage struct {
	// Exact: the log proves the inputs.
	Exact int64 `json:"exact"`
	// Presumed: an input is the best reconstruction.
	Presumed int64 `json:"presumed"`
	// Unknown: the outcome hangs on what the log does not hold.
	Unknown int64 `json:"unknown"`
}

// Decided are the requests whose outcome is known.
func (c Coverage) Decided() int64 { return c.Exact + c.Presumed }

// Matched are all of them.
func (c Coverage) Matched() int64 { return c.Exact + c.Presumed + c.Unknown }

// Because counts the unknown outcomes of one reason.
type Because struct {
	Because string `json:"because"`
	Count   int64  `json:"count"`
	// Attributes are what they hang on.
	Attributes Top `json:"attributes"`
}

// Stopped tells whose and which requests would be stopped, and by what message.
type Stopped struct {
	Objects    Distinct `json:"objects"`
	Namespaces Top      `json:"namespaces"`
	// Workloads are the owners of the objects as far as known, otherwise the objects themselves.
	Workloads Top      `json:"workloads"`
	Users     Top      `json:"users"`
	Messages  Messages `json:"messages"`
}

// Distinct is a number of different things.
type Distinct struct {
	Count int64 `json:"count"`
	// AtLeast: there are more, which were not kept apart.
	AtLeast bool `json:"atLeast,omitempty"`
}

// Top lists the most frequent names, the most frequent first, equally frequent ones by name.
type Top struct {
	Distinct Distinct `json:"distinct"`
	Names    []Count  `json:"names"`
	// Others is the sum of the names that are not listed.
	Others int64 `json:"others"`
}

// Count is how often a name occurred.
type Count struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Messages lists the most frequent messages.
type Messages struct {
	Distinct Distinct  `json:"distinct"`
	Samples  []Message `json:"samples"`
	// Others is the sum of the messages that are not listed.
	Others int64 `json:"others"`
}

// Message is a message of the apiserver's, with the first request that would have got it.
type Message struct {
	Message string `json:"message"`
	// Result is Fail or Error.
	Result         string    `json:"result"`
	Count          int64     `json:"count"`
	AuditID        string    `json:"auditID"`
	StageTimestamp time.Time `json:"stageTimestamp"`
}
