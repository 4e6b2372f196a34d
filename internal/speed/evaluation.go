package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// evaluation compares the engine with the apiserver's dispatcher on recorded requests, by the benchmark beside it.
func evaluation(ctx context.Context, t *table, count int) error {
	taken := map[string][]float64{}
	for range count {
		// One run takes each figure once, so that what the machine is doing meanwhile is shared.
		results, err := benchmark(ctx, "./engine", "Evaluate", "300ms")
		if err != nil {
			return err
		}
		for name, figures := range results {
			taken[name] = append(taken[name], figures["ns/op"])
		}
	}
	for _, set := range []struct{ name, target string }{{"1", ""}, {"10", ""}, {"50", "5 times as fast"}, {"200", ""}, {"200-of-which-5-match", ""}} {
		ours, theirs, anew := taken["engine/"+set.name], taken["upstream/"+set.name], taken["anew/"+set.name]
		if len(ours) != count || len(theirs) != count || len(anew) != count {
			return fmt.Errorf("the benchmark of %s policies printed %d, %d and %d figures, not %d", set.name, len(ours), len(theirs), len(anew), count)
		}
		name := strings.ReplaceAll(set.name, "-", " ") + " policies, a request"
		t.add(name, fmt.Sprintf("%.0f µs, %.1f times as fast", middle(ours)/1e3, ratio(theirs, ours)), set.target, fmt.Sprintf("%.0f µs", middle(theirs)/1e3))
		t.add(name+", nothing remembered", fmt.Sprintf("%.0f µs, %.1f times as fast", middle(anew)/1e3, ratio(theirs, anew)), "", "")
	}
	t.add("200 policies of which 5 match, to 5 policies", fmt.Sprintf("%.2f times", ratio(taken["engine/200-of-which-5-match"], taken["engine/5"])), "at most 1.2",
		fmt.Sprintf("%.2f times", ratio(taken["upstream/200-of-which-5-match"], taken["upstream/5"])))
	return nil
}

// ratio is the middle one of the ratios run by run.
func ratio(a, b []float64) float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return middle(out)
}

func middle[T cmp.Ordered](list []T) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
