// Package daily keeps what whole days come to, so that counting over weeks does not read the rows of weeks.
//
// A day is sealed when the answers to a fixed list of questions are stored beside its rows. A commit with rows of the
// day breaks the seal, in the transaction that writes them. Who counts takes the answers of the days that are sealed in
// the state of the database that it sees, and counts the rows of all other time. So it comes to the same, whatever is
// sealed; only the time that it takes differs.
//
// It rests on this: a request has one time, so those of two days are never the same, and may be added up.
package daily

import (
	"context"
	"iter"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// Kind is what is counted.
type Kind string

// The kinds.
const (
	Failures Kind = "failures"
	Rollups  Kind = "rollups"
)

// Snapshot is one state of a database.
type Snapshot interface {
	// Count counts rows, as sink.Counter does, but for Grouping.Workloads.
	Count(context.Context, Kind, sink.Filter, sink.Grouping) iter.Seq2[sink.Group, error]
	// Answers are the answers to a question that are stored of sealed days from one day to before another, both as Name
	// writes them; those of one scope, or of AnyScope.
	Answers(ctx context.Context, question, scope, from, until string) iter.Seq2[Answer, error]
}

// AnyScope stands for all scopes: no text is stored that has a NUL byte.
const AnyScope = "\x00"

// Answer is the answer to a question of one day.
type Answer struct {
	Day             string
	Question, Scope string
	Content         []byte
}

// day is the unit of what is sealed.
const day = 24 * time.Hour

// The days that are ever sealed. Log times can be nonsense, and a day is sealed only where it may be worth it.
var first, last = time.Date(2014, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// Name is how a day is called in a database. Names sort as days do.
func Name(at time.Time) string { return at.UTC().Format(time.DateOnly) }

func parse(name string) (time.Time, error) { return time.Parse(time.DateOnly, name) }
