package live_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// server answers lists and watches as an apiserver does, of objects that a test puts there. It is no apiserver: it
// checks nothing, and all that it knows is what this file says.
type server struct {
	t *testing.T
	*httptest.Server

	mu      sync.Mutex
	changed chan struct{}
	rv      int
	// history are the events of each path, in the order of their resourceVersions.
	history map[string][]change
	// oldest is the least resourceVersion that a watch may begin after.
	oldest int
	// refused are the status codes that paths are refused with.
	refused map[string]int
	// asked are the requests that came.
	asked []string
	cut   chan struct{}
}

type change struct {
	rv     int
	kind   string // of the event
	object map[string]any
}

func newServer(t *testing.T) *server {
	s := &server{t: t, changed: make(chan struct{}), cut: make(chan struct{}), rv: 1, history: map[string][]change{}, refused: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.disconnect()
		s.Close()
	})
	return s
}

// put writes an object, or deletes it.
func (s *server) put(path, event string, object map[string]any) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv++
	object = maps.Clone(object)
	metadata := maps.Clone(object["metadata"].(map[string]any))
	metadata["resourceVersion"] = strconv.Itoa(s.rv)
	if metadata["uid"] == nil {
		metadata["uid"] = "uid-" + metadata["name"].(string)
	}
	metadata["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	object["metadata"] = metadata
	s.history[path] = append(s.history[path], change{s.rv, event, object})
	close(s.changed)
	s.changed = make(chan struct{})
	return s.rv
}

// disconnect ends all watches.
func (s *server) disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.cut)
	s.cut = make(chan struct{})
}

// forget makes watches from before now impossible.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = s.rv
}

func (s *server) refuse(path string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[path] = code
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	code := s.refused[r.URL.Path]
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case code != 0:
		reason := map[int]string{403: "Forbidden", 500: "InternalError"}[code]
		s.status(w, code, reason)
	case r.URL.Path == "/api":
		s.write(w, discovery(resource{"", "Namespace", "namespaces", false}, resource{"", "ConfigMap", "configmaps", true}))
	case r.URL.Path == "/apis":
		const rbac, policies = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"
		s.write(w, discovery(
			resource{"apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", false},
			resource{rbac, "ClusterRole", "clusterroles", false}, resource{policies, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", false}))
	case r.URL.Query().Get("watch") == "true":
		s.watch(w, r)
	default:
		s.list(w, r)
	}
}

func (s *server) status(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	s.write(w, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code})
}

func (s *server) write(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Log(err) // The client has gone.
	}
}

// list gives two objects a page.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	objects, rv := map[string]map[string]any{}, s.rv
	for _, c := range s.history[r.URL.Path] {
		if objects[nameOf(c.object)] = c.object; c.kind == "DELETED" {
			delete(objects, nameOf(c.object))
		}
	}
	s.mu.Unlock()
	names := slices.Sorted(maps.Keys(objects))
	at, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	end, more := min(at+2, len(names)), ""
	if end < len(names) {
		more = strconv.Itoa(end)
	}
	items, kind, version := []any{}, "", "v1"
	for _, name := range names[at:end] {
		kind, version = objects[name]["kind"].(string), objects[name]["apiVersion"].(string)
		item := maps.Clone(objects[name])
		delete(item, "kind") // Items of a typed list do not say what they are.
		delete(item, "apiVersion")
		items = append(items, item)
	}
	s.write(w, map[string]any{"kind": kind + "List", "apiVersion": version, "metadata": map[string]any{"resourceVersion": strconv.Itoa(rv), "continue": more}, "items": items})
}

func nameOf(object map[string]any) string {
	metadata := object["metadata"].(map[string]any)
	return fmt.Sprint(metadata["namespace"], "/", metadata["name"])
}

func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		s.status(w, 400, "BadRequest")
		return
	}
	w.WriteHeader(200)
	w.(http.Flusher).Flush()
	for {
		s.mu.Lock()
		changed, cut, oldest := s.changed, s.cut, s.oldest
		var events []change
		for _, c := range s.history[r.URL.Path] {
			if c.rv > after {
				events = append(events, c)
			}
		}
		s.mu.Unlock()
		if after < oldest && len(events) > 0 && events[0].rv <= oldest {
			s.write(w, map[string]any{"type": "ERROR", "object": map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}})
			return
		}
		for _, c := range events {
			s.write(w, map[string]any{"type": c.kind, "object": c.object})
			after = c.rv
		}
		s.write(w, map[string]any{"type": "BOOKMARK", "object": map[string]any{"kind": "Object", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": strconv.Itoa(after)}}})
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func isWrite(request string) bool { return !strings.HasPrefix(request, "GET ") }

type resource struct {
	group, kind, name string
	namespaced        bool
}

// discovery is an aggregated discovery document.
func discovery(resources ...resource) map[string]any {
	var items []any
	for _, r := range resources {
		scope := map[bool]string{false: "Cluster", true: "Namespaced"}[r.namespaced]
		found := map[string]any{"resource": r.name, "scope": scope, "responseKind": map[string]any{"group": r.group, "version": "v1", "kind": r.kind}}
		version := map[string]any{"version": "v1", "freshness": "Current", "resources": []any{found}}
		if n := len(items); n > 0 && items[n-1].(map[string]any)["metadata"].(map[string]any)["name"] == r.group {
			before := items[n-1].(map[string]any)["versions"].([]any)[0].(map[string]any)
			before["resources"] = append(before["resources"].([]any), found)
			continue
		}
		items = append(items, map[string]any{"metadata": map[string]any{"name": r.group}, "versions": []any{version}})
	}
	return map[string]any{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}
}
