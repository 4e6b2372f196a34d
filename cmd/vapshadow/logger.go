package main

import (
	"io"
	"log/slog"

	"github.com/vapshadow/vapshadow/internal/config"
)

// newLogger makes the log of a service. The configuration has been checked.
func newLogger(c config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // checked
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
