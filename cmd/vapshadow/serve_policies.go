package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/internal/metrics"
	"github.com/vapshadow/vapshadow/internal/pipeline"
)

// openPolicies reads the policies of a configuration; nil where it names none.
func openPolicies(c *config.Config, minor int, log *slog.Logger) (*pipeline.Policies, error) {
	if len(c.Policies) == 0 {
		return nil, nil
	}
	p, err := pipeline.OpenPolicies(pipeline.PoliciesConfig{
		Paths: c.Policies, Minor: minor, Unbound: c.Unbound, Every: c.PoliciesEvery, Log: log,
	})
	if err != nil {
		return nil, err
	}
	for _, refusal := range p.Current().Refusals {
		log.Warn("a policy is left out, since an apiserver would refuse it", "reason", refusal)
	}
	for _, warning := range p.Current().Warnings {
		log.Warn("an apiserver would warn of a policy", "warning", warning)
	}
	return p, nil
}

// reloadOnSignal looks at the policies again at each SIGHUP.
func reloadOnSignal(ctx context.Context, p *pipeline.Policies) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			_ = p.Reload() // It is logged, and Status tells.
		}
	}
}

// showPolicies keeps the metrics of the policies up to date.
func showPolicies(ctx context.Context, p *pipeline.Policies, m *metrics.Metrics) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		s := p.Status()
		m.Policies(s.Policies, s.Bindings, s.Loaded, s.Err != nil)
		m.HighestCosts(p.HighestCosts())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
