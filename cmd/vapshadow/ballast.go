package main

// ballastBytes is memory that is never touched, and so never taken from the system, but counts as used when the garbage
// collector decides when to run. Most of what a log needs is used for a moment: without ballast the collector would run
// each time a few megabytes of it had piled up. Unlike a higher GOGC it adds the same to a large heap as to a small one.
const ballastBytes = 64 << 20
