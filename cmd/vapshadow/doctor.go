package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
)

func newDoctorCommand(s stdio) *cobra.Command {
	var store string
	output := oneOf("table", "table", "json")
	cmd := &cobra.Command{
		Use:   "doctor --store URL [flags]",
		Short: "Check that no event was lost and none counted twice",
		Long: `Check the law of conservation, for each partition of each source and for all time:

  ingested = evaluated + not an admission request + skipped + dead-lettered

Exit codes:
  0    it holds for each partition
  1    it does not
  3    the store could not be read`,
		Example: `  vapshadow doctor --store sqlite:vapshadow.db
  vapshadow doctor --store "$VAPSHADOW_STORE" -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			db, err := connect.Open(cmd.Context(), store)
			if err != nil {
				return err
			}
			defer func() { _ = db.Close() }() // It was only read.
			found, err := examine(cmd.Context(), db)
			if err != nil {
				return err
			}
			if err := found.write(s.out, output.value); err != nil {
				return fmt.Errorf("writing the findings: %w", err)
			}
			if !found.Holds {
				return errFound
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&store, "store", "sqlite:vapshadow.db", "`URL` of the database: postgres://… or sqlite:FILE")
	addEnumerated(cmd, output, "output", "o", "how to print it")
	return cmd
}

// diagnosis is what doctor prints.
type diagnosis struct {
	// Holds: the law holds for each partition.
	Holds      bool                 `json:"holds"`
	Partitions []diagnosedPartition `json:"partitions"`
}

type diagnosedPartition struct {
	sink.Balance
	Difference int64      `json:"difference"`
	Offset     int64      `json:"offset"`
	EventTime  *time.Time `json:"eventTime,omitempty"`
}

func examine(ctx context.Context, db sink.Database) (*diagnosis, error) {
	balances, err := sink.Balances(ctx, db)
	if err != nil {
		return nil, err
	}
	out := &diagnosis{Holds: true, Partitions: []diagnosedPartition{}}
	marks := map[string][]sink.PartitionMark{}
	for _, b := range balances {
		if marks[b.Source] == nil {
			if marks[b.Source], err = db.Marks(ctx, b.Source); err != nil {
				return nil, err
			}
		}
		p := diagnosedPartition{Balance: b, Difference: b.Difference()}
		for _, m := range marks[b.Source] {
			if m.Partition == b.Partition {
				p.Offset = m.Mark.Offset
				if !m.EventTime.IsZero() {
					p.EventTime = &m.EventTime
				}
			}
		}
		out.Holds = out.Holds && p.Difference == 0
		out.Partitions = append(out.Partitions, p)
	}
	return out, nil
}

func (d *diagnosis) write(w io.Writer, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(d)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "SOURCE\tPARTITION\tINGESTED\tEVALUATED\tNOT ADMISSION\tSKIPPED\tDEAD\tDIFFERENCE\tUP TO")
	for _, p := range d.Partitions {
		at := "-"
		if p.EventTime != nil {
			at = p.EventTime.UTC().Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", p.Source, p.Partition, p.Ingested, p.Evaluated,
			total(p.NotAdmission), total(p.Skipped), total(p.DeadLettered), p.Difference, at)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, p := range d.Partitions {
		for _, of := range []struct {
			what    string
			reasons map[string]int64
		}{{"skipped", p.Skipped}, {"dead", p.DeadLettered}} {
			for _, reason := range slices.Sorted(maps.Keys(of.reasons)) {
				if _, err := fmt.Fprintf(w, "%s %s: %d %s: %s\n", p.Source, p.Partition, of.reasons[reason], of.what, reason); err != nil {
					return err
				}
			}
		}
	}
	verdict := "ingested = evaluated + not an admission request + skipped + dead-lettered holds for each partition."
	switch {
	case len(d.Partitions) == 0:
		verdict = "Nothing is stored yet."
	case !d.Holds:
		verdict = "EVENTS WERE LOST OR COUNTED TWICE where the difference is not 0. Please report this, with what happened to the service and its database."
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}

func total(of map[string]int64) (n int64) {
	for _, k := range of {
		n += k
	}
	return n
}
