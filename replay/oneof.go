package replay

import (
	"reflect"
	"slices"
)

// oneOf is the state of an object that was one of two: what they have in common is known, the rest is not.
func oneOf(a, b state) state {
	if a.deleted || b.deleted || a.Level == Missing || b.Level == Missing || a.uid != b.uid {
		return state{Object: missing(Changing)}
	}
	out := a
	out.Level = Presumed
	out.Unknown = append(slices.Clone(a.Unknown), b.Unknown...)
	for _, path := range differences(nil, a.Content, b.Content) {
		out.Unknown = append(out.Unknown, Unknown{Path: path, Because: Changing})
	}
	if a.rv != b.rv {
		out.rv = ""
	}
	return out
}

// differences are the shortest paths at which two objects differ. Lists differ as a whole.
func differences(at []string, a, b map[string]any) [][]string {
	var out [][]string
	for field, x := range a {
		path := append(slices.Clone(at), field)
		y, ok := b[field]
		if !ok {
			out = append(out, path)
			continue
		}
		if reflect.DeepEqual(x, y) {
			continue
		}
		inner, xMap := x.(map[string]any)
		other, yMap := y.(map[string]any)
		if xMap && yMap {
			out = append(out, differences(path, inner, other)...)
		} else {
			out = append(out, path)
		}
	}
	for field := range b {
		if _, ok := a[field]; !ok {
			out = append(out, append(slices.Clone(at), field))
		}
	}
	slices.SortFunc(out, slices.Compare)
	return out
}
