package engine_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/vapshadow/vapshadow/engine/rbac"
	"github.com/vapshadow/vapshadow/replay"
)

// cluster is what the apiserver's plugin sees of a cluster, in memory.
type cluster struct {
	resources  *replay.Resources
	objects    []map[string]any
	namespaces corev1listers.NamespaceLister
	authorizer authorizer.UnconditionalAuthorizer
}

func newCluster(minor int, objects []map[string]any, resources *replay.Resources) (*cluster, error) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	snapshot := rbac.New().AsOf(minor)
	for _, o := range objects {
		kind := (&unstructured.Unstructured{Object: o}).GroupVersionKind()
		switch {
		case kind == schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}:
			ns := &corev1.Namespace{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, ns); err != nil {
				return nil, fmt.Errorf("reading a Namespace: %w", err)
			}
			ns.TypeMeta = metav1.TypeMeta{} // Listers hold objects without.
			if err := store.Add(ns); err != nil {
				return nil, err
			}
		case kind.Group == "rbac.authorization.k8s.io":
			next, err := snapshot.With(o)
			if err != nil {
				return nil, err
			}
			snapshot = next
		}
	}
	return &cluster{resources: resources, objects: objects, namespaces: corev1listers.NewNamespaceLister(store), authorizer: snapshot}, nil
}

// params is the informer of a params resource.
func (c *cluster) params(gvr schema.GroupVersionResource) informers.GenericInformer {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, o := range c.objects {
		u := &unstructured.Unstructured{Object: o}
		if of, _, ok := c.resources.Resource(u.GroupVersionKind()); ok && of == gvr {
			if err := store.Add(u); err != nil {
				panic(err) // Every object of a cluster has a name.
			}
		}
	}
	return paramInformer{store, gvr}
}

type paramInformer struct {
	store cache.Indexer
	gvr   schema.GroupVersionResource
}

func (p paramInformer) Informer() cache.SharedIndexInformer { return syncedInformer{} }

func (p paramInformer) Lister() cache.GenericLister {
	return cache.NewGenericLister(p.store, p.gvr.GroupResource())
}

type syncedInformer struct{ cache.SharedIndexInformer }

func (syncedInformer) HasSynced() bool { return true }

// noClient is a client of an API in which there is nothing more than in the listers.
type noClient struct{ kubernetes.Interface }

func (noClient) CoreV1() corev1client.CoreV1Interface { return noCore{} }

type noCore struct{ corev1client.CoreV1Interface }

func (noCore) Namespaces() corev1client.NamespaceInterface { return noNamespaces{} }

type noNamespaces struct {
	corev1client.NamespaceInterface
}

func (noNamespaces) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, name)
}
