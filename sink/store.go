package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Store keeps what the evaluation came to. It is safe for use by several goroutines and several processes at a time.
//
// The contract that sinktest holds every Store to:
//   - Commit writes all of a Batch or nothing.
//   - Each move of a mark is written once: a Batch whose partition is not at the move's From is refused with a
//     *MovedError, which says where the partition is.
//   - A move goes forward: one that does not is an error.
//   - A Batch that resolves a dead letter that is not there is refused with ErrResolved.
//   - A Batch with a delivery that is stored already is refused with a *DeliveredError.
//   - A lost reply is no loss: where Commit returns another error, the same Batch may be committed again. If it had been
//     written after all, a MovedError tells so, with the marks at the moves' To.
type Store interface {
	Commit(ctx context.Context, b *Batch) error
	// Marks returns where each partition of a source is.
	Marks(ctx context.Context, source string) ([]PartitionMark, error)
	// SaveCheckpoint stores what a process knows of the clusters, and drops all checkpoints of that name but the newest two.
	SaveCheckpoint(ctx context.Context, c Checkpoint, content io.Reader) error
	// LoadCheckpoint returns the newest checkpoint of a name; ErrNoCheckpoint where there is none.
	LoadCheckpoint(ctx context.Context, name string) (Checkpoint, io.ReadCloser, error)
	// SaveAgreement stores a comparison with an apiserver's own decisions, all of it or nothing. Of one whose Run is stored
	// already only VerifiedAt changes. That is now where it is zero; the rows get Run, Cluster and LastEvent of the run.
	SaveAgreement(ctx context.Context, run AgreementRun, rows []Agreement) error
	// Ping says whether the store can be written to.
	Ping(ctx context.Context) error
	Close() error
}

// ErrResolved says that a dead letter is not there any more: another process has resolved it.
var ErrResolved = errors.New("the dead letter is not there any more")

// ErrNoCheckpoint says that there is no checkpoint of a name.
var ErrNoCheckpoint = errors.New("there is no checkpoint")

// Mark is a place in a partition: what is before it has been stored. The zero Mark is the beginning.
type Mark struct {
	Generation, Offset int64
	Detail             string
}

// Compare orders the marks of one partition.
func (m Mark) Compare(o Mark) int {
	return cmp.Or(cmp.Compare(m.Generation, o.Generation), cmp.Compare(m.Offset, o.Offset))
}

// PartitionMark is where a partition is.
type PartitionMark struct {
	Source, Partition string
	Mark              Mark
	// EventTime is the latest stageTimestamp that was stored of the partition; zero for none.
	EventTime time.Time
}

// Move is the way of a partition from one mark to the next.
type Move struct {
	Source, Partition string
	From, To          Mark
	// EventTime is the latest stageTimestamp of the events in between; zero for none.
	EventTime time.Time
}

// Batch is what one transaction writes.
type Batch struct {
	Moves []Move
	// Deliveries name what cannot be told apart by a mark: the body of a webhook's request.
	Deliveries  []Delivery
	Failures    []Failure
	Annotations []Annotation
	Rollups     []Rollup
	Ledger      []LedgerLine
	DeadLetters []DeadLetter
	// Resolved are dead letters that are none any more, as they were read. They are removed.
	Resolved []DeadLetter
	// Policies are the texts of policies and bindings that the rows name by hash. One that is stored already stays.
	Policies []PolicyText
}

// Delivery is one delivery of a source that cannot be read again.
type Delivery struct{ Source, Partition, Key string }

// Place says what a row is about: the event and, for a deletecollection, which of its objects.
type Place struct {
	Cluster string
	AuditID string
	// Item counts the admission requests of one event from 0.
	Item           int32
	StageTimestamp time.Time
}

// Failure is one validation that did not pass, or an evaluation as a whole that could not be decided or made.
type Failure struct {
	Place
	Operation                          string
	Group, Version, Resource           string
	SubResource, Kind                  string
	Namespace, Name                    string
	OwnerKind, OwnerName               string
	Username                           string
	Groups                             []string
	UserAgent                          string
	DryRun                             bool
	Code                               int32
	Policy, Binding                    string
	ParamsNamespace, ParamsName        string
	PolicyHash, BindingHash, ParamHash string
	ValidationActions                  []string
	// ExpressionIndex is -1 where the row is about the evaluation as a whole.
	ExpressionIndex int32
	// N tells rows of one evaluation and ExpressionIndex apart, from 0: errors of other validations are reported for
	// index 0 too.
	N int32
	// Result is Fail, Error or Unknown.
	Result  string
	Message string
	Reason  string
	Ignored bool
	// Unknown are the attributes that an Unknown hangs on, Because why the first is not known.
	Unknown  []string
	Because  string
	Evidence string
	// Effect is what the apiserver would have done with the binding as it is.
	Effect       string
	BlocksAnyway bool
	// Team is the team that the namespace belongs to, by the label that is configured for it; empty where none is known.
	Team string
	// Repeats: the object failed so before the update, which left what the failure hangs on as it was.
	Repeats bool
}

// Annotation is an audit annotation that the apiserver would have written.
type Annotation struct {
	Place
	Key, Value string
}

// Rollup counts evaluations that have all of this in common.
type Rollup struct {
	// Minute is the minute of the events' stageTimestamp.
	Minute                       time.Time
	Cluster                      string
	Policy, Binding              string
	PolicyHash, BindingHash      string
	Namespace                    string
	Group, Resource, SubResource string
	Operation                    string
	// Result is Pass, Fail, Error, Unknown or Skipped; Evidence is Exact, Presumed or Missing.
	Result, Evidence, Because string
	Effect                    string
	BlocksAnyway              bool
	// Team is that of Failure.
	Team  string
	Count int64
}

// Outcomes of what is ingested. For each partition and all time:
// Ingested = Evaluated + NotAdmission + Skipped + DeadLettered.
const (
	Ingested     = "Ingested"
	Evaluated    = "Evaluated"
	NotAdmission = "NotAdmission"
	Skipped      = "Skipped"
	DeadLettered = "DeadLettered"
	// Requests are the admission requests that the evaluated events came to: one an event, but for deletecollection.
	Requests = "Requests"
)

// LedgerLine counts what became of the events of a partition.
type LedgerLine struct {
	Source, Partition, Cluster string
	Outcome                    string
	// Reason is a reason code; empty for Ingested, Evaluated and Requests.
	Reason string
	Count  int64
}

// DeadLetter is a piece of input that may have been an event and could not be used. It holds nothing of what was in it.
type DeadLetter struct {
	Source, Partition, Cluster string
	// Mark is behind the entry that holds it; N tells several of one entry apart, from 0.
	Mark     Mark
	N        int32
	Delivery string
	Reason   string
	// Detail is for people, and never holds object content.
	Detail string
	At     time.Time
}

// PolicyText is a policy, binding or params object as it was evaluated.
type PolicyText struct {
	// Kind is ValidatingAdmissionPolicy or ValidatingAdmissionPolicyBinding.
	Cluster, Kind, Name, Hash string
	// Text is the object as JSON.
	Text string
}

// Checkpoint is what a process knew of the clusters when it had read each partition up to a mark.
type Checkpoint struct {
	Name  string
	Marks []PartitionMark
	// Written is when it was stored.
	Written time.Time
}

// MovedError says that partitions are not where a Batch begins.
type MovedError struct {
	// Now has the marks of the partitions that the Batch moves and that are not at its From.
	Now []PartitionMark
}

func (e *MovedError) Error() string {
	names := make([]string, len(e.Now))
	for i, m := range e.Now {
		names[i] = fmt.Sprintf("%s:%s is at %d/%d", m.Source, m.Partition, m.Mark.Generation, m.Mark.Offset)
	}
	return "another process has moved on: " + strings.Join(names, ", ")
}

// DeliveredError says that deliveries are stored already.
type DeliveredError struct{ Deliveries []Delivery }

func (e *DeliveredError) Error() string {
	return fmt.Sprintf("%d of the deliveries are stored already", len(e.Deliveries))
}
