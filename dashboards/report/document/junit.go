package document

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/vapshadow/vapshadow/sink"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	ClassName string       `xml:"classname,attr"`
	Name      string       `xml:"name,attr"`
	Failure   *junitResult `xml:"failure,omitempty"`
	Error     *junitResult `xml:"error,omitempty"`
	Skipped   *junitResult `xml:"skipped,omitempty"`
	Out       string       `xml:"system-out,omitempty"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes one test case a binding: what would break fails, what is misconfigured is an error, and what lacks
// evidence is skipped.
func writeJUnit(w io.Writer, d *Document) error {
	v := d.Verdicts
	suite := junitSuite{
		Name: "vapshadow", Tests: len(d.Bindings), Failures: v.WouldBreak, Errors: v.Misconfigured, Skipped: v.NotEnoughEvidence,
		Properties: []junitProperty{
			{"versions", d.versions()}, {"digest", d.Digest}, {"period", d.period()}, {"population", d.population()}, {"criteria", d.criteria()},
		},
	}
	suite.Properties = append(suite.Properties, junitProperty{"agreement", strings.Join(d.Agreement.lines(), "; ")})
	for _, line := range d.Exceptions.lines() {
		suite.Properties = append(suite.Properties, junitProperty{"exception", line})
	}
	for _, gap := range d.gaps() {
		suite.Properties = append(suite.Properties, junitProperty{"gap", gap})
	}
	for i := range d.Bindings {
		suite.Cases = append(suite.Cases, d.Bindings[i].junit())
	}
	out := junitSuites{
		Name: "vapshadow", Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Skipped: suite.Skipped,
		Suites: []junitSuite{suite},
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (b *Binding) junit() junitCase {
	c := junitCase{ClassName: plain(b.Policy), Name: plain(b.Binding)}
	if b.Cluster != "" {
		c.ClassName = plain(b.Cluster) + "/" + c.ClassName
	}
	if c.Name == "" {
		c.Name = "(no binding)"
	}
	result := &junitResult{Message: b.Sentence, Type: string(b.Verdict)}
	switch b.Verdict {
	case sink.WouldBreak:
		c.Failure = result
	case sink.Misconfigured:
		c.Error = result
	case sink.NotEnoughEvidence:
		result.Type = ""
		c.Skipped = result
	case sink.Ready:
	}
	var lines []string
	for _, l := range b.Failing[:min(mostShown, len(b.Failing))] {
		lines = append(lines, fmt.Sprintf("%s: requests %d, repeated %d, last %s: %s (audit IDs %s)", l.scope(), l.Requests, l.Repeats, moment(l.Last),
			plain(l.Message), plain(strings.Join(l.AuditIDs, " "))))
		if l.Exception != nil {
			lines[len(lines)-1] += "; " + l.Exception.words()
		}
	}
	result.Text = strings.Join(lines, "\n")
	evidence := append([]string{
		fmt.Sprintf("%d matched in %.1f days, %s decided (%d exact, %d presumed, %d otherwise)", b.Matched, b.Days, b.Coverage, b.DecidedExact,
			b.DecidedPresumed, b.DecidedOtherwise),
		fmt.Sprintf("would fail: %d, repeated: %d; workloads: %d, new: %d", b.WouldFail, b.Repeats, b.Workloads, b.NewWorkloads),
	}, b.unknown()...)
	if words := b.Exceptions.words(); words != "" {
		evidence = append(evidence, words)
	}
	for i := range b.LeavesOut {
		evidence = append(evidence, b.LeavesOut[i].line())
	}
	c.Out = strings.Join(append(evidence, "policy hash "+plain(b.PolicyHash), asYAML(b.PolicyText), "binding hash "+plain(b.BindingHash),
		asYAML(b.BindingText)), "\n")
	return c
}
