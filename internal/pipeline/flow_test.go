package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/internal/pipeline"
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
