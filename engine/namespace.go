package engine

import (
	"errors"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/engine/value"
	"github.com/vapshadow/vapshadow/replay"
)

// namespacePart is how much of the request's Namespace a phase is shown.
type namespacePart int

const (
	// noNamespace is what match conditions see: null.
	noNamespace namespacePart = iota
	// namespaceFields is what validations and messages see.
	namespaceFields
	// wholeNamespace is what audit annotations see.
	wholeNamespace
)

// namespaceValues are the values of the request's Namespace, made when they are first read.
type namespaceValues struct {
	content map[string]any
	// fields is what expressions are shown, whole what audit annotations are.
	fields, whole ref.Val
	evidence      replay.Evidence
	unknown       []replay.Unknown
	// absent: the request names a Namespace that is not there.
	absent bool
	// fits: it is known that the content can be read into its struct.
	fits bool
}

// namespaceObject finds the request's Namespace; null for cluster-scoped objects and Namespaces.
func (s *scope) namespaceObject() *namespaceValues {
	if s.namespace != nil {
		return s.namespace
	}
	n := &namespaceValues{evidence: replay.Evidence{Level: replay.Exact}}
	s.namespace = n
	if s.req.Namespace == "" || s.req.Kind == (schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}) {
		return n
	}
	object := s.req.View.Namespace(s.req.Namespace)
	n.evidence, n.unknown = object.Evidence, object.Unknown
	if object.Level != replay.Missing {
		n.content, n.absent = object.Content, object.Content == nil
	}
	return n
}

var namespaceType = reflect.TypeFor[corev1.Namespace]()

// null says whether expressions see null.
func (n *namespaceValues) null() bool { return n.content == nil }

// known is how well the Namespace is known. One that is no Namespace is not.
func (n *namespaceValues) known(minor int) replay.Evidence {
	if n.content != nil && n.fields == nil && !n.fits {
		if n.fits = value.Fits(n.content, namespaceType); !n.fits {
			n.show(minor)
		}
	}
	return n.evidence
}

// part is the value that a phase is shown.
func (n *namespaceValues) part(p namespacePart, minor int) ref.Val {
	if p == noNamespace || n.content == nil {
		return types.NullValue
	}
	if n.fields == nil {
		n.show(minor)
	}
	if p == wholeNamespace {
		return n.whole
	}
	return n.fields
}

// show makes the values.
func (n *namespaceValues) show(minor int) {
	var ns corev1.Namespace
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(n.content, &ns)
	if err == nil {
		ns.TypeMeta.Kind, ns.TypeMeta.APIVersion = "", ""
		var fieldsErr, wholeErr error
		n.fields, fieldsErr = structValue(minor, shownFields(&ns))
		n.whole, wholeErr = structValue(minor, &ns)
		err = errors.Join(fieldsErr, wholeErr)
	}
	if err != nil {
		n.fields, n.whole = types.NullValue, types.NullValue
		n.evidence = replay.Evidence{Level: replay.Missing, Because: replay.NoNamespace}
	}
}
