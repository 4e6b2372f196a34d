package pipeline

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/internal/manifest"
	"github.com/vapshadow/vapshadow/replay/live"
)

// runningCluster is a cluster that is read while it runs, if there is one.
type runningCluster struct {
	cluster *live.Cluster
	objects []manifest.Object
}

// running reads what a running cluster holds, where one is configured.
func (c *clusterStates) running(state *clusterState) (*runningCluster, error) {
	cfg, ok := c.cfg.Live[state.name]
	if !ok {
		return &runningCluster{}, nil
	}
	cfg.Log = c.cfg.Log
	cfg.Params = func() []schema.GroupVersionKind { return state.policies().ParamKinds() }
	cluster, err := live.New(cfg)
	if err != nil {
		return nil, err
	}
	listed, err := cluster.List(c.ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the running cluster: %w", err)
	}
	out := &runningCluster{cluster: cluster}
	for _, o := range listed {
		out.objects = append(out.objects, manifest.Object{
			APIVersion: o.APIVersion, Kind: o.Kind, Content: o.Content, At: manifest.Position{File: "the cluster"},
		})
	}
	return out, nil
}

// begin follows the cluster from there, until the context ends or the state is forgotten.
func (r *runningCluster) begin(ctx context.Context, state *clusterState) {
	if r.cluster == nil {
		return
	}
	watching, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.cluster.Watch(watching, state.replayer)
	}()
	state.unwatch = func() {
		cancel()
		<-done
	}
}
