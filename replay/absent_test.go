package replay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/replay"
)

const shownMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, uid: u, resourceVersion: "5", creationTimestamp: "CREATED"}}`

// absentEvent is an event of which the source leaves out some.
func absentEvent(t *testing.T, text string, names ...string) *replay.Decoded {
	t.Helper()
	ev := event(t, text)
	ev.Absent, ev.AuditID = names, "absent"
	if len(names) > 0 && names[len(names)-1] == ingest.AbsentReceived {
		ev.RequestReceivedTimestamp = ev.StageTimestamp
	}
	return replay.Decode(ev)
}

// TestAbsent: what the source never holds is Missing because of that, and the rest is as it is.
func TestAbsent(t *testing.T) {
	const (
		uri    = "requestURI: /api/v1/namespaces/shop/configmaps"
		create = "{verb: create, " + uri + ", at: 100, code: 201, responseObject: " + shownMap + "}"
		remove = "{verb: delete, " + uri + "/c, at: 100, code: 200, responseObject: {kind: Status, details: {uid: u}}"
		exec   = "{verb: create, requestURI: /api/v1/namespaces/shop/pods/p/exec, at: 100, code: 101}"
		patch  = "{verb: patch, level: Request, " + uri + "/known, at: 100, code: 200, requestObject: {data: {a: b}}}"
		proxy  = "{verb: create, requestURI: /api/v1/namespaces/shop/pods/p/proxy/x, at: 100, code: 200}"
	)
	for _, tt := range []struct {
		name, event string
		absent      []string
		options     replay.Evidence
		object      replay.Evidence
		unknown     string
	}{
		{"nothing", create, nil, exact, exact, ""},
		{"the user", create, []string{ingest.AbsentUsername, ingest.AbsentUID, ingest.AbsentGroups, ingest.AbsentExtra}, exact, exact, "userInfo.username userInfo.uid userInfo.groups userInfo.extra"},
		{"the query of a create", create, []string{ingest.AbsentQuery}, notInSource, exact, "dryRun"},
		{"the query of a delete", remove + "}", []string{ingest.AbsentQuery}, notInSource, exact, "dryRun"},
		{"the query of a delete with options", remove + ", requestObject: {kind: DeleteOptions, apiVersion: v1}}", []string{ingest.AbsentQuery}, exact, exact, ""},
		{"the query of an exec", exec, []string{ingest.AbsentQuery}, exact, notInSource, ""},
		{"the query of a proxy", proxy, []string{ingest.AbsentQuery}, exact, exact, ""},
		{"the query of a patch", patch, []string{ingest.AbsentQuery}, notInSource, replay.Evidence{Level: replay.Missing, Because: replay.NoResponseBody}, "dryRun"},
		{"a body", strings.Replace(create, "responseObject: "+shownMap, "x: 1", 1), []string{ingest.AbsentResponse}, exact, replay.Evidence{Level: replay.Missing, Because: replay.Truncated}, "name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{object(t, namespaceShop)})
			observed(r, write(t, "create", "known", "k", 3, 1))
			d := absentEvent(t, tt.event, tt.absent...)
			r.Observe(d)
			req := r.Requests(d)[0]
			var unknown []string
			for _, u := range req.Unknown {
				unknown = append(unknown, u.String())
				if u.Because != replay.NotInSource && u.String() != "name" {
					t.Errorf("%s is not known because of %s", u, u.Because)
				}
			}
			if got := strings.Join(unknown, " "); got != tt.unknown {
				t.Errorf("not known are %s, want %s", got, tt.unknown)
			}
			if diff := cmp.Diff([]replay.Evidence{tt.options, tt.object}, []replay.Evidence{req.Options.Evidence, req.Object.Evidence}); diff != "" {
				t.Errorf("options and object (-want +got):\n%s", diff)
			}
		})
	}
}

var (
	exact       = replay.Evidence{Level: replay.Exact}
	notInSource = replay.Evidence{Level: replay.Missing, Because: replay.NotInSource}
)

// TestAbsentCode: an update whose code is not known may have made its object, unless that is known to be older.
func TestAbsentCode(t *testing.T) {
	for _, tt := range []struct {
		name, created string
		known         bool
		want          bool
	}{
		{"just made", stamp(100), false, true},
		{"older", stamp(1), false, false},
		{"known to the history", stamp(100), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{object(t, namespaceShop)})
			if tt.known {
				observed(r, write(t, "create", "c", "u", 4, 1))
			}
			d := absentEvent(t, "{verb: patch, requestURI: /api/v1/namespaces/shop/configmaps/c, at: 100, code: 200, responseObject: "+strings.Replace(shownMap, "CREATED", tt.created, 1)+"}", ingest.AbsentCode)
			r.Observe(d)
			req := r.Requests(d)[0]
			if req.OrCreate != tt.want || req.Operation != replay.Update || (req.OldObject.Because == replay.NotInSource) != tt.want {
				t.Errorf("OrCreate %v, old object %v", req.OrCreate, req.OldObject.Evidence)
			}
		})
	}
}

// TestAbsentDryRun: a create that gave out no resourceVersion stored nothing.
func TestAbsentDryRun(t *testing.T) {
	for text, want := range map[string]string{shownMap: "5", strings.Replace(shownMap, `resourceVersion: "5", `, "", 1): "NoHistory"} {
		r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{object(t, namespaceShop)})
		r.Observe(absentEvent(t, "{verb: create, requestURI: /api/v1/namespaces/shop/configmaps, at: 1, code: 201, responseObject: "+text+"}", ingest.AbsentQuery))
		got := oldRevision(t, r, observed(r, write(t, "patch", "c", "u", 7, 200)))
		if got != want {
			t.Errorf("%s: the object before is %s", text, got)
		}
	}
}

// TestAbsentReceived: a namespace that was written in the minute before may have been either.
func TestAbsentReceived(t *testing.T) {
	for _, tt := range []struct {
		at     string
		absent []string
		want   replay.Reason
	}{
		{"100", nil, ""},
		{"100", []string{ingest.AbsentReceived}, replay.Changing},
		{"200", []string{ingest.AbsentReceived}, ""},
	} {
		r := newReplayer(t, replay.Config{Minor: 37}, []map[string]any{object(t, namespaceShop)})
		observed(r, event(t, `{verb: patch, requestURI: /api/v1/namespaces/shop, at: 80, code: 200, responseObject: {apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: ns, resourceVersion: "9", labels: {a: b}, managedFields: [{manager: m}]}}}`))
		d := absentEvent(t, "{verb: create, requestURI: /api/v1/namespaces/shop/configmaps, at: "+tt.at+", code: 201, responseObject: "+shownMap+"}", tt.absent...)
		r.Observe(d)
		labels := replay.Reason("")
		ns := r.Requests(d)[0].View.Namespace("shop")
		for _, u := range ns.Unknown {
			if u.String() == "metadata.labels.a" {
				labels = u.Because
			}
		}
		if labels != tt.want {
			t.Errorf("at %s without %v: %v, unknown %v", tt.at, tt.absent, ns.Evidence, ns.Unknown)
		}
	}
}

func stamp(seconds float64) string { return moment(seconds).Format(time.RFC3339) }

// TestAbsentReceivedOfConnect: a CONNECT may have begun at any time.
func TestAbsentReceivedOfConnect(t *testing.T) {
	d := absentEvent(t, "{verb: create, requestURI: /api/v1/namespaces/shop/pods/p/exec, at: 100, code: 101}", ingest.AbsentReceived)
	if got := d.Event.RequestReceivedTimestamp; got.After(moment(-1e6)) {
		t.Errorf("received %v", got)
	}
}
