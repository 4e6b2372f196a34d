package report

import (
	"fmt"
	"strings"
	"time"
)

// writeAnswer writes what is asked first: how many policies would have stopped requests, and how far that is known.
func writeAnswer(out *strings.Builder, s *Summary) {
	policies := countPolicies(s.Policies)
	lines := []string{answer(s, policies)}
	if s.BlocksAnyway > 0 {
		lines = append(lines, fmt.Sprintf("%s rejected whatever validationActions say, by %s.",
			several(s.BlocksAnyway, "request is", "requests are"), several(policies.blocking, "policy", "policies")))
	}
	if policies.unknown > 0 {
		line := fmt.Sprintf("Of %s the log does not hold enough to decide every request", several(policies.unknown, "policy", "policies"))
		if s.Undecided > 0 {
			line += fmt.Sprintf(": %s could be stopped or not", several(s.Undecided, "request", "requests"))
		}
		lines = append(lines, line+".")
	}
	if len(s.Refused) > 0 {
		lines = append(lines, fmt.Sprintf("%s refused, and not evaluated; see below.",
			several(int64(len(s.Refused)), "manifest is", "manifests are")))
	}
	lines = append(lines, "", read(s))
	for _, line := range lines {
		for _, l := range wrap(line, lineWidth) {
			out.WriteString(l + "\n")
		}
	}
}

func answer(s *Summary, p policyCounts) string {
	requests := several(s.Requests, "request", "requests")
	switch {
	case p.all == 0:
		return "No policies were evaluated."
	case s.Requests == 0:
		return fmt.Sprintf("No admission request was found to evaluate %s on.", several(p.all, "policy", "policies"))
	case p.stopping == 0 && p.unknown > 0:
		return fmt.Sprintf("0 of %s are known to stop any of %s.", several(p.all, "policy", "policies"), requests)
	case p.stopping == 0:
		return fmt.Sprintf("0 of %s would have stopped any of %s.", several(p.all, "policy", "policies"), requests)
	default:
		return fmt.Sprintf("%s of %s would have stopped %s of %s.",
			number(p.stopping), several(p.all, "policy", "policies"), number(s.WouldStop), requests)
	}
}

// read says what was read and what of it was left out.
func read(s *Summary) string {
	text := "Read " + several(s.Events, "event", "events")
	if s.Period != nil {
		text += fmt.Sprintf(" from %s to %s", s.Period.First.Format(time.RFC3339), s.Period.Last.Format(time.RFC3339))
	}
	text += ": " + several(s.Requests, "admission request", "admission requests")
	if n := total(s.NotAdmission); n > 0 {
		text += fmt.Sprintf("; %s no admission requests (%s)", several(n, "event is", "events are"), reasons(s.NotAdmission))
	}
	if s.OutOfPeriod > 0 {
		text += fmt.Sprintf("; %s out of the period asked for", several(s.OutOfPeriod, "event is", "events are"))
	}
	if n := total(s.Skipped); n > 0 {
		text += fmt.Sprintf("; %s skipped (%s)", several(n, "piece of input was", "pieces of input were"), reasons(s.Skipped))
	}
	return text + "."
}

// policyCounts counts policies, not bindings.
type policyCounts struct{ all, stopping, blocking, unknown int64 }

func countPolicies(rows []Policy) (n policyCounts) {
	seen := map[string]*[3]bool{}
	for _, row := range rows {
		is := seen[row.Policy]
		if is == nil {
			is = &[3]bool{}
			seen[row.Policy] = is
		}
		is[0] = is[0] || row.WouldStop > 0
		is[1] = is[1] || row.BlocksAnyway > 0
		is[2] = is[2] || row.Unknown > 0
	}
	for _, is := range seen {
		n.all++
		n.stopping += one(is[0])
		n.blocking += one(is[1])
		n.unknown += one(is[2])
	}
	return n
}
