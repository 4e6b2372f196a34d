package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/dashboards/report"
)

func TestOutline(t *testing.T) {
	o := &report.Outline{}
	o.Line(0, "%s", "a\x1b[31m b\n\tc")
	o.Break()
	o.Line(1, "%s", strings.Repeat("word ", 25))
	o.Item(1, 6, "label", strings.Repeat("x", 100)+" y")
	o.Item(1, 6, "empty", " \x00")
	o.Verbatim(1, "  k: |\n    two  spaces\x1b]0;title\a\n"+strings.Repeat("z", 120)+"\n")
	want := strings.Join([]string{
		"a b c",
		"",
		"  " + strings.TrimSpace(strings.Repeat("word ", 19)),
		"    word word word word word word",
		"  label " + strings.Repeat("x", 92),
		"        xxxxxxxx y",
		"    k: |",
		"      two  spaces",
		"  " + strings.Repeat("z", 97) + "…",
		"",
	}, "\n")
	var got strings.Builder
	if _, err := o.WriteTo(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestRemedy(t *testing.T) {
	tests := []struct{ because, want string }{
		{"NoBody", "log pods/exec at level RequestResponse"},
		{"NotStored", "no response shows this value, so no log can hold it"},
		{"OfALaterVersion", ""},
	}
	for _, test := range tests {
		if got := report.Remedy(test.because, "pods/exec"); got != test.want {
			t.Errorf("%s: %q, want %q", test.because, got, test.want)
		}
	}
}
