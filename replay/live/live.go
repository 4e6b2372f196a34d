// Package live reads the state of a running cluster that verdicts hang on, and only reads: it lists and watches
// Namespaces, RBAC, CustomResourceDefinitions, the kinds that policies take as params and, where that is wanted, policies
// and bindings.
//
// The audit log and a watch tell of the same writes, and neither keeps step with the other: the log is mostly some
// seconds behind, and may leave these kinds out. So a state that a watch shows is no answer by itself to what a request
// of the log saw. What decides is this:
//
//   - resourceVersions order the states of one object, whoever shows them. A state that both show counts once, at the
//     time that the log says.
//   - A state that only a watch shows was written after the times in its own metadata, and before the watch told of it
//     (Config.Skew is added, as clocks differ). A write in the log that was given a greater resourceVersion draws the
//     second bound closer.
//   - A request between these bounds may have seen that state or the one before. What differs is Missing to it, because
//     of Changing; where no state before is known, all of it.
//   - Absence says something from the first complete list on. Before it, and while a watch is interrupted, what is not
//     known to have been there is Missing, because of NotWatched.
//   - RBAC, CustomResourceDefinitions, discovery and policies are a snapshot at first, taken by List, as one from files
//     would be: Presumed for what came before. Their changes are told by the watch, within bounds as above.
//
// What is left to trust: that a watch tells of a write before the log brings the requests that came after it. The log
// passes through a batch, a file or a topic, and a watch does not.
package live

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config says which cluster to read, and what of it.
type Config struct {
	// REST is how to reach the apiserver. Nil asks Kubeconfig.
	REST *rest.Config
	// Kubeconfig is a file, and Context one of its contexts; empty is its current one. Without a file, the process has to
	// run in the cluster.
	Kubeconfig, Context string
	// Params are the kinds that policies take as params. It is asked now and then, since policies change; nil is none.
	Params func() []schema.GroupVersionKind
	// Policies reads policies and bindings too, those with the labels that Selector asks for.
	Policies bool
	Selector string
	// Skew is what the clocks of this machine and of the apiservers may differ by; 0 stands for 2 s.
	Skew time.Duration
	// Retry is how long to wait after an error, and how often Params is asked; 0 stands for 5 s.
	Retry time.Duration
	// Log is told of each error once; nil is silent.
	Log *slog.Logger
}

// Cluster is a running cluster. Its methods are safe for use by several goroutines.
type Cluster struct {
	cfg    Config
	client dynamic.Interface
	rest   rest.Interface

	mu      sync.Mutex
	watched map[schema.GroupVersionResource]*status
}

// Status is how the watch of a resource is.
type Status struct {
	Resource schema.GroupVersionResource
	// Objects are those that are there, and Alive when the apiserver last told something; zero before the first list.
	Objects int
	Alive   time.Time
	// Err is why the resource is not watched at the moment; nil where it is.
	Err error
}

// status is Status, and what the watch begins with.
type status struct {
	Status
	revision string
	objects  map[string]known
}

// New reaches no cluster yet: it fails where the configuration names none.
func New(cfg Config) (*Cluster, error) {
	if cfg.Skew <= 0 {
		cfg.Skew = 2 * time.Second
	}
	if cfg.Retry <= 0 {
		cfg.Retry = 5 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	reach, err := cfg.reach()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	reach = rest.CopyConfig(reach)
	reach.UserAgent = "vapshadow"
	client, err := dynamic.NewForConfig(reach)
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	raw, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(reach))
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	return &Cluster{cfg: cfg, client: client, rest: raw, watched: map[schema.GroupVersionResource]*status{}}, nil
}

// reach is how to reach the apiserver.
func (c Config) reach() (*rest.Config, error) {
	switch {
	case c.REST != nil:
		return c.REST, nil
	case c.Kubeconfig == "":
		inside, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("this is no pod of a cluster: name a kubeconfig")
		}
		return inside, err
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
}

// Status lists how each watch is, ordered by resource.
func (c *Cluster) Status() []Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Status
	for _, s := range c.watched {
		out = append(out, s.Status)
	}
	sortStatus(out)
	return out
}
