package replay

import (
	"encoding/json"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// operationOfPatch is one operation of a JSON patch. https://www.rfc-editor.org/rfc/rfc6902
type operationOfPatch struct {
	Op   string `json:"op"`
	Path string `json:"path"`
	From string `json:"from"`
}

// applyJSONPatch applies a JSON patch to an object of which parts may not be known. It fails where the patch does not fit.
func applyJSONPatch(old Object, raw json.RawMessage) (Object, bool) {
	var texts []json.RawMessage
	if json.Unmarshal(raw, &texts) != nil {
		return Object{}, false
	}
	out := old
	var fit []json.RawMessage
	for _, text := range texts {
		var op operationOfPatch
		if json.Unmarshal(text, &op) != nil {
			return Object{}, false
		}
		path := pointer(op.Path)
		hidden := covers(out.Unknown, path...)
		switch {
		case op.Op == "test" && (hidden || holds(out.Unknown, path)):
			// It held, or the request had failed; of what is not known that tells too little.
		case op.Op == "move" || op.Op == "copy":
			from := pointer(op.From)
			if covers(out.Unknown, from...) || holds(out.Unknown, from) || hidden {
				return Object{}, false
			}
			fit = append(fit, text)
		case hidden && (op.Op == "remove" || within(out.Unknown, path)):
			// Within a part that is not known, which stays so.
		default:
			out.Unknown = rewritten(out.Unknown, path, op.Op)
			fit = append(fit, text)
		}
	}
	content, ok := runJSONPatch(old.Content, fit)
	out.Content = content
	return out, ok
}

// holds says whether a part that is not known lies within a path.
func holds(unknown []Unknown, path []string) bool {
	return slices.ContainsFunc(unknown, func(u Unknown) bool { return matchesPath(path, u.Path) })
}

// within says whether a path lies below a part that is not known.
func within(unknown []Unknown, path []string) bool {
	return slices.ContainsFunc(unknown, func(u Unknown) bool { return len(u.Path) < len(path) && matchesPath(u.Path, path) })
}

// rewritten are the parts that are not known after an operation: those that it does not write as a whole.
func rewritten(unknown []Unknown, path []string, op string) []Unknown {
	var out []Unknown
	for _, u := range unknown {
		if op == "remove" || len(u.Path) < len(path) || !slices.Equal(u.Path[:len(path)], path) {
			out = append(out, u)
		}
	}
	return out
}

func runJSONPatch(content map[string]any, operations []json.RawMessage) (map[string]any, bool) {
	if len(operations) == 0 {
		return content, true
	}
	text, err := json.Marshal(operations)
	if err != nil {
		return nil, false
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, false
	}
	before, err := json.Marshal(content)
	if err != nil {
		return nil, false
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, false
	}
	out := decodeBody(after)
	return out, out != nil
}

// pointer reads a JSON pointer. https://www.rfc-editor.org/rfc/rfc6901
func pointer(text string) []string {
	if text == "" {
		return nil
	}
	fields := strings.Split(strings.TrimPrefix(text, "/"), "/")
	for i, field := range fields {
		fields[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(field)
	}
	return fields
}
