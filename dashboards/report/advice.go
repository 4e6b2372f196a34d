package report

// Advice tells a person what to supply or to log, so that what is Unknown for a reason is known the next time; empty for
// a reason of which there is nothing to say.
func Advice(because string) string { return advice[because] }

var advice = map[string]string{
	"NoBody":               "let the audit policy log this resource at level RequestResponse",
	"NoResponseBody":       "let the audit policy log this resource at level RequestResponse instead of Request",
	"RequestFailed":        "the request failed, so no response shows what admission saw",
	"PartialResponse":      "the client asked for metadata or a table only, which is then all that the log holds",
	"NoHistory":            "give the objects as they were when the log began (kubectl get -o yaml) with --cluster, or begin the log earlier",
	"WritesMissed":         "let the audit policy log every write of this resource at level RequestResponse",
	"NotStored":            "no response shows this value: no log can hold it",
	"ManagedFieldsOmitted": "take omitManagedFields out of the audit policy; let kubectl get --show-managed-fields",
	"Truncated":            "raise the size at which audit events are cut (--audit-log-truncate-max-event-size)",
	"UnknownKind":          "give the CRDs, or kubectl get --raw /apis, with --cluster",
	"NoNamespace":          "give the namespaces (kubectl get namespaces -o yaml) with --cluster",
	"NoParams":             "give all objects of the policy's paramKind with --cluster",
	"NoRBAC":               "give Roles, ClusterRoles and their bindings with --cluster",
	"NotFromCluster":       "give the object as kubectl get -o yaml writes it, not a manifest",
	"NumberForm":           "the log does not tell whether the client wrote 2 or 2.0, which differ to CEL",
	"NodeAuthorizer":       "the Node authorizer answers for kubelets by more than RBAC",
	"Changing":             "the object was being written while the request was admitted: both states are possible",
	"NoConversion":         "the policy asks for another version of the object, to which vapshadow cannot convert it",
	"CostUnknown":          "an unknown expression before this one leaves open what is left of the cost budget",
	"PolicyChanging":       "the policy or its binding was being written while the request was admitted",
	"PolicyNotShown":       "let the audit policy log admissionregistration.k8s.io at level RequestResponse",
}
