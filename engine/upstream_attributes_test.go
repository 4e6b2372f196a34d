package engine_test

import (
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/vapshadow/vapshadow/engine/convert"
	"github.com/vapshadow/vapshadow/replay"
)

// builtin are the kinds that an apiserver has Go structs for.
var builtin = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(s), apiextensionsv1.AddToScheme(s)); err != nil {
		panic(err)
	}
	return s
}()

// attributes are the admission attributes of a request, which keep the annotations that the plugin adds.
type attributes struct {
	admission.Attributes
	annotations map[string]string
}

func (a *attributes) AddAnnotation(key, value string) error {
	a.annotations[key] = value
	return nil
}

func attributesOf(minor int, req *replay.Request) (*attributes, error) {
	object, err := runtimeObject(minor, req.Object.Content)
	if err != nil {
		return nil, err
	}
	old, err := runtimeObject(minor, req.OldObject.Content)
	if err != nil {
		return nil, err
	}
	options, err := optionsOf(req)
	if err != nil {
		return nil, err
	}
	info := &user.DefaultInfo{Name: req.User.Username, UID: req.User.UID, Groups: req.User.Groups, Extra: req.User.Extra}
	record := admission.NewAttributesRecord(object, old, req.Kind, req.Namespace, req.Name, req.Resource, req.SubResource,
		admission.Operation(req.Operation), options, req.DryRun, info)
	return &attributes{record, map[string]string{}}, nil
}

// runtimeObject is a Go struct of a built-in kind, from the minor on in which policies see those, and a map otherwise.
func runtimeObject(minor int, content map[string]any) (runtime.Object, error) {
	if content == nil {
		return nil, nil
	}
	u := &unstructured.Unstructured{Object: content}
	if minor < 37 || !builtin.Recognizes(u.GroupVersionKind()) {
		return u.DeepCopy(), nil
	}
	object, err := builtin.New(u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return object, runtime.DefaultUnstructuredConverter.FromUnstructured(content, object)
}

func optionsOf(req *replay.Request) (runtime.Object, error) {
	kinds := map[replay.Operation]runtime.Object{
		replay.Create: &metav1.CreateOptions{}, replay.Update: &metav1.UpdateOptions{}, replay.Delete: &metav1.DeleteOptions{},
	}
	options := kinds[req.Operation]
	if options == nil || req.Options.Content == nil {
		return nil, nil
	}
	return options, runtime.DefaultUnstructuredConverter.FromUnstructured(req.Options.Content, options)
}

// objectInterfaces is what the plugin asks about kinds.
type objectInterfaces struct {
	minor int
	req   *replay.Request
}

func (o objectInterfaces) GetObjectTyper() runtime.ObjectTyper         { return builtin }
func (o objectInterfaces) GetObjectDefaulter() runtime.ObjectDefaulter { return builtin }
func (o objectInterfaces) GetObjectCreater() runtime.ObjectCreater     { return o }
func (o objectInterfaces) GetObjectConvertor() runtime.ObjectConvertor { return o }
func (o objectInterfaces) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return equivalents{o.req.View.Resources()}
}

func (o objectInterfaces) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	if o.minor >= 37 && builtin.Recognizes(kind) {
		return builtin.New(kind)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// Convert converts with the conversions that are tested in package convert: the apiserver's are not exported.
func (o objectInterfaces) Convert(in, out, _ any) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(in)
	if err != nil {
		return err
	}
	kind := out.(runtime.Object).GetObjectKind().GroupVersionKind()
	if kind.Empty() {
		kinds, _, err := builtin.ObjectKinds(out.(runtime.Object))
		if err != nil {
			return err
		}
		kind = kinds[0]
	}
	strategy, custom := o.req.View.Resources().Custom(o.req.Resource)
	converted, err := convert.Convert(content, kind, custom, strategy)
	if err != nil {
		return err
	}
	if u, ok := out.(*unstructured.Unstructured); ok {
		u.Object = converted
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(converted, out)
}

func (o objectInterfaces) ConvertToVersion(runtime.Object, runtime.GroupVersioner) (runtime.Object, error) {
	return nil, fmt.Errorf("the plugin does not convert to a version")
}

func (o objectInterfaces) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", fmt.Errorf("the plugin does not convert field labels")
}

type equivalents struct{ *replay.Resources }

func (e equivalents) EquivalentResourcesFor(gvr schema.GroupVersionResource, sub string) []schema.GroupVersionResource {
	return e.Equivalents(gvr, sub)
}

func (e equivalents) KindFor(gvr schema.GroupVersionResource, sub string) schema.GroupVersionKind {
	kind, _ := e.Kind(gvr, sub)
	return kind
}
