package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vapshadow/vapshadow/sink"
)

// Advice is what to supply or to log for unknown outcomes to be decided.
type Advice struct {
	Because string `json:"because"`
	// Resources are those of the requests, as audit policies name them: deployments.apps, pods/exec.
	Resources []string `json:"resources"`
	// Requests is how many requests it would help.
	Requests int64  `json:"requests"`
	Do       string `json:"do"`
}

// remedies are, by reason code, what a person can do. %s is the list of resources.
var remedies = map[string]string{
	"NoBody":               "log %s at level RequestResponse",
	"NoResponseBody":       "log %s at level RequestResponse",
	"WritesMissed":         "log all writes of %s, subresources too, at level RequestResponse",
	"NoHistory":            "give %s as they were when the log began, with --cluster",
	"Evicted":              "raise --history-bytes: earlier states of %s had to go",
	"ManagedFieldsOmitted": "set omitManagedFields: false for %s in the audit policy",
	"Truncated":            "raise the limits that cut the bodies of %s",
	"NoNamespace":          "give the namespaces with --cluster",
	"NoParams":             "give the params of the policies with --cluster",
	"NoRBAC":               "give Roles, ClusterRoles and their bindings with --cluster",
	"UnknownKind":          "give the CustomResourceDefinitions, or discovery, with --cluster (for %s)",
	"NotFromCluster":       "give objects as kubectl get -o yaml writes them, not the manifests they were made from",
	"PolicyNotShown":       "log validatingadmissionpolicies and their bindings at level RequestResponse",
}

// advised counts requests by reason and resource.
type advised map[string]map[string]int64

func (a advised) add(rec *sink.Record, because string) {
	if remedies[because] == "" {
		return
	}
	if a[because] == nil {
		a[because] = map[string]int64{}
	}
	a[because][resourceName(rec)]++
}

func resourceName(rec *sink.Record) string {
	name := rec.Resource.Resource
	if rec.Resource.Group != "" {
		name += "." + rec.Resource.Group
	}
	if rec.SubResource != "" {
		name += "/" + rec.SubResource
	}
	return name
}

// list returns the advice, what helps most first.
func (a advised) list() []Advice {
	out := []Advice{}
	for because, resources := range a {
		advice := Advice{Because: because, Resources: slices.Sorted(maps.Keys(resources))}
		for _, n := range resources {
			advice.Requests += n
		}
		advice.Do = remedies[because]
		if strings.Contains(advice.Do, "%s") {
			advice.Do = fmt.Sprintf(advice.Do, strings.Join(advice.Resources, ", "))
		}
		out = append(out, advice)
	}
	slices.SortFunc(out, func(x, y Advice) int {
		return cmp.Or(-cmp.Compare(x.Requests, y.Requests), cmp.Compare(x.Because, y.Because))
	})
	return out
}

// adviceLines are the advice as a list for people.
func adviceLines(list []Advice) []string {
	var out []string
	for _, a := range list {
		out = append(out, fmt.Sprintf("%s (%s: %s)", a.Do, a.Because, several(a.Requests, "request", "requests")))
	}
	return out
}
