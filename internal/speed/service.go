package main

import (
	"context"
	"errors"
	"fmt"
)

// service compares the way from Kafka into Postgres, both on this machine, with a replay of the same log.
func service(ctx context.Context, t *table, count int) error {
	var through, alone []float64
	for range count {
		results, err := benchmark(ctx, "./internal/e2e", "Service", "", "1x")
		if err != nil {
			return err
		}
		figures := results[""]
		if figures["service-events/s"] == 0 || figures["replay-events/s"] == 0 {
			return errors.New("the benchmark of the service printed no figures")
		}
		through, alone = append(through, figures["service-events/s"]), append(alone, figures["replay-events/s"])
	}
	t.add("Kafka to Postgres, both on this machine, a tenth of the events being writes", fmt.Sprintf("%.0f events a second, %.0f %% of a replay", middle(through), 100*ratio(through, alone)),
		"10,000 events a second, or 80 %", "")
	return nil
}
