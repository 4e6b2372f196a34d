// Command vapshadow tells whom ValidatingAdmissionPolicies would have stopped, from a kube-apiserver's audit log.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	held := ballast(os.Getenv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Once the first signal has cancelled the context, the second one has its default effect: it kills.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Getenv, stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	runtime.KeepAlive(held)
	os.Exit(code)
}
