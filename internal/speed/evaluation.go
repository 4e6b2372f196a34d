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
		results, err := benchmark(ctx, "./engine", "Evaluate", "", "300ms")
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
	return fewOfMany(ctx, t, count)
}

// fewOfMany compares what policies cost that match few or none of the requests with what those cost that do. Each run does
// as many rounds, since the first ones take longer.
func fewOfMany(ctx context.Context, t *table, count int) error {
	taken := map[string][]float64{}
	for range 3 * count {
		results, err := benchmark(ctx, "./engine", "Evaluate", "/(engine|upstream)/(5|200-of-which-5-match)$", "10000x")
		if err != nil {
			return err
		}
		for name, figures := range results {
			taken[name] = append(taken[name], figures["ns/op"])
		}
	}
	of := map[string]string{}
	for _, who := range []string{"engine", "upstream"} {
		few, many := taken[who+"/5"], taken[who+"/200-of-which-5-match"]
		if len(few) != 3*count || len(many) != 3*count {
			return fmt.Errorf("the benchmark of 5 policies printed %d and %d figures, not %d", len(few), len(many), 3*count)
		}
		of[who] = fmt.Sprintf("%.2f times", ratio(many, few))
	}
	t.add("200 policies of which 5 match, to 5 policies", of["engine"], "at most 1.2", of["upstream"])
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
