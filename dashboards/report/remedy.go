package report

import "strings"

// Remedy tells what to supply or to log so that what is Unknown for a reason is known the next time, or why nothing can
// be done; empty for a reason of which there is nothing to say. The resource is what is not known, as audit policies
// name it: deployments.apps.
func Remedy(because, resource string) string {
	if remedy := remedies[because]; remedy != "" {
		return strings.ReplaceAll(remedy, "%s", resource)
	}
	return beyondRemedy[because]
}

// beyondRemedy are the reasons that are not among the remedies.
var beyondRemedy = map[string]string{
	"RequestFailed":   "it failed, so no response shows what admission saw",
	"PartialResponse": "the client asked for metadata or a table only, which is then all that the log holds",
	"NotStored":       "no response shows this value, so no log can hold it",
	"Mutated":         "a webhook or a mutating policy changed the object, and no response shows the outcome",
	"NumberForm":      "the log does not tell whether the client wrote 2 or 2.0, which differ to CEL",
	"NodeAuthorizer":  "the Node authorizer answers for kubelets by more than RBAC",
	"Changing":        "it was being written while the request was admitted, and both states are possible",
	"NoConversion":    "the policy asks for another version of the object, to which vapshadow cannot convert it",
	"CostUnknown":     "an unknown expression before this one leaves open what is left of the cost budget",
	"PolicyChanging":  "the policy or its binding was being written while the request was admitted",
}
