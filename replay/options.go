package replay

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vapshadow/vapshadow/ingest"
)

const optionsVersion = "meta.k8s.io/v1"

// options rebuilds the operation's options as admission sees them, and whether the request is a dry run.
// body is the decoded request body, nil where there is none.
func options(ev *ingest.Event, op Operation, body map[string]any) (Object, bool, []Unknown) {
	if absent(ev, ingest.AbsentQuery) {
		if out, unknown, ok := optionsUnknown(op, body); ok {
			return out, false, unknown
		}
	}
	_, raw := path(ev.RequestURI)
	query, err := url.ParseQuery(raw)
	if err != nil {
		query = url.Values{}
	}
	switch op {
	case Create:
		return writeOptions("CreateOptions", query), isDryRun(query["dryRun"]), nil
	case Update:
		return writeOptions("UpdateOptions", query), isDryRun(query["dryRun"]), nil
	case Delete:
		return deleteOptions(ev, query, body)
	default:
		return null(), false, nil
	}
}

// writeOptions are CreateOptions and UpdateOptions: those of a patch are carried over, without force.
func writeOptions(kind string, query url.Values) Object {
	content := map[string]any{"kind": kind, "apiVersion": optionsVersion}
	if dry := query["dryRun"]; len(dry) > 0 {
		content["dryRun"] = anys(dry)
	}
	for _, name := range []string{"fieldManager", "fieldValidation"} {
		if v := query.Get(name); v != "" {
			content[name] = v
		}
	}
	return Object{Evidence: Evidence{Level: Exact}, Content: content}
}

// deleteOptions come from the body, or else from the query. Without bodies in the log only the query is seen, and
// whether there was a body is not known.
func deleteOptions(ev *ingest.Event, query url.Values, body map[string]any) (Object, bool, []Unknown) {
	if ev.Level == ingest.LevelMetadata || truncated(ev) {
		because := noBody(ev)
		if len(query) > 0 {
			return missing(because), isDryRun(query["dryRun"]), nil
		}
		return missing(because), false, []Unknown{{Path: []string{"dryRun"}, Because: because}}
	}
	content := map[string]any{}
	if body != nil && body["kind"] == "DeleteOptions" {
		maps.Copy(content, body)
	} else {
		content = deleteOptionsOf(query)
	}
	content["kind"], content["apiVersion"] = "DeleteOptions", optionsVersion
	dry, _ := content["dryRun"].([]any)
	return Object{Evidence: Evidence{Level: Exact}, Content: content}, slices.Contains(dry, any("All")), nil
}

func deleteOptionsOf(query url.Values) map[string]any {
	content := map[string]any{}
	if dry := query["dryRun"]; len(dry) > 0 {
		content["dryRun"] = anys(dry)
	}
	if v, err := strconv.ParseInt(query.Get("gracePeriodSeconds"), 10, 64); err == nil {
		content["gracePeriodSeconds"] = v
	}
	for _, name := range []string{"orphanDependents", "ignoreStoreReadErrorWithClusterBreakingPotential"} {
		if values, ok := query[name]; ok {
			content[name] = boolOf(values)
		}
	}
	if v := query.Get("propagationPolicy"); v != "" {
		content["propagationPolicy"] = v
	}
	return content
}

func isDryRun(values []string) bool { return slices.Contains(values, "All") }

// boolOf reads a query's boolean: present is true unless it says "false" or "0".
// https://github.com/kubernetes/apimachinery/blob/master/pkg/runtime/conversion.go
func boolOf(values []string) bool {
	return len(values) > 0 && !strings.EqualFold(values[0], "false") && values[0] != "0"
}

func anys(values []string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}
