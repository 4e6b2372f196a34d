package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is an object of the cluster.
type Object struct {
	APIVersion, Kind string
	Content          map[string]any
}

// resource is one that is watched, with the kind of its objects.
type resource struct {
	schema.GroupVersionResource
	kind string
	// snapshot: List takes it in first.
	snapshot bool
	selector string
}

var namespaces = resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, kind: "Namespace"}

// fixed are the resources that are watched whatever the policies are.
func (c *Cluster) fixed() []resource {
	in := func(group, name, kind, selector string) resource {
		return resource{schema.GroupVersionResource{Group: group, Version: "v1", Resource: name}, kind, true, selector}
	}
	const rbac, policies = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
	out := []resource{
		in("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", ""),
		in(rbac, "clusterroles", "ClusterRole", ""), in(rbac, "clusterrolebindings", "ClusterRoleBinding", ""),
		in(rbac, "roles", "Role", ""), in(rbac, "rolebindings", "RoleBinding", ""),
	}
	if c.cfg.Policies {
		out = append(out, in(policies, "validatingadmissionpolicies", "ValidatingAdmissionPolicy", c.cfg.Selector),
			in(policies, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", c.cfg.Selector))
	}
	return out
}

// List reads the snapshot that a Replayer has to be shown before the first event: discovery, CustomResourceDefinitions,
// RBAC, and policies and bindings where the configuration wants them, in this order. Watch goes on from there.
func (c *Cluster) List(ctx context.Context) ([]Object, error) {
	out, err := c.discovery(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range c.fixed() {
		items, revision, err := c.list(ctx, r)
		if err != nil {
			return nil, err
		}
		s := &status{Status: Status{Resource: r.GroupVersionResource, Objects: len(items), Alive: time.Now()}, revision: revision, objects: map[string]known{}}
		for _, item := range items {
			out = append(out, Object{item.GetAPIVersion(), item.GetKind(), item.Object})
			s.objects[keyOf(item)] = knownOf(item)
		}
		c.mu.Lock()
		c.watched[r.GroupVersionResource] = s
		c.mu.Unlock()
	}
	return out, nil
}

// discovery reads the aggregated discovery documents.
func (c *Cluster) discovery(ctx context.Context) ([]Object, error) {
	const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	var out []Object
	for _, path := range []string{"/api", "/apis"} {
		text, err := c.rest.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx).Raw()
		if err != nil {
			return nil, fmt.Errorf("reading discovery: %w", err)
		}
		var content map[string]any
		if err := json.Unmarshal(text, &content); err != nil {
			return nil, fmt.Errorf("reading discovery at %s: %w", path, err)
		}
		if content["kind"] != "APIGroupDiscoveryList" {
			return nil, fmt.Errorf("reading discovery at %s: want an APIGroupDiscoveryList, as apiservers give from 1.30 on, got %v", path, content["kind"])
		}
		version, _ := content["apiVersion"].(string)
		out = append(out, Object{version, "APIGroupDiscoveryList", content})
	}
	return out, nil
}

// pageSize is how many objects are asked for at a time.
const pageSize = 500

// list reads all objects of a resource as they were at one resourceVersion.
func (c *Cluster) list(ctx context.Context, r resource) ([]*unstructured.Unstructured, string, error) {
	opts := metav1.ListOptions{LabelSelector: r.selector, Limit: pageSize}
	var out []*unstructured.Unstructured
	for {
		page, err := c.client.Resource(r.GroupVersionResource).List(ctx, opts)
		if apierrors.IsResourceExpired(err) && opts.Continue != "" {
			out, opts = nil, metav1.ListOptions{LabelSelector: r.selector} // It took too long: all at once.
			continue
		}
		if err != nil {
			return nil, "", r.explain("listing", err)
		}
		for i := range page.Items {
			item := &page.Items[i]
			if item.GetKind() == "" {
				item.SetKind(r.kind)
			}
			if item.GetAPIVersion() == "" {
				item.SetAPIVersion(r.GroupVersion().String())
			}
			out = append(out, item)
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return out, page.GetResourceVersion(), nil
		}
	}
}

// explain says what to do about an error.
func (r resource) explain(doing string, err error) error {
	name := r.GroupResource().String()
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%s %s: grant get, list and watch on it, as deploy/rbac.yaml does: %w", doing, name, err)
	}
	return fmt.Errorf("%s %s: %w", doing, name, err)
}

func sortStatus(list []Status) {
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.Resource.String(), b.Resource.String()) })
}
