package deploy_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vapshadow/vapshadow/internal/kafkatest"
	"github.com/vapshadow/vapshadow/internal/pgtest"
)

// What docker-compose.yml starts is started here without containers, on a real Kafka and a real Postgres: the recording
// has to come out at the other end, for the role that Grafana has.
func TestDemo(t *testing.T) {
	d := newDemo(t, compose(t))
	d.run("migrate")
	d.start("vapshadow")
	d.start("forward")
	reader, err := pgx.Connect(t.Context(), d.postgres.URLAs("grafana", "vapshadow"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close(context.WithoutCancel(t.Context())) }()
	const events = 1700 // examples/README.md says so
	awaitCount(t, reader, "SELECT coalesce(sum(ingested), 0)::bigint FROM vapshadow.v_ledger WHERE source = 'kafka' AND difference = 0", events)
	// All policies of the examples are known, and one of them by what examples/README.md says it would do.
	awaitCount(t, reader, "SELECT count(DISTINCT name) FROM vapshadow.v_policies WHERE kind = 'ValidatingAdmissionPolicy'", 15)
	awaitCount(t, reader, "SELECT sum(count)::bigint FROM vapshadow.v_rollups WHERE policy = 'op-param-cluster' AND result = 'Fail'", 92)
	d.run("vapshadow healthcheck")
	// The address in docker-compose.yml opens Grafana where the recording is.
	span := regexp.MustCompile(`from=(\d+)&to=(\d+)`).FindStringSubmatch(content(t, "../docker-compose.yml"))
	awaitCount(t, reader, "SELECT count(*) FROM vapshadow.v_rollups WHERE extract(epoch FROM minute) * 1000 NOT BETWEEN "+span[1]+" AND "+span[2], 0)
}

// awaitCount waits until a query gives a number.
func awaitCount(t *testing.T, conn *pgx.Conn, sql string, want int64) {
	t.Helper()
	var have int64
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err := conn.QueryRow(t.Context(), sql).Scan(&have); err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
		if have == want {
			return
		}
	}
	t.Fatalf("%d, want %d:\n%s", have, want, sql)
}

// demo is what the containers would be.
type demo struct {
	t        *testing.T
	p        project
	program  string
	postgres *pgtest.Server
	// here stands for the addresses and files that a container sees.
	here *strings.Replacer
}

func newDemo(t *testing.T, p project) *demo {
	t.Helper()
	d := &demo{t: t, p: p, program: filepath.Join(t.TempDir(), "vapshadow"), postgres: pgtest.Start(t, pgtest.Config{})}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", d.program, "./cmd/vapshadow")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The image makes its user and database before it runs the file.
	for _, sql := range []string{"CREATE ROLE owner SUPERUSER LOGIN", "CREATE DATABASE vapshadow OWNER owner", content(t, "compose/roles.sql")} {
		if err := d.postgres.Exec(t.Context(), "postgres", sql); err != nil {
			t.Fatal(err)
		}
	}
	broker := kafkatest.Start(t, kafkatest.Options{})
	d.createTopic(broker)
	d.here = strings.NewReplacer("kafka:9092", broker.Addr, "0.0.0.0:9080", "127.0.0.1:0",
		"@postgres/", "@127.0.0.1:"+strconv.Itoa(d.postgres.Port)+"/")
	return d
}

// createTopic does what the service topic does.
func (d *demo) createTopic(broker *kafkatest.Broker) {
	d.t.Helper()
	flags := map[string][]string{}
	for _, arg := range d.p.Services["topic"].Command[1:] {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		flags[name] = append(flags[name], value)
	}
	partitions, err := strconv.Atoi(flags["partitions"][0])
	if err != nil {
		d.t.Fatal(err)
	}
	var settings []string
	for _, setting := range flags["config"] {
		name, value, _ := strings.Cut(setting, "=")
		settings = append(settings, name, value)
	}
	broker.CreateTopic(d.t, flags["topic"][0], partitions, settings...)
}

// command is that of a service, or of its healthcheck, with files and addresses of this machine.
func (d *demo) command(name string) *exec.Cmd {
	d.t.Helper()
	name, healthcheck := strings.CutSuffix(name, " healthcheck")
	s := d.p.Services[name]
	args := append([]string{}, s.Command...)
	if healthcheck {
		args = s.Healthcheck.Test[2:] // behind CMD and the program
	}
	for i, arg := range args {
		args[i] = d.here.Replace(arg)
		if i > 0 && args[i-1] == "--config" {
			args[i] = d.config(s, arg)
		}
	}
	cmd := exec.Command(d.program, args...)
	cmd.Env = []string{}
	for k, v := range s.Environment {
		cmd.Env = append(cmd.Env, k+"="+d.here.Replace(v))
	}
	return cmd
}

// config is a configuration with the paths of this machine.
func (d *demo) config(s service, file string) string {
	d.t.Helper()
	text := d.here.Replace(content(d.t, mounted(d.t, s, file)))
	for _, v := range s.Volumes {
		text = strings.ReplaceAll(text, v.Target, v.Source)
	}
	made := filepath.Join(d.t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(made, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return made
}

// run runs what ends by itself.
func (d *demo) run(name string) {
	d.t.Helper()
	if out, err := d.command(name).CombinedOutput(); err != nil {
		d.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// start starts what runs until it is told to end, which it has to do in good order.
func (d *demo) start(name string) {
	d.t.Helper()
	cmd := d.command(name)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			d.t.Errorf("%s: %v", name, err)
		}
		if err := cmd.Wait(); err != nil || d.t.Failed() {
			d.t.Errorf("%s: %v\n%s", name, err, log.Bytes())
		}
	})
}
