package main

import (
	"log/slog"
	"time"

	"github.com/vapshadow/vapshadow/ingest/webhook"
	"github.com/vapshadow/vapshadow/internal/config"
)

func webhookConfig(c *config.Source, shutdown time.Duration, log *slog.Logger) webhook.Config {
	w := c.Webhook
	return webhook.Config{
		Address: w.Listen, CertFile: w.CertFile, KeyFile: w.KeyFile, PlainHTTP: w.PlainHTTP,
		ClientCAFile: w.ClientCAFile, TokenFiles: w.TokenFiles, Anonymous: w.ClientCAFile == "" && len(w.TokenFiles) == 0,
		DefaultCluster: c.Cluster, MaxBodyBytes: int64(w.MaxBodyBytes), MaxInFlightBytes: int64(w.MaxQueueBytes),
		DrainTimeout: shutdown, Log: log,
	}
}
