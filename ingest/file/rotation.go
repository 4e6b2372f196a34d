package file

import (
	"cmp"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
)

// An apiserver moves audit.log to audit-2026-11-21T06-49-22.123.log when it is full, and may compress it to ….log.gz
// then. The time is UTC, that of the last event.
var rotatedName = regexp.MustCompile(`^(.*)-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3})(\.[^./]*)?$`)

const rotatedTime = "2006-01-02T15-04-05.000"

// rotated returns the name of the live file that a file was rotated from, and when.
func rotated(name string) (live string, at time.Time, ok bool) {
	m := rotatedName.FindStringSubmatch(stripCompression(name))
	if m == nil {
		return "", time.Time{}, false
	}
	at, err := time.Parse(rotatedTime, m[2])
	return m[1] + m[3], at, err == nil
}

func stripCompression(name string) string {
	for _, ext := range []string{".gz", ".zst"} {
		if cut, ok := strings.CutSuffix(name, ext); ok {
			return cut
		}
	}
	return name
}

// leaveTwins leaves out the compressed form of a rotated log where the log itself is there as well: an apiserver takes
// the log away once the compressed form is complete.
func leaveTwins(inputs []*input) (kept []*input, twins []ingest.Skip) {
	names := make(map[string]bool)
	for _, in := range inputs {
		names[in.name] = true
	}
	for _, in := range inputs {
		plain := stripCompression(in.name)
		if _, _, ok := rotated(in.name); ok && plain != in.name && names[plain] {
			twins = append(twins, ingest.Skip{
				Reason: ingest.DuplicateFile,
				At:     ingest.Position{Source: in.name},
				Detail: "made from " + filepath.Base(plain) + ", which is read",
			})
			in.close()
			continue
		}
		kept = append(kept, in)
	}
	return kept, twins
}

// sortByTime puts files in order: rotated ones by the time in their name, others by their first event, or by when they
// were last written if they have none that is found; files that are still written to, last.
func sortByTime(inputs []*input) {
	if len(inputs) < 2 {
		return
	}
	live := make(map[string]bool)
	for _, in := range inputs {
		if name, _, ok := rotated(in.name); ok {
			live[name] = true
		}
	}
	type key struct {
		live int
		at   time.Time
	}
	keys := make(map[*input]key)
	for _, in := range inputs {
		var k key
		if live[in.name] {
			k.live = 1
		}
		k.at = in.time()
		keys[in] = k
	}
	slices.SortStableFunc(inputs, func(a, b *input) int {
		ka, kb := keys[a], keys[b]
		return cmp.Or(cmp.Compare(ka.live, kb.live), ka.at.Compare(kb.at), strings.Compare(a.name, b.name))
	})
}

func (in *input) time() time.Time {
	if _, at, ok := rotated(in.name); ok {
		return at
	}
	if !in.isRegular() {
		return time.Now() // reading it would use it up
	}
	if at, ok := in.firstEvent(); ok {
		return at
	}
	return in.info.ModTime()
}

// firstEvent is when the first event was written. It is looked for at the beginning alone, and reads nothing away.
func (in *input) firstEvent() (time.Time, bool) {
	const within = 4 << 20
	peek := &input{name: in.name, r: io.NewSectionReader(in.file, 0, in.info.Size()), read: new(atomic.Int64)}
	defer peek.close()
	r := ingest.NewReader(io.LimitReader(peek.decompressed(), within), in.name, within)
	for {
		e, err := r.Next()
		if err != nil {
			return time.Time{}, false
		}
		events, _ := ingest.Decode(e)
		for _, ev := range events {
			if !ev.StageTimestamp.IsZero() {
				return ev.StageTimestamp, true
			}
		}
	}
}
