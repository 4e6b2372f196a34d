package web_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a real Chromium with one tab, and what it complained of since it was last asked.
type browser struct {
	t      testing.TB
	ctx    context.Context
	origin string

	mu         sync.Mutex
	complaints []string
	requests   []string
}

// newBrowser starts Chromium. It ends with the test.
func newBrowser(t testing.TB, origin string) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Fatal("the pages are tested in Chromium, which is not installed: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile(t)),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		// Nothing but the pages answers, whatever the browser itself may want to know.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // It closes the browser; what is left of it goes with the context.
		cancel()
		stop()
	})
	b := &browser{t: t, ctx: ctx, origin: origin}
	fatal(t, chromedp.Do(ctx))
	fatal(t, chromedp.Listen(ctx, b.hear))
	call(b, log.Enable, cdp.Empty{})
	call(b, network.Enable, network.EnableParams{})
	return b
}

// profile is a fresh folder. Chromium may still write to it for a moment after its end, so it is removed patiently.
func profile(t testing.TB) string {
	dir, err := os.MkdirTemp("", "vapshadow-chromium-") //nolint:usetesting // t.TempDir is not patient
	fatal(t, err)
	t.Cleanup(func() {
		deadline := time.Now().Add(10 * time.Second)
		for err := os.RemoveAll(dir); err != nil && time.Now().Before(deadline); err = os.RemoveAll(dir) {
			time.Sleep(50 * time.Millisecond)
		}
	})
	return dir
}

func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.complaints = append(b.complaints, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, "exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.complaints = append(b.complaints, "console: "+string(e.Type))
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// heard returns and forgets what the browser complained of; requests that leave the origin are among it.
func (b *browser) heard() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.complaints
	for _, url := range b.requests {
		if !strings.HasPrefix(url, b.origin+"/") && !strings.HasPrefix(url, "data:") { // Chromium draws its own controls from data
			out = append(out, "a request leaves the origin: "+url)
		}
	}
	b.complaints, b.requests = nil, nil
	return out
}

func call[P, R any](b *browser, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, command, params)
	fatal(b.t, err)
	return r
}

// look sets the width of the window, and whether it is dark.
func (b *browser) look(width int64, scheme string) {
	b.t.Helper()
	fatal(b.t, chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// open goes to a page.
func (b *browser) open(path string) {
	b.t.Helper()
	fatal(b.t, chromedp.Do(b.ctx, chromedp.Navigate(b.origin+path)))
}

func evaluate[T any](b *browser, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	fatal(b.t, err)
	return v
}

// shoot writes a picture of the whole page to artifacts.
func (b *browser) shoot(name string) {
	b.t.Helper()
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	fatal(b.t, err)
	dir := filepath.Join(root, "artifacts", "pages")
	fatal(b.t, os.MkdirAll(dir, 0o755))
	fatal(b.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
}
