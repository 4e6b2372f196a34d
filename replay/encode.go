package replay

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// appendJSON writes a decoded JSON value so that decodeBody reads the same back: a whole number that was a float
// remains one, which encoding/json would not see to.
func appendJSON(out []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case int64:
		return strconv.AppendInt(out, v, 10)
	case float64:
		from := len(out)
		out = strconv.AppendFloat(out, v, 'g', -1, 64)
		if !bytes.ContainsAny(out[from:], ".e") {
			out = append(out, ".0"...)
		}
		return out
	case string:
		return appendText(out, v)
	case []any:
		out = append(out, '[')
		for i, element := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSON(out, element)
		}
		return append(out, ']')
	case map[string]any:
		return appendMap(out, v)
	default:
		return appendOther(out, v)
	}
}

// appendMap writes the fields in the order of their names, so that the same object is always the same text.
func appendMap(out []byte, v map[string]any) []byte {
	out = append(out, '{')
	first := true
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(appendText(out, key), ':')
		out = appendJSON(out, v[key])
	}
	return append(out, '}')
}

func appendText(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendOther(out, s)
		}
	}
	out = append(out, '"')
	out = append(out, s...)
	return append(out, '"')
}

// appendOther writes what needs escapes, or what no decoder of ours makes.
func appendOther(out []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return append(out, "null"...)
	}
	return append(out, text...)
}
