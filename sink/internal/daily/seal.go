package daily

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// Change says that somebody wrote rows of a day: it breaks the seal. Each commit gives its writer's changes a new stamp.
type Change struct{ Day, Writer, Stamp string }

// Sealer is a database whose days can be sealed.
type Sealer interface {
	// Renew notes a change of each day that has answers, but none to one question.
	Renew(ctx context.Context, question string) error
	// Changed are the days before one that have changed since they were sealed, or were never sealed, in order.
	Changed(ctx context.Context, before string) ([]string, error)
	// Within reads one state of the database, with the changes of a day.
	Within(ctx context.Context, day string, read func(Snapshot, []Change) error) error
	// Seal stores the answers of a day in place of those that there are, and forgets the changes. It stores nothing, and
	// returns false, where a change is not there any more: others were faster, or the day is gone.
	Seal(ctx context.Context, day string, changes []Change, answers []Answer) (bool, error)
}

// maxSealed is how many days are sealed in one go: a log whose times are nonsense may have any number.
const maxSealed = 1000

// SealBefore seals the days before a time that are not sealed.
func SealBefore(ctx context.Context, s Sealer, before time.Time) error {
	if err := s.Renew(ctx, sealed); err != nil {
		return fmt.Errorf("looking for days that were sealed otherwise: %w", err)
	}
	days, err := s.Changed(ctx, Name(before))
	if err != nil {
		return fmt.Errorf("looking for days to be sealed: %w", err)
	}
	// The latest first: these are looked at most.
	days = slices.Sorted(slices.Values(days))
	slices.Reverse(days)
	days = days[:min(maxSealed, len(days))]
	for _, name := range days {
		if err := sealDay(ctx, s, name); err != nil {
			return fmt.Errorf("sealing the day %s: %w", name, err)
		}
	}
	return nil
}

func sealDay(ctx context.Context, s Sealer, name string) error {
	at, err := parse(name)
	if err != nil || at.Before(first) || !at.Before(last) {
		return err
	}
	var changes []Change
	var answers []Answer
	err = s.Within(ctx, name, func(snapshot Snapshot, found []Change) error {
		changes, answers = found, []Answer{{Day: name, Question: sealed}}
		for _, q := range questions {
			of, err := ask(ctx, snapshot, q, at)
			if err != nil {
				return err
			}
			answers = append(answers, of...)
		}
		return nil
	})
	if err != nil || len(changes) == 0 {
		return err
	}
	_, err = s.Seal(ctx, name, changes, answers)
	return err
}

// ask counts the rows of a day for a question.
func ask(ctx context.Context, s Snapshot, q question, at time.Time) (out []Answer, err error) {
	f := q.filter
	f.Since, f.Until = at, at.Add(day)
	g := sink.Grouping{By: q.by, Workloads: q.workloads, New: true}
	if q.hourly {
		g.Every = time.Hour
	}
	m := newMerger(g)
	if err := m.read(ctx, s, q.kind, f, q, nil); err != nil {
		return nil, err
	}
	scopes := map[string][]*group{}
	for _, one := range m.groups {
		scope := ""
		if q.scoped {
			scope = one.Values[0]
		}
		scopes[scope] = append(scopes[scope], one)
	}
	for scope, groups := range scopes {
		content, err := encode(groups)
		if err != nil {
			return nil, err
		}
		out = append(out, Answer{Day: Name(at), Question: q.name, Scope: scope, Content: content})
	}
	return out, nil
}
