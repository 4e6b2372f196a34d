package document

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/sink"
)

// reportKinds are the kinds of an API of reports: one for what is in a namespace, one for the rest.
type reportKinds struct {
	apiVersion, namespaced, cluster string
	// source: a report has a field for who made it. Results have one in both APIs.
	source bool
}

var (
	openReports   = reportKinds{"openreports.io/v1alpha1", "Report", "ClusterReport", true}
	policyReports = reportKinds{"wgpolicyk8s.io/v1alpha2", "PolicyReport", "ClusterPolicyReport", false}
)

const sourceName = "vapshadow"

type reportObject struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   reportMetadata `json:"metadata"`
	Source     string         `json:"source,omitempty"`
	Summary    reportSummary  `json:"summary"`
	Results    []reportResult `json:"results,omitempty"`
}

type reportMetadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type reportSummary struct {
	Pass  int `json:"pass"`
	Fail  int `json:"fail"`
	Warn  int `json:"warn"`
	Error int `json:"error"`
	Skip  int `json:"skip"`
}

type reportResult struct {
	Source     string            `json:"source"`
	Policy     string            `json:"policy"`
	Rule       string            `json:"rule,omitempty"`
	Severity   string            `json:"severity,omitempty"`
	Timestamp  *reportTime       `json:"timestamp,omitempty"`
	Result     string            `json:"result"`
	Scored     bool              `json:"scored"`
	Resources  []reportResource  `json:"resources,omitempty"`
	Message    string            `json:"message"`
	Properties map[string]string `json:"properties"`
}

type reportTime struct {
	Seconds int64 `json:"seconds"`
	Nanos   int32 `json:"nanos"`
}

type reportResource struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// writeReports writes a report for each namespace with a workload that would break, and one for the cluster, which has
// a result for each binding too.
func writeReports(w io.Writer, d *Document, kinds reportKinds) error {
	if names := d.clusters(); len(names) > 1 {
		return fmt.Errorf("reports as objects are those of one cluster, and there are %q: choose one with --cluster", names)
	}
	byNamespace := map[string][]reportResult{"": nil}
	for i := range d.Bindings {
		b := &d.Bindings[i]
		byNamespace[""] = append(byNamespace[""], b.result())
		for j := range b.Failing {
			l := &b.Failing[j]
			byNamespace[l.Namespace] = append(byNamespace[l.Namespace], b.workloadResult(l))
		}
	}
	var names []string
	for name := range byNamespace {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		text, err := yaml.Marshal(d.object(kinds, name, byNamespace[name]))
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) clusters() (names []string) {
	for _, b := range d.Bindings {
		if !slices.Contains(names, b.Cluster) {
			names = append(names, b.Cluster)
		}
	}
	slices.Sort(names)
	return names
}

func (d *Document) object(kinds reportKinds, namespace string, results []reportResult) reportObject {
	o := reportObject{
		APIVersion: kinds.apiVersion, Kind: kinds.cluster, Results: results,
		Metadata: reportMetadata{
			Name: sourceName, Namespace: namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": sourceName},
			Annotations: map[string]string{
				"vapshadow/digest": d.Digest, "vapshadow/versions": d.versions(), "vapshadow/period": d.period(),
				"vapshadow/population": d.population(), "vapshadow/criteria": d.criteria(), "vapshadow/gaps": strings.Join(d.gaps(), "; "),
				"vapshadow/agreement": strings.Join(d.Agreement.lines(), "; "),
			},
		},
	}
	if d.Exceptions != nil {
		o.Metadata.Annotations["vapshadow/exceptions"] = strings.Join(d.Exceptions.lines(), "; ")
	}
	if namespace != "" {
		o.Kind = kinds.namespaced
	}
	if kinds.source {
		o.Source = sourceName
	}
	for _, r := range results {
		switch r.Result {
		case "pass":
			o.Summary.Pass++
		case "fail":
			o.Summary.Fail++
		case "error":
			o.Summary.Error++
		case "skip":
			o.Summary.Skip++
		}
	}
	return o
}

// result is that of a binding as a whole.
func (b *Binding) result() reportResult {
	results := map[sink.ReadinessVerdict]string{
		sink.Ready: "pass", sink.WouldBreak: "fail", sink.NotEnoughEvidence: "skip", sink.Misconfigured: "error",
	}
	r := reportResult{
		Source: sourceName, Policy: b.Policy, Rule: b.Binding, Result: cmp.Or(results[b.Verdict], "skip"), Scored: true,
		Timestamp: at(b.Last), Message: b.Sentence,
		Properties: map[string]string{
			"matched": fmt.Sprint(b.Matched), "decided": b.Coverage, "days": fmt.Sprintf("%.1f", b.Days), "wouldFail": fmt.Sprint(b.WouldFail),
			"workloads": fmt.Sprint(b.Workloads), "failingNow": fmt.Sprint(b.FailingNow), "systemActors": fmt.Sprint(b.SystemActors),
			"repeats": fmt.Sprint(b.Repeats), "newWorkloads": fmt.Sprint(b.NewWorkloads),
			"unknown": strings.Join(b.unknown(), "; "), "policyHash": b.PolicyHash, "bindingHash": b.BindingHash,
			"policyText": b.PolicyText, "bindingText": b.BindingText,
		},
	}
	var left []string
	for i := range b.LeavesOut {
		left = append(left, b.LeavesOut[i].line())
	}
	if len(left) > 0 {
		r.Properties["leavesOut"] = strings.Join(left, "; ")
	}
	if words := b.Exceptions.words(); words != "" {
		r.Properties["exceptions"] = words
	}
	switch {
	case b.Verdict == sink.Misconfigured || b.SystemActors > 0:
		r.Severity = "high"
	case b.Verdict == sink.WouldBreak:
		r.Severity = "medium"
	}
	return r
}

func (b *Binding) workloadResult(l *Workload) reportResult {
	r := reportResult{
		Source: sourceName, Policy: b.Policy, Rule: b.Binding, Result: "fail", Severity: "medium", Scored: true, Timestamp: at(l.Last),
		Resources: []reportResource{{Kind: l.Kind, Name: l.Name, Namespace: l.Namespace}}, Message: l.Message,
		Properties: map[string]string{
			"requests": fmt.Sprint(l.Requests), "repeats": fmt.Sprint(l.Repeats), "auditIDs": strings.Join(l.AuditIDs, " "), "policyHash": b.PolicyHash, "bindingHash": b.BindingHash,
		},
	}
	if l.Exception != nil {
		r.Properties["exception"] = l.Exception.words()
	}
	if l.Result == "Error" {
		r.Result = "error"
	}
	return r
}

func at(t time.Time) *reportTime {
	if t.IsZero() {
		return nil
	}
	return &reportTime{Seconds: t.Unix(), Nanos: int32(t.Nanosecond())}
}
