package pgtest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Kill ends the server as a crash of its machine would: no process of it does anything more.
func (s *Server) Kill() error {
	if s.running == nil {
		return nil
	}
	// Stopped, the server starts no more processes while these are ended.
	pid := s.running.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	if err := waitForState(pid, "T"); err != nil {
		return err
	}
	children, err := childrenOf(pid)
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	if err := s.Stop(syscall.SIGKILL); err != nil {
		return err
	}
	for _, child := range children {
		if err := waitForState(child, "Z"); err != nil {
			return err
		}
	}
	return nil
}

func childrenOf(pid int) ([]int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, fmt.Errorf("listing the processes of the server: %w", err)
	}
	var out []int
	for field := range strings.FieldsSeq(string(text)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		out = append(out, child)
	}
	return out, nil
}

// waitForState waits until a process is in a state of proc(5), or gone.
func waitForState(pid int, state string) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			return nil
		}
		if err != nil {
			return err
		}
		// The state follows the name, which stands in parentheses and may hold any.
		if _, rest, ok := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " "); ok && strings.HasPrefix(rest, state) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the process %d does not get to state %s", pid, state)
		}
	}
}
