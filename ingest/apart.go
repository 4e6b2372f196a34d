package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxNesting is how many levels of arrays and objects jsontext reads; encoding/json, and so an apiserver, has the same
// limit.
const maxNesting = 10_000

// lenient reads what an apiserver would read.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// decodeApart decodes a value that the strict decoder refused: leniently for the bodies, strictly for the rest. It
// returns the event, or why there is none.
func decodeApart(data []byte, at Position) (*Event, *Skip) {
	if skip := checkSyntax(data, at); skip != nil {
		return nil, skip
	}
	if kind := jsontext.Value(data).Kind(); kind != '{' {
		return nil, skipped(NotAnEvent, at, "a JSON %s", kindNames[kind])
	}
	envelope, bodies, twice := takeBodies(data)
	// Where the kind cannot be read, the strict decoder below says why.
	var meta typeMeta
	err := jsonv2.Unmarshal(envelope, &meta, lenient)
	if err == nil && meta != (typeMeta{}) && !meta.isEvent() && !meta.isList() {
		return nil, meta.refuse(at)
	}
	if twice != "" {
		return nil, skipped(DuplicateKey, at, "key %q stands twice", twice)
	}
	ev := new(Event)
	if err := jsonv2.Unmarshal(envelope, ev); err != nil {
		return nil, explain(err, at)
	}
	ev.RequestObject, ev.ResponseObject = bodies[requestObject], bodies[responseObject]
	return ev, nil
}

var kindNames = map[jsontext.Kind]string{'[': "array", '"': "string", '0': "number", 't': "boolean", 'f': "boolean", 'n': "null"}

func checkSyntax(data []byte, at Position) *Skip {
	// Unmarshal finds the end of the value and what stands after it, where a decoder of a stream would not.
	var value skipping
	err := jsonv2.Unmarshal(data, &value, lenient)
	if err == nil {
		return nil
	}
	if deepest(data) > maxNesting {
		return skipped(TooDeep, at, "nested deeper than %d levels", maxNesting)
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return skipped(InvalidJSON, at, "no JSON from byte %d of %d on", syntax.ByteOffset, len(data))
	}
	return skipped(InvalidJSON, at, "no JSON in %d bytes", len(data))
}

// skipping passes over a value.
type skipping struct{}

func (skipping) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return dec.SkipValue() }

const (
	requestObject  = "requestObject"
	responseObject = "responseObject"
)

// takeBodies returns an object's text without the two bodies, copies of these, and a body that stands twice. The text
// is known to be an object.
func takeBodies(data []byte) (envelope []byte, bodies map[string]json.RawMessage, twice string) {
	dec := jsontext.NewDecoder(bytes.NewReader(data), lenient)
	_, _ = dec.ReadToken()
	envelope = append(envelope, '{')
	bodies = make(map[string]json.RawMessage)
	for dec.PeekKind() == '"' {
		name, _ := dec.ReadValue()
		name = bytes.Clone(name)
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		if key, ok := bodyKey(name); ok {
			if bodies[key] != nil {
				twice = key
			}
			bodies[key] = json.RawMessage(bytes.Clone(value))
			continue
		}
		if len(envelope) > 1 {
			envelope = append(envelope, ',')
		}
		envelope = append(append(append(envelope, name...), ':'), value...)
	}
	return append(envelope, '}'), bodies, twice
}

// bodyKey tells whether a quoted name is that of a body.
func bodyKey(quoted []byte) (string, bool) {
	name, err := jsontext.AppendUnquote(nil, quoted)
	key := string(name)
	return key, err == nil && (key == requestObject || key == responseObject)
}

// explain says why the strict decoder refused JSON that is well formed. It names fields of the audit API alone: what
// stands below them is the cluster's.
func explain(err error, at Position) *Skip {
	var semantic *jsonv2.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		return skipped(InvalidEvent, at, "field %q cannot be read as %s", topField(semantic.JSONPointer), semantic.GoType)
	case errors.Is(err, jsontext.ErrDuplicateName):
		errors.As(err, &syntax)
		return skipped(DuplicateKey, at, "a key stands twice, in field %q", topField(syntax.JSONPointer))
	case errors.As(err, &syntax):
		return skipped(InvalidUTF8, at, "a string that is no Unicode, in field %q", topField(syntax.JSONPointer))
	default:
		return skipped(InvalidEvent, at, "not as audit.k8s.io/v1 writes events")
	}
}

func topField(p jsontext.Pointer) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(string(p), "/"), "/")
	return shorten(first)
}
