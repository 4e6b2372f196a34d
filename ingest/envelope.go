package ingest

import (
	"errors"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// envelope is an array, an EventList, or another object that holds events in an array.
type envelope struct {
	at   Position
	list bool
	// head is a list's text up to its items, meta what this says of its kind: nothing, where the kind stands behind
	// the items, or where the list is none of Kubernetes.
	head []byte
	meta typeMeta
}

func openList(head []byte, at Position) envelope {
	return envelope{at: at, list: true, head: slices.Clone(head), meta: listMeta(head)}
}

// opensList tells whether an object is a list of events, as far as the text before its items says. What holds events
// under another name than items is no object of Kubernetes.
func opensList(head []byte, items bool) bool {
	meta := listMeta(head)
	return meta == typeMeta{} || items && (meta.Kind == "" || meta.Kind == listKind)
}

// listMeta is what the text before the items says of the kind. Text that is no JSON says nothing; check reports it.
func listMeta(head []byte) typeMeta {
	var meta typeMeta
	if err := jsonv2.Unmarshal(append(slices.Clone(head), "null}"...), &meta); err != nil {
		return typeMeta{}
	}
	return meta
}

// refuse says why the elements are not read, where that is known: elements of an EventList name no version.
func (v envelope) refuse(at Position) *Skip {
	if !v.list || v.meta.APIVersion == "" || v.meta.APIVersion == supportedVersion {
		return nil
	}
	return typeMeta{listKind, v.meta.APIVersion}.refuse(at)
}

// check looks at the list around the items, once it is known to its end.
func (v envelope) check(tail []byte) *Skip {
	var meta typeMeta
	err := jsonv2.Unmarshal(slices.Concat(v.head, []byte("null"), tail), &meta)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return skipped(DuplicateKey, v.at, "a key of the list stands twice")
	case err != nil:
		return skipped(InvalidJSON, v.at, "the list around the items is no JSON")
	case meta == typeMeta{}, meta.isList(), v.refuse(v.at) != nil:
		return nil
	}
	skip := meta.refuse(v.at)
	skip.Detail += "; this stood behind the items, which were read as events of " + supportedVersion
	return skip
}
