package engine

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	admissionapi "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/vapshadow/vapshadow/engine/value"
	"github.com/vapshadow/vapshadow/replay"
)

// builtin are the kinds that an apiserver holds as Go structs.
var builtin = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // The types of two packages clash: no program was ever built so.
		}
	}
	return s
}()

// goTypes are the Go structs of the built-in kinds.
var goTypes = builtin.AllKnownTypes()

// input is an object as CEL is shown it. Its value is made when it is first read.
type input struct {
	value ref.Val
	make  func() ref.Val
}

func (i *input) get() ref.Val {
	if i.value == nil {
		i.value, i.make = i.make(), nil
	}
	return i.value
}

// celInput makes the CEL value of a JSON object: a view of its Go struct t where the apiserver has one, else a map. An
// object that its struct does not take is an error. Read is asked what of an object its struct is to be made of.
func celInput(content map[string]any, kind schema.GroupVersionKind, t reflect.Type, read func(map[string]any) map[string]any) (input, error) {
	if content == nil {
		return input{value: types.NullValue}, nil
	}
	if t == nil {
		return input{value: value.OfJSON(content)}, nil
	}
	if value.Fits(content, t) {
		return input{make: func() ref.Val { return typedValue(read(content), t) }}, nil
	}
	object := reflect.New(t).Interface()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, object); err != nil {
		return input{}, fmt.Errorf("reading a %s: %w", kind.Kind, err)
	}
	return input{value: value.OfStruct(object)}, nil
}

// typedValue makes the view of the Go struct of an object that is known to fit it.
func typedValue(content map[string]any, t reflect.Type) ref.Val {
	object, err := value.Read(content, t)
	if err != nil {
		return types.WrapErr(fmt.Errorf("reading a %s: %w", t.Name(), err))
	}
	return value.OfStruct(object)
}

// structValue makes the CEL value of a Go struct that the apiserver makes itself: the request, the namespace.
func structValue(minor int, object any) (ref.Val, error) {
	if minor >= typedMinor {
		return value.OfStruct(object), nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	return value.OfJSON(content), nil
}

// admissionRequest is `request` as the apiserver shows it to policies.
// https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#validation-expression
func admissionRequest(req *replay.Request, as target) *admissionapi.AdmissionRequest {
	user := authenticationv1.UserInfo{
		Username: req.User.Username, UID: req.User.UID, Groups: req.User.Groups,
		Extra: map[string]authenticationv1.ExtraValue{},
	}
	for k, v := range req.User.Extra {
		user.Extra[k] = v
	}
	requestKind, requestResource := metav1.GroupVersionKind(req.Kind), metav1.GroupVersionResource(req.Resource)
	return &admissionapi.AdmissionRequest{
		Kind: metav1.GroupVersionKind(as.kind), Resource: metav1.GroupVersionResource(as.resource), SubResource: req.SubResource,
		RequestKind: &requestKind, RequestResource: &requestResource, RequestSubResource: req.SubResource,
		Name: req.Name, Namespace: req.Namespace, Operation: admissionapi.Operation(req.Operation),
		UserInfo: user, DryRun: &req.DryRun, Options: runtime.RawExtension{Object: operationOptions(req)},
	}
}

// operationOptions are the options of the request as the Go type that the apiserver holds them in.
func operationOptions(req *replay.Request) runtime.Object {
	if req.Options.Content == nil {
		return nil
	}
	var options runtime.Object
	switch req.Operation {
	case replay.Create:
		options = &metav1.CreateOptions{}
	case replay.Update:
		options = &metav1.UpdateOptions{}
	case replay.Delete:
		options = &metav1.DeleteOptions{}
	default:
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(req.Options.Content, options); err != nil {
		return nil
	}
	return options
}

// shownFields is the part of a Namespace that policies are shown.
func shownFields(ns *corev1.Namespace) *corev1.Namespace {
	return &corev1.Namespace{
		Status: ns.Status, Spec: ns.Spec,
		ObjectMeta: metav1.ObjectMeta{
			Name: ns.Name, GenerateName: ns.GenerateName, Namespace: ns.Namespace, UID: ns.UID,
			ResourceVersion: ns.ResourceVersion, Generation: ns.Generation,
			CreationTimestamp: ns.CreationTimestamp, DeletionTimestamp: ns.DeletionTimestamp,
			DeletionGracePeriodSeconds: ns.DeletionGracePeriodSeconds,
			Labels:                     ns.Labels, Annotations: ns.Annotations, Finalizers: ns.Finalizers,
		},
	}
}
