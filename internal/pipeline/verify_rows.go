package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/sink"
)

// Compared names what Verify compared, and what decided.
type Compared struct {
	Cluster           string
	KubernetesVersion string
	// VapshadowVersion, ApiserverVersion and CELVersion are those of what decided.
	VapshadowVersion, ApiserverVersion, CELVersion string
}

// Rows makes rows of the agreement, to be stored. The run is named by a digest of all that it says and of the texts of the
// policies: the same log, compared with the same policies by the same versions, gives the same run. It has to have events.
func (a *Agreement) Rows(of Compared) (sink.AgreementRun, []sink.Agreement, error) {
	run := sink.AgreementRun{
		Cluster: of.Cluster, Log: a.log, FirstEvent: a.First.UTC(), LastEvent: a.Last.UTC(), KubernetesVersion: of.KubernetesVersion,
		VapshadowVersion: of.VapshadowVersion, ApiserverVersion: of.ApiserverVersion, CELVersion: of.CELVersion,
		Recorded: a.Recorded, Unfinished: a.Unfinished,
	}
	a.account(&run)
	rows := a.rows()
	text, err := json.Marshal(struct {
		Run      sink.AgreementRun
		Rows     []sink.Agreement
		Policies string
	}{run, rows, a.policies})
	if err != nil {
		return run, nil, fmt.Errorf("naming the run: %w", err)
	}
	run.Run = hexDigest(text)
	return run, rows, nil
}

// account says what became of each piece of input. A repeated event is among the skipped pieces, and an event as well.
func (a *Agreement) account(run *sink.AgreementRun) {
	repeated := a.Skipped[reasonDuplicate]
	run.Evaluated, run.NotAdmission, run.Skipped = a.Admissions, total(a.NotAdmission), a.OutOfPeriod+repeated
	run.DeadLettered = total(a.Result.Skipped) - repeated
	run.Ingested = a.Events + run.DeadLettered
}

func total(of map[string]int64) (n int64) {
	for _, k := range of {
		n += k
	}
	return n
}

// rows are ordered: the pairs, the annotations, what is not given.
func (a *Agreement) rows() []sink.Agreement {
	var out []sink.Agreement
	add := func(row sink.Agreement, outcome, reason string, count int64, auditIDs ...string) {
		if count > 0 {
			row.Outcome, row.Reason, row.Count, row.AuditIDs = outcome, reason, count, auditIDs
			out = append(out, row)
		}
	}
	split := func(row sink.Agreement, r *reasons) {
		for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
			add(row, sink.Disagreed, kind, r.Kinds[kind].Count, r.Kinds[kind].AuditIDs...)
		}
		for _, because := range slices.Sorted(maps.Keys(r.UndecidedBecause)) {
			add(row, sink.Undecided, because, r.UndecidedBecause[because])
		}
	}
	for i := range a.Compared {
		p := &a.Compared[i]
		row := sink.Agreement{Policy: p.Policy, Binding: p.Binding}
		add(row, sink.Agreed, sink.BothFail, p.Failed-p.Reordered)
		add(row, sink.Agreed, sink.Reordered, p.Reordered)
		add(row, sink.Agreed, sink.BothPass, p.Passed)
		add(row, sink.NotRecorded, "", p.NotRecorded)
		split(row, &p.reasons)
	}
	for i := range a.Annotations {
		p := &a.Annotations[i]
		row := sink.Agreement{Policy: p.Policy, Annotation: p.Key}
		add(row, sink.Agreed, "", p.Agreed-p.Reordered)
		add(row, sink.Agreed, sink.Reordered, p.Reordered)
		add(row, sink.NotRecorded, "", p.NotRecorded)
		split(row, &p.reasons)
	}
	for _, n := range a.NotGiven {
		add(sink.Agreement{Policy: n.Policy, Binding: n.Binding}, sink.NotGiven, "", n.Events)
	}
	return out
}

// logName tells a log from others by its first event.
func logName(ev *ingest.Event) string {
	return hexDigest(fmt.Appendf(nil, "%q %q %d", ev.AuditID, ev.Stage, ev.StageTimestamp.UnixMicro()))
}

// policiesName is a digest of texts.
func policiesName(texts []engine.Text) string {
	var all []byte
	for _, t := range texts {
		all = fmt.Appendf(all, "%s %q %s\n", t.Kind, t.Name, t.Hash)
	}
	return hexDigest(all)
}

func hexDigest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
