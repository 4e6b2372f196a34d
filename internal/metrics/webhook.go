package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vapshadow/vapshadow/ingest/webhook"
)

// webhookCollector asks a webhook for its figures when Prometheus does.
type webhookCollector struct {
	stats                        func() webhook.Stats
	requests, waiting, reloading *prometheus.Desc
}

// Webhook shows the figures of a webhook.
func (m *Metrics) Webhook(source string, stats func() webhook.Stats) {
	labels := prometheus.Labels{"source": source}
	m.Registry.MustRegister(&webhookCollector{
		stats:     stats,
		requests:  prometheus.NewDesc(namespace+"_webhook_requests_total", "Requests of apiservers that were answered, by HTTP status.", []string{"code"}, labels),
		waiting:   prometheus.NewDesc(namespace+"_webhook_waiting_bytes", "Bodies of requests that are being read, or not yet stored.", nil, labels),
		reloading: prometheus.NewDesc(namespace+"_webhook_file_errors_total", "Times that a file of certificates or tokens could not be used any more; the last good one stays.", nil, labels),
	})
}

// Describe implements prometheus.Collector.
func (c *webhookCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.requests
	out <- c.waiting
	out <- c.reloading
}

// Collect implements prometheus.Collector.
func (c *webhookCollector) Collect(out chan<- prometheus.Metric) {
	s := c.stats()
	for code, n := range s.Requests {
		out <- prometheus.MustNewConstMetric(c.requests, prometheus.CounterValue, float64(n), strconv.Itoa(code))
	}
	out <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(s.InFlightBytes))
	out <- prometheus.MustNewConstMetric(c.reloading, prometheus.CounterValue, float64(s.ReloadErrors))
}
