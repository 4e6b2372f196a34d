package replay_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

// TestWithoutResponses takes the responses off the recorded logs, as if they had been logged at level Request, and holds
// what is rebuilt of them against what the apiserver showed its policies. The numbers may go up.
func TestWithoutResponses(t *testing.T) {
	for _, want := range []struct {
		version           string
		minor             int
		object, oldObject known
	}{
		{version: "v1.36.3", minor: 36, object: known{50, 259}, oldObject: known{255, 102}},
		{version: "v1.37.1", minor: 37, object: known{34, 250}, oldObject: known{232, 100}},
	} {
		t.Run(want.version, func(t *testing.T) {
			rec := readRecording(t, filepath.Join("testdata/recorded", want.version, "requestresponse"))
			for _, ev := range rec.events {
				if ev.Level == ingest.LevelRequestResponse {
					ev.Level, ev.ResponseObject = ingest.LevelRequest, nil
				}
			}
			rebuilt := map[[2]string]*replay.Request{}
			for _, req := range rebuild(t, want.minor, rec) {
				rebuilt[[2]string{req.Event.AuditID, req.ObjectName}] = req
			}
			var object, oldObject known
			for _, saw := range rec.admissions {
				req := rebuilt[[2]string{saw.AuditID, saw.Name}]
				if req == nil {
					continue // The log tells no name.
				}
				what := fmt.Sprintf("%s %s %s/%s %s", saw.AuditID, req.Event.Verb, req.Resource.Resource, req.SubResource, saw.Name)
				compareObject(t, what+" object", req.Object, saw.Object, &object)
				compareObject(t, what+" oldObject", req.OldObject, saw.OldObject, &oldObject)
			}
			atLeast(t, "objects known", object.whole, want.object.whole)
			atLeast(t, "oldObjects known", oldObject.whole, want.oldObject.whole)
			atLeast(t, "objects known in part", object.whole+object.partly, want.object.whole+want.object.partly)
			atLeast(t, "oldObjects known in part", oldObject.whole+oldObject.partly, want.oldObject.whole+want.oldObject.partly)
			t.Logf("of %d: object %v, oldObject %v", len(rec.admissions), object, oldObject)
		})
	}
}

// patchedLog is a log of one ConfigMap, one Deployment and one custom resource that are patched by a body.
func patchedLog(t testing.TB, body string) []*ingest.Event {
	t.Helper()
	var out []*ingest.Event
	for i, uri := range []string{
		"/api/v1/namespaces/shop/configmaps/a", "/apis/apps/v1/namespaces/shop/deployments/a", "/apis/example.com/v1/namespaces/shop/widgets/a",
		"/apis/apps/v1/namespaces/shop/deployments/a/status", "/apis/example.com/v1/namespaces/shop/widgets/a?fieldManager=m&force=true",
		"/apis/apps/v1/namespaces/shop/deployments/a?fieldManager=m",
	} {
		for _, code := range []int{200, 201} {
			ev := event(t, fmt.Sprintf(`{level: Request, verb: patch, requestURI: "%s", at: %d, code: %d}`, uri, 2*i+1, code))
			ev.AuditID, ev.RequestObject = fmt.Sprint(uri, code), json.RawMessage(body)
			out = append(out, ev)
		}
	}
	return out
}

var patchedSnapshot = []string{
	`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {list: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}}}}}}}}}}]}, status: {acceptedNames: {plural: widgets, kind: Widget}, conditions: [{type: Established, status: "True"}]}}`,
	`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u, resourceVersion: "5"}, data: {k: v}}`,
	`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop, uid: v, resourceVersion: "6", finalizers: [x/y]}, spec: {replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}}`,
	`{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: shop, uid: w, resourceVersion: "7", managedFields: [{manager: m, operation: Apply, fieldsV1: {"f:spec": {"f:list": {"k:{\"name\":\"a\"}": {}}}}}]}, spec: {list: [{name: a}]}}`,
}

// FuzzPatch: whatever the body of a patch, nothing panics, and an object that is shown is of the kind that was patched.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{
		`{"data":{"k":"w"}}`, `[{"op":"add","path":"/data/l","value":1}]`, `[{"op":"move","from":"/data","path":"/data/k"}]`, `[{"op":"remove","path":""}]`,
		`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"j"},{"$patch":"delete","name":"d"}]}}}}`, `{"$patch":"replace"}`,
		`{"metadata":{"$setElementOrder/finalizers":["x/y"],"finalizers":["x/z"]}}`, `{"$retainKeys":[1],"spec":null}`, `{"metadata":null}`, `{"metadata":1}`,
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"list":[{"name":"b"}]}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{"containers":["c",null,{"name":1}]}}}}`, `[null]`, `[1]`, `[{"op":"add","path":"/a/-"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) {
			return
		}
		var snapshot []map[string]any
		for _, text := range patchedSnapshot {
			snapshot = append(snapshot, object(t, text))
		}
		r := newReplayer(t, replay.Config{Minor: 37}, snapshot)
		r.Observe(replay.Decode(event(t, `{verb: create, requestURI: /api/v1/namespaces/shop/configmaps, code: 201, responseObject: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, resourceVersion: "9"}}}`)))
		for _, ev := range patchedLog(t, string(body)) {
			d := replay.Decode(ev)
			r.Observe(d)
			for _, req := range r.Requests(d) {
				if req.Object.Level == replay.Missing {
					continue
				}
				if got := req.Object.Content["kind"]; got != req.Kind.Kind {
					t.Errorf("%s: kind %v", ev.RequestURI, got)
				}
			}
		}
	})
}

// BenchmarkPatches rebuilds an object that is patched again and again, with no response in the log.
func BenchmarkPatches(b *testing.B) {
	var decoded []*replay.Decoded
	for i := range 300 {
		ev := event(b, fmt.Sprintf(`{level: Request, verb: patch, requestURI: /apis/apps/v1/namespaces/shop/deployments/a, at: %d, code: 200, requestObject: {spec: {replicas: %d}}}`, i+1, i))
		ev.AuditID = fmt.Sprint(i)
		decoded = append(decoded, replay.Decode(ev))
	}
	for b.Loop() {
		r := newReplayer(b, replay.Config{Minor: 37}, []map[string]any{object(b, patchedSnapshot[2])})
		r.Observe(replay.Decode(event(b, `{verb: create, requestURI: /api/v1/namespaces/shop/configmaps, code: 201, responseObject: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, resourceVersion: "9"}}}`)))
		for _, d := range decoded {
			r.Observe(d)
			if got := r.Requests(d)[0].Object.Level; got != replay.Presumed {
				b.Fatal(got)
			}
		}
	}
}
