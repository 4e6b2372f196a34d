package replay_test

import (
	"testing"

	"github.com/vapshadow/vapshadow/replay"
)

// BenchmarkDecode decodes the bodies of recorded events.
func BenchmarkDecode(b *testing.B) {
	rec := readRecording(b, "testdata/recorded/v1.37.1/requestresponse")
	bytes := 0
	for _, ev := range rec.events {
		bytes += len(ev.RequestObject) + len(ev.ResponseObject)
	}
	b.SetBytes(int64(bytes / len(rec.events)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		replay.Decode(rec.events[i%len(rec.events)])
	}
}

// BenchmarkReconstruct observes and rebuilds the requests of decoded events; one operation is one event.
func BenchmarkReconstruct(b *testing.B) {
	for _, log := range []string{"requestresponse", "metadata"} {
		b.Run(log, func(b *testing.B) {
			rec := readRecording(b, "testdata/recorded/v1.37.1/"+log)
			var decoded []*replay.Decoded
			for _, ev := range rec.events {
				decoded = append(decoded, replay.Decode(ev))
			}
			var r *replay.Replayer
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				at := i % len(decoded)
				if at == 0 {
					b.StopTimer()
					r = newReplayer(b, replay.Config{Minor: 37}, rec.snapshot)
					b.StartTimer()
				}
				r.Observe(decoded[at])
				r.Requests(decoded[at])
			}
		})
	}
}

// BenchmarkWhose tells whose the object and the Namespace of a request are; one operation is one request.
func BenchmarkWhose(b *testing.B) {
	rec := readRecording(b, "testdata/recorded/v1.37.1/requestresponse")
	r := newReplayer(b, replay.Config{Minor: 37}, rec.snapshot)
	var requests []*replay.Request
	for _, ev := range rec.events {
		d := replay.Decode(ev)
		r.Observe(d)
		requests = append(requests, r.Requests(d)...)
	}
	for name, tell := range map[string]func(*replay.Request){
		"owner": func(req *replay.Request) { req.Owner() },
		"team":  func(req *replay.Request) { req.NamespaceLabel("team") },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				tell(requests[i%len(requests)])
			}
		})
	}
}
