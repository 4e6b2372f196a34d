package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/kafka"
	"github.com/vapshadow/vapshadow/internal/config"
	"github.com/vapshadow/vapshadow/internal/metrics"
	"github.com/vapshadow/vapshadow/internal/pipeline"
)

func newForwardCommand(s stdio) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "forward --config FILE",
		Short: "Write audit events from webhooks and files to a topic, keyed by object",
		Long: `Take audit events from webhooks and files, and write them to a topic of Kafka, keyed by
object, so that any number of services can share the work.

A webhook's request is answered, and a file's position stored, once all in-sync replicas
have the events. An event may be written twice where a reply is lost; the services count
it once.`,
		Example: `  # With "forward", and the sources, as "vapshadow config example" shows them:
  vapshadow forward --config forward.yaml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return wrongUsage(cmd, "--config is missing: it names the sources, and under forward the topic")
			}
			c, err := config.Load(file, os.LookupEnv)
			if err != nil {
				return err
			}
			if c.Forward == nil {
				return fmt.Errorf("%s: forward: is missing: name the brokers and the topic to write to", file)
			}
			return forward(cmd.Context(), c, s)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "`FILE` with the configuration")
	return cmd
}

// forward forwards until the context ends, which is its regular end.
func forward(ctx context.Context, c *config.Config, s stdio) (err error) {
	log := newLogger(c.Log, s.err)
	sources, err := openSources(c.Sources, c.ShutdownTimeout, log)
	if err != nil {
		return err
	}
	store, err := awaitStore(ctx, c.Store, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	f := c.Forward
	writer, err := kafka.NewWriter(kafka.WriterConfig{
		Access: kafkaAccess(f.Brokers, f.ClientID, f.TLS, f.SASL), Topic: f.Topic, ClusterHeader: f.ClusterHeader, MaxBytes: int(f.MaxBytes),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, writer.Close()) }()
	m := metrics.New(readVersion().Version)
	showWebhooks(m, sources)
	running, cancel := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel(nil)
	if err := listenAll(running, &beside, c, operations(m, nil, store), cancel, log); err != nil {
		return err
	}
	log.Info("forwarding", "version", readVersion().Version, "sources", len(sources), "topic", f.Topic)
	err = pipeline.Forward(running, pipeline.ForwardConfig{
		Sources: sources, Store: store, Log: log,
		Write: func(ctx context.Context, cluster string, entries []ingest.Entry) (int, []ingest.Skip, error) {
			written, err := writer.Write(ctx, cluster, entries...)
			return written.Events, written.Skips, err
		},
		Forwarded: func(id ingest.Partition, events int, skips []ingest.Skip) {
			m.Forwarded(id.Source, events, skips)
			for _, skip := range skips {
				log.Warn("not forwarded, as it is no event", "partition", id.String(), "skip", skip.String())
			}
		},
	})
	if cause := context.Cause(running); ctx.Err() == nil && cause != nil {
		return cause
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		log.Info("ended")
		return nil
	}
	return err
}
