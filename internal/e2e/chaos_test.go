package e2e_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/internal/kafkatest"
	"github.com/vapshadow/vapshadow/internal/pgtest"
)

// TestKafkaChaos: while a topic is written, services join and leave, Postgres and the broker restart, and the
// connections to Postgres are slow and get cut. The store holds the rows of a replay all the same.
func TestKafkaChaos(t *testing.T) {
	want := baseline(t)
	broker := kafkatest.Start(t, kafkatest.Options{})
	db := pgtest.Start(t, pgtest.Config{})
	store := db.Database(t)
	vapshadow(t, "migrate", "up", "--store", store)
	network := newBadNetwork(t, hostOf(t, store), 2*time.Second, 20*time.Millisecond)
	broker.CreateTopic(t, "audit", 4)
	config := kafkaConfig(through(t, store, network.addr()), broker.Addr, "audit")
	services := []*service{serve(t, "one", config), serve(t, "two", config)}
	third := serve(t, "three", config)
	steps := []func(){
		func() { must(t, db.Restart(pgtest.Fast)) },
		func() { third.stop() },
		func() { must(t, broker.Stop()); must(t, broker.Restart(t.Context())) },
		func() { third.start() },
		func() { services[0].restart() },
		func() { must(t, db.Kill()); must(t, db.Start()) },
		func() { must(t, broker.Kill()); must(t, broker.Restart(t.Context())) },
		func() { third.kill(); third.start() },
	}
	w, all := newWriter(t, broker.Addr, "audit", false), messages(t, recorded(t), false)
	random := rand.New(rand.NewPCG(5, 6))
	for i, step := range steps {
		n := len(all) / (len(steps) - i)
		writePatiently(t, w, all[:n])
		all = all[n:]
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
		step()
	}
	awaitStored(t, store, want.Ledger["Ingested "])
	network.heal()
	for _, s := range append(services, third) {
		s.stop()
	}
	t.Logf("%d connections to Postgres were cut", network.cuts)
	got := read(t, store)
	sameButDuplicates(t, want, got)
}

// writePatiently writes messages until the broker has them all. Some it may have twice then.
func writePatiently(t testing.TB, w *kafka.Writer, all []kafka.Message) {
	t.Helper()
	eventually(t, time.Minute, "all messages are written", func() (bool, string) {
		err := w.WriteMessages(t.Context(), all...)
		var failed kafka.WriteErrors
		if !errors.As(err, &failed) {
			return err == nil, fmt.Sprint(err)
		}
		var left []kafka.Message
		for i, err := range failed {
			if err != nil {
				left = append(left, all[i])
			}
		}
		all = left
		return false, fmt.Sprintf("%d are left", len(left))
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hostOf is the host and port of a database.
func hostOf(t testing.TB, store string) string {
	t.Helper()
	u, err := url.Parse(store)
	must(t, err)
	return u.Host
}

// through is the address of a database as seen through a proxy.
func through(t testing.TB, store, proxy string) string {
	t.Helper()
	u, err := url.Parse(store)
	must(t, err)
	u.Host = proxy
	return u.String()
}

// sameButDuplicates is for logs of which parts may have been written twice: what was, is counted as such, and as nothing
// else.
func sameButDuplicates(t testing.TB, want, got tables) {
	t.Helper()
	twice := got.Ledger["Ingested "] - want.Ledger["Ingested "]
	if twice < 0 {
		t.Errorf("%d events were lost", -twice)
	}
	t.Logf("%d events were written twice", twice)
	got.Ledger["Ingested "] -= twice
	for _, outcome := range []string{"Skipped Duplicate", "NotAdmission OtherStage", "NotAdmission ReadOnly"} {
		delete(want.Ledger, outcome)
		delete(got.Ledger, outcome)
	}
	same(t, want, got)
}
