package engine_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/replay"
)

// TestRemembered changes recorded requests a little, over and over, so that most of what policies read is as it was in
// another: what an Engine remembers must be what it would come to anew.
func TestRemembered(t *testing.T) {
	// What an Unknown hangs on is never remembered, and where it hangs on several things, any of them may be named.
	options := gocmp.Options{
		cmpopts.IgnoreUnexported(engine.Evaluation{}), cmpopts.IgnoreFields(engine.Evaluation{}, "Unknown"), cmpopts.IgnoreFields(engine.Verdict{}, "Unknown"),
	}
	for version, minor := range map[string]int{"v1.36.3": 36, "v1.37.1": 37} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := readRecording(t, version, minor)
			e := r.engine(t)
			random := rand.New(rand.NewPCG(1, uint64(minor)))
			for i := 0; i < len(r.requests); i++ {
				req := r.request(t, i)
				for n := range 8 {
					changed := *req
					if n > 1 { // The first two are alike.
						changed.Object = changedObject(random, req.Object)
						changed.OldObject = changedObject(random, req.OldObject)
						changed.Name = []string{req.Name, "another"}[random.IntN(2)]
						changed.User.Username = []string{req.User.Username, "another"}[random.IntN(2)]
					}
					got, want := e.Evaluate(&changed), e.EvaluateAfresh(&changed)
					if diff := gocmp.Diff(want, got, options); diff != "" {
						t.Fatalf("request %d: not as evaluated anew (-anew +remembered):\n%s", i, diff)
					}
					if random.IntN(2) == 0 { // Next time it hangs on the expressions alone.
						e.ForgetEvaluations()
					}
				}
			}
		})
	}
}

// changedObject is a copy of an object in which one or two values are missing, emptied or replaced, or not known.
func changedObject(random *rand.Rand, o replay.Object) replay.Object {
	if o.Content == nil {
		return o
	}
	content := o.Content
	var unknown []replay.Unknown
	for range random.IntN(3) {
		var path []string
		content, path = changedMap(random, content)
		if random.IntN(4) == 0 && len(path) > 0 {
			unknown = append(unknown, replay.Unknown{Path: path, Because: replay.NotStored})
		}
	}
	o.Content, o.Unknown = content, unknown
	return o
}

// changedMap returns a copy with a change somewhere, and the way to it as far as it leads through maps.
func changedMap(random *rand.Rand, m map[string]any) (map[string]any, []string) {
	keys := slices.Sorted(maps.Keys(m))
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "apiVersion" || k == "kind" })
	out := maps.Clone(m)
	if len(keys) == 0 {
		return out, nil
	}
	key := keys[random.IntN(len(keys))]
	if inner, ok := m[key].(map[string]any); ok && random.IntN(5) > 0 {
		changed, path := changedMap(random, inner)
		out[key] = changed
		return out, append([]string{key}, path...)
	}
	switch random.IntN(4) {
	case 0:
		delete(out, key)
	case 1:
		out[key] = nil
	default:
		out[key] = otherValue(random, m[key])
	}
	return out, []string{key}
}

func otherValue(random *rand.Rand, v any) any {
	switch v := v.(type) {
	case string:
		return []any{"", v + "x", int64(1)}[random.IntN(3)]
	case int64:
		return []any{int64(0), v + 1, "1"}[random.IntN(3)]
	case bool:
		return !v
	case map[string]any:
		return map[string]any{}
	case []any:
		if len(v) > 0 && random.IntN(2) == 0 {
			return v[1:]
		}
		return []any{}
	}
	return nil
}
