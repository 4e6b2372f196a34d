package config

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
)

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]*$`)

var labelKey = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)

// IsLabelKey says whether a text can be the key of a label.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
func IsLabelKey(s string) bool { return labelKey.MatchString(s) }

// Check says all that is wrong, not only the first.
func (c *Config) Check() error {
	var wrong []error
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if c.Name == "" {
		say("name: is empty: the store knows the checkpoints by it")
	}
	if c.Store == "" {
		say("store: is empty: name a database, as postgres://… or sqlite:FILE")
	}
	if len(c.Sources) == 0 {
		say("sources: there is none: name at least one, with kafka, file or webhook")
	}
	names := map[string]bool{}
	for i := range c.Sources {
		s := &c.Sources[i]
		if s.Name == "" {
			say("sources[%d].name: is empty: the store knows by it how far the source is", i)
		} else if names[s.Name] {
			say("sources[%d].name: %q is there twice", i, s.Name)
		}
		names[s.Name] = true
		for _, err := range s.check() {
			say("sources[%d]%w", i, err)
		}
	}
	if f := c.Forward; f != nil {
		checkBrokers(".forward", f.Brokers, f.TLS, f.SASL, func(format string, args ...any) { say(strings.TrimPrefix(format, "."), args...) })
		if f.Topic == "" {
			say("forward.topic: is empty")
		}
	}
	if h := c.Pages.TrustedHeader; !headerName.MatchString(h) {
		say("pages.trustedHeader: %q is no name of a header", h)
	}
	if c.TeamLabel != "" && !IsLabelKey(c.TeamLabel) {
		say("teamLabel: %q is no key of a label, such as team or example.com/team", c.TeamLabel)
	}
	clusters := map[string]bool{}
	for i, cluster := range c.Clusters {
		if clusters[cluster.Name] {
			say("clusters[%d].name: %q is there twice", i, cluster.Name)
		}
		clusters[cluster.Name] = true
	}
	for name, d := range map[string]time.Duration{
		"retention": c.Retention, "checkpointEvery": c.CheckpointEvery, "shutdownTimeout": c.ShutdownTimeout, "policiesEvery": c.PoliciesEvery,
	} {
		if d < 0 {
			say("%s: %s is negative", name, d)
		}
	}
	if c.Workers < 0 {
		say("workers: %d is negative", c.Workers)
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		say("log.level: %q is not debug, info, warn or error", c.Log.Level)
	}
	if !slices.Contains([]string{"text", "json"}, c.Log.Format) {
		say("log.format: %q is not text or json", c.Log.Format)
	}
	return errors.Join(wrong...)
}

func (s *Source) check() (wrong []error) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	kinds := 0
	if s.Kafka != nil {
		kinds++
		s.Kafka.check(say)
	}
	if s.File != nil {
		kinds++
		if len(s.File.Paths) == 0 {
			say(".file.paths: there is none")
		}
	}
	if s.Webhook != nil {
		kinds++
		s.Webhook.check(say)
	}
	if kinds != 1 {
		say(": %d of kafka, file and webhook are given: exactly one is needed", kinds)
	}
	return wrong
}

var mechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}

func (k *Kafka) check(say func(string, ...any)) {
	checkBrokers(".kafka", k.Brokers, k.TLS, k.SASL, say)
	if len(k.Topics) == 0 {
		say(".kafka.topics: there is none")
	}
	if k.Group == "" {
		say(".kafka.group: is empty: processes of the same group share the partitions")
	}
}

// checkBrokers checks how brokers are reached.
func checkBrokers(at string, brokers []string, tls *TLS, sasl *SASL, say func(string, ...any)) {
	if len(brokers) == 0 {
		say(at + ".brokers: there is none: name at least one as host:port")
	}
	for _, b := range brokers {
		if _, _, err := net.SplitHostPort(b); err != nil {
			say(at+".brokers: %q is no host:port", b)
		}
	}
	if sasl != nil {
		if !slices.Contains(mechanisms, sasl.Mechanism) {
			say(at+".sasl.mechanism: %q is not PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", sasl.Mechanism)
		}
		if sasl.Username == "" || sasl.Password == "" {
			say(at + ".sasl: username and password are both needed; give the password as ${NAME} from the environment")
		}
	}
	if tls != nil && (tls.CertFile == "") != (tls.KeyFile == "") {
		say(at + ".tls: certFile and keyFile go together")
	}
}

func (w *Webhook) check(say func(string, ...any)) {
	host, _, err := net.SplitHostPort(w.Listen)
	if err != nil {
		say(".webhook.listen: %q is no host:port", w.Listen)
		return
	}
	if (w.CertFile == "") != (w.KeyFile == "") {
		say(".webhook: certFile and keyFile go together")
	}
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	if w.CertFile == "" && !loopback && !w.PlainHTTP {
		say(".webhook: %s is open to others without TLS: give certFile and keyFile, or plainHTTP: true behind something that ends TLS", w.Listen)
	}
	if w.ClientCAFile == "" && len(w.TokenFiles) == 0 && !loopback {
		say(".webhook: anybody who reaches %s could write events: give clientCAFile or tokenFiles", w.Listen)
	}
}
