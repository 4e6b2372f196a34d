package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/vapshadow/vapshadow/dashboards/web"
)

// TestKeyboard: Tab goes to each link, field and button of a page, in the order in which they stand there, and each shows
// that it has been reached.
func TestKeyboard(t *testing.T) {
	b := newBrowser(t, serve(t, web.Config{Reader: recording(t)}).URL)
	for _, path := range []string{"/", "/policy?policy=op-nsobj", "/search?result=stopped", "/sources"} {
		b.look(1440, "light")
		b.open(path)
		want := evaluate[[]string](b, `(() => {
  window.nameOf = el => el.tagName + ' ' + (el.name || '') + ' ' + (el.getAttribute('href') || '') + ' ' + el.textContent.trim().slice(0, 40);
  return [...document.querySelectorAll('a[href], input:not([type=hidden]), select, button, summary, pre')]
    .filter(el => el.checkVisibility()).map(nameOf);
})()`)
		if len(want) < 8 {
			t.Fatalf("%s: only %d places to go to", path, len(want))
		}
		for i, name := range want {
			fatal(t, chromedp.Do(b.ctx, chromedp.KeyEvent(kb.Tab)))
			got := evaluate[string](b, `nameOf(document.activeElement)`)
			if got != name {
				t.Fatalf("%s: Tab number %d goes to %q, not to %q", path, i+1, got, name)
			}
			if outline := evaluate[string](b, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" {
				t.Errorf("%s: %q does not show that it has been reached", path, got)
			}
		}
	}
}

// TestKeyboardPath walks from the overview to a single decision with the keyboard alone.
func TestKeyboardPath(t *testing.T) {
	b := newBrowser(t, serve(t, web.Config{Reader: recording(t)}).URL)
	b.open("/")
	for _, step := range []struct{ link, arrives string }{
		{"op-nsobj", "/policy?"}, {"one request", "/decision?"},
	} {
		for range 400 {
			fatal(t, chromedp.Do(b.ctx, chromedp.KeyEvent(kb.Tab)))
			if evaluate[string](b, `document.activeElement.textContent.trim()`) == step.link {
				break
			}
		}
		if _, err := chromedp.RunResponse(b.ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
			t.Fatal(err)
		}
		if at := evaluate[string](b, `location.href`); !strings.HasPrefix(at, b.origin+step.arrives) {
			t.Fatalf("Enter on %q goes to %s", step.link, at)
		}
	}
	if text := evaluate[string](b, `document.querySelector('main').innerText`); !strings.Contains(text, "were the bindings set to [Deny]") {
		t.Errorf("the decision does not say what would have happened:\n%s", text)
	}
}
