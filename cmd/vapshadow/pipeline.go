package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/dashboards/report"
	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/internal/pipeline"
	"github.com/vapshadow/vapshadow/sink"
)

// replay hands the work to internal/pipeline. It is the only place of the command that knows it.
func replay(ctx context.Context, o replayOptions, s stdio) (found findings, err error) {
	w := bufio.NewWriterSize(s.out, 1<<16)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	summary := report.NewBuilder(report.Options{})
	cfg := pipeline.ReplayConfig{
		Policies: o.Policies, Cluster: o.Cluster, AuditLog: o.AuditLog, Stdin: s.in,
		Since: o.Since, Until: o.Until, Minor: o.Minor, Unbound: o.Unbound, ClusterName: o.ClusterName, TeamLabel: o.TeamLabel, Workers: o.Workers,
		History: o.History, HistoryBytes: o.HistoryBytes,
		Records: func(r *sink.Record) error {
			found.add(r)
			if o.Output == "jsonl" {
				return lines.Encode(r)
			}
			if !o.wantsDocument() {
				summary.Add(r)
			}
			return nil
		},
		Skips: newSkipLog(s.err).add,
	}
	if o.Output != "jsonl" {
		cfg.Unmatched = summary.AddUnmatched
	}
	if o.Progress != nil {
		cfg.Progress = func(p pipeline.Progress) { o.Progress(p.BytesRead, p.BytesTotal, p.Events) }
	}
	var store sink.Database
	if o.Store != "" {
		store, err = openStore(ctx, o.Store, newLogger(config.Log{Level: "warn"}, s.err))
		if err != nil {
			return found, err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		cfg.Store = store
	}
	var rows *documentStore
	if o.wantsDocument() {
		if rows, err = newDocumentStore(ctx); err != nil {
			return found, err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		cfg.Store = rows
	}
	result, err := pipeline.Replay(ctx, cfg)
	if err != nil {
		return found, err
	}
	if store != nil {
		if err := store.Seal(ctx, time.Now()); err != nil {
			return found, err
		}
	}
	if rows != nil {
		if err := rows.write(ctx, s, o.Output); err != nil {
			return found, err
		}
	} else if err := write(w, o.Output, summary.Summary(totals(result))); err != nil {
		return found, fmt.Errorf("writing the report: %w", err)
	}
	if err := w.Flush(); err != nil {
		return found, fmt.Errorf("writing the output: %w", err)
	}
	if o.Output == "jsonl" || rows != nil {
		leftOut(s.err, result)
	}
	if o.Strict && len(result.Refusals)+len(result.Skipped) > 0 {
		return found, errors.New("--strict: input was left out, see above")
	}
	return found, nil
}

func write(w io.Writer, output string, s *report.Summary) error {
	switch output {
	case "json":
		return report.WriteJSON(w, s)
	case "yaml":
		return report.WriteYAML(w, s)
	case "table", "wide":
		return report.WriteTable(w, s, output == "wide")
	}
	return nil
}

func totals(r *pipeline.Result) report.Totals {
	t := report.Totals{
		Events: r.Events, OutOfPeriod: r.OutOfPeriod, NotAdmission: r.NotAdmission, Skipped: r.Skipped,
		First: r.First, Last: r.Last, Refused: r.Refusals, Warnings: r.Warnings,
	}
	for _, p := range r.Pairs {
		t.Pairs = append(t.Pairs, report.Pair(p))
	}
	return t
}

// skipLog tells of the first pieces of input that are left out for each reason; the rest is only counted.
type skipLog struct {
	w    io.Writer
	told map[ingest.SkipReason]int
}

// toldSkips is how many pieces of input are named for each reason.
const toldSkips = 5

func newSkipLog(w io.Writer) *skipLog { return &skipLog{w: w, told: map[ingest.SkipReason]int{}} }

func (l *skipLog) add(s ingest.Skip) {
	l.told[s.Reason]++
	switch n := l.told[s.Reason]; {
	case n < toldSkips:
		_, _ = fmt.Fprintf(l.w, "vapshadow: skipped %s: %s: %s\n", s.At, s.Reason, s.Detail)
	case n == toldSkips:
		_, _ = fmt.Fprintf(l.w, "vapshadow: skipped %s: %s: %s (more of these are only counted)\n", s.At, s.Reason, s.Detail)
	}
}

// leftOut tells of what was refused, for an output that has no place for it.
func leftOut(w io.Writer, result *pipeline.Result) {
	for _, r := range result.Refusals {
		_, _ = fmt.Fprintf(w, "vapshadow: refused %s\n", r)
	}
	for _, reason := range slices.Sorted(maps.Keys(result.Skipped)) {
		_, _ = fmt.Fprintf(w, "vapshadow: skipped %d in all: %s\n", result.Skipped[reason], reason)
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
