package main

import (
	"math"
	"runtime/debug"
)

// ballastBytes is memory that is never touched, and so never taken from the system, but counts as used when the garbage
// collector decides when to run. Most of what a log needs is used for a moment: without ballast the collector would run
// each time a few megabytes of it had piled up. Unlike a higher GOGC it adds the same to a large heap as to a small one,
// and unlike a soft memory limit of our own it does not keep the collector running where more is in use than was thought.
const ballastBytes = 64 << 20

// ballast is none where the user has set GOGC. A GOMEMLIMIT is raised by it, as it takes nothing from the system.
func ballast(getenv func(string) string) []byte {
	if getenv("GOGC") != "" {
		return nil
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64-ballastBytes {
		debug.SetMemoryLimit(limit + ballastBytes)
	}
	return make([]byte, ballastBytes)
}
