package document

import (
	"fmt"
	"time"

	"github.com/vapshadow/vapshadow/dashboards/report/exception"
)

// Exceptions are the failures that people have accepted. They change no verdict: the apiserver knows none.
type Exceptions struct {
	// AsOf is what an exception has or has not expired by: the end of the period that was asked for, else now where it was
	// given, else the end of the data. It is zero where there is none of these; nothing has expired then.
	AsOf time.Time `json:"asOf,omitzero"`
	// Excepted sums up the failing workloads of the bindings.
	Excepted
	// List are the exceptions of the file that concern what was asked for, in the order of the file; Elsewhere is how many
	// others it has.
	List      []GivenException `json:"list"`
	Elsewhere int              `json:"elsewhere"`
}

// Excepted counts failing workloads, each for each binding that it fails.
type Excepted struct {
	Excepted int64 `json:"excepted"`
	// Expired are those whose every exception has expired.
	Expired     int64 `json:"expired"`
	NotExcepted int64 `json:"notExcepted"`
}

// GivenException is an exception of the file.
type GivenException struct {
	Policy  string `json:"policy"`
	Binding string `json:"binding,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	// Namespace is empty for a workload that is in none.
	Namespace string `json:"namespace"`
	// Kind and Name are empty for the whole namespace.
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
	Accepted
	// Workloads are the failing workloads that it is about; 0 is an exception for nothing.
	Workloads int64 `json:"workloads"`
}

// Accepted says by whom failures were accepted, why, and until when.
type Accepted struct {
	// Until is the last day, as 2027-03-31.
	Until      string `json:"until"`
	ApprovedBy string `json:"approvedBy"`
	Reason     string `json:"reason"`
	Expired    bool   `json:"expired"`
}

func accepted(e *exception.Exception, asOf time.Time) *Accepted {
	if e == nil {
		return nil
	}
	return &Accepted{e.Until.Format(time.DateOnly), e.ApprovedBy, e.Reason, e.Expired(asOf)}
}

// except holds the failing workloads against the exceptions, before the list of workloads is cut.
type except struct {
	list exception.List
	asOf time.Time
	// workloads counts for each exception what it covers.
	workloads []int64
}

// of finds the exception of a workload that is shown, nil for none.
func (x *except) of(b *Binding, w *Workload) *Accepted {
	var best *exception.Exception
	for i := range x.list {
		if e := &x.list[i]; e.Covers(b.Cluster, b.Policy, b.Binding, w.Namespace, w.Kind, w.Name) {
			x.workloads[i]++
			best = exception.Best(best, e, x.asOf)
		}
	}
	return accepted(best, x.asOf)
}

// addTo marks the failing workloads of a binding, all of which are given, and counts them. What is not told apart for its
// number is not excepted.
func (x *except) addTo(b *Binding) {
	var n Excepted
	for i := range b.Failing {
		w := &b.Failing[i]
		switch w.Exception = x.of(b, w); {
		case w.Exception == nil:
		case w.Exception.Expired:
			n.Expired++
		default:
			n.Excepted++
		}
	}
	n.NotExcepted = max(b.Workloads, int64(len(b.Failing))) - n.Excepted - n.Expired
	b.Exceptions = &n
}

// asOf is what exceptions expire by. It hangs on the data and on what was asked for, not on the time of day.
func (d *Document) asOf() time.Time {
	switch {
	case !d.Asked.To.IsZero():
		return d.Asked.To
	case !d.Asked.Now.IsZero():
		return d.Asked.Now
	case !d.Last.IsZero():
		return d.Last.Add(time.Minute)
	}
	return time.Time{}
}

// exceptions sums up what came of the exceptions.
func (d *Document) exceptions(x *except) *Exceptions {
	out := &Exceptions{AsOf: x.asOf, List: []GivenException{}}
	for i := range d.Bindings {
		n := d.Bindings[i].Exceptions
		out.Excepted.Excepted += n.Excepted
		out.Expired += n.Expired
		out.NotExcepted += n.NotExcepted
	}
	for i := range x.list {
		e := &x.list[i]
		if !e.Concerns(d.Asked.Cluster, d.Asked.Policy, d.Asked.Binding) {
			out.Elsewhere++
			continue
		}
		out.List = append(out.List, GivenException{
			e.Policy, e.Binding, e.Cluster, e.Namespace, e.Kind, e.Name, *accepted(e, x.asOf), x.workloads[i],
		})
	}
	return out
}

// lines say what was excepted. They are for forms that have no table of exceptions.
func (x *Exceptions) lines() []string {
	if x == nil {
		return nil
	}
	out := []string{x.sentence()}
	for i := range x.List {
		e := &x.List[i]
		out = append(out, fmt.Sprintf("exception of %s, %s: %s; %s", e.policy(), e.where(), e.words(), e.state()))
	}
	return out
}

func (x *Exceptions) sentence() string {
	text := fmt.Sprintf("failing workloads of all bindings: %d excepted, %d with an exception that has expired, %d not excepted", x.Excepted.Excepted, x.Expired, x.NotExcepted)
	if !x.AsOf.IsZero() {
		text += ", as of " + moment(x.AsOf)
	}
	if x.Elsewhere > 0 {
		text += fmt.Sprintf("; exceptions of what is not asked for here: %d", x.Elsewhere)
	}
	return text
}

// policy says which policy and binding it is about.
func (e *GivenException) policy() string {
	name := plain(e.Policy)
	if e.Binding != "" {
		name += " / " + plain(e.Binding)
	}
	if e.Cluster != "" {
		name = plain(e.Cluster) + ": " + name
	}
	return name
}

// where says what it is about.
func (e *GivenException) where() string {
	if e.Name == "" {
		return "all of namespace " + plain(e.Namespace)
	}
	w := Workload{Namespace: e.Namespace, Kind: e.Kind, Name: e.Name}
	return w.scope()
}

// state says what came of it.
func (e *GivenException) state() string {
	switch {
	case e.Workloads == 0 && e.Expired:
		return "expired, and matches nothing that fails"
	case e.Workloads == 0:
		return "matches nothing that fails"
	case e.Expired:
		return fmt.Sprintf("expired; failing workloads: %d", e.Workloads)
	default:
		return fmt.Sprintf("in force; failing workloads: %d", e.Workloads)
	}
}

// words say beside a workload what was accepted; empty for nothing.
func (a *Accepted) words() string {
	if a == nil {
		return ""
	}
	how := "excepted until "
	if a.Expired {
		how = "exception expired after "
	}
	return how + plain(a.Until) + " by " + plain(a.ApprovedBy) + ": " + plain(a.Reason)
}

// words say how many of a binding's failing workloads are excepted; empty where no exceptions were given.
func (n *Excepted) words() string {
	if n == nil || n.Excepted+n.Expired+n.NotExcepted == 0 {
		return ""
	}
	return fmt.Sprintf("failing workloads: %d excepted, %d with an exception that has expired, %d not excepted", n.Excepted, n.Expired, n.NotExcepted)
}
