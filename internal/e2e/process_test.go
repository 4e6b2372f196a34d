package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// vapshadow runs the program to its end, and fails the test where it exits with another code than 0.
func vapshadow(t testing.TB, args ...string) string {
	t.Helper()
	out, code := vapshadowExits(t, args...)
	if code != 0 {
		t.Fatalf("vapshadow %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// vapshadowExits runs the program to its end, and returns what it wrote, and its exit code.
func vapshadowExits(t testing.TB, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// service is a process of "vapshadow serve".
type service struct {
	t    testing.TB
	args []string
	log  *os.File

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// serve starts a service with a configuration. It ends with the test at the latest.
func serve(t testing.TB, name, config string) *service {
	t.Helper()
	return start(t, name, "serve", config)
}

// process starts a process of the program. It ends with the test at the latest, and what it logged is shown where the
// test fails.
func process(t testing.TB, name string, args ...string) *service {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, args: args, log: log}
	s.start()
	t.Cleanup(func() {
		s.kill()
		_ = log.Close()
		if t.Failed() {
			data, _ := os.ReadFile(log.Name())
			if len(data) > 20_000 {
				data = data[len(data)-20_000:]
			}
			t.Logf("the log of %s:\n%s", name, data)
		}
	})
	return s
}

func (s *service) start() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd := exec.Command(binary, s.args...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan struct{})
	s.cmd, s.done = cmd, done
	go func() {
		s.err = cmd.Wait()
		close(done)
	}()
}

// kill ends the process as a crash does.
func (s *service) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.cmd.Process.Kill()
	<-s.done
}

func (s *service) restart() {
	s.kill()
	s.start()
}

// stop ends the process in good order, and fails the test where it does not.
func (s *service) stop() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(30 * time.Second):
		s.t.Error("the service did not end within 30 s of SIGTERM")
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	if exit, ok := errors.AsType[*exec.ExitError](s.err); ok {
		s.t.Errorf("the service ended with %s", exit)
	}
}

// eventually waits until something is so.
func eventually(t testing.TB, within time.Duration, what string, is func() (bool, string)) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		ok, state := is()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %s still not: %s (%s)", within, what, state)
		}
	}
}
