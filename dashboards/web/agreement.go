package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vapshadow/vapshadow/dashboards/report"
	"github.com/vapshadow/vapshadow/sink"
)

type agreementView struct {
	Policy, All   string // the policy that is asked for, and the way to all
	Answer        string
	Pill          pill
	None          bool
	Pairs         table
	Disagreements table
	NotCompared   table
	Runs          table
}

// agreement answers: does the apiserver itself say the same, where the log holds what it said?
func agreement(ctx context.Context, s *server, q query) (view, error) {
	v := view{Title: "Agreement", Crumbs: []crumb{{"Overview", q.link("")}}}
	f := q.filter()
	f.Policy = q.get("policy")
	sum, err := sink.SumAgreement(ctx, s.Reader, f)
	if err != nil {
		return v, err
	}
	t := agreementTrust(&q, sum)
	b := agreementView{
		Answer: t.Text, Pill: t.Pill, None: sum.Logs == 0, Pairs: pairsTable(&q, sum), Disagreements: disagreementsTable(&q, sum),
		NotCompared: notComparedTable(sum), Policy: short(f.Policy, 160), All: q.link("agreement"),
	}
	b.Runs, err = runsTable(ctx, s.Reader, f)
	v.Body = b
	return v, err
}

// agreementTrust says in a line what was compared, and what came of it.
func agreementTrust(q *query, sum *sink.AgreementSummary) trust {
	text := sum.Sentence()
	t := trust{pill{"Agrees", "ready"}, strings.ToUpper(text[:1]) + text[1:] + ".", q.link("agreement")}
	switch {
	case !sum.Compared():
		t.Pill = pill{"Not verified", "unknown"}
	case sum.Disagreed():
		t.Pill = pill{"Disagrees", "fail"}
	case sum.Decisions.BothFail == 0:
		t.Pill = pill{"Agrees", "unknown"}
	}
	return t
}

// agreementIn is agreementTrust of what a filter lets through.
func agreementIn(ctx context.Context, r Reader, q *query, f sink.Filter) (trust, error) {
	sum, err := sink.SumAgreement(ctx, r, f)
	if err != nil {
		return trust{}, err
	}
	t := agreementTrust(q, sum)
	if f.Policy != "" {
		t.Link = q.link("agreement", "policy", f.Policy)
	}
	return t, nil
}

func pairsTable(q *query, sum *sink.AgreementSummary) table {
	t := table{
		Caption: "Decisions of each policy and binding", Empty: "No decision was compared in this period.",
		Head: heads("Policy", "Outcome", "#Compared", "#Agreed", "#Both fail", "#Disagreed", "#Undecided", "#Not recorded"),
	}
	for i := range sum.Pairs {
		p := &sum.Pairs[i]
		if p.Compared()+p.Undecided+p.NotRecorded == 0 {
			continue // only named by the log
		}
		p.Binding = orNone(p.Binding, "(no binding)")
		name := linked(p.Policy, q.link("agreement", "cluster", p.Cluster, "policy", p.Policy))
		name.Note = p.Binding
		said := pill{"Agrees", "ready"}
		switch {
		case p.Disagreed > 0:
			said = pill{"Disagrees", "fail"}
		case p.Compared() == 0:
			said = pill{"Not verified", "unknown"}
		}
		t.Rows = append(t.Rows, []cell{
			name, {Pill: &said}, count(p.Compared()), count(p.Agreed), count(p.BothFail), count(p.Disagreed), count(p.Undecided), count(p.NotRecorded),
		})
	}
	return t
}

// kindWords say what a kind of disagreement means.
var kindWords = map[string]string{
	"OnlyApiserverFails": "the apiserver fails the request, vapshadow does not", "OnlyVapshadowFails": "vapshadow fails the request, the apiserver does not",
	"OtherMessage": "both fail it, with different messages", "OtherActions": "both fail it, with different validationActions",
	"OnlyApiserverRejects": "the apiserver rejected the request, vapshadow would not", "OnlyVapshadowRejects": "vapshadow would reject the request, the apiserver did not",
	"OtherRejection": "both reject it, with different messages or reasons", "OtherValue": "an audit annotation has different values",
	"OnlyApiserverAnnotates": "only the apiserver has the audit annotation", "OnlyVapshadowAnnotates": "only vapshadow has the audit annotation",
}

func disagreementsTable(q *query, sum *sink.AgreementSummary) table {
	t := table{Caption: "Where the two differ", Head: heads("Policy", "How", "#Times", "Audit IDs"), Empty: "They differ on nothing that was compared."}
	for i := range sum.Disagreements {
		g := &sum.Disagreements[i]
		name := linked(g.Policy, q.link("agreement", "cluster", g.Cluster, "policy", g.Policy))
		if name.Note = g.Binding; g.Annotation != "" {
			name.Note = "audit annotation " + g.Annotation
		}
		ids := cell{}
		if len(g.AuditIDs) > 0 {
			ids = linked(g.AuditIDs[0], q.link("decision", "audit", g.AuditIDs[0]))
			ids.Note = short(strings.Join(g.AuditIDs[1:], " "), 300)
		}
		t.Rows = append(t.Rows, []cell{name, {Text: short(orNone(kindWords[g.Reason], g.Reason), 160), Note: short(g.Reason, 160)}, count(g.Count), ids})
	}
	t.cutTop("kinds")
	return t
}

// outcomeWords say why a decision could not be compared.
var outcomeWords = map[string]string{
	sink.Undecided: "vapshadow does not know", sink.NotRecorded: "the log does not tell what the apiserver decided",
	sink.NotGiven: "policies and bindings were not given to verify",
}

// notComparedTable has a row for each reason, whatever the policy.
func notComparedTable(sum *sink.AgreementSummary) table {
	t := table{Caption: "What could not be compared", Head: heads("Why", "What to do", "#Policies", "#Times"), Empty: "Every decision in the log was compared."}
	type reason struct{ outcome, reason string }
	times, policies := map[reason]int64{}, map[reason]map[[2]string]bool{}
	for i := range sum.NotCompared {
		g := &sum.NotCompared[i]
		of := reason{g.Outcome, g.Reason}
		if policies[of] == nil {
			policies[of] = map[[2]string]bool{}
		}
		times[of] += g.Count
		policies[of][[2]string{g.Cluster, g.Policy}] = true
	}
	for _, of := range slices.SortedFunc(maps.Keys(times), func(x, y reason) int {
		return cmp.Or(-cmp.Compare(times[x], times[y]), cmp.Compare(x.outcome, y.outcome), cmp.Compare(x.reason, y.reason))
	}) {
		do := ""
		switch of.outcome {
		case sink.Undecided:
			do = report.Remedy(of.reason, "the resources of the policies")
		case sink.NotGiven:
			do = "take them from the cluster, with --cluster or --policies"
		}
		why := cell{Text: short(orNone(outcomeWords[of.outcome], of.outcome), 160), Note: short(of.reason, 160)}
		t.Rows = append(t.Rows, []cell{why, {Text: short(orNone(do, "nothing is known that would"), 400)}, count(int64(len(policies[of]))), count(times[of])})
	}
	t.cutTop("reasons")
	return t
}

func runsTable(ctx context.Context, r Reader, f sink.Filter) (table, error) {
	t := table{
		Caption: "The comparisons, the newest log first", Empty: "None in this period.",
		Head: heads("Log until (UTC)", "Made (UTC)", "Apiserver", "Compared by", "#Events", "#With a decision", "Law"),
	}
	f.Newest, f.Limit = true, top+1
	runs, err := collect(r.AgreementRuns(ctx, f))
	for i := range runs {
		run := &runs[i]
		until := when(run.LastEvent)
		until.Note = "from " + run.FirstEvent.UTC().Format(time.DateTime)
		law := cell{Pill: &pill{"Holds", "ready"}}
		if d := run.Ingested - run.Evaluated - run.NotAdmission - run.Skipped - run.DeadLettered; d != 0 {
			law = cell{Pill: &pill{"Broken", "fail"}, Note: "by " + number(d)}
		} else if run.DeadLettered > 0 {
			law.Note = number(run.DeadLettered) + " unreadable"
		}
		by := cell{Text: short("vapshadow "+run.VapshadowVersion, 160), Note: short("k8s.io/apiserver "+run.ApiserverVersion+", cel-go "+run.CELVersion, 300)}
		t.Rows = append(t.Rows, []cell{
			until, when(run.VerifiedAt), {Text: short(run.KubernetesVersion, 160), Note: short(run.Cluster, 160)}, by, count(run.Ingested), count(run.Recorded), law,
		})
	}
	t.cutTop("comparisons")
	return t, err
}
