package web_test

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/dashboards/web"
	"github.com/vapshadow/vapshadow/sink"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := recorded(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// site is a database and the pages of it that are looked at.
type site struct {
	name  string
	db    func(testing.TB) sink.Database
	paths map[string]string
}

func query(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

var sites = []site{
	{"fortnight", fortnight, map[string]string{
		"overview": "/", "policy": "/policy?policy=op-param-cluster", "policy-ready": "/policy?policy=op-connect-exec",
		"policy-changed": "/policy?policy=op-nsobj", "namespaces": "/namespaces", "namespace": "/namespace?namespace=staging-a",
		"workload": "/workload?kind=Deployment&name=pre-deployment-9-36&namespace=test-1", "unknowns": "/unknowns", "sources": "/sources",
		"agreement": "/agreement", "agreement-policy": "/agreement?policy=op-nsobj", "search": "/search?result=stopped", "decision": "/decision?audit=", "period": "/?from=2026-11-10&to=2026-11-12T12:00",
		"missing": "/nowhere", "team": "/?team=team-a", "team-namespaces": "/namespaces?team=team-a", "team-namespace": "/namespace?namespace=test-1",
	}},
	{"empty", empty, map[string]string{
		"overview": "/", "namespaces": "/namespaces", "unknowns": "/unknowns", "sources": "/sources", "search": "/search", "decision": "/decision?audit=none",
		"agreement": "/agreement",
	}},
	{"hostile", hostile, map[string]string{
		"overview": "/?period=all", "namespaces": "/namespaces", "unknowns": "/unknowns", "sources": "/sources", "search": "/search",
		"agreement": "/agreement?period=all",
	}},
}

func init() {
	paths := sites[2].paths
	for i, s := range hostileTexts[:len(hostileTexts)-1] {
		paths[fmt.Sprint("policy-", i)] = "/policy?" + query("policy", s)
		paths[fmt.Sprint("workload-", i)] = "/workload?" + query("kind", s, "name", s, "namespace", s)
		paths[fmt.Sprint("decision-", i)] = "/decision?" + query("audit", s)
		paths[fmt.Sprint("namespace-", i)] = "/namespace?" + query("namespace", s, "cluster", s)
	}
	paths["reflected"] = "/search?" + query("audit", hostileTexts[1], "name", hostileTexts[0], "user", hostileTexts[6])
}

// looks are how pages are looked at; those aside are left out where there are many pages of one kind.
var looks = []struct {
	width  int64
	scheme string
	aside  bool
}{{390, "light", false}, {390, "dark", true}, {1440, "light", true}, {1440, "dark", false}}

// TestPages opens each page, light and dark, narrow and wide: nothing runs, nothing is fetched from elsewhere, nothing is
// complained of, the page does not scroll sideways, and all texts can be read.
func TestPages(t *testing.T) {
	for _, site := range sites {
		t.Run(site.name, func(t *testing.T) {
			db := site.db(t)
			b := newBrowser(t, serve(t, web.Config{Reader: db}).URL)
			for name, path := range site.paths {
				if strings.HasSuffix(path, "audit=") {
					path += oneAuditID(t, db)
				}
				for _, look := range looks {
					if site.name == "hostile" && look.aside {
						continue
					}
					b.look(look.width, look.scheme)
					b.open(path)
					b.check(fmt.Sprintf("%s-%s-%d-%s", site.name, name, look.width, look.scheme), name == "missing")
				}
			}
		})
	}
}

func (b *browser) check(name string, missing bool) {
	b.t.Helper()
	for _, complaint := range b.heard() {
		if !missing || !strings.Contains(complaint, "404") {
			b.t.Errorf("%s: %s", name, complaint)
		}
	}
	if title := evaluate[string](b, "document.title"); !strings.HasSuffix(title, " · vapshadow") {
		b.t.Errorf("%s: the title is %q", name, title)
	}
	if wide := evaluate[[]string](b, wideScript); len(wide) > 0 {
		b.t.Errorf("%s: wider than the window: %v", name, wide)
	}
	c := evaluate[contrast](b, contrastScript)
	if len(c.Faint) > 0 || c.Checked < 5 {
		b.t.Errorf("%s: of %d texts these are too faint: %s", name, c.Checked, strings.Join(c.Faint, "\n"))
	}
	b.shoot(name)
}

// wideScript names what makes the page scroll sideways, and what is cut off.
const wideScript = `(() => {
  const width = document.documentElement.clientWidth, out = [];
  if (document.documentElement.scrollWidth > width) out.push('the page: ' + document.documentElement.scrollWidth);
  for (const el of document.querySelectorAll('main *, header *')) {
    if (el.closest('svg, thead') || el.classList.contains('skip')) continue;
    for (const r of el.getClientRects()) if (r.right > width + 1) { out.push(el.tagName + '.' + el.className + ' ' + Math.round(r.right)); break; }
  }
  return out.slice(0, 5);
})()`

func oneAuditID(t testing.TB, db sink.Database) string {
	t.Helper()
	best, id := 0, ""
	seen := map[string]int{}
	for f, err := range db.Failures(t.Context(), sink.Filter{Newest: true, Stopping: true, Limit: 300}) {
		fatal(t, err)
		if seen[f.AuditID]++; seen[f.AuditID] > best {
			best, id = seen[f.AuditID], f.AuditID
		}
	}
	return id
}
