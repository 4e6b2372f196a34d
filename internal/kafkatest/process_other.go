//go:build !linux

package kafkatest

import "os/exec"

// Only Linux can tie a process to its parent: elsewhere a test that is killed leaves its broker behind.
func dieWithParent(*exec.Cmd) {}
