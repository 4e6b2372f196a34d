package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/engine"
	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/sink"
)

// becauseNotRebuilt: the event does not tell which objects the request was about. Other reasons are those of replay and
// engine.
const becauseNotRebuilt = "NotRebuilt"

// comparison holds the decisions in the events against the records that vapshadow makes of them.
type comparison struct {
	minor    int
	policies *timeline
	tell     func(Disagreement)

	// known are the policies and bindings up to the state scanned.
	scanned       *engine.Engine
	known         map[pairName]bool
	knownPolicies map[string]bool

	pairs       map[pairName]*PairAgreement
	annotations map[pairName]*AnnotationAgreement // the key in the place of the binding
	notGiven    map[pairName]int64
	because     map[string]int64
	// unfinished are the requests whose decisions a ResponseStarted event showed, by audit ID.
	unfinished map[string]bool
	writes     writes
	log        string
	recorded   int64
	unreadable int64
	longest    int // of the lists of failures
	// named are the policies that events name.
	named map[string]bool
}

func newComparison(minor int, policies *timeline, tell func(Disagreement)) *comparison {
	return &comparison{
		minor: minor, policies: policies, tell: tell, known: map[pairName]bool{}, knownPolicies: map[string]bool{},
		pairs: map[pairName]*PairAgreement{}, annotations: map[pairName]*AnnotationAgreement{}, notGiven: map[pairName]int64{},
		because: map[string]int64{}, unfinished: map[string]bool{}, named: map[string]bool{},
		writes: writes{last: map[object]time.Time{}},
	}
}

// learn takes in the policies of states that came since.
func (c *comparison) learn() {
	if last := c.policies.last(); last != c.scanned {
		c.scanned = last
		for _, p := range c.policies.pairs() {
			c.known[pairName{p.Policy, p.Binding}] = true
			c.known[pairName{p.Policy, ""}] = true
			c.knownPolicies[p.Policy] = true
		}
	}
}

// event compares one event with its records: one, or one an object for deletecollection.
func (c *comparison) event(ev *ingest.Event, notAdmission string, records []*sink.Record) {
	c.learn()
	if c.log == "" {
		c.log = logName(ev)
	}
	r := readRecorded(ev, func(name string) bool { return c.knownPolicies[name] })
	switch {
	case ev.Stage == ingest.StageResponseStarted && r.any():
		c.unfinished[ev.AuditID] = true // ResponseComplete tells the same again.
		return
	case ev.Stage != ingest.StageResponseComplete && ev.Stage != ingest.StagePanic:
		return
	}
	delete(c.unfinished, ev.AuditID)
	if r.any() {
		c.recorded++
		c.name(r)
	}
	c.longest = max(c.longest, len(r.failures))
	c.unreadable += one(r.unreadable)
	r.perhapsNone = ev.Verb == "deletecollection" && len(records) == 1 && records[0].Name == ""
	r.perhapsRetried = c.writes.overlap(ev)
	c.writes.add(ev)
	about, given := place(ev, records), c.given(r)
	if len(records) == 0 {
		c.withoutRecord(about, given, notAdmission, r)
		return
	}
	for _, j := range c.judgements(r, given, records) {
		if r.perhapsRetried && j.outcome == differ {
			j.outcome, j.differences, j.because = undecided, nil, becausePerhapsRetried
		}
		c.count(j, about)
	}
	c.compareValues(r, records, about)
}

func (c *comparison) name(r *recorded) {
	for _, p := range r.pairs() {
		c.named[p.policy] = true
	}
	for key := range r.values {
		policy, _, _ := strings.Cut(key, "/")
		c.named[policy] = true
	}
}

// judgements compares every policy and binding that either side names. An event keeps the annotations of the first
// object that has any, so that with several objects one of them has to fit.
func (c *comparison) judgements(r *recorded, given []pairName, records []*sink.Record) []judgement {
	if len(records) == 1 || len(r.failures) == 0 && r.rejection == nil {
		return c.judge(r, given, opinions(records...))
	}
	var best []judgement
	least := 0
	for _, record := range records {
		js := c.judge(r, given, opinions(record))
		if n := misfits(js); best == nil || n < least {
			best, least = js, n
		}
	}
	return best
}

// misfits weighs how badly an object fits what is recorded: disagreement, the more so where nothing fails, and after it
// what cannot be told.
func misfits(js []judgement) int {
	n := 0
	for _, j := range js {
		switch j.outcome {
		case differ:
			n += 1000
		case undecided:
			n++
		}
		for _, d := range j.differences {
			n += int(one(d.Vapshadow != SaidFail))
		}
	}
	return n
}

func (c *comparison) judge(r *recorded, given []pairName, ours map[pairName]*opinion) []judgement {
	names := slices.Collect(maps.Keys(ours))
	for _, p := range given {
		if ours[p] == nil {
			names = append(names, p)
		}
	}
	slices.SortFunc(names, func(a, b pairName) int {
		return cmp.Or(cmp.Compare(a.policy, b.policy), cmp.Compare(a.binding, b.binding))
	})
	out := make([]judgement, 0, len(names))
	for _, p := range names {
		j := judge(p, ours[p], r, c.minor)
		if ours[p] == nil {
			j.doubt(ours)
		}
		out = append(out, j)
	}
	return out
}

// doubt makes a decision that vapshadow has no opinion on undecided where it does not know whether the policy is
// misconfigured as a whole.
func (j *judgement) doubt(ours map[pairName]*opinion) {
	for p, o := range ours {
		if p.policy == j.pair.policy && o.unknown && (p.binding == "" || j.pair.binding == "") {
			j.outcome, j.differences, j.because = undecided, nil, o.because
		}
	}
}

// given are the policies and bindings that an event names, without those that are not there to be evaluated.
func (c *comparison) given(r *recorded) []pairName {
	var out []pairName
	for _, p := range r.pairs() {
		if c.known[p] {
			out = append(out, p)
		} else {
			c.notGiven[p]++
		}
	}
	return out
}

// withoutRecord handles an event that vapshadow has no record of: there should be no decision in it.
func (c *comparison) withoutRecord(about Disagreement, given []pairName, notAdmission string, r *recorded) {
	for _, p := range given {
		j := judge(p, nil, r, c.minor)
		if notAdmission == "" {
			j.outcome, j.differences, j.because = undecided, nil, becauseNotRebuilt
		}
		for i := range j.differences {
			j.differences[i].Vapshadow = SaidNotAdmission
		}
		c.count(j, about)
	}
}

// count adds a judgement up and tells of its differences.
func (c *comparison) count(j judgement, about Disagreement) {
	row := c.pairs[j.pair]
	if row == nil {
		row = &PairAgreement{Policy: j.pair.policy, Binding: j.pair.binding, reasons: newReasons()}
		c.pairs[j.pair] = row
	}
	switch j.outcome {
	case bothPass:
		row.Passed++
	case bothFail:
		row.Failed++
		row.Reordered += one(j.reordered)
	case differ:
		row.Disagreed++
		row.disagreed(j.differences[0].kind(), about.AuditID)
	case undecided:
		row.Undecided++
		row.UndecidedBecause[j.because]++
		c.because[j.because]++
	case notRecorded:
		row.NotRecorded++
	}
	for _, d := range j.differences {
		d.Policy, d.Binding = j.pair.policy, j.pair.binding
		c.tell(d.at(about))
	}
}

// at returns the disagreement with what another one says of the event.
func (d Disagreement) at(about Disagreement) Disagreement {
	d.AuditID, d.StageTimestamp, d.Operation = about.AuditID, about.StageTimestamp, about.Operation
	d.Group, d.Resource, d.SubResource = about.Group, about.Resource, about.SubResource
	d.Namespace, d.Name = about.Namespace, about.Name
	return d
}

// place tells where an event is, and what it is about.
func place(ev *ingest.Event, records []*sink.Record) Disagreement {
	d := Disagreement{AuditID: ev.AuditID, StageTimestamp: ev.StageTimestamp.UTC()}
	if ref := ev.ObjectRef; ref != nil {
		d.Group, d.Resource, d.SubResource, d.Namespace, d.Name = ref.APIGroup, ref.Resource, ref.Subresource, ref.Namespace, ref.Name
	}
	if len(records) > 0 {
		d.Operation = records[0].Operation
	}
	if len(records) == 1 {
		d.Name = cmp.Or(d.Name, records[0].Name)
	}
	return d
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
