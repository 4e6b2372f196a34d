package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/vapshadow/vapshadow/ingest/file"
	"github.com/vapshadow/vapshadow/ingest/kafka"
	"github.com/vapshadow/vapshadow/ingest/webhook"
	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/internal/pipeline"
)

// openSources makes the sources of a configuration. A webhook listens from now on; the others do not connect yet.
func openSources(sources []config.Source, shutdown time.Duration, log *slog.Logger) ([]pipeline.ServedSource, error) {
	var out []pipeline.ServedSource
	for i := range sources {
		s, err := openSource(&sources[i], shutdown, log)
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", sources[i].Name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func openSource(c *config.Source, shutdown time.Duration, log *slog.Logger) (pipeline.ServedSource, error) {
	out := pipeline.ServedSource{Name: c.Name, Cluster: c.Cluster}
	switch {
	case c.Kafka != nil:
		source, err := kafka.New(kafkaConfig(c.Kafka, log))
		if err != nil {
			return out, err
		}
		out.Source, out.Committed, out.Messages = source, source.Committed, true
	case c.File != nil:
		var followed []file.Followed
		for _, path := range c.File.Paths {
			followed = append(followed, file.Followed{Path: path, Cluster: c.Cluster})
		}
		source, err := file.NewFollower(followed, file.FollowOptions{MaxEntryBytes: int(c.File.MaxLineBytes)})
		if err != nil {
			return out, err
		}
		out.Source = source
	case c.Webhook != nil:
		source, err := webhook.New(webhookConfig(c, shutdown, log))
		if err != nil {
			return out, err
		}
		out.Source, out.NoMarks = source, true
	}
	return out, nil
}

func kafkaConfig(k *config.Kafka, log *slog.Logger) kafka.Config {
	return kafka.Config{
		Access: kafkaAccess(k.Brokers, k.ClientID, k.TLS, k.SASL), Topics: k.Topics, Group: k.Group, MaxBytes: int(k.MaxBytes),
		Clusters: k.Clusters, ClusterHeader: cmp.Or(k.ClusterHeader, kafka.DefaultClusterHeader), Logger: log,
	}
}

func kafkaAccess(brokers []string, client string, t *config.TLS, s *config.SASL) kafka.Access {
	a := kafka.Access{Brokers: brokers, ClientID: client}
	if t != nil {
		a.TLS = &kafka.TLS{CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile, ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify}
	}
	if s != nil {
		a.SASL = &kafka.SASL{Mechanism: s.Mechanism, Username: s.Username, Password: s.Password}
	}
	return a
}
