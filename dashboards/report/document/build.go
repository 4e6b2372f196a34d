package document

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/vapshadow/vapshadow/dashboards/report/exception"
	"github.com/vapshadow/vapshadow/sink"
)

// Options say what a document is to tell of.
type Options struct {
	// Filter narrows by cluster, policy, binding and period.
	Filter   sink.Filter
	Criteria sink.Criteria
	Versions Versions
	// Exceptions are failures that were accepted; nil where nobody asks for them, which is not the same as an empty list.
	Exceptions exception.List
}

// Build reads a store.
func Build(ctx context.Context, r sink.Reader, o Options) (*Document, error) {
	c := o.Criteria.WithDefaults()
	d := &Document{
		APIVersion: APIVersion, Versions: o.Versions, Bindings: []Binding{},
		Asked: Asked{
			From: o.Filter.Since, To: o.Filter.Until, Cluster: o.Filter.Cluster, Policy: o.Filter.Policy, Binding: o.Filter.Binding, Team: o.Filter.Team,
			Days: max(c.Days, 0), Coverage: max(c.Coverage, 0), Now: c.Now,
		},
	}
	list, err := r.Readiness(ctx, o.Filter, o.Criteria)
	if err != nil {
		return nil, err
	}
	if d.Population, err = population(ctx, r, o.Filter.Cluster); err != nil {
		return nil, err
	}
	if d.Agreement, err = agreementIn(ctx, r, o.Filter); err != nil {
		return nil, err
	}
	failing, err := gather(ctx, r, o.Filter)
	if err != nil {
		return nil, err
	}
	texts, err := readTexts(ctx, r, o.Filter.Cluster)
	if err != nil {
		return nil, err
	}
	for _, ready := range list {
		b := Binding{Readiness: ready, Sentence: ready.Sentence(), Coverage: ready.Percent()}
		failing[pairOf(ready.Cluster, ready.Policy, ready.Binding)].addTo(&b)
		b.PolicyText = texts.find(ready.Cluster, "ValidatingAdmissionPolicy", ready.Policy, ready.PolicyHash)
		b.BindingText = texts.find(ready.Cluster, "ValidatingAdmissionPolicyBinding", ready.Binding, ready.BindingHash)
		b.LeavesOut = leftOut(b.PolicyText, b.BindingText)
		d.add(b)
	}
	slices.SortFunc(d.Bindings, worseFirst)
	if o.Exceptions != nil {
		x := &except{list: o.Exceptions, asOf: d.asOf(), workloads: make([]int64, len(o.Exceptions))}
		for i := range d.Bindings {
			x.addTo(&d.Bindings[i])
		}
		d.Exceptions = d.exceptions(x)
	}
	for i := range d.Bindings {
		d.Bindings[i].cut()
	}
	return d, d.seal()
}

func (d *Document) add(b Binding) {
	d.Bindings = append(d.Bindings, b)
	if !b.First.IsZero() && (d.First.IsZero() || b.First.Before(d.First)) {
		d.First = b.First
	}
	if b.Last.After(d.Last) {
		d.Last = b.Last
	}
	switch b.Verdict {
	case sink.Misconfigured:
		d.Verdicts.Misconfigured++
	case sink.WouldBreak:
		d.Verdicts.WouldBreak++
	case sink.NotEnoughEvidence:
		d.Verdicts.NotEnoughEvidence++
	case sink.Ready:
		d.Verdicts.Ready++
	}
}

var weights = []sink.ReadinessVerdict{sink.Misconfigured, sink.WouldBreak, sink.NotEnoughEvidence, sink.Ready}

func worseFirst(a, b Binding) int {
	return cmp.Or(
		cmp.Compare(slices.Index(weights, a.Verdict), slices.Index(weights, b.Verdict)),
		-cmp.Compare(a.Workloads, b.Workloads),
		cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Binding, b.Binding),
	)
}

// population sums up the ledger, which knows no period.
func population(ctx context.Context, r sink.Reader, cluster string) (Population, error) {
	p := Population{NotAdmission: map[string]int64{}, Skipped: map[string]int64{}, DeadLettered: map[string]int64{}}
	for line, err := range r.Ledger(ctx, sink.Filter{Cluster: cluster}) {
		if err != nil {
			return p, err
		}
		switch line.Outcome {
		case sink.Ingested:
			p.Ingested += line.Count
		case sink.Evaluated:
			p.Evaluated += line.Count
		case sink.Requests:
			p.Requests += line.Count
		case sink.NotAdmission:
			p.NotAdmission[line.Reason] += line.Count
		case sink.Skipped:
			p.Skipped[line.Reason] += line.Count
		case sink.DeadLettered:
			p.DeadLettered[line.Reason] += line.Count
		}
	}
	p.Unaccounted = p.Ingested - p.Evaluated - total(p.NotAdmission) - total(p.Skipped) - total(p.DeadLettered)
	return p, nil
}

func total(of map[string]int64) (n int64) {
	for _, k := range of {
		n += k
	}
	return n
}

// texts are the policies and bindings that a store holds.
type texts map[sink.PolicyText]string

func readTexts(ctx context.Context, r sink.Reader, cluster string) (texts, error) {
	out := texts{}
	for t, err := range r.Policies(ctx, sink.Filter{Cluster: cluster}) {
		if err != nil {
			return nil, fmt.Errorf("reading the texts of the policies: %w", err)
		}
		text := t.Text
		t.Text = ""
		out[t] = text
	}
	return out, nil
}

// find finds a text by its hash. Where nothing was evaluated there is no hash, and the only text of the name is the one.
func (t texts) find(cluster, kind, name, hash string) string {
	if hash != "" {
		return t[sink.PolicyText{Cluster: cluster, Kind: kind, Name: name, Hash: hash}]
	}
	var found []string
	for of, text := range t {
		if of.Cluster == cluster && of.Kind == kind && of.Name == name {
			found = append(found, text)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}
