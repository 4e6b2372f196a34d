package web_test

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/vapshadow/vapshadow/dashboards/web"
)

var screenshots = flag.Bool("screenshots", false, "write docs/screenshots anew")

// maxScreenshot is how many bytes a picture in the documentation may have.
const maxScreenshot = 150 << 10

var documented = []struct {
	name, path, scheme string
	width, height      int64
}{
	{"overview-light", "/", "light", 1200, 900},
	{"overview-dark", "/", "dark", 1200, 900},
	{"policy-light", "/policy?policy=op-nsobj", "light", 1200, 1100},
	{"policy-dark", "/policy?policy=op-nsobj", "dark", 1200, 1100},
	{"decision-light", "/decision?audit=", "light", 1200, 900},
	{"unknowns-light", "/unknowns", "light", 1200, 900},
	{"overview-narrow-dark", "/", "dark", 390, 900},
}

// TestScreenshots holds the pictures of the documentation to their size; with -screenshots it takes them first.
func TestScreenshots(t *testing.T) {
	dir := filepath.Join(root, "docs", "screenshots")
	if *screenshots {
		db := fortnight(t)
		b := newBrowser(t, serve(t, web.Config{Reader: db}).URL)
		fatal(t, os.MkdirAll(dir, 0o755))
		for _, d := range documented {
			b.look(d.width, d.scheme)
			fatal(t, chromedp.Do(b.ctx, chromedp.EmulateViewport(d.width, d.height)))
			if strings.HasSuffix(d.path, "audit=") {
				d.path += oneAuditID(t, db)
			}
			b.open(d.path)
			picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			fatal(t, err)
			fatal(t, os.WriteFile(filepath.Join(dir, d.name+".png"), small(t, picture), 0o644))
		}
	}
	for _, d := range documented {
		info, err := os.Stat(filepath.Join(dir, d.name+".png"))
		if err != nil {
			t.Errorf("%v: take the pictures with go test ./dashboards/web -run TestScreenshots -screenshots", err)
		} else if info.Size() > maxScreenshot {
			t.Errorf("%s has %d bytes", info.Name(), info.Size())
		}
	}
}

// small writes a picture with the 256 colours that it has most of, which is nearly all of them.
func small(t testing.TB, picture []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(picture))
	fatal(t, err)
	to := image.NewPaletted(from.Bounds(), palette(from))
	draw.Draw(to, to.Bounds(), from, from.Bounds().Min, draw.Src)
	var out bytes.Buffer
	fatal(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to))
	return out.Bytes()
}

func palette(of image.Image) color.Palette {
	counts := map[color.RGBA]int{}
	for y := of.Bounds().Min.Y; y < of.Bounds().Max.Y; y++ {
		for x := of.Bounds().Min.X; x < of.Bounds().Max.X; x++ {
			r, g, b, a := of.At(x, y).RGBA()
			counts[color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(-cmp.Compare(counts[a], counts[b]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var out color.Palette
	for _, c := range colors[:min(256, len(colors))] {
		out = append(out, c)
	}
	return out
}
