package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// tally counts names, and tells a limited number of them apart.
type tally struct {
	limit  int
	counts map[string]int64
	// rest counts those that came when the limit was reached.
	rest int64
}

func newTally(limit int) tally { return tally{limit: limit, counts: map[string]int64{}} }

func (t *tally) add(name string) {
	if _, known := t.counts[name]; known || len(t.counts) < t.limit {
		t.counts[name]++
		return
	}
	t.rest++
}

func (t *tally) top(n int) Top {
	all := make([]Count, 0, len(t.counts))
	for name, count := range t.counts {
		all = append(all, Count{Name: name, Count: count})
	}
	slices.SortFunc(all, func(a, b Count) int { return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Name, b.Name)) })
	out := Top{Distinct: Distinct{Count: int64(len(all)), AtLeast: t.rest > 0}, Names: all[:min(n, len(all))], Others: t.rest}
	for _, c := range all[len(out.Names):] {
		out.Others += c.Count
	}
	return out
}

// messageTally counts messages and keeps the first request of each.
type messageTally struct {
	limit    int
	messages map[messageKey]*messageCount
	rest     int64
}

type messageKey struct{ message, result string }

type messageCount struct {
	count   int64
	auditID string
	at      time.Time
}

func newMessageTally(limit int) messageTally {
	return messageTally{limit: limit, messages: map[messageKey]*messageCount{}}
}

func (t *messageTally) add(key messageKey, rec *sink.Record) {
	m := t.messages[key]
	if m == nil {
		if len(t.messages) >= t.limit {
			t.rest++
			return
		}
		m = &messageCount{auditID: rec.AuditID, at: rec.StageTimestamp}
		t.messages[key] = m
	}
	m.count++
	if earlier := cmp.Or(rec.StageTimestamp.Compare(m.at), cmp.Compare(rec.AuditID, m.auditID)) < 0; earlier {
		m.auditID, m.at = rec.AuditID, rec.StageTimestamp
	}
}

func (t *messageTally) top(n int) Messages {
	all := make([]Message, 0, len(t.messages))
	for key, m := range t.messages {
		all = append(all, Message{Message: key.message, Result: key.result, Count: m.count, AuditID: m.auditID, StageTimestamp: m.at.UTC()})
	}
	slices.SortFunc(all, func(a, b Message) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Result, b.Result))
	})
	out := Messages{Distinct: Distinct{Count: int64(len(all)), AtLeast: t.rest > 0}, Samples: all[:min(n, len(all))], Others: t.rest}
	for _, m := range all[len(out.Samples):] {
		out.Others += m.Count
	}
	return out
}
