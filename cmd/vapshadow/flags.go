package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// The minors of kube-apiserver that vapshadow can be.
const (
	oldestMinor = 30
	newestMinor = 37
)

// enumerated is a flag with one value, or with several, out of a fixed set.
type enumerated struct {
	allowed []string
	several bool
	value   string   // when not several
	values  []string // when several; in the order given, each once
}

func oneOf(preset string, allowed ...string) *enumerated {
	return &enumerated{allowed: allowed, value: preset}
}

func someOf(allowed ...string) *enumerated {
	return &enumerated{allowed: allowed, several: true}
}

// Set takes one value, or a comma-separated list where the flag takes several.
func (e *enumerated) Set(s string) error {
	given := []string{s}
	if e.several {
		given = strings.Split(s, ",")
	}
	for _, value := range given {
		if !slices.Contains(e.allowed, value) {
			return fmt.Errorf("%q is none of %s", value, strings.Join(e.allowed, ", "))
		}
		e.value = value
		if e.several && !slices.Contains(e.values, value) {
			e.values = append(e.values, value)
		}
	}
	return nil
}

func (e *enumerated) String() string {
	if e.several {
		return strings.Join(e.values, ",")
	}
	return e.value
}

// Type is what help shows for the value.
func (e *enumerated) Type() string { return strings.Join(e.allowed, "|") }

// complete lists what the value that a person began with may become.
func (e *enumerated) complete(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var done string // what stands before the last comma, with it
	if e.several {
		done = begun[:strings.LastIndex(begun, ",")+1]
	}
	var values []string
	for _, value := range e.allowed {
		if strings.HasPrefix(done+value, begun) && !slices.Contains(strings.Split(done, ","), value) {
			values = append(values, done+value)
		}
	}
	return values, cobra.ShellCompDirectiveNoFileComp
}

// addEnumerated adds the flag to cmd, with completion of its values.
func addEnumerated(cmd *cobra.Command, e *enumerated, name, shorthand, usage string) {
	cmd.Flags().VarP(e, name, shorthand, usage)
	addCompletion(cmd, name, e.complete)
}

func addCompletion(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // only a flag that was never added, or one completed twice
	}
}

// moment is a flag that holds a point in time, given as such or as a duration before now.
type moment struct {
	now  func() time.Time
	time time.Time // zero: not given
}

func (m *moment) Set(s string) error {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		m.time = at
		return nil
	}
	ago, err := parseAgo(s)
	if err != nil {
		return fmt.Errorf("%q is neither a time like 2026-11-21T06:00:00Z nor a duration ago like 90m, 24h or 7d", s)
	}
	m.time = m.now().Add(-ago)
	return nil
}

func parseAgo(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	ago, err := time.ParseDuration(s)
	if err == nil && ago < 0 {
		err = fmt.Errorf("%s ago is in the future", s)
	}
	return ago, err
}

func (m *moment) String() string {
	if m.time.IsZero() {
		return ""
	}
	return m.time.Format(time.RFC3339)
}

func (m *moment) Type() string { return "time|duration" }

// minorVersion is a flag that holds the minor of a Kubernetes version 1.x.
type minorVersion int

// Set takes what people have at hand: 1.37, v1.37, or a cluster's full v1.37.1-gke.100.
func (m *minorVersion) Set(s string) error {
	parts := strings.SplitN(strings.TrimPrefix(s, "v"), ".", 3)
	if len(parts) < 2 || parts[0] != "1" {
		return fmt.Errorf("%q is no Kubernetes version like 1.%d", s, newestMinor)
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return fmt.Errorf("%q is no Kubernetes version like 1.%d", s, newestMinor)
	}
	if minor < oldestMinor || minor > newestMinor {
		return fmt.Errorf("vapshadow can be Kubernetes 1.%d to 1.%d, not 1.%d", oldestMinor, newestMinor, minor)
	}
	*m = minorVersion(minor)
	return nil
}

func (m *minorVersion) String() string { return fmt.Sprintf("1.%d", int(*m)) }

func (m *minorVersion) Type() string { return "version" }

func minorVersions() []string {
	var all []string
	for minor := newestMinor; minor >= oldestMinor; minor-- {
		all = append(all, fmt.Sprintf("1.%d", minor))
	}
	return all
}

// byteSize is a flag that holds a number of bytes, written as Kubernetes writes quantities of memory.
type byteSize int64

// byteUnits are the units of byteSize; the binary ones come first, as they are used to print.
var byteUnits = []struct {
	name  string
	bytes int64
}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1}}

func (b *byteSize) Set(s string) error {
	for _, unit := range byteUnits {
		number, ok := strings.CutSuffix(s, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/unit.bytes {
			break
		}
		*b = byteSize(n * unit.bytes)
		return nil
	}
	return fmt.Errorf("%q is no size like 512Mi, 2Gi or 0", s)
}

func (b *byteSize) String() string {
	for _, unit := range byteUnits[:4] {
		if n := int64(*b); n > 0 && n%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", n/unit.bytes, unit.name)
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

func (b *byteSize) Type() string { return "size" }

// noArguments refuses arguments that belong to no flag. They are mostly files that the shell made of a pattern.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return wrongUsage(cmd, "%q belongs to no flag; repeat the flag for each file, or quote a pattern: --audit-log 'audit-*.log'", args[0])
}
