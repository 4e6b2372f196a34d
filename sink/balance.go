package sink

import (
	"cmp"
	"context"
	"slices"
)

// Balance is what became of all that a partition delivered. Nothing was lost and nothing counted twice where Difference
// is 0.
type Balance struct {
	Source       string           `json:"source"`
	Partition    string           `json:"partition"`
	Ingested     int64            `json:"ingested"`
	Evaluated    int64            `json:"evaluated"`
	Requests     int64            `json:"requests"`
	NotAdmission map[string]int64 `json:"notAdmission"`
	Skipped      map[string]int64 `json:"skipped"`
	DeadLettered map[string]int64 `json:"deadLettered"`
}

// Difference is Ingested less all that came of it.
func (b *Balance) Difference() int64 {
	return b.Ingested - b.Evaluated - sum(b.NotAdmission) - sum(b.Skipped) - sum(b.DeadLettered)
}

func sum(of map[string]int64) (n int64) {
	for _, k := range of {
		n += k
	}
	return n
}

// Balances draws up the balance of each partition from the ledger, ordered by source and partition.
func Balances(ctx context.Context, r Reader) ([]Balance, error) {
	all := map[[2]string]*Balance{}
	for line, err := range r.Ledger(ctx, Filter{}) {
		if err != nil {
			return nil, err
		}
		key := [2]string{line.Source, line.Partition}
		if all[key] == nil {
			all[key] = &Balance{
				Source: line.Source, Partition: line.Partition,
				NotAdmission: map[string]int64{}, Skipped: map[string]int64{}, DeadLettered: map[string]int64{},
			}
		}
		all[key].add(line)
	}
	out := make([]Balance, 0, len(all))
	for _, b := range all {
		out = append(out, *b)
	}
	slices.SortFunc(out, func(a, b Balance) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Partition, b.Partition))
	})
	return out, nil
}

func (b *Balance) add(l LedgerLine) {
	switch l.Outcome {
	case Ingested:
		b.Ingested += l.Count
	case Evaluated:
		b.Evaluated += l.Count
	case Requests:
		b.Requests += l.Count
	case NotAdmission:
		b.NotAdmission[l.Reason] += l.Count
	case Skipped:
		b.Skipped[l.Reason] += l.Count
	case DeadLettered:
		b.DeadLettered[l.Reason] += l.Count
	}
}
