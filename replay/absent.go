package replay

import (
	"slices"
	"time"

	"github.com/vapshadow/vapshadow/ingest"
)

// longestRequest is how long a request takes at most, by default, before the apiserver ends it.
// https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/
const longestRequest = time.Minute

// absent says whether the source of an event never holds something, or lost it on the way.
func absent(ev *ingest.Event, name string) bool { return slices.Contains(ev.Absent, name) }

// receivedAtLeast sets when a request came to the earliest that it can have, where the source does not hold it. What
// was written meanwhile then counts as Changing. A CONNECT may have lasted for any time.
func receivedAtLeast(ev *ingest.Event, op Operation) {
	switch {
	case !absent(ev, ingest.AbsentReceived):
	case op == Connect:
		ev.RequestReceivedTimestamp = time.Unix(0, 0).UTC()
	default:
		ev.RequestReceivedTimestamp = ev.StageTimestamp.Add(-longestRequest)
	}
}

var absentOfUser = []struct{ name, field string }{
	{ingest.AbsentUsername, "username"}, {ingest.AbsentUID, "uid"}, {ingest.AbsentGroups, "groups"}, {ingest.AbsentExtra, "extra"},
}

// userUnknown are the parts of request.userInfo that the source of an event does not hold.
func userUnknown(ev *ingest.Event) []Unknown {
	var out []Unknown
	for _, of := range absentOfUser {
		if absent(ev, of.name) {
			out = append(out, Unknown{Path: []string{"userInfo", of.field}, Because: NotInSource})
		}
	}
	return out
}

// optionsUnknown are the options where the source does not hold the query that they stand in. Whether it was a dry run
// is not known either.
func optionsUnknown(op Operation, body map[string]any) (Object, []Unknown, bool) {
	if op == Connect || op == Delete && body["kind"] == "DeleteOptions" {
		return Object{}, nil, false // The body counts then, and not the query.
	}
	return missing(NotInSource), []Unknown{{Path: []string{"dryRun"}, Because: NotInSource}}, true
}

// mayHaveStored says whether a create may have left something behind, where its query is not known: a dry run gives out no
// resourceVersion.
func mayHaveStored(d *Decoded, op Operation) bool {
	return op != Create || !absent(d.Event, ingest.AbsentQuery) || !isObject(d.response) || revision(d.response) != 0 || d.Event.ObjectRef.Subresource != ""
}

// orCreate leaves open whether a request made its object or changed it, where no code tells: unless the object is known
// to have been there, or older than the request.
func (r *Replayer) orCreate(d *Decoded, req *Request) {
	if !absent(d.Event, ingest.AbsentCode) || req.OrCreate || req.Operation != Update || req.SubResource != "" || !succeeded(d.Event) {
		return
	}
	if r.exists(d, key(d.Event, req.View.resources, req.Name), req) {
		return
	}
	created, err := time.Parse(time.RFC3339, stringAt(metadataOf(d.response), "creationTimestamp"))
	if err == nil && created.Add(time.Second).Before(req.Received) { // It is cut to seconds.
		return
	}
	req.OrCreate = true
	req.Unknown = append(req.Unknown, Unknown{Path: []string{"operation"}, Because: NotInSource})
	req.Options, req.OldObject = missing(NotInSource), missing(NotInSource)
	if req.Object.Content != nil {
		req.Object.Unknown = append(slices.Clone(req.Object.Unknown), Unknown{Path: []string{"metadata", "resourceVersion"}, Because: NotInSource})
	}
}
