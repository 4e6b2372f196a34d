package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/internal/pipeline"
	"github.com/vapshadow/vapshadow/sink"
)

// TestAhead: what was logged late is known to the requests before it, be the entries between them few or many bytes.
func TestAhead(t *testing.T) {
	const head = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","stage":"ResponseComplete",` +
		`"user":{"username":"u"},"objectRef":{"resource":"configmaps","namespace":"shop","name":"c","apiVersion":"v1"},`
	deleted := head + `"auditID":"d","verb":"delete","requestURI":"/api/v1/namespaces/shop/configmaps/c","requestReceivedTimestamp":"2026-01-02T00:00:06Z",` +
		`"stageTimestamp":"2026-01-02T00:00:07Z","responseStatus":{"code":200},"responseObject":{"kind":"Status","apiVersion":"v1","status":"Success","details":{"name":"c","uid":"u"}}}` + "\n"
	updated := head + `"auditID":"w","verb":"update","requestURI":"/api/v1/namespaces/shop/configmaps/c","requestReceivedTimestamp":"2026-01-02T00:00:01Z",` +
		`"stageTimestamp":"2026-01-02T00:00:05Z","responseStatus":{"code":200},"responseObject":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c","namespace":"shop","uid":"u","resourceVersion":"5"}}}` + "\n"
	for _, tt := range []struct {
		between, bytes int
		known          bool
	}{{0, 1, true}, {400, 1, true}, {400, 20 << 10, true}, {3, 2 << 20, true}, {1100, 1, false}, {50, 1 << 20, false}} {
		var log [][]byte
		log = append(log, []byte(deleted))
		for i := range tt.between {
			log = append(log, fmt.Appendf(nil, `{%s"auditID":"%d","stage":"ResponseComplete","verb":"get"}`+"\n", strings.Repeat(" ", tt.bytes), i))
		}
		log = append(log, []byte(updated))
		records := replayAll(t, pipeline.ReplayConfig{Cluster: []string{exampleCluster}, AuditLog: []string{writeLog(t, log)}})
		if len(records) != 2 {
			t.Fatalf("%d records: %s", len(records), records)
		}
		if known := !strings.Contains(records[0], `"oldObject":{"level":"Missing"`); known != tt.known {
			t.Errorf("%d entries of %d bytes between: known is %v: %s", tt.between, tt.bytes, known, records[0])
		}
	}
}

// TestEndsEarly: a replay that is ended from outside ends with that error, wherever it is, and hands over nothing after.
func TestEndsEarly(t *testing.T) {
	var log [][]byte
	for i := range 3000 { // several batches
		log = append(log, fmt.Appendf(nil, `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","auditID":"%d",`+
			`"verb":"delete","user":{"username":"u"},"requestURI":"/api/v1/namespaces/shop/configmaps/c","responseStatus":{"code":200},`+
			`"objectRef":{"resource":"configmaps","namespace":"shop","name":"c","apiVersion":"v1"},`+
			`"requestReceivedTimestamp":"2026-01-02T00:00:06Z","stageTimestamp":"2026-01-02T00:00:07Z"}`+"\n", i))
	}
	cfg := pipeline.ReplayConfig{Cluster: []string{exampleCluster}, AuditLog: []string{writeLog(t, log)}, Minor: 37}
	full := errors.New("the disk is full")
	for _, at := range []int{1, 700, 3000} {
		for _, want := range []error{full, context.Canceled} {
			ctx, cancel := context.WithCancel(t.Context())
			records := 0
			cfg.Records = func(r *sink.Record) error {
				if want := strconv.Itoa(records); r.AuditID != want {
					t.Errorf("record of %s, want %s", r.AuditID, want)
				}
				if records++; records != at {
					return nil
				}
				for range 3000 { // Meanwhile the next batch is evaluated.
					if _, err := json.Marshal(r); err != nil {
						return err
					}
				}
				if want == context.Canceled {
					cancel()
				}
				return want
			}
			_, err := pipeline.Replay(ctx, cfg)
			cancel()
			if !errors.Is(err, want) || records != at {
				t.Errorf("%v at record %d: %d records, error %v", want, at, records, err)
			}
		}
	}
}
