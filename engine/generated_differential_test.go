package engine_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/engine"
)

// TestGenerated holds the engine to the apiserver's own code on policies and requests that nobody thought of.
func TestGenerated(t *testing.T) {
	t.Parallel()
	testGenerated(t, anyCost)
}

// TestGeneratedBudgets does so with expressions of which some twenty spend the cost budget.
func TestGeneratedBudgets(t *testing.T) {
	t.Parallel()
	testGenerated(t, spendsBudget)
}

func testGenerated(t *testing.T, cost costs) {
	world, err := replayer(engine.NewestMinor, generatedCluster)
	if err != nil {
		t.Fatal(err)
	}
	view := world.View(moment, moment)
	c, err := newCluster(engine.NewestMinor, generatedCluster, view.Resources())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		policies, bindings := drawPolicies(t, cost)
		e, err := engine.New(engine.Config{Minor: engine.NewestMinor, Policies: policies, Bindings: bindings})
		if err != nil {
			t.Fatal(err)
		}
		u, err := newUpstream(engine.NewestMinor, policies, bindings, c)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			req := drawRequest(t, view)
			if diff := u.differs(req, e.Evaluate(req)); diff != "" {
				t.Fatal(diff)
			}
			e.ForgetEvaluations()
			if diff := u.differs(req, e.Evaluate(req)); diff != "" {
				t.Fatal("with what is remembered of the expressions: ", diff)
			}
		}
	})
}
