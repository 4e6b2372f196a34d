package live_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/vapshadow/vapshadow/replay"
	"github.com/vapshadow/vapshadow/replay/live"
)

const (
	namespacesPath = "/api/v1/namespaces"
	configMapsPath = "/api/v1/configmaps"
	rolesPath      = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	crdsPath       = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	policiesPath   = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	limitsPath     = "/apis/example.com/v1/limits"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func named(apiVersion, kind, namespace, name string) map[string]any {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}

func namespace(name string, labels map[string]any) map[string]any {
	out := named("v1", "Namespace", "", name)
	out["metadata"].(map[string]any)["labels"] = labels
	return out
}

// skew is wide, so that what is just being told is never settled while a test looks.
const skew = time.Hour

// follow lists and watches the cluster of a server until the test ends.
func follow(t *testing.T, s *server, cfg live.Config) (*live.Cluster, *replay.Replayer, *bytes.Buffer) {
	t.Helper()
	log := &lockedBuffer{}
	cfg.REST, cfg.Skew, cfg.Retry, cfg.Log = &rest.Config{Host: s.URL}, skew, 5*time.Millisecond, slog.New(slog.NewTextHandler(log, nil))
	c, err := live.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := replay.New(replay.Config{Minor: 37})
	objects, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := r.Snapshot(o.APIVersion, o.Kind, o.Content); err != nil {
			t.Fatalf("%s: %v", o.Kind, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { c.Watch(ctx, r) })
	t.Cleanup(func() {
		cancel()
		watching.Wait()
		s.disconnect()
		s.Client().CloseIdleConnections()
	})
	return c, r, &log.Buffer
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("it did not happen: %s", what)
		}
		time.Sleep(time.Millisecond) // polling
	}
}

// later is the cluster as of a moment at which all that was told so far is settled.
func later(r *replay.Replayer) replay.View {
	at := time.Now().Add(2 * skew)
	return r.View(at, at)
}

func label(r *replay.Replayer, namespace string) string {
	o := later(r).Namespace(namespace)
	if o.Level == replay.Missing {
		return string(o.Because)
	}
	if o.Content == nil {
		return "absent"
	}
	labels, _ := o.Content["metadata"].(map[string]any)["labels"].(map[string]any)
	return fmt.Sprint(labels["a"])
}

// TestWatch: what was listed and what the watch tells is known, and nothing but reading is asked for.
func TestWatch(t *testing.T) {
	s := newServer(t)
	for i := range 5 { // three pages
		s.put(namespacesPath, "ADDED", namespace(fmt.Sprintf("n%d", i), map[string]any{"a": "1"}))
	}
	s.put(rolesPath, "ADDED", named("rbac.authorization.k8s.io/v1", "ClusterRole", "", "r"))
	c, r, _ := follow(t, s, live.Config{Policies: true, Selector: "shadow=true", Params: func() []schema.GroupVersionKind {
		return []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}}
	}})
	eventually(t, "all namespaces", func() bool { return label(r, "n4") == "1" && label(r, "none") == "absent" })
	if got := r.View(time.Now().Add(-2*skew), time.Now().Add(-2*skew)).Namespace("n0"); got.Because != replay.NotWatched {
		t.Errorf("before it was made: %v", got.Evidence)
	}

	s.put(namespacesPath, "MODIFIED", namespace("n1", map[string]any{"a": "2"}))
	s.put(namespacesPath, "DELETED", namespace("n2", nil))
	s.put(configMapsPath, "ADDED", named("v1", "ConfigMap", "n0", "limits"))
	s.put(rolesPath, "MODIFIED", named("rbac.authorization.k8s.io/v1", "ClusterRole", "", "r"))
	s.put(policiesPath, "ADDED", named("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", "p"))
	eventually(t, "a change", func() bool { return label(r, "n1") == "2" })
	eventually(t, "a deletion", func() bool { return label(r, "n2") == "absent" })
	eventually(t, "params", func() bool { return later(r).Param(configMaps, "n0", "limits").Content != nil })
	eventually(t, "RBAC", func() bool { state, _ := later(r).RBAC(); return state.Changes == 2 })
	eventually(t, "a policy", func() bool { return later(r).Policies().Changes == 1 })
	if got := label(r, "n3"); got != "1" {
		t.Errorf("another namespace: %s", got)
	}
	if now := r.View(time.Now(), time.Now()).Namespace("n1"); len(now.Unknown) == 0 && now.Level != replay.Missing {
		t.Errorf("while the change may not be done: %v", now)
	}
	for _, request := range s.requests() {
		if isWrite(request) {
			t.Errorf("it wrote: %s", request)
		}
	}
	for _, status := range c.Status() {
		if status.Err != nil || status.Alive.IsZero() {
			t.Errorf("status %+v", status)
		}
	}
	if i := slices.IndexFunc(c.Status(), func(s live.Status) bool { return s.Resource.Resource == "namespaces" }); i < 0 || c.Status()[i].Objects != 4 {
		t.Errorf("status %+v", c.Status())
	}
}

// TestWatchInterrupted: what changes while the cluster is out of reach is known afterwards, and not known meanwhile.
func TestWatchInterrupted(t *testing.T) {
	for _, forget := range []bool{false, true} {
		t.Run(fmt.Sprint("forgotten ", forget), func(t *testing.T) {
			s := newServer(t)
			for _, name := range []string{"changed", "same", "gone", "again"} {
				s.put(namespacesPath, "ADDED", namespace(name, map[string]any{"a": "1"}))
			}
			c, r, log := follow(t, s, live.Config{})
			eventually(t, "the namespaces", func() bool { return label(r, "again") == "1" && label(r, "none") == "absent" })
			s.refuse(namespacesPath, 500)
			s.disconnect()
			eventually(t, "the interruption", func() bool {
				return label(r, "same") == string(replay.NotWatched) && label(r, "none") == string(replay.NotWatched)
			})
			eventually(t, "the error", func() bool { return failing(c) != nil })
			s.put(namespacesPath, "MODIFIED", namespace("changed", map[string]any{"a": "2"}))
			s.put(namespacesPath, "DELETED", namespace("gone", nil))
			s.put(namespacesPath, "DELETED", namespace("again", nil))
			again := namespace("again", map[string]any{"a": "2"})
			again["metadata"].(map[string]any)["uid"] = "another"
			s.put(namespacesPath, "ADDED", again)
			if forget {
				s.forget()
			}
			s.refuse(namespacesPath, 0)
			for name, want := range map[string]string{"changed": "2", "same": "1", "gone": "absent", "again": "2"} {
				eventually(t, name+" is "+want, func() bool { return label(r, name) == want })
			}
			if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
				t.Errorf("%d errors were logged:\n%s", n, log)
			}
		})
	}
}

// failing is the status of a resource that is not watched; nil where all are.
func failing(c *live.Cluster) *live.Status {
	for _, status := range c.Status() {
		if status.Err != nil {
			return &status
		}
	}
	return nil
}

// TestWatchForbidden: what may not be read is told, with what to do.
func TestWatchForbidden(t *testing.T) {
	s := newServer(t)
	s.refuse(namespacesPath, 403)
	c, r, _ := follow(t, s, live.Config{})
	eventually(t, "an error", func() bool { return failing(c) != nil })
	status := failing(c)
	if text := status.Err.Error(); status.Resource.Resource != "namespaces" || !strings.Contains(text, "deploy/rbac.yaml") {
		t.Errorf("%s: %s", status.Resource, text)
	}
	if got := label(r, "n"); got != string(replay.NoNamespace) {
		t.Errorf("a namespace: %s", got)
	}
	s.refuse(namespacesPath, 0)
	eventually(t, "the list", func() bool { return label(r, "n") == "absent" })
}

// TestWatchCustomParams: params are watched as soon as their definition is there.
func TestWatchCustomParams(t *testing.T) {
	s := newServer(t)
	_, r, _ := follow(t, s, live.Config{Params: func() []schema.GroupVersionKind {
		return []schema.GroupVersionKind{{Group: "example.com", Version: "v1", Kind: "Limit"}}
	}})
	crd := named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "limits.example.com")
	crd["spec"] = map[string]any{
		"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "limits", "kind": "Limit"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	}
	s.put(crdsPath, "ADDED", crd)
	s.put(limitsPath, "ADDED", named("example.com/v1", "Limit", "n", "l"))
	limits := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "limits"}
	eventually(t, "the params", func() bool { return later(r).Param(limits, "n", "l").Content != nil })
}

func TestListErrors(t *testing.T) {
	s := newServer(t)
	s.refuse(rolesPath, 403)
	c, err := live.New(live.Config{REST: &rest.Config{Host: s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.List(t.Context()); err == nil || !strings.Contains(err.Error(), "clusterroles.rbac.authorization.k8s.io: grant get, list and watch") {
		t.Errorf("got %v", err)
	}
	s.refuse("/api", 500)
	if _, err := c.List(t.Context()); err == nil || !strings.Contains(err.Error(), "reading discovery") {
		t.Errorf("got %v", err)
	}
}

func TestKubeconfig(t *testing.T) {
	s := newServer(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"" + s.URL + "\"}}]\ncontexts: [{name: here, context: {cluster: c}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := live.New(live.Config{Kubeconfig: file, Context: "here"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]live.Config{"context": {Kubeconfig: file, Context: "elsewhere"}, "no such file": {Kubeconfig: file + ".none"}, "name a kubeconfig": {}} {
		if _, err := live.New(cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
