package engine

import (
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/replay"
)

// found is what a binding's paramRef found for a request: a list of objects (one nil where the policy is evaluated
// without), or why that is not known, or a configuration error.
type found struct {
	params  []*replay.Object
	unknown replay.Reason
	err     error
	// named is the object that paramRef names, where it is not known.
	named *Params
}

func notKnown(because replay.Reason) found { return found{unknown: because} }

var without = found{params: []*replay.Object{nil}}

// params collects the params of a binding for a request.
// https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#parameter-resources
func (c *compiled) params(b *compiledBinding, req *replay.Request) found {
	kind, ref := c.policy.Spec.ParamKind, b.binding.Spec.ParamRef
	if kind == nil || ref == nil {
		return without
	}
	gvr, namespaced, ok := req.View.Resources().Resource(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
	if !ok {
		return notKnown(replay.UnknownKind)
	}
	namespace := ""
	switch {
	case namespaced && ref.Namespace != "":
		namespace = ref.Namespace
	case namespaced && req.Namespace != "":
		namespace = req.Namespace
	case namespaced:
		return found{err: errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")}
	case ref.Namespace != "":
		return found{err: errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")}
	}
	f := lookUp(ref, gvr, namespace, req)
	if f.err == nil && f.unknown == "" && len(f.params) == 0 && deniesWithoutParams(b) {
		return found{err: errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")}
	}
	return f
}

// deniesWithoutParams says whether a binding is misconfigured where its params are not there.
func deniesWithoutParams(b *compiledBinding) bool {
	action := b.binding.Spec.ParamRef.ParameterNotFoundAction
	return action != nil && *action == admissionv1.DenyAction
}

func lookUp(ref *admissionv1.ParamRef, gvr schema.GroupVersionResource, namespace string, req *replay.Request) found {
	switch {
	case ref.Name != "" && ref.Selector != nil:
		return found{err: errors.New("paramRef.name and paramRef.selector are mutually exclusive")}
	case ref.Name != "":
		object := req.View.Param(gvr, namespace, ref.Name)
		switch {
		case object.Level == replay.Missing:
			return found{unknown: object.Because, named: &Params{Namespace: namespace, Name: ref.Name}}
		case object.Content == nil:
			return found{}
		}
		return found{params: []*replay.Object{&object}}
	case ref.Selector != nil:
		selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
		if err != nil {
			return found{err: err}
		}
		objects, evidence := req.View.Params(gvr, namespace, selector)
		if evidence.Level == replay.Missing {
			return notKnown(evidence.Because)
		}
		f := found{}
		for i := range objects {
			f.params = append(f.params, &objects[i])
		}
		return f
	default:
		return found{err: errors.New("one of name or selector must be provided")}
	}
}

// missingParamKind is the configuration error of a policy whose paramKind no resource is of; nil where that is not
// certain, because no discovery and no CRDs were given.
func (c *compiled) missingParamKind(req *replay.Request) error {
	kind := c.policy.Spec.ParamKind
	if kind == nil {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	if _, _, ok := req.View.Resources().Resource(gvk); ok || !req.View.Listed("apiextensions.k8s.io", "customresourcedefinitions") {
		return nil
	}
	return fmt.Errorf("failed to find resource referenced by paramKind: '%v'", gvk)
}

func nameOf(o *replay.Object) *Params {
	if o == nil {
		return nil
	}
	metadata, _ := o.Content["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	return &Params{Namespace: namespace, Name: name}
}
