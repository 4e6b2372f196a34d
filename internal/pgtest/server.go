package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Config says how a server differs from the usual.
type Config struct {
	// Settings are lines of postgresql.conf: "max_connections": "10".
	Settings map[string]string
	// FileSize is how many bytes a file of the server may have; 0 for no bound. It stands for a disk that is full.
	FileSize int64
}

// Server is a Postgres on 127.0.0.1 with data in a temporary folder. It keeps port and data when it is started again.
type Server struct {
	Port int
	// FileSize is that of Config. A change counts from the next Start.
	FileSize int64

	programs, folder string
	as               *syscall.Credential
	watchdog         *watchdog
	running          *exec.Cmd
	exited           chan struct{}
	databases        atomic.Int64
}

// Ways to stop a server.
const (
	// Fast rolls back what is open and closes the connections.
	Fast = syscall.SIGINT
	// Immediate ends without a shutdown: the next start recovers as after a crash.
	Immediate = syscall.SIGQUIT
)

func newServer(cfg Config) (s *Server, err error) {
	s = &Server{FileSize: cfg.FileSize}
	if s.programs, err = findPrograms(); err != nil {
		return nil, err
	}
	if s.as, err = account(); err != nil {
		return nil, err
	}
	if s.Port, err = freePort(); err != nil {
		return nil, err
	}
	if s.folder, err = os.MkdirTemp("", "pgtest-"); err != nil {
		return nil, err
	}
	if s.watchdog, err = watch(s.folder); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.folder))
	}
	if err := s.create(cfg); err != nil {
		return nil, errors.Join(err, s.watchdog.end())
	}
	return s, nil
}

// create makes the data folder.
func (s *Server) create(cfg Config) error {
	if s.as != nil {
		if err := os.Chown(s.folder, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return err
		}
	}
	out, err := s.command("initdb", "--pgdata="+s.data(), "--username=postgres", "--auth=trust", "--encoding=UTF8",
		"--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	settings := map[string]string{
		"listen_addresses": "'127.0.0.1'", "port": strconv.Itoa(s.Port), "unix_socket_directories": "'" + s.folder + "'",
		"fsync": "on", "max_connections": "200", "shared_buffers": "'64MB'", "log_line_prefix": "'%m [%p] '",
	}
	maps.Copy(settings, cfg.Settings)
	var conf bytes.Buffer
	for name, value := range settings {
		fmt.Fprintf(&conf, "%s = %s\n", name, value)
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(conf.Bytes())
	return errors.Join(err, f.Close())
}

// Start starts the server and returns when it takes connections.
func (s *Server) Start() error {
	logFile, err := os.OpenFile(s.logPath(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer logFile.Close() //nolint:errcheck // the server has its own handle
	cmd := s.command("postgres", "-D", s.data())
	if s.FileSize > 0 {
		bound := fmt.Sprintf("ulimit -f %d && exec \"$0\" \"$@\"", s.FileSize/512)
		cmd.Args = append([]string{"/bin/sh", "-c", bound}, cmd.Args...)
		cmd.Path = "/bin/sh"
	}
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	var ended error
	go func() {
		ended = cmd.Wait()
		close(exited)
	}()
	s.running, s.exited = cmd, exited
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := s.ping()
		if err == nil {
			return nil
		}
		select {
		case <-exited:
			s.running = nil
			return fmt.Errorf("the server ended while it started: %w\n%s", ended, s.Log())
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server takes no connections: %w\n%s", err, s.Log())
		}
	}
}

// Stop stops the server, Fast or Immediate, and returns when it is gone.
func (s *Server) Stop(how syscall.Signal) error {
	if s.running == nil {
		return nil
	}
	if err := s.running.Process.Signal(how); err != nil {
		return err
	}
	select {
	case <-s.exited:
		s.running = nil
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("the server did not end:\n%s", s.Log())
	}
}

// Restart stops the server and starts it on the same data and port.
func (s *Server) Restart(how syscall.Signal) error {
	if err := s.Stop(how); err != nil {
		return err
	}
	return s.Start()
}

// URL is the address of a database, for a superuser.
func (s *Server) URL(database string) string { return s.URLAs("postgres", database) }

// URLAs is the address of a database for a role, which needs no password.
func (s *Server) URLAs(role, database string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", role, s.Port, database)
}

// Database makes an empty database, which goes when the test ends, and returns its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", s.databases.Add(1))
	if err := s.Exec(context.Background(), "postgres", "CREATE DATABASE "+name); err != nil {
		t.Fatalf("making a database: %v", err)
	}
	t.Cleanup(func() {
		if s.running == nil {
			return
		}
		if err := s.Exec(context.Background(), "postgres", "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("dropping the test's database: %v", err)
		}
	})
	return s.URL(name)
}

// Exec runs SQL as a superuser in a database.
func (s *Server) Exec(ctx context.Context, database, sql string) error {
	conn, err := pgx.Connect(ctx, s.URL(database))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// Own gives a folder to the user that the server runs as, for a tablespace.
func (s *Server) Own(folder string) error {
	if s.as == nil {
		return nil
	}
	return os.Chown(folder, int(s.as.Uid), int(s.as.Gid))
}

// Log is what the server wrote to its log.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *Server) data() string    { return filepath.Join(s.folder, "data") }
func (s *Server) logPath() string { return filepath.Join(s.folder, "log") }

func (s *Server) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.Exec(ctx, "postgres", "SELECT 1")
}

// command is one of Postgres' programs, to be run by the right user and outside of our process group: an interrupt that
// is meant for the tests ends them, and the watchdog ends the server.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, program), args...)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PGTZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	return cmd
}

func (s *Server) remove() error {
	return errors.Join(s.Stop(Immediate), s.watchdog.end())
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
