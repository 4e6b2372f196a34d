package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/sink"
)

// verdicts are the verdicts with the sign and the words for them, the one that weighs most first.
var verdicts = []struct {
	verdict    sink.ReadinessVerdict
	kind, word string
	means      string
}{
	{sink.Misconfigured, "misconfigured", "Misconfigured", "rejects requests today, whatever its actions are, or cannot be evaluated"},
	{sink.WouldBreak, "fail", "Would break", "enforcing would reject requests that were made"},
	{sink.NotEnoughEvidence, "unknown", "Not enough evidence", "nothing failed, but too little is known"},
	{sink.Ready, "ready", "Ready", "enough is known, and nothing failed"},
}

func weight(v sink.ReadinessVerdict) int {
	for i, known := range verdicts {
		if known.verdict == v {
			return i
		}
	}
	return -1
}

func verdictPill(r *sink.Readiness) *pill {
	if i := weight(r.Verdict); i >= 0 {
		return &pill{verdicts[i].word, verdicts[i].kind}
	}
	return &pill{string(r.Verdict), "unknown"}
}

// tile is a number with a word.
type tile struct{ Value, Word, Kind, Note, Link string }

func verdictTiles(all []sink.Readiness) (out []tile) {
	for i := range slices.Backward(verdicts) {
		v := verdicts[i]
		n := int64(0)
		for _, r := range all {
			if r.Verdict == v.verdict {
				n++
			}
		}
		t := tile{Value: number(n), Word: v.word, Kind: v.kind, Note: v.means}
		if n == 0 {
			t.Kind = "none"
		}
		out = append(out, t)
	}
	return out
}

func coverageBar(r *sink.Readiness) *bar {
	return newBar(r.Percent()+" of "+number(r.Matched), r.Matched,
		labelled{"ready", "decided, proven by the log", r.DecidedExact},
		labelled{"presumed", "decided, on the best reconstruction", r.DecidedPresumed},
		labelled{"presumed", "decided, whatever is missing", r.DecidedOtherwise},
		labelled{"unknown", "unknown", r.Unknown})
}

// readinessTable lists bindings, the ones that need somebody first.
func readinessTable(q *query, all []sink.Readiness, caption string) table {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b sink.Readiness) int {
		return cmp.Or(cmp.Compare(weight(a.Verdict), weight(b.Verdict)), -cmp.Compare(a.Workloads, b.Workloads), -cmp.Compare(a.WouldFail, b.WouldFail))
	})
	t := table{
		Caption: caption, Head: heads("Policy", "Verdict", "#Would stop", "#Workloads", "#Failing now", "Decided"),
		Empty: "No policy has been evaluated in this period. Choose a longer one above, or look at Sources to see whether events arrive.",
	}
	several := manyClusters(all)
	for i := range all {
		r := &all[i]
		policy := linked(r.Policy, q.link("policy", "cluster", r.Cluster, "policy", r.Policy))
		policy.Note = r.Binding
		if several {
			policy.Note = orNone(r.Cluster, "(unnamed cluster)") + " · " + r.Binding
		}
		decided := cell{Text: "nothing matched", Class: "quiet"}
		if r.Matched > 0 {
			decided = cell{Bar: coverageBar(r)}
		}
		now := count(r.FailingNow)
		if r.Healed > 0 {
			now.Note = number(r.Healed) + " healed"
		}
		would := count(r.WouldFail)
		if r.SystemActors > 0 {
			would.Note = "system users too"
		}
		t.Rows = append(t.Rows, []cell{policy, {Pill: verdictPill(r), Note: sentence(r)}, would, count(r.Workloads), now, decided})
	}
	return t
}

// sentence is what the verdict says beyond its word.
func sentence(r *sink.Readiness) string {
	switch {
	case r.Verdict == sink.WouldBreak:
		return fmt.Sprintf("%s in %s", several(r.Workloads, "workload", "workloads"), place(r))
	case r.Verdict == sink.Misconfigured && r.BlocksAnyway > 0:
		return several(r.BlocksAnyway, "request is", "requests are") + " blocked whatever the actions are"
	case r.Verdict == sink.Misconfigured:
		return several(r.ConfigErrors, "request", "requests") + " could not be evaluated"
	case r.Verdict == sink.NotEnoughEvidence:
		return strings.Join(r.Lacking, "; ")
	default:
		return "nothing failed in " + fmt.Sprintf("%.1f days", r.Days)
	}
}

func place(r *sink.Readiness) string {
	if r.Namespaces == 0 {
		return "no namespace (cluster-scoped)"
	}
	s := several(r.Namespaces, "namespace", "namespaces")
	if r.ClusterScoped > 0 {
		s += " and cluster-scoped"
	}
	return s
}

func manyClusters(all []sink.Readiness) bool {
	for i := range all {
		if all[i].Cluster != all[0].Cluster {
			return true
		}
	}
	return false
}
