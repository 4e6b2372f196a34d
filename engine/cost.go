package engine

import celconfig "k8s.io/apiserver/pkg/apis/cel"

// CostBudget is what the validations of one evaluation may cost: beyond it the apiserver gives up with an error.
// https://kubernetes.io/docs/reference/using-api/cel/#resource-constraints
const CostBudget = celconfig.RuntimeCELCostBudget

// cost notes what the validations of an evaluation have cost.
func (c *compiled) cost(spent int64) {
	for {
		highest := c.highestCost.Load()
		if spent <= highest || c.highestCost.CompareAndSwap(highest, spent) {
			return
		}
	}
}

// HighestCosts has the most that the validations of one evaluation have cost so far, by policy, as the apiserver counts
// it. A result that is remembered had the same cost when it was evaluated.
func (e *Engine) HighestCosts() map[string]int64 {
	out := make(map[string]int64, len(e.policies))
	for _, c := range e.policies {
		out[c.policy.Name] = c.highestCost.Load()
	}
	return out
}
