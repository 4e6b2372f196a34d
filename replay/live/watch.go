package live

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/vapshadow/vapshadow/replay"
)

// known is what is remembered of an object, to tell of it when it is gone: its metadata, without what people wrote.
type known struct {
	uid     string
	content map[string]any
}

func keyOf(o *unstructured.Unstructured) string { return o.GetNamespace() + "/" + o.GetName() }

func knownOf(o *unstructured.Unstructured) known {
	metadata := map[string]any{"name": o.GetName(), "uid": string(o.GetUID()), "creationTimestamp": o.GetCreationTimestamp().UTC().Format(time.RFC3339)}
	if o.GetNamespace() != "" {
		metadata["namespace"] = o.GetNamespace()
	}
	return known{string(o.GetUID()), map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": metadata}}
}

// gone is the object in its last state, deleted before a resourceVersion.
func (k known) gone(revision string) map[string]any {
	out := maps.Clone(k.content)
	metadata := maps.Clone(out["metadata"].(map[string]any))
	metadata["resourceVersion"] = revision
	out["metadata"] = metadata
	return out
}

// Watch tells a Replayer what changes, until the context ends. The Replayer has been shown what List returned.
func (c *Cluster) Watch(ctx context.Context, into *replay.Replayer) {
	var watches sync.WaitGroup
	defer watches.Wait()
	begun := map[schema.GroupVersionResource]bool{}
	begin := func(r resource) {
		if !begun[r.GroupVersionResource] {
			begun[r.GroupVersionResource] = true
			w := c.watcher(r, into)
			watches.Go(func() { w.run(ctx) })
		}
	}
	begin(namespaces)
	for _, r := range c.fixed() {
		begin(r)
	}
	for {
		if c.cfg.Params != nil {
			for _, kind := range c.cfg.Params() {
				if gvr, ok := into.ResourceOf(kind); ok { // Else its definition may still come.
					begin(resource{GroupVersionResource: gvr, kind: kind.Kind})
				}
			}
		}
		if !wait(ctx, c.cfg.Retry) {
			return
		}
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// watcher follows one resource.
type watcher struct {
	*Cluster
	resource
	into *replay.Replayer
	*status
}

func (c *Cluster) watcher(r resource, into *replay.Replayer) *watcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.watched[r.GroupVersionResource]
	if s == nil {
		s = &status{Status: Status{Resource: r.GroupVersionResource}, objects: map[string]known{}}
		c.watched[r.GroupVersionResource] = s
	}
	return &watcher{c, r, into, s}
}

// run lists where it has to, and watches, again and again.
func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if !w.Alive.IsZero() {
			w.into.Unwatched(w.GroupResource(), w.Alive.Add(-w.cfg.Skew))
		}
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			w.revision = "" // The apiserver no longer knows what came after it.
			continue
		}
		if err != nil {
			w.failed(err)
			if !wait(ctx, w.cfg.Retry) {
				return
			}
		}
	}
}

// failed notes an error, and logs it where it is another than before.
func (w *watcher) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Err == nil || w.Err.Error() != err.Error() {
		w.cfg.Log.Error("the cluster is not watched", "resource", w.GroupResource().String(), "error", err)
	}
	w.Err = err
}

// alive notes that the apiserver has told something.
func (w *watcher) alive(revision string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Alive, w.Err, w.Objects = time.Now(), nil, len(w.objects)
	if revision != "" {
		w.revision = revision
	}
}

// relist reads all objects, and tells of those that are new, have changed or are gone.
func (w *watcher) relist(ctx context.Context) error {
	items, revision, err := w.list(ctx, w.resource)
	if err != nil {
		return err
	}
	by := time.Now().Add(w.cfg.Skew)
	before := w.objects
	w.objects = map[string]known{}
	for _, item := range items {
		key := keyOf(item)
		if old, ok := before[key]; ok && old.uid != string(item.GetUID()) {
			w.tell(old.gone(lessThan(item.GetResourceVersion())), true, by)
		}
		delete(before, key)
		w.objects[key] = knownOf(item)
		w.tell(item.Object, false, by)
	}
	for _, old := range before {
		w.tell(old.gone(revision), true, by)
	}
	w.alive(revision)
	w.into.WatchedSince(w.GroupResource(), by)
	return nil
}

// lessThan is the resourceVersion before another.
func lessThan(revision string) string {
	rv, err := strconv.ParseUint(revision, 10, 64)
	if err != nil || rv < 2 {
		return revision
	}
	return strconv.FormatUint(rv-1, 10)
}

// tell tells the Replayer of a state.
func (w *watcher) tell(content map[string]any, deleted bool, by time.Time) {
	version, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	if err := w.into.Watched(replay.Seen{APIVersion: version, Kind: kind, Content: content, Deleted: deleted, By: by}); err != nil {
		w.cfg.Log.Warn("an object of the cluster is passed over", "resource", w.GroupResource().String(), "error", err)
	}
}

// follow watches from where the last watch or list ended, until the watch ends. A watch that ended without an error is
// begun again at once.
func (w *watcher) follow(ctx context.Context) error {
	if w.revision == "" {
		if err := w.relist(ctx); err != nil {
			return err
		}
	}
	const longest = int64(300) // seconds
	opts := metav1.ListOptions{LabelSelector: w.selector, ResourceVersion: w.revision, AllowWatchBookmarks: true, TimeoutSeconds: new(longest)}
	events, err := w.client.Resource(w.GroupVersionResource).Watch(ctx, opts)
	if err != nil {
		return w.explain("watching", err)
	}
	defer events.Stop()
	w.alive("")
	w.into.Rewatched(w.GroupResource())
	for event := range events.ResultChan() {
		if err := w.event(event); err != nil {
			return err
		}
	}
	wait(ctx, min(w.cfg.Retry, 100*time.Millisecond)) // An apiserver that ends each watch at once is not asked as fast as that.
	return nil
}

// event takes one event of a watch in.
func (w *watcher) event(event watch.Event) error {
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	object, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		w.objects[keyOf(object)] = knownOf(object)
		w.tell(object.Object, false, time.Now().Add(w.cfg.Skew))
	case watch.Deleted:
		delete(w.objects, keyOf(object))
		w.tell(object.Object, true, time.Now().Add(w.cfg.Skew))
	}
	w.alive(object.GetResourceVersion())
	return nil
}
