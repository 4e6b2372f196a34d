package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/vapshadow/vapshadow/internal/pipeline"
	"github.com/vapshadow/vapshadow/sink"
)

// replay hands the work to internal/pipeline. It is the only place of the command that knows it.
func replay(ctx context.Context, o replayOptions, s stdio) (findings, error) {
	found := findings{}
	w := bufio.NewWriterSize(s.out, 1<<16)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	cfg := pipeline.ReplayConfig{
		Policies: o.Policies, Cluster: o.Cluster, AuditLog: o.AuditLog, Stdin: s.in,
		Since: o.Since, Until: o.Until, Minor: o.Minor, Unbound: o.Unbound, ClusterName: o.ClusterName, Workers: o.Workers,
		Records: func(r *sink.Record) error {
			found.add(r)
			if o.Output != "jsonl" {
				return nil
			}
			return lines.Encode(r)
		},
	}
	if o.Progress != nil {
		cfg.Progress = func(p pipeline.Progress) { o.Progress(p.BytesRead, p.BytesTotal, p.Events) }
	}
	result, err := pipeline.Replay(ctx, cfg)
	if err != nil {
		return found, err
	}
	if err := w.Flush(); err != nil {
		return found, fmt.Errorf("writing the output: %w", err)
	}
	if o.Output == "jsonl" {
		leftOut(s.err, result)
	}
	if o.Strict && len(result.Refusals)+len(result.Skipped) > 0 {
		return found, errors.New("--strict: input was left out, see above")
	}
	return found, nil
}

// leftOut tells of what was left out.
func leftOut(w io.Writer, result *pipeline.Result) {
	for _, r := range result.Refusals {
		fmt.Fprintf(w, "vapshadow: refused: %s\n", r)
	}
	for reason, n := range result.Skipped {
		fmt.Fprintf(w, "vapshadow: skipped: %d %s\n", n, reason)
	}
}

// add counts the evaluations of a record that --fail-on can name.
func (n *findings) add(r *sink.Record) {
	for _, e := range r.Evaluations {
		switch e.Result {
		case "Fail":
			n.fail++
		case "Error":
			n.error++
		case "Unknown":
			n.unknown++
		}
		if e.BlocksAnyway {
			n.blocks++
		}
	}
}
