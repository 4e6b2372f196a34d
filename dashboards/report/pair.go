package report

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"github.com/vapshadow/vapshadow/sink"
)

// pair sums up a policy with one of its bindings.
type pair struct {
	options Options
	// request is the number of the record that outcome is of.
	request int64
	outcome outcome

	sum        Policy
	because    map[string]*because
	objects    map[[16]byte]struct{}
	moreThings bool
	namespaces tally
	workloads  tally
	users      tally
	messages   messageTally
}

type because struct {
	count      int64
	attributes tally
}

func newPair(o Options) *pair {
	return &pair{
		options: o, because: map[string]*because{}, objects: map[[16]byte]struct{}{},
		namespaces: newTally(o.Names), workloads: newTally(o.Names), users: newTally(o.Names), messages: newMessageTally(o.Names),
	}
}

func (p *pair) addActions(actions []string) {
	for _, a := range actions {
		if !slices.Contains(p.sum.ValidationActions, a) {
			p.sum.ValidationActions = append(p.sum.ValidationActions, a)
		}
	}
}

// count adds the outcome of a record.
func (p *pair) count(rec *sink.Record) {
	o, s := &p.outcome, &p.sum
	s.Matched++
	switch o.result {
	case resultSkipped:
		s.Skipped++
	case resultPass:
		s.Passed++
	case resultFail:
		s.Failed++
	case resultError:
		s.Errors++
		s.ErrorsIgnored += one(!o.stops())
	case resultUnknown:
		s.Unknown++
		p.countUnknown()
	}
	switch {
	case o.result == resultUnknown:
		s.Coverage.Unknown++
	case o.presumed:
		s.Coverage.Presumed++
	default:
		s.Coverage.Exact++
	}
	s.WouldDeny += one(o.deny)
	s.WouldWarn += one(o.warn)
	s.WouldAudit += one(o.audit)
	s.BlocksAnyway += one(o.blocks)
	if o.stops() {
		s.WouldStop++
		s.Repeats += one(o.repeats())
		s.AlreadyFailed += one(rec.Code >= 400)
		p.countStopped(rec)
	}
}

func (p *pair) countUnknown() {
	b := p.because[p.outcome.because]
	if b == nil {
		b = &because{attributes: newTally(p.options.Names)}
		p.because[p.outcome.because] = b
	}
	b.count++
	for _, a := range p.outcome.attributes {
		b.attributes.add(a)
	}
}

func (p *pair) countStopped(rec *sink.Record) {
	object := objectOf(rec)
	if _, known := p.objects[object]; !known {
		if len(p.objects) < p.options.Objects {
			p.objects[object] = struct{}{}
		} else {
			p.moreThings = true
		}
	}
	if rec.Namespace != "" {
		p.namespaces.add(rec.Namespace)
	}
	p.workloads.add(workload(rec))
	p.users.add(rec.User.Username)
	for _, m := range p.outcome.messages {
		p.messages.add(m, rec)
	}
}

// objectOf tells objects apart by cluster, resource, namespace and name. An object without a name is one by itself.
func objectOf(rec *sink.Record) [16]byte {
	name := rec.Name
	if name == "" {
		name = "\x00" + rec.AuditID
	}
	h := sha256.New()
	for _, part := range []string{rec.Cluster, rec.Resource.Group, rec.Resource.Resource, rec.Namespace, name} {
		h.Write([]byte(part))
		h.Write([]byte{0xff}) // no part of valid UTF-8, so parts do not run into each other
	}
	return [16]byte(h.Sum(nil))
}

// workload names what a person made: the owner of an object, or the object.
func workload(rec *sink.Record) string {
	kind, name := rec.Kind.Kind, rec.Name
	switch {
	case rec.Owner != nil:
		kind, name = rec.Owner.Kind, rec.Owner.Name
	case rec.SubResource != "":
		kind = rec.Resource.Resource + "/" + rec.SubResource
	}
	if name == "" {
		name = "(no name)"
	}
	if rec.Namespace != "" && kind != "Namespace" {
		name = rec.Namespace + "/" + name
	}
	return kind + " " + name
}

// row returns the sum.
func (p *pair) row(name pairName) Policy {
	row := p.sum
	row.Policy, row.Binding = name.policy, name.binding
	row.ValidationActions = inOrder(row.ValidationActions)
	for reason, b := range p.because {
		row.UnknownBecause = append(row.UnknownBecause, Because{Because: reason, Count: b.count, Attributes: b.attributes.top(p.options.Top)})
	}
	slices.SortFunc(row.UnknownBecause, func(a, b Because) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Because, b.Because))
	})
	if row.WouldStop > 0 {
		row.Stopped = &Stopped{
			Objects:    Distinct{Count: int64(len(p.objects)), AtLeast: p.moreThings},
			Namespaces: p.namespaces.top(p.options.Top),
			Workloads:  p.workloads.top(p.options.Top),
			Users:      p.users.top(p.options.Top),
			Messages:   p.messages.top(p.options.Top),
		}
	}
	return row
}

// inOrder returns the actions from the strongest to the weakest, each once; never nil.
func inOrder(actions []string) []string {
	out := slices.Clone(actions)
	rank := func(a string) int {
		if i := slices.Index([]string{actionDeny, actionWarn, actionAudit}, a); i >= 0 {
			return i
		}
		return 3
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	return append([]string{}, slices.Compact(out)...)
}
