package pgtest

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// watchdog is a shell that waits for the end of its input. The input ends when the test process does, also by a panic or
// a SIGKILL: then it stops the server that runs in the folder, if any, and removes the folder.
type watchdog struct {
	cmd   *exec.Cmd
	input io.Closer
}

const watchdogScript = `
cat >/dev/null
pid=$(head -n 1 "$0/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
  kill -QUIT "$pid" 2>/dev/null
  # At most half a minute: nobody may be there to reap it.
  for i in $(seq 600); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
fi
rm -rf "$0"
`

func watch(folder string) (*watchdog, error) {
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the watchdog of the server: %w", err)
	}
	return &watchdog{cmd: cmd, input: input}, nil
}

// end has the watchdog do its work now.
func (w *watchdog) end() error {
	if err := w.input.Close(); err != nil {
		return err
	}
	return w.cmd.Wait()
}
