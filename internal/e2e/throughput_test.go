package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vapshadow/vapshadow/internal/kafkatest"
	"github.com/vapshadow/vapshadow/internal/pgtest"
)

// read is an event of the kind that most of a log consists of.
const readEvent = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"%d","stage":"ResponseComplete","requestURI":"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler?timeout=5s","verb":"get","user":{"username":"system:kube-scheduler","groups":["system:authenticated"]},"sourceIPs":["10.0.0.1"],"userAgent":"kube-scheduler/v1.37.1 (linux/amd64) kubernetes/6f2c3ab/leader-election","objectRef":{"resource":"leases","namespace":"kube-system","name":"kube-scheduler","apiGroup":"coordination.k8s.io","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-11-21T06:49:23.%06dZ","stageTimestamp":"2026-11-21T06:49:23.%06dZ","annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"RBAC: allowed by ClusterRoleBinding \"system:kube-scheduler\" of ClusterRole \"system:kube-scheduler\" to User \"system:kube-scheduler\""}}
`

// realistic is a log of which nine of ten events are reads.
func realistic(b testing.TB, copies int) [][]byte {
	var out [][]byte
	n := 0
	for c := range copies {
		for _, line := range copyOf(recorded(b), c+1) {
			out = append(out, line)
			for range 9 {
				n++
				out = append(out, fmt.Appendf(nil, readEvent, n, n%1_000_000, n%1_000_000))
			}
		}
	}
	return out
}

// BenchmarkService compares, on one log and in one run, a replay of it with the way through Kafka into Postgres, which run
// on the same machine.
func BenchmarkService(b *testing.B) {
	lines := realistic(b, 6)
	log := filepath.Join(b.TempDir(), "audit.log")
	must(b, os.WriteFile(log, bytes.Join(lines, nil), 0o600))
	broker, store := kafkatest.Start(b, kafkatest.Options{}), ""
	for b.Loop() {
		begun := time.Now()
		vapshadow(b, "replay", "--quiet", "--policies", recordedPolicies, "--cluster", recordedCluster, "--audit-log", log)
		alone := float64(len(lines)) / time.Since(begun).Seconds()

		store = pgtest.New(b)
		vapshadow(b, "migrate", "up", "--store", store)
		topic := fmt.Sprintf("audit-%d", time.Now().UnixNano())
		broker.CreateTopic(b, topic, 4)
		writePatiently(b, newWriter(b, broker.Addr, topic, true), messages(b, lines, true))
		begun = time.Now()
		s := serve(b, "service", kafkaConfig(store, broker.Addr, topic))
		awaitStored(b, store, int64(len(lines)))
		through := float64(len(lines)) / time.Since(begun).Seconds()
		s.stop()
		b.ReportMetric(alone, "replay-events/s")
		b.ReportMetric(through, "service-events/s")
		b.ReportMetric(through/alone, "service/replay")
	}
}
