package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/vapshadow/vapshadow/dashboards/web"
)

// TestLoginInBrowser: a shared link leads to the login form, and from there to what it was about; once logged in, links
// from other sites lead there at once. The same below a path of a proxy.
func TestLoginInBrowser(t *testing.T) {
	pages := serve(t, web.Config{Reader: recording(t), Token: token})
	target, err := url.Parse(pages.URL)
	fatal(t, err)
	proxy := httptest.NewServer(http.StripPrefix("/tools/vapshadow", httputil.NewSingleHostReverseProxy(target)))
	t.Cleanup(proxy.Close)
	for name, at := range map[string]string{"alone": pages.URL, "below a path": proxy.URL + "/tools/vapshadow"} {
		t.Run(name, func(t *testing.T) {
			link := at + "/policy?policy=op-nsobj"
			elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = fmt.Fprintf(w, `<a id="link" href="%s">look at this</a>`, link)
			}))
			t.Cleanup(elsewhere.Close)
			b := newBrowser(t, at)
			follow := func() {
				t.Helper()
				fatal(t, chromedp.Do(b.ctx, chromedp.Navigate(strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)), chromedp.Click(chromedp.ID("link"))))
			}
			follow()
			fatal(t, chromedp.Do(b.ctx, chromedp.WaitVisible(chromedp.CSS("form.login")), chromedp.SendKeys(chromedp.CSS("input[name=token]"), token+"\n"),
				chromedp.WaitVisible(chromedp.CSS("article.binding"))))
			if got := evaluate[string](b, "location.href"); got != link {
				t.Errorf("after the login the page is %s, not %s", got, link)
			}
			if cookie := evaluate[string](b, "document.cookie"); cookie != "" {
				t.Errorf("scripts see the cookie: %s", cookie)
			}
			follow()
			fatal(t, chromedp.Do(b.ctx, chromedp.WaitVisible(chromedp.CSS("article.binding"))))
			fatal(t, chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(".logout button")), chromedp.WaitVisible(chromedp.CSS("form.login"))))
			b.open("/sources")
			if !evaluate[bool](b, "!!document.querySelector('form.login') && !document.body.innerText.includes('arrived')") {
				t.Error("the pages are shown after logging out")
			}
		})
	}
}
