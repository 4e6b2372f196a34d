package sink

import "time"

// AgreementRun is one comparison of vapshadow's decisions with those that an apiserver recorded in its audit log.
type AgreementRun struct {
	// Run names it: a digest of what was compared, by what, and of what came out. The same comparison made twice is one
	// run.
	Run     string
	Cluster string
	// Log tells logs apart: a digest of the first event. Of a log that has grown it is the same.
	Log string
	// FirstEvent and LastEvent bound the stageTimestamps of the events; neither is zero.
	FirstEvent, LastEvent time.Time
	// VerifiedAt is when it was made last.
	VerifiedAt time.Time
	// KubernetesVersion is that of the apiserver that wrote the log, as given; the others are those of what decided.
	KubernetesVersion, VapshadowVersion, ApiserverVersion, CELVersion string
	// Ingested = Evaluated + NotAdmission + Skipped + DeadLettered, as in the ledger.
	Ingested, Evaluated, NotAdmission, Skipped, DeadLettered int64
	// Recorded are the events that hold a decision; Unfinished the requests with one whose end the log does not hold.
	Recorded, Unfinished int64
}

// Outcomes of comparing a decision.
const (
	Agreed    = "Agreed"
	Disagreed = "Disagreed"
	// Undecided: the log does not hold what vapshadow needs to come to a decision of its own.
	Undecided = "Undecided"
	// NotRecorded: the log does not hold what the apiserver decided.
	NotRecorded = "NotRecorded"
	// NotGiven: the log names the policy and binding, and nothing else does. Such rows count events.
	NotGiven = "NotGiven"
)

// Reasons of Agreed. Those of Disagreed are kinds of disagreement, those of Undecided say what is not known.
const (
	BothFail = "BothFail"
	BothPass = "BothPass"
	// Reordered: both fail, or have a value, with the same words in another order.
	Reordered = "Reordered"
)

// Agreement counts what decisions of one policy and binding came to in one run.
type Agreement struct {
	Run, Cluster string
	// LastEvent is that of the run.
	LastEvent       time.Time
	Policy, Binding string
	// Annotation is the key of an audit annotation, whose values are counted then; empty for decisions.
	Annotation      string
	Outcome, Reason string
	Count           int64
	// AuditIDs are the first of the events, for disagreements.
	AuditIDs []string
	// Log and FirstEvent are those of the run, and Latest says that no later run tells of the same policy in the same log.
	// They are there when rows are read: what is counted twice by two runs counts once among the latest.
	Log        string
	FirstEvent time.Time
	Latest     bool
}
