package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vapshadow/vapshadow/dashboards/report/enforcement"
	"github.com/vapshadow/vapshadow/sink/connect"
)

func newPlanCommand(s stdio) *cobra.Command {
	var f evidenceFlags
	cmd := &cobra.Command{
		Use:   "plan --store URL [flags]",
		Short: "Plan where policies can be enforced today",
		Long: `Write the bindings that can be set to [Deny] today, as YAML with the evidence as
comments. It changes nothing in the cluster: read it, then apply it.

A binding that is ready denies everywhere. One that would break workloads is split in
two: the clean namespaces deny, all others keep the actions that they have. It is not
split where cluster-scoped objects would fail, for a binding that is narrowed to
namespaces holds for those all the same. All else is left as it is, with the reason.`,
		Example: `  vapshadow plan --store "$VAPSHADOW_STORE" --cluster prod --from 14d > plan.yaml
  kubectl diff -f plan.yaml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			db, err := connect.Open(cmd.Context(), f.store)
			if err != nil {
				return err
			}
			defer func() { _ = db.Close() }() // It was only read.
			plan, err := enforcement.Make(cmd.Context(), db, o.Filter, o.Criteria)
			if err != nil {
				return err
			}
			plan.Note(o.Exceptions, o.Filter)
			versions := fmt.Sprintf("vapshadow %s with k8s.io/apiserver %s and cel-go %s", o.Versions.Vapshadow, o.Versions.Apiserver, o.Versions.CEL)
			if err := plan.Write(s.out, versions, period(o.Filter.Since, o.Filter.Until)); err != nil {
				return fmt.Errorf("writing the plan: %w", err)
			}
			return nil
		},
	}
	f.addTo(cmd)
	return cmd
}

// period says what a plan looks at.
func period(from, to time.Time) string {
	out := "It rests on all that is stored"
	if !from.IsZero() {
		out += " from " + from.Format(time.RFC3339)
	}
	if !to.IsZero() {
		out += " up to " + to.Format(time.RFC3339)
	}
	return out + "."
}
