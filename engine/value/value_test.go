package value_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/vapshadow/vapshadow/engine/value"
)

var compiler = plugincel.NewCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, 37)))

// expression is one that the apiserver's compiler compiles.
type expression string

func (e expression) GetExpression() string { return string(e) }

func (e expression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType} }

// compile returns nil for an expression that the apiserver refuses.
func compile(source string) cel.Program {
	declared := plugincel.OptionalVariableDeclarations{HasParams: true}
	result := compiler.CompileCELExpression(expression(source), declared, environment.StoredExpressions)
	if result.Error != nil {
		return nil
	}
	return result.Program
}

var programs = map[string]cel.Program{}

// compiled compiles an expression once.
func compiled(source string) cel.Program {
	if _, ok := programs[source]; !ok {
		programs[source] = compile(source)
	}
	return programs[source]
}

// testingT is what tests have in common with property tests.
type testingT interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// outcome is all that an evaluation shows.
type outcome struct {
	Value, Err string
	Cost       uint64
}

func evaluate(tb testingT, program cel.Program, variables map[string]any) outcome {
	tb.Helper()
	result, details, err := program.Eval(variables)
	out := outcome{Value: render(result)}
	if trail, ok := value.UnknowableTrail(err); ok {
		return outcome{Value: trail}
	}
	if err != nil {
		out = outcome{Err: value.Message(err.Error())}
	}
	if details == nil || details.ActualCost() == nil {
		tb.Fatal("The evaluation was not charged.")
	}
	out.Cost = *details.ActualCost()
	return out
}

// render writes a value down with the types of its scalars. Lists keep their order, and maps have none.
func render(v ref.Val) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case *types.Err:
		return "error: " + v.String()
	case *types.Optional:
		if !v.HasValue() {
			return "optional"
		}
		return "optional " + render(v.GetValue())
	case traits.Lister:
		var elems []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			elems = append(elems, render(it.Next()))
		}
		return fmt.Sprintf("list of %v [%s]", v.Size(), strings.Join(elems, ", "))
	case traits.Mapper:
		var entries []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			entries = append(entries, render(key)+": "+render(v.Get(key)))
		}
		slices.Sort(entries)
		return fmt.Sprintf("map of %v {%s}", v.Size(), strings.Join(entries, ", "))
	default:
		return fmt.Sprintf("%s %v", v.Type().TypeName(), v.Value())
	}
}

// attempts is how often an evaluation of the apiserver's is repeated before its outcome is taken for certain: the order
// of Go maps is random, but not all orders come up.
const attempts = 300

// compare holds an outcome against those of the apiserver's views. Where these differ from one evaluation to the next,
// the result must be one of theirs up to its order; the cost may be another one.
func compare(tb testingT, source string, program cel.Program, ours, theirs map[string]any) {
	tb.Helper()
	got := evaluate(tb, program, ours)
	want := evaluate(tb, program, theirs)
	if got == want || strings.Contains(got.Value, value.RoundedTimes) {
		return // What hangs on rounded times is unknown here and decided there: TestRoundedTimes.
	}
	among, costs := false, map[uint64]bool{want.Cost: true}
	varies := false
	for range attempts {
		next := evaluate(tb, program, theirs)
		if got == next {
			return
		}
		varies = varies || next != want
		costs[next.Cost] = true
		among = among || shuffled(got.Value) == shuffled(next.Value) && shuffled(got.Err) == shuffled(next.Err)
	}
	if varies && among && (costs[got.Cost] || len(costs) > 1) {
		return
	}
	tb.Errorf("%s (-apiserver +vapshadow):\n%s", source, cmp.Diff(want, got))
}

// shuffled forgets in what order a text was put together.
func shuffled(s string) string {
	letters := strings.Split(s, "")
	slices.Sort(letters)
	return strings.Join(letters, "")
}

// expressions are the programs of testdata/expressions.txt, by their sources.
func expressions(tb testing.TB) map[string]cel.Program {
	tb.Helper()
	data, err := os.ReadFile("testdata/expressions.txt")
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]cel.Program{}
	for source := range strings.Lines(string(data)) {
		source = strings.TrimSpace(source)
		if all[source] = compiled(source); all[source] == nil {
			tb.Fatalf("%s does not compile.", source)
		}
	}
	return all
}
