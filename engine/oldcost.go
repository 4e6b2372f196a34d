package engine

import (
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/library"
)

// oldCosts are what apiservers before 1.37 charge for calls. They charged startsWith and endsWith by the string and not
// by its prefix, and nothing but the call for matches as a function.
type oldCosts struct{ library.CostEstimator }

// CallCost implements interpreter.ActualCostEstimator.
func (c *oldCosts) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	var cost uint64
	switch overload {
	case overloads.StartsWithString, overloads.EndsWithString:
		cost = uint64(math.Ceil(float64(chargedSize(args[0])) * common.StringTraversalCostFactor))
	case overloads.Matches:
		cost = 1
	default:
		return c.CostEstimator.CallCost(function, overload, args, result)
	}
	return &cost
}

func chargedSize(v ref.Val) int64 {
	if sizer, ok := v.(traits.Sizer); ok {
		if n, ok := sizer.Size().(types.Int); ok {
			return int64(n)
		}
	}
	return 1
}

// oldCostLibrary makes the programs of an environment charge as before 1.37.
type oldCostLibrary struct{}

// CompileOptions implements cel.Library.
func (oldCostLibrary) CompileOptions() []cel.EnvOption { return nil }

// ProgramOptions implements cel.Library.
func (oldCostLibrary) ProgramOptions() []cel.ProgramOption {
	return []cel.ProgramOption{cel.CostTracking(&oldCosts{})}
}
