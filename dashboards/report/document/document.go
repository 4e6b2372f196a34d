// Package document makes one document of what a store holds, whether each binding may be enforced and whom it would hit,
// and writes it for people and for programs. The same data gives the same bytes.
package document

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// APIVersion names the form of the JSON. Fields are only added to it; schema/report.schema.json describes it.
const APIVersion = "vapshadow.report/v1"

// Document is the report. Its JSON field names are stable; additions only.
type Document struct {
	APIVersion string   `json:"apiVersion"`
	Versions   Versions `json:"versions"`
	Asked      Asked    `json:"asked"`
	// First and Last bound the minutes in which something matched; zero where nothing did.
	First      time.Time  `json:"first,omitzero"`
	Last       time.Time  `json:"last,omitzero"`
	Population Population `json:"population"`
	Verdicts   Verdicts   `json:"verdicts"`
	// Agreement says whether the verdicts were held against an apiserver's own.
	Agreement Agreement `json:"agreement"`
	// Bindings holds each binding of each policy, the worst first.
	Bindings []Binding `json:"bindings"`
	// Exceptions are those that were given; nil where none were asked for.
	Exceptions *Exceptions `json:"exceptions,omitempty"`
	// Digest is the SHA-256 of this document as JSON with an empty digest.
	Digest string `json:"digest"`
}

// Versions are those of what decided the verdicts.
type Versions struct {
	Vapshadow string `json:"vapshadow"`
	Apiserver string `json:"k8s.io/apiserver"`
	CEL       string `json:"github.com/google/cel-go"`
}

// Asked is what the document was asked for. An empty field asks for all.
type Asked struct {
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Cluster  string    `json:"cluster,omitempty"`
	Policy   string    `json:"policy,omitempty"`
	Binding  string    `json:"binding,omitempty"`
	Team     string    `json:"team,omitempty"`
	Days     int       `json:"days"`
	Coverage float64   `json:"coverage"`
	Now      time.Time `json:"now,omitzero"`
}

// Population is what became of all events that the store was ever given, in whatever period.
type Population struct {
	Ingested     int64            `json:"ingested"`
	Evaluated    int64            `json:"evaluated"`
	Requests     int64            `json:"requests"`
	NotAdmission map[string]int64 `json:"notAdmission"`
	Skipped      map[string]int64 `json:"skipped"`
	DeadLettered map[string]int64 `json:"deadLettered"`
	// Unaccounted is Ingested less all that came of it. Anything but 0 is a defect.
	Unaccounted int64 `json:"unaccounted"`
}

// Verdicts counts the bindings by verdict.
type Verdicts struct {
	Misconfigured     int `json:"misconfigured"`
	WouldBreak        int `json:"wouldBreak"`
	NotEnoughEvidence int `json:"notEnoughEvidence"`
	Ready             int `json:"ready"`
}

// Binding is what is known of one binding.
type Binding struct {
	sink.Readiness
	// Sentence is the verdict in words, Coverage the percentage of the matched that was decided, "-" where nothing matched.
	Sentence string `json:"sentence"`
	Coverage string `json:"coverage"`
	// Failing are the workloads that would fail, those with most requests first, maxFailing at most.
	Failing  []Workload `json:"failing,omitempty"`
	Messages []Message  `json:"messages,omitempty"`
	// TopNamespaces and TopUsers count the requests that would fail.
	TopNamespaces []Count `json:"topNamespaces,omitempty"`
	TopUsers      []Count `json:"topUsers,omitempty"`
	// PolicyText and BindingText are the objects as JSON, as they were evaluated last.
	PolicyText  string `json:"policyText,omitempty"`
	BindingText string `json:"bindingText,omitempty"`
	// LeavesOut is what the two leave out by themselves.
	LeavesOut []LeftOut `json:"leavesOut,omitempty"`
	// Exceptions counts the failing workloads by their exceptions; nil where none were asked for.
	Exceptions *Excepted `json:"exceptions,omitempty"`
}

// Workload is a workload that would fail.
type Workload struct {
	Namespace string `json:"namespace"`
	// Team is the one that the namespace belonged to last; empty where none is known.
	Team     string `json:"team,omitempty"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Requests int64  `json:"requests"`
	// Repeats are those of Requests that only repeat what the object failed before.
	Repeats int64     `json:"repeats"`
	Last    time.Time `json:"last"`
	// Now: the last failure is one of the last 24 hours before now.
	Now     bool   `json:"now"`
	Result  string `json:"result"`
	Message string `json:"message"`
	// AuditIDs are the first of the requests, to be looked up in the log.
	AuditIDs []string `json:"auditIDs"`
	// Exception is what was accepted of it; nil for nothing. It changes no verdict.
	Exception *Accepted `json:"exception,omitempty"`
}

// Message is a message that the apiserver would have given.
type Message struct {
	Message  string   `json:"message"`
	Result   string   `json:"result"`
	Requests int64    `json:"requests"`
	AuditIDs []string `json:"auditIDs"`
}

// Count is how often a name occurred.
type Count struct {
	Name     string `json:"name"`
	Requests int64  `json:"requests"`
}

// seal sets the digest.
func (d *Document) seal() error {
	d.Digest = ""
	text, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("digesting the report: %w", err)
	}
	sum := sha256.Sum256(text)
	d.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return nil
}
