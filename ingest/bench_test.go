package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/vapshadow/vapshadow/ingest"
)

func BenchmarkDecode(b *testing.B) {
	for _, size := range []struct {
		name        string
		least, most int
	}{{"1KB", 800, 1400}, {"10KB", 9_000, 11_000}} {
		var lines [][]byte
		for _, line := range realLines(b) {
			if len(line) >= size.least && len(line) <= size.most {
				lines = append(lines, line)
			}
		}
		b.Run(size.name, func(b *testing.B) { benchmarkDecode(b, lines) })
		b.Run(size.name+"/apart", func(b *testing.B) {
			var odd [][]byte
			for _, line := range lines {
				body := []byte(`{"x":1,"x":2}`)
				odd = append(odd, fmt.Appendf(nil, `%s,"requestObject":%s}`, without(b, line, "requestObject"), body))
			}
			benchmarkDecode(b, odd)
		})
	}
	batches, err := os.ReadFile("testdata/webhook-batches.json")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("lists", func(b *testing.B) { benchmarkDecode(b, [][]byte{batches}) })
}

func benchmarkDecode(b *testing.B, lines [][]byte) {
	bytesRead, events := 0, 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		line := lines[i%len(lines)]
		bytesRead += len(line)
		got, skips := ingest.Decode(ingest.Entry{Data: line})
		if len(got) == 0 || len(skips) > 0 {
			b.Fatal(skips)
		}
		events += len(got)
	}
	b.SetBytes(int64(bytesRead / b.N))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}

// without returns an object's text without one member, and without its end.
func without(b *testing.B, object []byte, name string) []byte {
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(object, &members); err != nil {
		b.Fatal(err)
	}
	delete(members, name)
	text, err := json.Marshal(members)
	if err != nil {
		b.Fatal(err)
	}
	return bytes.TrimSuffix(text, []byte("}"))
}

// BenchmarkOutliner decodes reads, as most of a log is.
func BenchmarkOutliner(b *testing.B) {
	var reads [][]byte
	o := &ingest.Outliner{Told: func(*ingest.Outline) bool { return true }}
	for _, line := range realLines(b) {
		if events, _ := o.Decode(ingest.Entry{Data: line}); len(events) == 0 && len(line) < 1400 {
			reads = append(reads, line)
		}
	}
	var size int
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		line := reads[i%len(reads)]
		size += len(line)
		if events, skips := o.Decode(ingest.Entry{Data: line}); len(events) > 0 || len(skips) > 0 {
			b.Fatal(events, skips)
		}
	}
	b.SetBytes(int64(size / b.N))
}
