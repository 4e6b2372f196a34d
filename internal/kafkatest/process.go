package kafkatest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/segmentio/kafka-go"
)

// java makes a command that runs a class of the broker's libraries.
func (b *Broker) java(ctx context.Context, class string, args ...string) *exec.Cmd {
	// The broker lives for seconds: quick to start is better than quick to run.
	flags := []string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-Dlog4j2.configurationFile=" + b.file("log4j2.xml"),
		"-cp", filepath.Join(b.libs, "*"), class}
	cmd := exec.CommandContext(ctx, "java", append(flags, args...)...)
	cmd.Dir = b.dir
	return cmd
}

// format makes the storage of a broker, with the users that log in by SCRAM.
func (b *Broker) format(ctx context.Context, o Options) error {
	args := []string{"format", "--cluster-id", "dmFwc2hhZG93dGVzdDEyMw", "--config", b.file("server.properties")}
	if o.Security {
		for _, user := range [][2]string{{User, Password}, {Stranger, StrangersPassword}} {
			for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
				args = append(args, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, user[0], user[1]))
			}
		}
	}
	if out, err := b.java(ctx, "kafka.tools.StorageTool", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("formatting the broker's storage: %w\n%s", err, out)
	}
	return nil
}

// launch starts the broker and waits until it answers.
func (b *Broker) launch(ctx context.Context) error {
	log, err := os.OpenFile(b.file("broker.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the broker has a handle of its own
	// The broker outlives the context of its start: Stop and Kill end it, or the end of this process.
	cmd := b.java(context.WithoutCancel(ctx), "kafka.Kafka", b.file("server.properties"))
	cmd.Stdout, cmd.Stderr = log, log
	exited, err := start(cmd)
	if err != nil {
		return fmt.Errorf("starting the broker: %w", err)
	}
	b.process, b.exited = cmd.Process, exited
	if err := b.awaitReady(ctx); err != nil {
		out, _ := os.ReadFile(b.file("broker.log"))
		return errors.Join(fmt.Errorf("the broker did not start: %w\n%s", err, out), b.Kill())
	}
	return nil
}

// start runs a command that ends with this process at the latest. Linux sends the death signal when the thread that
// started the command ends, so the goroutine keeps its thread.
func start(cmd *exec.Cmd) (<-chan *os.ProcessState, error) {
	dieWithParent(cmd)
	started, exited := make(chan error, 1), make(chan *os.ProcessState, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the state says it all
			exited <- cmd.ProcessState
		}
	}()
	return exited, <-started
}

// awaitReady polls until the broker answers and has registered itself.
func (b *Broker) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		select {
		case state := <-b.exited:
			b.process = nil
			return fmt.Errorf("it ended: %s", state)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), last)
		case <-tick.C:
		}
		if last = b.answers(ctx); last == nil {
			return nil
		}
	}
}

func (b *Broker) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := kafka.DialContext(ctx, "tcp", b.Addr)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // asked and answered
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	brokers, err := conn.Brokers()
	if err == nil && len(brokers) == 0 {
		err = errors.New("no broker has registered yet")
	}
	return err
}

// Log returns what the broker wrote, for the message of a test that fails.
func (b *Broker) Log() string {
	out, _ := os.ReadFile(b.file("broker.log"))
	return string(bytes.TrimSpace(out))
}
