package engine_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/engine"
)

// TestHighestCosts: what a policy has cost is what the apiserver's budget was charged with, also where the result was
// remembered, and the whole budget where that ran out.
func TestHighestCosts(t *testing.T) {
	e, _ := hashed(t, "ConfigMap", limits)
	// params.metadata.name takes three steps, and the comparison one.
	if diff := cmp.Diff(map[string]int64{"p": 4}, e.HighestCosts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	data, err := os.ReadFile("testdata/cost-budget.txtar")
	if err != nil {
		t.Fatal(err)
	}
	f, err := readRules(data)
	if err != nil {
		t.Fatal(err)
	}
	world, err := f.world()
	if err != nil {
		t.Fatal(err)
	}
	e, err = engine.New(engine.Config{Minor: f.minor, Policies: f.policies, Bindings: f.bindings})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.requests {
		req, err := r.request.build(world)
		if err != nil {
			t.Fatal(err)
		}
		e.Evaluate(req)
	}
	exhausted := false
	for _, cost := range e.HighestCosts() {
		exhausted = exhausted || cost == engine.CostBudget
	}
	if !exhausted {
		t.Errorf("no policy has used up its budget: %v", e.HighestCosts())
	}
}
