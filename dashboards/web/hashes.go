package web

import (
	"context"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// hashesTable compares the texts that a policy and its binding had: shares, since the times differ.
func hashesTable(ctx context.Context, r Reader, _ *query, f sink.Filter) (table, error) {
	t := table{
		Caption: "Before and after each change of its text, the latest first", Head: heads("Policy", "Binding", "From (UTC)", "To (UTC)", "#Evaluations", "Passed, failed, unknown"),
		Empty: "Nothing was evaluated in this period.",
	}
	found, err := collect(r.CountRollups(ctx, f, sink.Grouping{By: []string{"policy_hash", "binding", "binding_hash", "result"}, Limit: maxReasons}))
	if err != nil {
		return t, err
	}
	type text struct {
		policy, binding, bindingHash string
		first, last                  time.Time
		results                      map[string]int64
		all                          int64
	}
	var texts []*text
	for _, g := range found {
		i := slices.IndexFunc(texts, func(t *text) bool {
			return t.policy == g.Values[0] && t.binding == g.Values[1] && t.bindingHash == g.Values[2]
		})
		if i < 0 {
			i = len(texts)
			texts = append(texts, &text{g.Values[0], g.Values[1], g.Values[2], g.First, g.Last, map[string]int64{}, 0})
		}
		one := texts[i]
		one.results[g.Values[3]] += g.Count
		one.all += g.Count
		if g.First.Before(one.first) {
			one.first = g.First
		}
		if g.Last.After(one.last) {
			one.last = g.Last
		}
	}
	slices.SortStableFunc(texts, func(a, b *text) int { return b.first.Compare(a.first) })
	for _, one := range texts {
		failed := one.results["Fail"] + one.results["Error"]
		t.Rows = append(t.Rows, []cell{
			{Text: orNone(short(one.policy, 13), "(not known)"), Class: "code"},
			{Text: orNone(one.binding, "(none)"), Note: short(one.bindingHash, 13)},
			when(one.first), when(one.last), count(one.all),
			{Bar: newBar(percent(failed, one.all)+" failed", one.all,
				labelled{"ready", "passed", one.results["Pass"] + one.results["Skipped"]}, labelled{"fail", "failed, or an error", failed},
				labelled{"unknown", "unknown", one.results["Unknown"]})},
		})
	}
	t.cutTop("texts")
	return t, nil
}
