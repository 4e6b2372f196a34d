package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/vapshadow/vapshadow/dashboards/report"
	"github.com/vapshadow/vapshadow/internal/pipeline"
)

// explanation writes what is explained as text.
type explanation struct {
	*report.Outline
	objects bool
	// told are the reasons whose advice was given: once is enough.
	told map[string]bool
	// resource is that of the request, as audit policies name it.
	resource string
}

// besides is how wide the labels of a request and its inputs are.
const besides = 17

func (o explanation) all(x *pipeline.Explained) {
	o.Line(0, "Audit ID %s, at %s, Kubernetes %s", x.AuditID, x.At, x.KubernetesVersion)
	for _, refused := range x.Refused {
		o.Line(0, "Refused, and not evaluated: %s", refused)
	}
	for _, warning := range x.Warnings {
		o.Line(0, "Warning: %s", warning)
	}
	if len(x.Requests) == 0 {
		o.Break()
		o.Line(0, "It found nothing to delete, or the log does not show what: no request went through admission that could be explained.")
	}
	for i := range x.Requests {
		o.Break()
		if len(x.Requests) > 1 {
			o.Line(0, "Request %d of %d, one an object", i+1, len(x.Requests))
		}
		o.resource = resourceName(&x.Requests[i].Request)
		o.request(&x.Requests[i])
		o.verdicts(&x.Requests[i])
	}
}

func (o explanation) request(x *pipeline.Explanation) {
	r := &x.Request
	resource := path(r.Resource.Group, r.Resource.Version, r.Resource.Resource, r.SubResource)
	o.Line(0, "%s %s %s", r.Operation, resource, path(r.Namespace, r.Name))
	if r.OrCreate {
		o.Item(1, besides, "operation", "UPDATE or CREATE: it failed, and whether the object was there is not known")
	}
	kind := path(r.Kind.Group, r.Kind.Version, r.Kind.Kind)
	if kind == "" {
		kind = "not known"
	}
	o.Item(1, besides, "kind", kind)
	o.Item(1, besides, "object's name", r.ObjectName)
	o.Item(1, besides, "user", r.User.Username)
	o.Item(1, besides, "groups", strings.Join(r.User.Groups, ", "))
	o.Item(1, besides, "user agent", r.UserAgent)
	o.Item(1, besides, "dryRun", fmt.Sprint(r.DryRun))
	if r.Options != nil {
		o.Item(1, besides, "options", compactJSON(r.Options))
	}
	o.Item(1, besides, "stageTimestamp", r.StageTimestamp.Format(time.RFC3339Nano))
	if r.Code != 0 {
		o.Item(1, besides, "code", fmt.Sprint(r.Code))
	}
	o.Break()
	o.Line(0, "How its inputs are known")
	for _, in := range x.Inputs {
		of := o.resource
		if in.Input == "namespaceObject" {
			of = "namespaces"
		}
		o.Item(1, besides, in.Input, o.known(string(in.Level), string(in.Because), in.Null, of))
		o.unknownParts(1, besides, in.Unknown, of)
	}
	if o.objects {
		o.object("object", x.Object)
		o.object("oldObject", x.OldObject)
	}
}

func (o explanation) known(level, because string, null bool, resource string) string {
	switch {
	case null:
		return level + ": null"
	case because == "":
		return level
	default:
		return level + ": " + o.reason(because, resource)
	}
}

// reason is a reason code, the first time with what can be done about it.
func (o explanation) reason(because, resource string) string {
	if remedy := report.Remedy(because, resource); remedy != "" && !o.told[because] {
		o.told[because] = true
		return because + " (" + remedy + ")"
	}
	return because
}

// unknownParts lists paths by reason, in the order of the first of each.
func (o explanation) unknownParts(level, width int, parts []pipeline.ExplainedUnknownPart, resource string) {
	var order []string
	paths := map[string][]string{}
	for _, u := range parts {
		because := string(u.Because)
		if paths[because] == nil {
			order = append(order, because)
		}
		paths[because] = append(paths[because], strings.Join(u.Path, "."))
	}
	for _, because := range order {
		text := strings.Join(paths[because], ", ")
		if text == "" {
			text = "a number in it"
		}
		o.Item(level, width, "", "but not "+text+": "+o.reason(because, resource))
	}
}

// resourceName is a resource as audit policies name it.
func resourceName(r *pipeline.ExplainedRequest) string {
	name := r.Resource.Resource
	if r.Resource.Group != "" {
		name += "." + r.Resource.Group
	}
	if r.SubResource != "" {
		name += "/" + r.SubResource
	}
	return name
}

// object writes an object as YAML, without its managedFields.
func (o explanation) object(name string, content map[string]any) {
	if content == nil {
		return
	}
	note := ""
	if metadata, ok := content["metadata"].(map[string]any); ok && metadata["managedFields"] != nil {
		content, metadata = maps.Clone(content), maps.Clone(metadata)
		delete(metadata, "managedFields")
		content["metadata"] = metadata
		note = ", without its managedFields"
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		text = fmt.Appendf(nil, "cannot be written: %v", err)
	}
	o.Break()
	o.Line(0, "%s%s", name, note)
	o.Verbatim(1, string(text))
}

func compactJSON(content map[string]any) string {
	out, err := json.Marshal(content)
	if err != nil {
		return fmt.Sprintf("cannot be written: %v", err)
	}
	return string(out)
}

// path joins what of its parts is not empty.
func path(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "/")
}
