// Package sink owns the rows that vapshadow writes.
package sink

import "time"

// Record is the verdict on one admission request: a line of `-o jsonl`. Field names are stable; additions only.
type Record struct {
	AuditID        string              `json:"auditID"`
	StageTimestamp time.Time           `json:"stageTimestamp"`
	Cluster        string              `json:"cluster"`
	Operation      string              `json:"operation"`
	Resource       Resource            `json:"resource"`
	SubResource    string              `json:"subResource"`
	Kind           Kind                `json:"kind"`
	Namespace      string              `json:"namespace"`
	Name           string              `json:"name"`
	DryRun         bool                `json:"dryRun"`
	User           User                `json:"user"`
	UserAgent      string              `json:"userAgent"`
	Code           int32               `json:"code"`
	Evidence       map[string]Evidence `json:"evidence"`
	Evaluations    []Evaluation        `json:"evaluations"`
	// Annotations is what the apiserver would have written to its audit event.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Owner is the workload that the object belongs to, as its ownerReferences and labels tell.
	Owner *Owner `json:"owner,omitempty"`
	// Team is the team that the namespace belongs to, by its label; only where a policy matched.
	Team string `json:"team,omitempty"`
}

// Resource is a GroupVersionResource.
type Resource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// Kind is a GroupVersionKind.
type Kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// User is who made the request, after impersonation.
type User struct {
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

// Owner is a workload.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Evidence says how an input of the request is known.
type Evidence struct {
	// Level is Exact, Presumed or Missing.
	Level string `json:"level"`
	// Because is a reason code; empty for Exact.
	Because string `json:"because,omitempty"`
}

// Evaluation is the result of one (policy, binding, params) on one request.
type Evaluation struct {
	Policy            string   `json:"policy"`
	Binding           string   `json:"binding"`
	Params            *Params  `json:"params"`
	ValidationActions []string `json:"validationActions"`
	Result            string   `json:"result"` // Pass, Fail, Error, Unknown or Skipped
	Evidence          string   `json:"evidence"`
	ConfigError       string   `json:"configError,omitempty"`
	// AnnotationError is the error of an audit annotation that rejects the request.
	AnnotationError string    `json:"annotationError,omitempty"`
	Because         string    `json:"because,omitempty"` // why the evaluation as a whole is Unknown
	Unknown         []string  `json:"unknown,omitempty"` // the attributes that it hangs on
	Effect          string    `json:"effect"`            // Deny, Warn, Audit (several joined by "+"), or empty
	BlocksAnyway    bool      `json:"blocksAnyway"`
	Verdicts        []Verdict `json:"verdicts,omitempty"` // what is no pass
	// PolicyHash, BindingHash and ParamsHash name the states of the three that decided. They are empty where there is none,
	// or where it is not known which it was or what is in it.
	PolicyHash  string `json:"policyHash,omitempty"`
	BindingHash string `json:"bindingHash,omitempty"`
	ParamsHash  string `json:"paramsHash,omitempty"`
}

// Params names the object that a binding's paramRef found.
type Params struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Verdict is the result of one validation, where it is no pass.
type Verdict struct {
	ExpressionIndex int      `json:"expressionIndex"`
	Result          string   `json:"result"` // Fail, Error or Unknown
	Message         string   `json:"message,omitempty"`
	Reason          string   `json:"reason,omitempty"`
	Ignored         bool     `json:"ignored,omitempty"` // failurePolicy Ignore let the error through
	Unknown         []string `json:"unknown,omitempty"`
	Because         string   `json:"because,omitempty"`
	// Repeats: the object failed so before the update, which left what the failure hangs on as it was.
	Repeats bool `json:"repeats,omitempty"`
}
