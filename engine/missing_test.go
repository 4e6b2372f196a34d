package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/replay"
)

// TestMissing takes inputs away from requests: what is decided nevertheless has to be what is decided with all of them.
// Expressions are cheap here: what an operand that is not known would have cost cannot be told.
func TestMissing(t *testing.T) {
	t.Parallel()
	worlds := missingWorlds(t)
	rapid.Check(t, func(t *rapid.T) {
		policies, bindings := drawPolicies(t, cheap)
		e, err := engine.New(engine.Config{Minor: engine.NewestMinor, Policies: policies, Bindings: bindings})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			req := drawRequest(t, worlds[0])
			whole := e.Evaluate(req)
			for range 3 {
				less := drawLess(t, req, worlds)
				part := e.Evaluate(less)
				if diff := contradiction(whole, part); diff != "" {
					t.Fatalf("%s\nwhole: %s\npart: %s\nobject %v %v\noldObject %v %v\nrequest %v", diff, written(whole), written(part),
						less.Object.Level, less.Object.Unknown, less.OldObject.Level, less.OldObject.Unknown, less.Unknown)
				}
			}
		}
	})
}

// missingWorlds are the cluster, and the same without Namespaces, params or RBAC.
func missingWorlds(t *testing.T) []replay.View {
	var out []replay.View
	for _, gone := range []string{"", "Namespace", "ConfigMap", "ClusterRole"} {
		var objects []map[string]any
		for _, o := range generatedCluster {
			if o["kind"] != gone && (gone != "ClusterRole" || o["kind"] != "ClusterRoleBinding") {
				objects = append(objects, o)
			}
		}
		world, err := replayer(engine.NewestMinor, objects)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, world.View(moment, moment))
	}
	return out
}

// drawLess draws a request of which less is known than of the given one. What stands where nothing is known is noise.
func drawLess(t *rapid.T, req *replay.Request, worlds []replay.View) *replay.Request {
	less := *req
	if rapid.Bool().Draw(t, "another world") {
		less.View = rapid.SampledFrom(worlds).Draw(t, "world")
	}
	less.Object = drawLessObject(t, req.Object)
	less.OldObject = drawLessObject(t, req.OldObject)
	for _, path := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"name", "dryRun", "operation"}), 0, 2, rapid.ID[string]).Draw(t, "unknown of request") {
		less.Unknown = append(less.Unknown, replay.Unknown{Path: []string{path}, Because: replay.NoBody})
		if path == "name" {
			less.Name = ""
		}
	}
	return &less
}

func drawLessObject(t *rapid.T, o replay.Object) replay.Object {
	switch rapid.IntRange(0, 2).Draw(t, "what is known") {
	case 0:
		return o
	case 1:
		return replay.Object{Evidence: replay.Evidence{Level: replay.Missing, Because: replay.NoHistory}}
	}
	if o.Content == nil {
		return o
	}
	paths := [][]string{
		{"metadata", "labels"}, {"metadata", "labels", "a"}, {"metadata", "labels", "k"}, {"metadata", "managedFields"},
		{"spec"}, {"spec", "replicas"}, {"spec", "list"}, {"metadata", "name"},
	}
	for range rapid.IntRange(1, 2).Draw(t, "unknown paths") {
		path := rapid.SampledFrom(paths).Draw(t, "path")
		o.Unknown = append(slices.Clone(o.Unknown), replay.Unknown{Path: path, Because: replay.NoResponseBody})
		if rapid.Bool().Draw(t, "left out") {
			o.Content = leaveOut(o.Content, path)
		}
	}
	return o
}

// leaveOut is a copy of an object without what a path leads to. It empties no map: an empty one counts as absent where
// objects are Go structs.
func leaveOut(content map[string]any, path []string) map[string]any {
	out := maps.Clone(content)
	if len(path) == 1 && len(content) > 1 {
		delete(out, path[0])
	} else if len(path) == 1 {
		return out
	} else if below, ok := out[path[0]].(map[string]any); ok {
		out[path[0]] = leaveOut(below, path[1:])
	}
	return out
}

// contradiction says in what a decision on less is decided, and decided otherwise.
func contradiction(whole, part engine.Decision) string {
	for _, w := range whole.Evaluations {
		if p, found := same(part, w); !found {
			return fmt.Sprintf("%s: is evaluated, and is not with less", subject(w))
		} else if diff := contradicts(w, p); diff != "" {
			return fmt.Sprintf("%s: %s", subject(w), diff)
		}
	}
	for _, p := range part.Evaluations {
		if _, found := same(whole, p); !found && !undecided(p) {
			return fmt.Sprintf("%s: is not evaluated, and is with less", subject(p))
		}
	}
	for key, value := range part.Annotations {
		if key != engine.FailureAnnotation && whole.Annotations[key] != value {
			return fmt.Sprintf("annotation %s is %q, and %q with less", key, whole.Annotations[key], value)
		}
	}
	return ""
}

// same finds an evaluation, or an undecided one of its binding that stands for it.
func same(d engine.Decision, e engine.Evaluation) (engine.Evaluation, bool) {
	for _, o := range d.Evaluations {
		if o.Policy == e.Policy && (o.Binding == e.Binding || undecided(o) && e.Binding == "") && (undecided(o) || gocmp.Equal(o.Params, e.Params)) {
			return o, true
		}
	}
	return engine.Evaluation{}, false
}

// undecided: it is not known whether the evaluation took place.
func undecided(e engine.Evaluation) bool {
	return e.Result == engine.Unknown && len(e.Unknown) > 0 && len(e.Verdicts) == 0
}

func contradicts(whole, part engine.Evaluation) string {
	if undecided(part) {
		return ""
	}
	if whole.ConfigError != part.ConfigError || (whole.Result == engine.Skipped) != (part.Result == engine.Skipped) {
		return fmt.Sprintf("is %s %s, and %s %s with less", whole.Result, whole.ConfigError, part.Result, part.ConfigError)
	}
	for i := range 40 {
		w, p := verdictAt(whole, i), verdictAt(part, i)
		if w.Repeats {
			w.Repeats = p.Repeats // With less known, less is claimed.
		}
		if p.Result != engine.Unknown && !gocmp.Equal(w, p) {
			return fmt.Sprintf("verdict %d contradicts (-whole +less):\n%s", i, gocmp.Diff(w, p))
		}
	}
	if len(part.Unknown) == 0 && whole.AnnotationError != part.AnnotationError {
		return fmt.Sprintf("annotation error is %q, and %q with less", whole.AnnotationError, part.AnnotationError)
	}
	if part.BlocksAnyway && !whole.BlocksAnyway {
		return "blocks anyway with less only"
	}
	return ""
}

func verdictAt(e engine.Evaluation, i int) engine.Verdict {
	for _, v := range e.Verdicts {
		if v.ExpressionIndex == i {
			return v
		}
	}
	return engine.Verdict{ExpressionIndex: i, Result: engine.Pass}
}
