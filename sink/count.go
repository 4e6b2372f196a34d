package sink

import (
	"context"
	"iter"
	"time"
)

// Counter counts rows where they are: a page does not read a million of them to say how many there are.
type Counter interface {
	// CountFailures counts Failures. Groups come with the most requests first, then by their values.
	CountFailures(context.Context, Filter, Grouping) iter.Seq2[Group, error]
	// CountRollups adds up the counts of Rollups. Groups come with the highest count first, then by their values.
	CountRollups(context.Context, Filter, Grouping) iter.Seq2[Group, error]
}

// Grouping says which rows are counted together.
type Grouping struct {
	// By are columns of the views: rows that have all of them in common are one group. Two more are known for failures:
	// workload_kind and workload_name, which are the owner's, or the object's own where nothing owns it.
	By []string
	// Every is the width of the spans of time that are counted apart, in whole seconds; 0 for none. Groups come by their
	// span first then.
	Every time.Duration
	// New asks for Group.New too.
	New bool
	// Limit is how many groups are read at most; 0 for all.
	Limit int
	// Workloads: the workloads of each group of failures are counted, and its requests are not.
	Workloads bool
}

// Group is what rows that are counted together come to.
type Group struct {
	// Values are those of Grouping.By, as texts: true and false, a list with commas.
	Values []string
	// Span is when the span of time begins; zero where Grouping.Every is 0.
	Span time.Time
	// Count is the number of rows of Failures, or the sum of the counts of Rollups.
	Count int64
	// Requests are the admission requests among the rows; 0 for Rollups, and where workloads are counted. A request is told
	// apart by its cluster, its audit ID, its item and its time.
	Requests int64
	// New are those of Requests that do not only repeat; 0 where Grouping.New does not ask for it.
	New int64
	// Workloads are the workloads among the rows, where Grouping asks for them.
	Workloads int64
	// Sample is the least audit ID; empty for Rollups.
	Sample string
	// First and Last are the earliest and the latest time.
	First, Last time.Time
}
