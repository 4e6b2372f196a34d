package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/dashboards/web"
	"github.com/vapshadow/vapshadow/sink"
)

// TestAgreement: the pages say what was compared, and as plainly that nothing was.
func TestAgreement(t *testing.T) {
	unread := empty(t)
	fatal(t, unread.SaveAgreement(t.Context(), sink.AgreementRun{
		Run: "r", FirstEvent: time.Now(), LastEvent: time.Now(), Ingested: 3, Evaluated: 1,
	}, []sink.Agreement{{Policy: "p", Outcome: sink.NotGiven, Count: 1}}))
	for _, test := range []struct {
		name, path string
		db         sink.Database
		says       []string
	}{
		{"recording", "/agreement", recording(t), []string{
			">Agrees<", "Verified: vapshadow and the apiserver agree on all 1149 recorded decisions", "op-param-cluster", "Where the two differ", "They differ on nothing",
			"NoHistory", ">1,700<", ">Holds<",
		}},
		{"overview", "/", recording(t), []string{"agree on all 1149 recorded decisions", `href="./agreement"`}},
		{"policy", "/policy?policy=op-rbac", recording(t), []string{"agree on all 20 recorded decisions, 4 of them failures; 6 more", `href="./agreement?policy=op-rbac"`}},
		{"two sides", "/agreement", fortnight(t), []string{
			"Disagrees</span> Verified: vapshadow and the apiserver disagree on 2 of 2300 recorded decisions", "both fail it, with different messages", "5a1e0c1c-0000-4000-8000-000000000001",
			`href="./decision?audit=5a1e0c1c-0000-4000-8000-000000000001"`,
		}},
		{"a day", "/agreement?from=2026-11-21&to=2026-11-22", fortnight(t), []string{"agree on all 1149 recorded decisions"}},
		{"no run", "/agreement", empty(t), []string{">Not verified<", "vapshadow verify --cluster cluster.yaml"}},
		{"no run, overview", "/?period=all", neverCompared(t), []string{">Not verified<", "Not verified: vapshadow was not compared"}},
		{"nothing compared", "/agreement", unread, []string{">Not verified<", "held no decision that could be", "were not given to verify", ">Broken<", "by 2"}},
	} {
		page := get(t, serve(t, web.Config{Reader: test.db}).URL+test.path)
		if page.code != 200 {
			t.Errorf("%s: %d", test.name, page.code)
		}
		for _, says := range test.says {
			if !strings.Contains(page.body, says) {
				t.Errorf("%s: does not say %q", test.name, says)
			}
		}
	}
}

// neverCompared is a database with evaluations that were never compared.
func neverCompared(t testing.TB) sink.Database {
	t.Helper()
	db := empty(t)
	commit(t, db, &sink.Batch{
		Rollups: []sink.Rollup{{Minute: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Policy: "p", Binding: "b", Result: "Pass", Evidence: "Exact", Count: 1}},
		Ledger:  []sink.LedgerLine{{Source: "s", Outcome: sink.Ingested, Count: 1}, {Source: "s", Outcome: sink.Evaluated, Count: 1}},
	})
	return db
}
