package replay_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/vapshadow/vapshadow/ingest"
)

// cluster is a model of a store of ConfigMaps in one namespace: it takes requests one after the other and writes for
// each the event that an apiserver would, and what admission saw.
type cluster struct {
	t *rapid.T
	// rv is the last resourceVersion that was given out; uids counts the objects that were made.
	rv, uids int
	now      time.Time
	// slow is the most that a request takes before and after the moment of its write.
	slow    time.Duration
	objects map[string]map[string]any
	log     []logged
}

// logged is a request: its event, and what admission saw, nil for a null object.
type logged struct {
	event *ingest.Event
	// admitted is false where the request did not come as far as admission.
	admitted          bool
	object, oldObject map[string]any
}

func newCluster(t *rapid.T, slow time.Duration) *cluster {
	return &cluster{t: t, rv: 100, now: epoch, slow: slow, objects: map[string]map[string]any{}}
}

// step makes a request of a kind that can be made of the object's state.
func (c *cluster) step() {
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(c.t, "name")
	c.now = c.now.Add(c.duration("pause") + time.Microsecond)
	old := c.objects[name]
	if old == nil {
		c.create(name)
		return
	}
	kinds := []string{"change", "change", "status", "noop", "fail", "delete", "dryRun"}
	if deleting(old) {
		kinds = []string{"change", "noop", "release"}
	}
	switch rapid.SampledFrom(kinds).Draw(c.t, "kind") {
	case "change":
		c.update(name, "", changed(old, "data", c.rv))
	case "status":
		c.update(name, "status", changed(old, "status", c.rv))
	case "noop":
		c.update(name, "", old)
	case "fail":
		c.fail(name)
	case "delete":
		c.delete(name)
	case "dryRun":
		c.dryRun(name)
	case "release":
		c.release(name)
	}
}

func (c *cluster) create(name string) {
	c.uids++
	metadata := map[string]any{"name": name, "namespace": "shop", "uid": fmt.Sprint("uid-", c.uids), "managedFields": []any{map[string]any{"manager": "m"}}}
	if rapid.Bool().Draw(c.t, "finalizer") {
		metadata["finalizers"] = []any{"example.com/f"}
	}
	made := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map[string]any{"at": fmt.Sprint(c.rv)}}
	c.rv++
	c.objects[name] = withRevision(made, c.rv)
	verb, uri := "create", "/api/v1/namespaces/shop/configmaps"
	if rapid.Bool().Draw(c.t, "put") {
		verb, uri = "update", uri+"/"+name
	}
	c.write(logged{admitted: true, object: made}, name, verb, uri, 201, asPosted(made), c.objects[name])
}

func (c *cluster) update(name, subresource string, next map[string]any) {
	old := c.objects[name]
	next = withRevision(next, revisionOf(old))
	seen := next
	if !equal(next, old) {
		c.rv++
		next = withRevision(next, c.rv)
	}
	c.objects[name] = next
	verb, body := "patch", patchOf(seen)
	if rapid.Bool().Draw(c.t, "sends resourceVersion") {
		verb, body = "update", seen
	}
	uri := "/api/v1/namespaces/shop/configmaps/" + name
	if subresource != "" {
		uri += "/" + subresource
	}
	c.write(logged{admitted: true, object: seen, oldObject: old}, name, verb, uri, 200, body, next)
}

// fail is an update that admission or the store refuses, with or without having been to admission.
func (c *cluster) fail(name string) {
	old := c.objects[name]
	l := logged{admitted: true, oldObject: old, object: changed(old, "data", -1)}
	verb, body := "patch", patchOf(l.object)
	switch rapid.SampledFrom([]string{"patch", "current", "stale"}).Draw(c.t, "fails with") {
	case "current":
		verb, body = "update", l.object
	case "stale":
		verb, body, l.admitted = "update", withRevision(l.object, revisionOf(old)-1), false
	}
	c.write(l, name, verb, "/api/v1/namespaces/shop/configmaps/"+name, 409, body, nil)
}

func (c *cluster) dryRun(name string) {
	old := c.objects[name]
	next := changed(old, "data", -2)
	c.write(logged{admitted: true, object: next, oldObject: old}, name, "patch", "/api/v1/namespaces/shop/configmaps/"+name+"?dryRun=All", 200,
		patchOf(next), next)
}

func (c *cluster) delete(name string) {
	old := c.objects[name]
	uri := "/api/v1/namespaces/shop/configmaps/" + name
	l := logged{admitted: true, oldObject: old}
	c.rv++
	if metadataMap(old)["finalizers"] == nil {
		delete(c.objects, name)
		c.write(l, name, "delete", uri, 200, nil, map[string]any{
			"apiVersion": "v1", "kind": "Status", "status": "Success",
			"details": map[string]any{"name": name, "kind": "configmaps", "uid": metadataMap(old)["uid"]},
		})
		return
	}
	marked := withRevision(old, c.rv)
	metadataMap(marked)["deletionTimestamp"] = "2026-01-02T03:04:05Z"
	metadataMap(marked)["deletionGracePeriodSeconds"] = int64(0)
	c.objects[name] = marked
	c.write(l, name, "delete", uri, 200, nil, marked)
}

// release takes the last finalizer off an object that is being deleted, and the object is gone.
func (c *cluster) release(name string) {
	old := c.objects[name]
	next := withRevision(old, revisionOf(old))
	delete(metadataMap(next), "finalizers")
	delete(c.objects, name)
	c.rv++
	c.write(logged{admitted: true, object: next, oldObject: old}, name, "patch", "/api/v1/namespaces/shop/configmaps/"+name, 200,
		map[string]any{"metadata": map[string]any{"finalizers": nil}}, next)
}

// write logs a request that took effect now.
func (c *cluster) write(l logged, name, verb, uri string, code int32, request, response map[string]any) {
	ref := &ingest.ObjectReference{APIVersion: "v1", Resource: "configmaps", Namespace: "shop", Name: name}
	if sub := referenceOf(uri).Subresource; sub != "" {
		ref.Subresource = sub
	}
	l.event = &ingest.Event{
		Level: ingest.LevelRequestResponse, Stage: ingest.StageResponseComplete, AuditID: fmt.Sprint("audit-", len(c.log)),
		Verb: verb, RequestURI: uri, ObjectRef: ref, ResponseStatus: &ingest.Status{Code: code},
		RequestReceivedTimestamp: c.now.Add(-c.duration("before")), StageTimestamp: c.now.Add(c.duration("after")),
		RequestObject: encoded(request), ResponseObject: encoded(response),
	}
	c.log = append(c.log, l)
}

// duration draws how long something takes, in the microseconds of audit events.
func (c *cluster) duration(what string) time.Duration {
	return time.Duration(rapid.Int64Range(0, int64(c.slow/time.Microsecond)).Draw(c.t, what)) * time.Microsecond
}

// asPosted is a new object as a client sends it.
func asPosted(made map[string]any) map[string]any {
	out := maps.Clone(made)
	metadata := maps.Clone(metadataMap(made))
	delete(metadata, "uid")
	delete(metadata, "managedFields")
	out["metadata"] = metadata
	return out
}

// patchOf is the merge patch that gives an object the fields that changed writes.
func patchOf(next map[string]any) map[string]any {
	out := map[string]any{}
	for _, field := range []string{"data", "status"} {
		if v, ok := next[field]; ok {
			out[field] = v
		}
	}
	return out
}

func encoded(v map[string]any) json.RawMessage {
	if v == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func metadataMap(object map[string]any) map[string]any {
	return object["metadata"].(map[string]any)
}

func deleting(object map[string]any) bool { return metadataMap(object)["deletionTimestamp"] != nil }

func revisionOf(object map[string]any) int {
	rv := 0
	_, _ = fmt.Sscan(fmt.Sprint(metadataMap(object)["resourceVersion"]), &rv)
	return rv
}

// withRevision copies an object with another resourceVersion.
func withRevision(object map[string]any, rv int) map[string]any {
	out := maps.Clone(object)
	metadata := maps.Clone(metadataMap(object))
	metadata["resourceVersion"] = fmt.Sprint(rv)
	out["metadata"] = metadata
	return out
}

// changed copies an object with another value in one of its fields.
func changed(object map[string]any, field string, value int) map[string]any {
	out := maps.Clone(object)
	out[field] = map[string]any{"at": fmt.Sprint(value)}
	return out
}

func equal(a, b map[string]any) bool { return slices.Equal(encoded(a), encoded(b)) }
