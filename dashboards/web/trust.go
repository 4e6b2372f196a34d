package web

import (
	"context"

	"github.com/vapshadow/vapshadow/sink"
)

// trust is a statement about the data itself.
type trust struct {
	Pill pill
	Text string
	Link string
}

// trustIn says whether all that was delivered is accounted for, and how much of it could not be read.
func trustIn(ctx context.Context, r Reader) ([]trust, error) {
	balances, err := sink.Balances(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(balances) == 0 {
		return []trust{{pill{"No data", "unknown"}, "No event has been stored yet.", "./sources"}}, nil
	}
	var ingested, dead, broken int64
	for i := range balances {
		b := &balances[i]
		ingested += b.Ingested
		for _, n := range b.DeadLettered {
			dead += n
		}
		if b.Difference() != 0 {
			broken++
		}
	}
	law := trust{pill{"Holds", "ready"}, "Each of " + several(ingested, "event", "events") + " that arrived is accounted for, once.", "./sources"}
	if broken > 0 {
		law = trust{pill{"Broken", "fail"}, "In " + several(broken, "partition", "partitions") + " events were lost or counted twice. Please report this.", "./sources"}
	}
	letters := trust{pill{"None", "ready"}, "Nothing that arrived was unreadable.", "./sources"}
	if dead > 0 {
		letters = trust{pill{number(dead), "unknown"}, several(dead, "piece of input", "pieces of input") + " could not be read, of " + number(ingested) + ": requests may be missing.", "./sources#dead"}
	}
	return []trust{law, letters}, nil
}
