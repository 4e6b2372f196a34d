package readiness

import (
	"cmp"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/daily"
)

// count is how many evaluations of one text came to one thing.
type count struct {
	policyHash, bindingHash   string
	result, evidence, because string
	team                      string
	first, last               time.Time
	n                         int64
}

type text struct {
	name
	policyHash, bindingHash string
}

// readCounts reads what matched, and what became of it.
func (r *reading) readCounts() {
	since := map[text]time.Time{}
	by := []string{"policy_hash", "binding_hash", "result", "evidence", "because"}
	if r.split {
		by = append(by, "team")
	}
	r.each(daily.Rollups, r.filter, by, func(one *sink.Readiness, values []string, g sink.Group) {
		c := count{values[0], values[1], values[2], values[3], values[4], "", g.First, g.Last, g.Count}
		if r.split {
			c.team = values[5]
		}
		c.addTo(one)
		// A text is not always known; what is unknown is no text of its own.
		if c.policyHash != "" && (one.Binding == "" || c.bindingHash != "") {
			t := text{name{one.Cluster, one.Policy, one.Binding, one.Namespace}, c.policyHash, c.bindingHash}
			if begun, known := since[t]; !known || c.first.Before(begun) {
				since[t] = c.first
			}
		}
	})
	for t, begun := range since {
		one := r.of(t.name)
		one.Texts++
		// Of two that began in the same minute, any will do, as long as it is always the same.
		if one.Texts == 1 || cmp.Or(begun.Compare(one.TextSince), cmp.Compare(t.policyHash, one.PolicyHash), cmp.Compare(t.bindingHash, one.BindingHash)) > 0 {
			one.TextSince, one.PolicyHash, one.BindingHash = begun, t.policyHash, t.bindingHash
		}
	}
}

func (c *count) addTo(one *sink.Readiness) {
	if one.Matched == 0 || c.first.Before(one.First) {
		one.First = c.first
	}
	// Of two teams in the same minute any will do, as long as it is always the same.
	if one.Matched == 0 || cmp.Or(c.last.Compare(one.Last), cmp.Compare(c.team, one.Team)) > 0 {
		one.Last, one.Team = c.last, c.team
	}
	one.Days = (one.Last.Sub(one.First) + time.Minute).Hours() / 24
	one.Matched += c.n
	switch {
	case c.result == "Unknown":
		one.Unknown += c.n
		if one.UnknownByReason == nil {
			one.UnknownByReason = map[string]int64{}
		}
		one.UnknownByReason[c.because] += c.n
	case c.evidence == "Exact":
		one.DecidedExact += c.n
	case c.evidence == "Presumed":
		one.DecidedPresumed += c.n
	default:
		one.DecidedOtherwise += c.n
	}
}
