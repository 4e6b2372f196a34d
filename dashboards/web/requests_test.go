package web_test

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/dashboards/web"
	"github.com/vapshadow/vapshadow/internal/pgtest"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
)

func TestHeaders(t *testing.T) {
	s := serve(t, web.Config{Reader: recording(t)})
	for _, path := range []string{"/", "/nowhere", "/login", "/static/style.css", "/policy?policy=none"} {
		page := get(t, s.URL+path)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'self'; script-src 'none'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY",
		} {
			if got := page.header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
}

// TestNothingInline: the policy forbids what it would have to allow for styles and scripts inside a page.
func TestNothingInline(t *testing.T) {
	s := serve(t, web.Config{Reader: recording(t)})
	for _, path := range []string{"/", "/policy?policy=op-nsobj", "/search", "/sources", "/unknowns", "/namespaces"} {
		body := get(t, s.URL+path).body
		for _, found := range []string{"<script", "<style", " style=", " onclick", " onload"} {
			if strings.Contains(body, found) {
				t.Errorf("%s has %s", path, found)
			}
		}
	}
}

func TestRequests(t *testing.T) {
	s := serve(t, web.Config{Reader: recording(t)})
	long := strings.Repeat("x", 1025)
	for _, test := range []struct {
		path string
		code int
		says string
	}{
		{"/?period=9d", 400, "period has to be 1d, 7d, 30d or all"},
		{"/?from=yesterday", 400, "from has to be a time in UTC"},
		{"/?from=2026-11-22&to=2026-11-21", 400, "ends before it begins"},
		{"/?from=2026-11-22&to=2026-11-23", 200, "nothing matched"},
		{"/search?page=0", 400, "page has to be a number from 1 to 200"},
		{"/search?page=201", 400, "choose a shorter period"},
		{"/search?page=x", 400, "page has to be a number"},
		{"/search?result=Pass", 400, "result has to be"},
		{"/search?name=" + long, 400, "longer than 1024 bytes"},
		{"/search?name=" + strings.Repeat("x", 9000), 414, "too long"},
		{"/policy", 400, "Which policy?"},
		{"/policy?policy=none", 404, "Nothing is stored of a policy none"},
		{"/workload?kind=Pod", 400, "Which workload?"},
		{"/namespace", 400, "Which namespace?"},
		{"/decision", 400, "Which request?"},
		{"/decision?audit=none", 200, "Nothing is stored of this audit ID"},
		{"/search?audit=none", 200, "Passes are only counted"},
		{"/static/..%2fweb.go", 400, ""},
		{"/static/none.css", 404, ""},
	} {
		page := get(t, s.URL+test.path)
		if page.code != test.code || !strings.Contains(page.body, test.says) {
			t.Errorf("%.60s: %d, and not %d, %q", test.path, page.code, test.code, test.says)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		page := get(t, s.URL+"/policy", func(r *http.Request) { r.Method = method })
		if page.code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, page.code)
		}
	}
}

// TestAnswers holds what the pages say to what is known of the recording.
func TestAnswers(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { answers(t, recording(t)) })
	t.Run("Postgres", func(t *testing.T) {
		url := pgtest.New(t)
		_, err := connect.Migrate(t.Context(), url)
		fatal(t, err)
		db, b := open(t, url), &sink.Batch{}
		b.Failures, b.Rollups, b.Policies, b.Annotations = rows(t, recording(t))
		b.Ledger, b.Moves = ledger(t, recording(t))
		commit(t, db, b)
		answers(t, db)
	})
}

func answers(t *testing.T, db sink.Database) {
	s := serve(t, web.Config{Reader: db})
	for _, test := range []struct{ path, says string }{
		{"/", "none of 15 bindings may be enforced"},
		{"/", "1 request is blocked whatever the actions are"},
		{"/", "1,700 events that arrived is accounted for"},
		{"/", "system:serviceaccount:kube-system:generic-garbage-collector"},
		{"/policy?policy=op-param-cluster", "92"},
		{"/policy?policy=op-old-replicas", "scaled down from 4 to 1"},
		{"/policy?policy=op-ann-error-fail", "Mend the policy first"},
		{"/policy?policy=op-del-basic", "NoHistory"},
		{"/decision?audit=5130a54a-5f74-47a8-aab9-fd83a02b1317", "scaled down from 4 to 1"},
		{"/decision?audit=5130a54a-5f74-47a8-aab9-fd83a02b1317", "helm/v3.14"},
		{"/decision?audit=5130a54a-5f74-47a8-aab9-fd83a02b1317", "validation.policy.admission.k8s.io/validation_failure"},
		{"/unknowns", "as they were when the log began, with --cluster"},
		{"/sources", "1,535"},
		{"/search?user=alice&result=Error", "op-ann-error-fail"},
	} {
		if body := get(t, s.URL+test.path).body; !strings.Contains(body, test.says) {
			t.Errorf("%s does not say %q", test.path, test.says)
		}
	}
}

// TestRepeats: the pages tell what is new from what only repeats.
func TestRepeats(t *testing.T) {
	s := serve(t, web.Config{Reader: recording(t)})
	for path, want := range map[string][2]int{ // rows, and how many of them repeat
		"/search?policy=op-msg-default&result=stopped": {6, 2}, "/search?policy=op-msg-default&result=new": {4, 0},
	} {
		_, rows, _ := strings.Cut(get(t, s.URL+path).body, "<tbody>")
		if got := [2]int{strings.Count(rows, "<tr>"), strings.Count(rows, "<bdi>repeats</bdi>")}; got != want {
			t.Errorf("%s: %d rows and repeats, want %d", path, got, want)
		}
	}
	if body := get(t, s.URL+"/policy?policy=op-msg-default").body; !strings.Contains(body, "<dt>Of them repeated</dt><dd><bdi>2</bdi>") || !strings.Contains(body, "4 new, 4 failing now") {
		t.Error("the page of the policy does not say that 2 requests repeat, and that 4 workloads are new")
	}
}

// TestTeams: a team is shown where it is known, and narrows all that is shown.
func TestTeams(t *testing.T) {
	s := serve(t, web.Config{Reader: recording(t)})
	for _, test := range []struct{ path, says, not string }{
		{"/namespaces", ">team-a<", ""},
		{"/namespaces", ">staging-a<", ""},
		{"/namespaces?team=team-a", ">test-1<", ">staging-a<"},
		{"/namespaces?team=team-a", "all teams", ">test-2<"},
		{"/namespace?namespace=test-1", `namespaces?team=team-a`, ""},
		{"/namespace?namespace=staging-a", "(none)", "team=team-a"},
		{"/policy?policy=op-param-cluster&team=team-a", ">test-1<", ">test-2<"},
		{"/search?policy=op-param-cluster&team=team-b", "test-2", "test-1"},
		{"/?team=team-a", "./policy?policy=op-param-cluster&amp;team=team-a", ""},
	} {
		body := get(t, s.URL+test.path).body
		if !strings.Contains(body, test.says) {
			t.Errorf("%s does not say %q", test.path, test.says)
		}
		if test.not != "" && strings.Contains(body, test.not) {
			t.Errorf("%s says %q", test.path, test.not)
		}
	}
}

// TestPaging goes through all failures, page by page.
func TestPaging(t *testing.T) {
	db := recording(t)
	s := serve(t, web.Config{Reader: db})
	want := 0
	for _, err := range db.Failures(t.Context(), sink.Filter{}) {
		fatal(t, err)
		want++
	}
	got, pages := 0, 0
	for path := "/search?period=all"; path != ""; pages++ {
		body := get(t, s.URL+path).body
		_, rows, _ := strings.Cut(body, "<tbody>")
		got += strings.Count(rows, "<tr>")
		path = ""
		if before, _, more := strings.Cut(body, `" rel="next"`); more {
			path = "/" + html.UnescapeString(before[strings.LastIndex(before, `href="./`)+len(`href="./`):])
		}
	}
	if got != want || pages < 5 {
		t.Errorf("%d rows on %d pages, want %d", got, pages, want)
	}
}
