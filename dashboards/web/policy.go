package web

import (
	"context"

	"github.com/vapshadow/vapshadow/sink"
)

type policyView struct {
	Policy   string // as it is shown
	Bindings []bindingView
	Trend    *chart
	Legend   []legend

	Workloads, Namespaces, Users, Messages table
	System                                 []string
	Changes                                table
	Unknowns, Attributes                   table
	Trust                                  []trust
	Expressions                            table
	Texts                                  []textView
	Requests, New                          string
}

// bindingView is the verdict on a binding, and why.
type bindingView struct {
	Name, Cluster string
	Pill          *pill
	Sentence      string
	Actions       string
	Next          string
	Facts         []fact
	Coverage      *bar
	Legend        []legend
}

type fact struct{ Name, Value, Note string }

// policy answers the four questions for one policy.
func policy(ctx context.Context, s *server, q query) (view, error) {
	name := q.get("policy")
	v := view{Title: "Policy " + short(plain(name), 160), Crumbs: []crumb{{"Overview", q.link("")}}}
	if name == "" {
		return v, wrong("Which policy? Choose one on the overview.")
	}
	f := q.filter()
	f.Policy = name
	all, err := s.Reader.Readiness(ctx, f, s.Criteria)
	if err != nil {
		return v, err
	}
	texts, err := policyTexts(ctx, s.Reader, f, all)
	if err != nil {
		return v, err
	}
	if len(all) == 0 && len(texts.all) == 0 {
		return v, &problem{404, "Nothing is stored of a policy " + plain(name) + " in this period. Choose a longer one, or look at the overview for those that there are."}
	}
	b := policyView{
		Policy: short(plain(name), 160), System: systemActors(all), Legend: coverageLegend, Expressions: texts.expressions(),
		Texts: texts.all, Requests: q.link("search", "policy", name, "result", "stopped"), New: q.link("search", "policy", name, "result", "new"),
	}
	for i := range all {
		b.Bindings = append(b.Bindings, bindingOf(&all[i], texts))
	}
	for _, fill := range []struct {
		table *table
		make  func(context.Context, Reader, *query, sink.Filter) (table, error)
	}{
		{&b.Workloads, workloadsTable}, {&b.Namespaces, namespacesTable}, {&b.Users, usersTable}, {&b.Messages, messagesTable},
		{&b.Unknowns, unknownsTable}, {&b.Attributes, attributesTable}, {&b.Changes, hashesTable},
	} {
		if *fill.table, err = fill.make(ctx, s.Reader, &q, f); err != nil {
			return v, err
		}
	}
	agrees, err := agreementIn(ctx, s.Reader, &q, f)
	if err != nil {
		return v, err
	}
	b.Trust = []trust{agrees}
	b.Trend, err = trend(ctx, s.Reader, f, "Requests that this policy would have stopped, or of which it is not known")
	v.Body = b
	return v, err
}

func bindingOf(r *sink.Readiness, texts *policyTextsOf) bindingView {
	b := bindingView{
		Name: r.Binding, Cluster: r.Cluster, Pill: verdictPill(r), Sentence: sentence(r), Actions: texts.actions(r.Cluster, r.Binding), Next: next(r), Legend: coverageLegend,
	}
	b.Facts = []fact{
		{"Requests stopped", number(r.WouldFail), "were the binding set to [Deny]"},
		{"Of them repeated", number(r.Repeats), "they left what fails as it was"},
		{"Workloads", number(r.Workloads), number(r.NewWorkloads) + " new, " + number(r.FailingNow) + " failing now, " + number(r.Healed) + " healed"},
		{"Namespaces", number(r.Namespaces), ""},
		{"Users", number(r.Users), several(r.SystemActors, "of them is a part of Kubernetes", "of them are parts of Kubernetes")},
		{"Blocks anyway", number(r.BlocksAnyway), "rejected today, whatever the actions are"},
		{"Evaluations", number(r.Matched), ""},
	}
	if r.Matched > 0 {
		b.Coverage = coverageBar(r)
		b.Facts[6].Note = minute(r.First) + " to " + minute(r.Last)
	}
	return b
}

// next says what to do.
func next(r *sink.Readiness) string {
	switch r.Verdict {
	case sink.Ready:
		return "Set its validationActions to [Deny]."
	case sink.Misconfigured:
		return "Mend the policy first: look at the messages below."
	case sink.WouldBreak:
		return "Mend the workloads below, or narrow the policy. Where nothing fails it may be enforced already: see vapshadow plan."
	case sink.NotEnoughEvidence:
		if r.Matched == 0 {
			return "Check that its match constraints mean what they should, and that audit events of such requests arrive."
		}
		return "Wait, or log more: see below what would decide the unknowns."
	default:
		return ""
	}
}
