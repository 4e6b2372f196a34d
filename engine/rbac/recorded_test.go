package rbac_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/vapshadow/vapshadow/engine/rbac"
)

// step is a line of testdata/recorded-*.jsonl.gz: a change of RBAC, or a check with what a real apiserver answered, in
// the order in which they happened. Checks with a policy are those that an authorizer in CEL made, whose reasons were
// not recorded; the others are requests, from the annotations authorization.k8s.io/decision and reason of their events.
type step struct {
	With    map[string]any
	Without *struct{ Kind, Namespace, Name string }

	User, Verb, Group, Resource, Subresource, Namespace, Name, Path string
	Groups                                                          []string
	Policy, Decision, Reason                                        string
}

func (s *step) attributes() authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		User:            &user.DefaultInfo{Name: s.User, Groups: s.Groups},
		Verb:            s.Verb,
		APIGroup:        s.Group,
		Resource:        s.Resource,
		Subresource:     s.Subresource,
		Namespace:       s.Namespace,
		Name:            s.Name,
		ResourceRequest: s.Path == "",
		Path:            s.Path,
	}
}

func TestAsRecorded(t *testing.T) {
	for _, name := range []string{"recorded-1.36", "recorded-1.37"} {
		t.Run(name, func(t *testing.T) {
			snapshot := rbac.New()
			var reasons, allowed, forbidden int
			for _, s := range steps(t, "testdata/"+name+".jsonl.gz") {
				switch {
				case s.With != nil:
					snapshot = with(t, snapshot, s.With)
				case s.Without != nil:
					snapshot = snapshot.Without(s.Without.Kind, s.Without.Namespace, s.Without.Name)
				default:
					decision, reason, err := snapshot.Authorize(context.Background(), s.attributes())
					if err != nil || (decision == authorizer.DecisionAllow) != (s.Decision == "allow") {
						t.Errorf("%+v: %v, %q, %v", s, decision, reason, err)
						continue
					}
					if decision == authorizer.DecisionAllow {
						allowed++
					} else {
						forbidden++
					}
					if s.Policy == "" {
						reasons++
						checkReason(t, snapshot, s, decision, reason)
					}
				}
			}
			if reasons < 100 || allowed < 100 || forbidden < 50 {
				t.Errorf("compared %d allowed, %d forbidden and %d reasons only", allowed, forbidden, reasons)
			}
		})
	}
}

// checkReason holds a reason to the recorded one. Where several bindings allow, the apiserver took any of them: then the
// recorded reason comes up once those before it are gone.
func checkReason(t *testing.T, snapshot *rbac.Snapshot, s step, decision authorizer.Decision, first string) {
	t.Helper()
	reason := first
	for reason != s.Reason {
		by, ok := strings.CutPrefix(reason, "RBAC: allowed by ")
		if !ok || decision != authorizer.DecisionAllow {
			t.Errorf("%+v: reason %q, want %q", s, first, s.Reason)
			return
		}
		kind, rest, _ := strings.Cut(by, ` "`)
		name, _, _ := strings.Cut(rest, `"`)
		name, namespace, _ := strings.Cut(name, "/")
		snapshot = snapshot.Without(kind, namespace, name)
		decision, reason, _ = snapshot.Authorize(context.Background(), s.attributes())
	}
}

func steps(t testing.TB, path string) (out []step) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(unzipped)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var s step
		if err := json.Unmarshal(scanner.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func with(t testing.TB, s *rbac.Snapshot, content map[string]any) *rbac.Snapshot {
	t.Helper()
	out, err := s.With(content)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
