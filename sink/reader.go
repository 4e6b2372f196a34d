package sink

import (
	"context"
	"iter"
	"time"
)

// Reader reads back what a Store keeps. Rows come in a stable order, the same from every Store: by time where they have
// one, else by name. An error ends the rows.
type Reader interface {
	Failures(context.Context, Filter) iter.Seq2[Failure, error]
	Annotations(context.Context, Filter) iter.Seq2[Annotation, error]
	Rollups(context.Context, Filter) iter.Seq2[Rollup, error]
	Ledger(context.Context, Filter) iter.Seq2[LedgerLine, error]
	DeadLetters(context.Context, Filter) iter.Seq2[DeadLetter, error]
	Policies(context.Context, Filter) iter.Seq2[PolicyText, error]
	Agreement(context.Context, Filter) iter.Seq2[Agreement, error]
	AgreementRuns(context.Context, Filter) iter.Seq2[AgreementRun, error]
	// Readiness says how ready each binding is to be enforced, ordered by cluster, policy and binding. Of the filter, the
	// names and the period count, which is narrowed to whole minutes. Bindings of which nothing matched are among them.
	Readiness(context.Context, Filter, Criteria) ([]Readiness, error)
	// ReadinessByNamespace says it for each namespace in which something matched; the empty one stands for objects in none.
	ReadinessByNamespace(context.Context, Filter, Criteria) ([]Readiness, error)
}

// Filter narrows what a Reader reads. An empty field narrows nothing, nor does a field that the rows do not have.
type Filter struct {
	Source, Partition string
	Cluster           string
	Policy, Binding   string
	Namespace, Team   string
	AuditID           string
	// Name is the object's.
	Name, Username      string
	Because, PolicyHash string
	// WorkloadKind and WorkloadName are the owner's, or the object's own where nothing owns it.
	WorkloadKind, WorkloadName string
	// Results are the results to be read: Fail, Error …
	Results []string
	// Stopping narrows failures to those that have the request rejected, were the binding set to [Deny]: no Unknown, and
	// no error that failurePolicy Ignore lets through.
	Stopping bool
	// New narrows failures to those that do not repeat.
	New bool
	// Latest narrows agreements to those that no later run on the same log tells of anew.
	Latest bool
	// Since and Until are the earliest stageTimestamp (or minute) to be read, and the first one not to be.
	Since, Until time.Time
	// Limit is how many rows are read at most; 0 for all.
	Limit int
	// Offset is how many rows are left out first. It needs a Limit.
	Offset int
	// Newest turns the order of the rows around.
	Newest bool
}

// Maintainer keeps a Store in shape.
type Maintainer interface {
	// Maintain drops the days (UTC) that ended before now - retention, and prepares for days to come. Rows are as old as
	// their events, an agreement as the last one of its log. A retention of 0 drops nothing. The ledger, the positions, the
	// policies and the checkpoints stay.
	Maintain(ctx context.Context, retention time.Duration, now time.Time) error
	// Seal stores what each day (UTC) that begins before a time comes to, where the day has changed since. It changes no
	// result: counting over weeks then takes these, and reads the rows of the other days only.
	Seal(ctx context.Context, before time.Time) error
}

// Database is a Store with all that can be done with it.
type Database interface {
	Store
	Reader
	Counter
	Maintainer
}
