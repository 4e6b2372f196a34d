package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/json"
)

// reader reads the documents of one file.
type reader struct {
	file     string
	yield    func(Object) error
	problems []Problem
	// at is the document that is being read.
	at Position
}

func (r *reader) problem(at Position, err error) {
	r.problems = append(r.problems, Problem{at, err})
}

// read yields the objects of a file's text. Its error is one of yield's.
func (r *reader) read(text []byte) error {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		r.problem(Position{File: r.file}, errors.New("it is UTF-16, as PowerShell's > writes: save it as UTF-8"))
		return nil
	}
	for d := range documents(text) {
		if err := r.document(d); err != nil {
			return err
		}
	}
	return nil
}

// next moves on to the document that begins at a line.
func (r *reader) next(line int) {
	r.at = Position{File: r.file, Document: r.at.Document + 1, Line: line}
}

func (r *reader) document(d document) error {
	if begin := bytes.TrimSpace(d.text); len(begin) > 0 && begin[0] == '{' {
		return r.jsonDocument(d)
	}
	r.next(d.line)
	return r.yamlDocument(d)
}

// decodeOptions let through what an apiserver lets through.
var decodeOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// jsonDocument reads JSON values that follow each other. What looks like JSON but is not may still be YAML.
func (r *reader) jsonDocument(d document) error {
	values := jsontext.NewDecoder(bytes.NewBuffer(d.text), decodeOptions...)
	for n := 0; ; n++ {
		end := int(values.InputOffset())
		value, err := values.ReadValue()
		if errors.Is(err, io.EOF) {
			return nil
		}
		begin := end + len(d.text[end:]) - len(bytes.TrimLeft(d.text[end:], " \t\r\n"))
		r.next(d.first + bytes.Count(d.text[:begin], []byte("\n")))
		if err != nil && n == 0 {
			if _, _, yamlErr := toJSON(d); yamlErr == nil {
				return r.yamlDocument(d)
			}
		}
		if err != nil {
			r.problem(r.at, jsonError(d, err))
			return nil
		}
		if err := r.value(value, 0); err != nil {
			return err
		}
	}
}

// jsonError names the line of a syntax error.
func jsonError(d document, err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return err
	}
	before := d.text[:min(int(syntax.ByteOffset), len(d.text))]
	return fmt.Errorf("invalid JSON in line %d: %w", d.first+bytes.Count(before, []byte("\n")), syntax.Err)
}

// value reads one JSON value: an object, or a list of them, whose items are decoded one by one. The first items are left
// out if they were read before.
func (r *reader) value(value jsontext.Value, read int) error {
	h, err := scan(value)
	if err != nil {
		r.problem(r.at, err)
		return nil
	}
	if !h.isList() {
		content, ok := r.decode(r.at, value)
		if !ok {
			return nil
		}
		return r.object(content, "", "")
	}
	for _, name := range h.duplicates {
		r.problem(r.at, fmt.Errorf("%w: %s", ErrDuplicateKey, name))
	}
	if h.items.Kind() != '[' {
		return nil
	}
	items := jsontext.NewDecoder(bytes.NewBuffer(h.items), decodeOptions...)
	if _, err := items.ReadToken(); err != nil {
		r.problem(r.at, err)
		return nil
	}
	for n := 0; items.PeekKind() != ']'; n++ {
		item, err := items.ReadValue()
		if err != nil {
			r.problem(r.at, err)
			return nil
		}
		r.at.Item++
		if n < read {
			continue
		}
		content, ok := r.decode(r.at, item)
		if !ok {
			continue
		}
		if err := r.object(content, h.apiVersion, strings.TrimSuffix(h.kind, "List")); err != nil {
			return err
		}
	}
	return nil
}

// decode decodes an object as Kubernetes does.
func (r *reader) decode(at Position, value jsontext.Value) (map[string]any, bool) {
	if kind := value.Kind(); kind != '{' {
		r.problem(at, fmt.Errorf("%w: it is a JSON %s", ErrNotObject, kindName(kind)))
		return nil, false
	}
	var content map[string]any
	duplicates, err := json.UnmarshalStrict(value, &content, json.DisallowDuplicateFields)
	if err != nil {
		r.problem(at, err)
		return nil, false
	}
	for _, duplicate := range duplicates {
		field := strings.TrimPrefix(duplicate.Error(), "duplicate field ")
		r.problem(at, fmt.Errorf("%w: %s", ErrDuplicateKey, strings.Trim(field, `"`)))
	}
	return content, true
}

// object yields an object, or the items of a list within a list. The apiVersion and kind given are those that the list
// says of an item; items of a plain List must say their own.
func (r *reader) object(content map[string]any, apiVersion, kind string) error {
	apiVersion, kind = typeMeta(content, "apiVersion", apiVersion), typeMeta(content, "kind", kind)
	if apiVersion == "" || kind == "" {
		r.problem(r.at, fmt.Errorf("%w: it has no apiVersion or no kind", ErrNotObject))
		return nil
	}
	items, isList := content["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		content["apiVersion"], content["kind"] = apiVersion, kind
		return r.yield(Object{APIVersion: apiVersion, Kind: kind, Content: content, At: r.at})
	}
	for i, item := range items {
		if i > 0 {
			r.at.Item++
		}
		content, ok := item.(map[string]any)
		if !ok {
			r.problem(r.at, fmt.Errorf("%w: the item is no mapping", ErrNotObject))
			continue
		}
		if err := r.object(content, apiVersion, strings.TrimSuffix(kind, "List")); err != nil {
			return err
		}
	}
	return nil
}

// typeMeta is what an object says itself, or else what its list says of it.
func typeMeta(content map[string]any, field, ofList string) string {
	if own, ok := content[field].(string); ok && own != "" {
		return own
	}
	return ofList
}
