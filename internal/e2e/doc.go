// Package e2e runs the program as its users do, against real databases and brokers, and compares what is stored with
// what a replay of the same log stores. It has tests only.
package e2e
