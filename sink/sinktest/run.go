// Package sinktest holds a store to the contract of sink.Store.
package sinktest

import (
	"testing"

	"github.com/vapshadow/vapshadow/sink"
)

// Open opens a store on the database of a test. Each call is as if from another process. What it opens is closed when
// the test ends.
type Open func(t testing.TB) sink.Database

// Run runs all tests of the suite. fresh makes an empty database for a test, with its schema.
func Run(t *testing.T, fresh func(t testing.TB) Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"RowsComeBack", rowsComeBack},
		{"FilterNarrows", filterNarrows},
		{"NewestFirst", newestFirst},
		{"CountFailures", countFailures},
		{"CountRollups", countRollups},
		{"EmptyBatch", emptyBatch},
		{"MarksMoveOnce", marksMoveOnce},
		{"OneMovedPartitionRefusesAll", oneMovedPartitionRefusesAll},
		{"PartitionTwice", partitionTwice},
		{"MoveBack", moveBack},
		{"NamesOfPartitionsAreBytes", namesOfPartitionsAreBytes},
		{"EventTimeIsTheLatest", eventTimeIsTheLatest},
		{"DeliveriesAreStoredOnce", deliveriesAreStoredOnce},
		{"LostReply", lostReply},
		{"SameRowAgain", sameRowAgain},
		{"RowsOfOneExpression", rowsOfOneExpression},
		{"DeadLettersAreResolvedOnce", deadLettersAreResolvedOnce},
		{"AllOrNothing", allOrNothing},
		{"OneOfTwoWins", oneOfTwoWins},
		{"OneDeliveryOfTwoWins", oneDeliveryOfTwoWins},
		{"WritersOfSharedRows", writersOfSharedRows},
		{"AnySplitGivesTheSameTables", anySplitGivesTheSameTables},
		{"HostileText", hostileText},
		{"OutlandishTimes", outlandishTimes},
		{"HugeBatch", hugeBatch},
		{"BatchStaysAsItIs", batchStaysAsItIs},
		{"Checkpoints", checkpoints},
		{"CheckpointsOfTwo", checkpointsOfTwo},
		{"BrokenCheckpoint", brokenCheckpoint},
		{"AgreementComesBack", agreementComesBack},
		{"AgreementIsStoredOnce", agreementIsStoredOnce},
		{"AgreementIsRefused", agreementIsRefused},
		{"LatestAgreement", latestAgreement},
		{"AgreementFilter", agreementFilter},
		{"AgreementIsMaintained", agreementIsMaintained},
		{"HostileAgreement", hostileAgreement},
		{"MaintainDropsWholeDays", maintainDropsWholeDays},
		{"MaintainWhileWriting", maintainWhileWriting},
		{"Readiness", readinessOf},
		{"ReadinessByNamespace", readinessByNamespace},
		{"SealedDaysChangeNothing", sealedDaysChangeNothing},
		{"Ping", ping},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, fresh(t))
		})
	}
}
