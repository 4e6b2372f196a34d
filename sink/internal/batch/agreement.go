package batch

import (
	"errors"
	"time"

	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// Agreement is a run ready to be written.
type Agreement struct {
	// Run is the one row of the run.
	Run  []table.Row[sink.AgreementRun]
	Rows []table.Row[sink.Agreement]
}

// PrepareAgreement prepares a run, which stays as it is.
func PrepareAgreement(run sink.AgreementRun, rows []sink.Agreement) (*Agreement, error) {
	switch {
	case run.Run == "":
		return nil, errors.New("storing an agreement: the run has no name")
	case run.FirstEvent.IsZero() || run.LastEvent.IsZero():
		return nil, errors.New("storing an agreement: the log has no events")
	}
	if run.VerifiedAt.IsZero() {
		run.VerifiedAt = time.Now()
	}
	runs, rows := table.CleanAgreement(run, rows)
	return &Agreement{Run: table.AgreementRuns.Sorted(runs), Rows: table.First(table.Agreements.Sorted(rows))}, nil
}
