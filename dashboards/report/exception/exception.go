// Package exception holds what people have accepted for a time: workloads that a policy would stop, and that may stay as
// they are until a day. The apiserver knows no exceptions: they change no verdict.
package exception

import (
	"cmp"
	"time"
)

// Exception says that failures were accepted, by whom, why, and until when.
type Exception struct {
	// Binding and Cluster are empty for all.
	Policy, Binding, Cluster string
	// Namespace is empty for a workload that is in none.
	Namespace string
	// Kind and Name are those of the workload as reports list it; both are empty for the whole namespace.
	Kind, Name         string
	Reason, ApprovedBy string
	// Until is midnight (UTC) of the last day on which it holds.
	Until time.Time
	// Line is where it stands in its file.
	Line int
}

// Covers says whether it is about a workload, in force or not.
func (e *Exception) Covers(cluster, policy, binding, namespace, kind, name string) bool {
	return e.Policy == policy && (e.Binding == "" || e.Binding == binding) && (e.Cluster == "" || e.Cluster == cluster) &&
		e.Namespace == namespace && (e.Name == "" || e.Kind == kind && e.Name == name)
}

// Concerns says whether it can cover a workload of a cluster, policy and binding, each of which is empty for any.
func (e *Exception) Concerns(cluster, policy, binding string) bool {
	alike := func(mine, asked string) bool { return mine == "" || asked == "" || mine == asked }
	return alike(e.Policy, policy) && alike(e.Binding, binding) && alike(e.Cluster, cluster)
}

// Expired says whether it does not hold any more. It holds through the whole of its last day; without a time there is
// nothing that it could have expired by.
func (e *Exception) Expired(asOf time.Time) bool { return asOf.After(e.Until.AddDate(0, 0, 1)) }

// Best is the exception among several of one workload that is shown: one in force before one that has expired, one for the
// workload before one for its namespace, then the one that holds longest; of equals the first in the file.
func Best(a, b *Exception, asOf time.Time) *Exception {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	one := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	if cmp.Or(
		cmp.Compare(one(a.Expired(asOf)), one(b.Expired(asOf))), cmp.Compare(one(a.Name == ""), one(b.Name == "")),
		b.Until.Compare(a.Until), cmp.Compare(a.Line, b.Line),
	) <= 0 {
		return a
	}
	return b
}
