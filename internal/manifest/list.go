package manifest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// head is what the top of a JSON object says of the rest of it.
type head struct {
	apiVersion, kind string
	// items are the raw items, or null; nil where there is no field of that name, or it is no array.
	items      jsontext.Value
	duplicates []string
}

// isList says whether an object stands for its items. A kind of its own may have a field that is called items, so the
// kind decides too.
func (h head) isList() bool { return h.items != nil && strings.HasSuffix(h.kind, "List") }

// scan looks through the top of a JSON object without decoding what is in it: a list can be large, and what is no
// Kubernetes object need not be decoded.
func scan(value jsontext.Value) (head, error) {
	var h head
	if kind := value.Kind(); kind != '{' {
		return h, fmt.Errorf("%w: it is a JSON %s", ErrNotObject, kindName(kind))
	}
	fields := jsontext.NewDecoder(bytes.NewBuffer(value), decodeOptions...)
	if _, err := fields.ReadToken(); err != nil {
		return h, err
	}
	seen := map[string]bool{}
	for fields.PeekKind() != '}' {
		token, err := fields.ReadToken()
		if err != nil {
			return h, err
		}
		name := token.String()
		if seen[name] {
			h.duplicates = append(h.duplicates, name)
		}
		seen[name] = true
		field, err := fields.ReadValue()
		if err != nil {
			return h, err
		}
		switch name {
		case "apiVersion":
			h.apiVersion = stringOf(field)
		case "kind":
			h.kind = stringOf(field)
		case "items":
			h.items = nil
			if kind := field.Kind(); kind == '[' || kind == 'n' {
				end := int(fields.InputOffset())
				h.items = value[end-len(field) : end]
			}
		}
	}
	if h.apiVersion == "" || h.kind == "" {
		return h, fmt.Errorf("%w: it has no apiVersion or no kind", ErrNotObject)
	}
	return h, nil
}

// stringOf is the value of a JSON string, and empty for any other value.
func stringOf(value jsontext.Value) string {
	if value.Kind() != '"' {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	default:
		return kind.String()
	}
}
