package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// coresRounds is how often the times are taken.
const coresRounds = 15

// bothCores compares the time that two cores take for the matching updates with that of one. It is time by the clock, which
// hangs on what else the machine does: the times are taken in turn, many times, and summed up. What two programs of one
// core each come to side by side is what the machine gives.
func (p *program) bothCores(ctx context.Context, t *table) error {
	one, two, side := cores{count: 1, programs: 1}, cores{count: 2, programs: 1}, cores{count: 1, programs: 2}
	for range max(p.count, coresRounds) {
		for _, of := range []*cores{&one, &two, &side} {
			if err := of.take(ctx, p); err != nil {
				return err
			}
		}
	}
	t.add("two cores, by the clock", fmt.Sprintf("%.2f times one", one.more/two.more), "1.8 times", "")
	t.add("two programs side by side, a core each", fmt.Sprintf("%.2f times one", 2*one.more/side.more), "", "")
	return nil
}

// cores is how many cores each of some programs has.
type cores struct {
	count, programs int
	// more is how many seconds the long log took more than the short one, so that the start is left out.
	more float64
}

func (c *cores) take(ctx context.Context, p *program) error {
	for _, long := range []bool{false, true} {
		begin := time.Now()
		errs := make([]error, c.programs)
		var running sync.WaitGroup
		for n := range errs {
			running.Go(func() { _, errs[n] = p.run(ctx, c.count, "50.yaml", p.logName("matching", ".gz", long)) })
		}
		running.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if took := time.Since(begin).Seconds(); long {
			c.more += took
		} else {
			c.more -= took
		}
	}
	return nil
}
