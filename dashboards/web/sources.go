package web

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/sink"
)

type sourcesView struct {
	Answer         string
	Pill           pill
	Trust          []trust
	Ledger         table
	Reasons        table
	DeadLetters    table
	Page           int
	Earlier, Later string
}

// sources answers: has all that was delivered been counted, once?
func sources(ctx context.Context, s *server, q query) (view, error) {
	v := view{Timeless: true, Title: "Sources", Crumbs: []crumb{{"Overview", q.link("")}}}
	balances, err := sink.Balances(ctx, s.Reader)
	if err != nil {
		return v, err
	}
	b := sourcesView{Page: q.Page, Ledger: table{
		Caption: "What became of the events of each partition, for all time",
		Head:    heads("Source", "Up to (UTC)", "#Arrived", "#Evaluated", "#No admission", "#Skipped", "#Unreadable", "Law"),
		Empty:   "Nothing has arrived yet. Run vapshadow serve with a source, or vapshadow replay with --store.",
	}, Reasons: table{Caption: "Why", Head: heads("Source", "Outcome", "Reason", "#Events"), Empty: "Every event was evaluated."}}
	b.Trust, err = trustIn(ctx, s.Reader)
	if err != nil {
		return v, err
	}
	b.Answer, b.Pill = b.Trust[0].Text, b.Trust[0].Pill
	marks := map[string]map[string]sink.PartitionMark{}
	for i := range balances {
		one := &balances[i]
		if marks[one.Source] == nil {
			list, err := s.Reader.Marks(ctx, one.Source)
			if err != nil {
				return v, err
			}
			marks[one.Source] = map[string]sink.PartitionMark{}
			for _, m := range list {
				marks[one.Source][m.Partition] = m
			}
		}
		b.add(one, marks[one.Source][one.Partition])
	}
	err = b.addDeadLetters(ctx, s.Reader, &q)
	v.Body = b
	return v, err
}

func (b *sourcesView) add(one *sink.Balance, mark sink.PartitionMark) {
	law := cell{Pill: &pill{"Holds", "ready"}}
	if d := one.Difference(); d != 0 {
		law = cell{Pill: &pill{"Broken", "fail"}, Note: "by " + number(d)}
	}
	b.Ledger.Rows = append(b.Ledger.Rows, []cell{
		{Text: one.Source, Note: one.Partition}, {Text: when(mark.EventTime).Text, Class: "fixed", Note: "offset " + number(mark.Mark.Offset)}, count(one.Ingested), count(one.Evaluated),
		count(total(one.NotAdmission)), count(total(one.Skipped)), count(total(one.DeadLettered)), law,
	})
	for _, of := range []struct {
		outcome string
		reasons map[string]int64
	}{{"no admission request", one.NotAdmission}, {"skipped", one.Skipped}, {"unreadable", one.DeadLettered}} {
		for _, reason := range slices.Sorted(maps.Keys(of.reasons)) {
			b.Reasons.Rows = append(b.Reasons.Rows, []cell{{Text: one.Source, Note: one.Partition}, text(of.outcome), text(reason), count(of.reasons[reason])})
		}
	}
}

func (b *sourcesView) addDeadLetters(ctx context.Context, r Reader, q *query) error {
	b.DeadLetters = table{
		Caption: "Input that could not be read", Head: heads("Where", "Reason", "Detail", "Time (UTC)"),
		Empty: "None: all that arrived could be read.",
	}
	letters, err := collect(r.DeadLetters(ctx, sink.Filter{Cluster: q.Cluster, Newest: true, Limit: perPage + 1, Offset: (q.Page - 1) * perPage}))
	if len(letters) > perPage {
		letters = letters[:perPage]
		b.Earlier = q.same("sources", "page", number(int64(q.Page+1))) + "#dead"
	}
	if q.Page > 1 {
		b.Later = q.same("sources", "page", number(int64(q.Page-1))) + "#dead"
	}
	for _, l := range letters {
		at := "ends at offset " + number(l.Mark.Offset)
		if l.Delivery != "" {
			at = "delivery " + l.Delivery
		}
		b.DeadLetters.Rows = append(b.DeadLetters.Rows, []cell{{Text: l.Source + " " + l.Partition, Note: at}, text(l.Reason), {Text: short(strings.TrimSpace(l.Detail), 300)}, when(l.At)})
	}
	return err
}

func total(of map[string]int64) (n int64) {
	for _, k := range of {
		n += k
	}
	return n
}
