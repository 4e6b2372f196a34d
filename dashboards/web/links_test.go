package web_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/dashboards/web"
	"github.com/vapshadow/vapshadow/sink"
)

var (
	href   = regexp.MustCompile(`href="([^"]*)"`)
	anchor = regexp.MustCompile(`id="([^"]*)"`)
)

// TestLinks follows each link of each page, up to a bound for each kind of page: all lead somewhere, and none elsewhere.
func TestLinks(t *testing.T) {
	for name, db := range map[string]sink.Database{"recording": recording(t), "empty": empty(t), "hostile": hostile(t)} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, web.Config{Reader: db})
			seen, kinds := map[string]bool{}, map[string]int{}
			for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
				at, err := url.Parse(queue[0])
				fatal(t, err)
				if seen[at.RequestURI()] || kinds[at.Path] >= 60 {
					continue
				}
				seen[at.RequestURI()] = true
				kinds[at.Path]++
				page := get(t, s.URL+at.RequestURI())
				if page.code != 200 {
					t.Errorf("%s: %d", at, page.code)
				}
				if at.Fragment != "" && !strings.Contains(page.body, `id="`+at.Fragment+`"`) {
					t.Errorf("%s: there is no such place on the page", at)
				}
				for _, m := range href.FindAllStringSubmatch(page.body, -1) {
					link := html.UnescapeString(m[1])
					if !strings.HasPrefix(link, "./") && !strings.HasPrefix(link, "?") && link != "#content" {
						t.Errorf("%s links to %q", at, link)
						continue
					}
					to, err := at.Parse(link)
					fatal(t, err)
					if to.Path != at.Path || to.RawQuery != at.RawQuery {
						queue = append(queue, to.String())
					}
				}
				ids := map[string]bool{}
				for _, m := range anchor.FindAllStringSubmatch(page.body, -1) {
					if ids[m[1]] {
						t.Errorf("%s: two places are called %s", at, m[1])
					}
					ids[m[1]] = true
				}
			}
			if name == "recording" && (kinds["/policy"] < 10 || kinds["/decision"] < 20 || kinds["/workload"] < 20 || kinds["/namespace"] < 5) {
				t.Errorf("too few pages are linked to: %v", kinds)
			}
		})
	}
}
