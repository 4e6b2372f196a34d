// Package prometheus holds what Prometheus needs to watch vapshadow: how to read its metrics, and when to tell a person.
package prometheus
