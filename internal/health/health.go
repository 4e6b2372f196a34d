// Package health answers the questions of a kubelet: is the process alive, and is it ready?
package health

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Check is one thing that has to be well. Its error is shown to whoever asks.
type Check struct {
	Name string
	Err  func(context.Context) error
}

// longest is how long all checks may take.
const longest = 5 * time.Second

// Handler answers 200 where all checks are well, else 503; the body says which is not.
func Handler(checks ...Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), longest)
		defer cancel()
		status, body := http.StatusOK, ""
		for _, c := range checks {
			if err := c.Err(ctx); err != nil {
				status = http.StatusServiceUnavailable
				body += fmt.Sprintf("%s: %v\n", c.Name, err)
				continue
			}
			body += c.Name + ": ok\n"
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body) // The one who asked has gone if it fails.
	})
}
