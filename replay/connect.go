package replay

import (
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/ingest"
)

// connectObject rebuilds the options object of a CONNECT from the URI, as the apiserver decodes it: false booleans and
// empty strings are absent.
func connectObject(ev *ingest.Event, kind schema.GroupVersionKind) Object {
	if absent(ev, ingest.AbsentQuery) && ev.ObjectRef.Subresource != "proxy" {
		return missing(NotInSource)
	}
	uriPath, raw := path(ev.RequestURI)
	query, err := url.ParseQuery(raw)
	if err != nil {
		query = url.Values{}
	}
	content := map[string]any{"kind": kind.Kind, "apiVersion": kind.GroupVersion().String()}
	switch ev.ObjectRef.Subresource {
	case "exec", "attach":
		for _, name := range []string{"stdin", "stdout", "stderr", "tty"} {
			if boolOf(query[name]) {
				content[name] = true
			}
		}
		if v := query.Get("container"); v != "" {
			content["container"] = v
		}
		if command := query["command"]; ev.ObjectRef.Subresource == "exec" && len(command) > 0 {
			content["command"] = anys(command)
		}
	case "portforward":
		ports := []any{}
		for _, p := range query["ports"] {
			for part := range strings.SplitSeq(p, ",") {
				if n, err := strconv.ParseInt(part, 10, 32); err == nil {
					ports = append(ports, n)
				}
			}
		}
		if len(ports) > 0 {
			content["ports"] = ports
		}
	case "proxy":
		if p := proxyPath(uriPath); p != "" {
			content["path"] = p
		}
	}
	return Object{Evidence: Evidence{Level: Exact}, Content: content}
}

// proxyPath is what follows /proxy in a URI, decoded and with a leading slash; empty where nothing follows.
func proxyPath(uriPath string) string {
	if decoded, err := url.PathUnescape(uriPath); err == nil {
		uriPath = decoded
	}
	parts := strings.Split(strings.Trim(uriPath, "/"), "/")
	// api/v1/namespaces/NS/pods/NAME/proxy/..., api/v1/nodes/NAME/proxy/...
	skip := 7
	if len(parts) > 2 && parts[2] != "namespaces" {
		skip = 5
	}
	rest := ""
	if len(parts) > skip {
		rest = strings.Join(parts[skip:], "/")
	}
	if rest != "" && !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	if strings.HasSuffix(uriPath, "/") && !strings.HasSuffix(rest, "/") {
		rest += "/"
	}
	return rest
}
