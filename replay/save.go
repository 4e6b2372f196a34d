package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A saved history is JSON lines, compressed with zstd: a header, what it says of resources, policies, RBAC and objects
// in this order, and a last line that counts the others, so that a file that was cut is noticed.

// savedFormat and savedFormatVersion stand in the header. The version goes up with every change that an older vapshadow would
// read wrongly.
const (
	savedFormat        = "vapshadow history"
	savedFormatVersion = 1
)

// savedLine is one line of a saved history; one of its fields is set.
type savedLine struct {
	Header    *savedHeader    `json:"header,omitempty"`
	Resources *savedResources `json:"resources,omitempty"`
	Policy    *savedPolicy    `json:"policy,omitempty"`
	Change    *savedChange    `json:"change,omitempty"`
	Object    *savedObject    `json:"object,omitempty"`
	End       *savedEnd       `json:"end,omitempty"`
}

type savedHeader struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Last is the latest end of a write.
	Last time.Time `json:"last"`
	// Newest and After tell how new the snapshot was, Clock what resourceVersions were given out when.
	Newest uint64      `json:"newest,omitempty"`
	After  time.Time   `json:"after,omitzero"`
	Clock  []savedMark `json:"clock,omitempty"`
	// Listed are the resources of which the history holds every object.
	Listed     [][2]string  `json:"listed,omitempty"`
	RBACListed bool         `json:"rbacListed,omitempty"`
	Evicted    savedEvicted `json:"evicted,omitzero"`
}

type savedMark struct {
	Begun           time.Time `json:"begun"`
	ResourceVersion uint64    `json:"resourceVersion"`
}

// savedEvicted are the objects that had to go: by hash, and the last of each resource.
type savedEvicted struct {
	Newer     []savedFloor `json:"newer,omitempty"`
	Older     []savedFloor `json:"older,omitempty"`
	Resources []savedFloor `json:"resources,omitempty"`
	Forgotten []savedFloor `json:"forgotten,omitempty"`
}

type savedFloor struct {
	Hash            uint64    `json:"hash,omitempty"`
	Resource        [2]string `json:"resource,omitzero"`
	ResourceVersion uint64    `json:"resourceVersion,omitempty"`
	To              int64     `json:"to,omitempty"` // in nanoseconds since 1970, as Unnumbered
	Unnumbered      int64     `json:"unnumbered,omitempty"`
}

func (s savedFloor) floor() floor {
	return floor{rv: s.ResourceVersion, to: s.To, unnumbered: s.Unnumbered}
}

func (f floor) save() savedFloor {
	return savedFloor{ResourceVersion: f.rv, To: f.to, Unnumbered: f.unnumbered}
}

// savedPolicy is a policy or binding as it was a horizon before the end.
type savedPolicy struct {
	Resource string          `json:"resource"`
	Name     string          `json:"name"`
	Content  json.RawMessage `json:"content"`
}

type savedEnd struct {
	Lines int64 `json:"lines"`
}

// Save writes what the Replayer knows, so that another can go on with the log where this one ends: the states of
// each object that a request may still have seen, RBAC, policies, CRDs and discovery. It
// holds objects as the log and the snapshot show them, Secrets too: keep it where the log may be kept.
func (r *Replayer) Save(w io.Writer) error {
	compressed, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("compressing the history: %w", err)
	}
	s := &saver{r: r, lines: json.NewEncoder(compressed)}
	s.lines.SetEscapeHTML(false)
	s.before = r.last.Add(-horizon)
	s.header()
	s.resources()
	s.policies()
	s.changes("rbac", r.rbac)
	s.changes("policies", r.policies)
	s.objects()
	s.line(savedLine{End: &savedEnd{Lines: s.n}})
	if err := compressed.Close(); s.err == nil {
		s.err = err
	}
	if s.err != nil {
		return fmt.Errorf("writing the history: %w", s.err)
	}
	return nil
}

// saver writes the lines of a saved history; the first error ends it.
type saver struct {
	r     *Replayer
	lines *json.Encoder
	// before is the horizon: what was over by then no request will see any more.
	before time.Time
	n      int64
	err    error
}

func (s *saver) line(l savedLine) {
	if s.err == nil {
		s.err = s.lines.Encode(l)
		s.n++
	}
}

func (s *saver) header() {
	h := s.r.history
	h.mu.RLock()
	defer h.mu.RUnlock()
	out := &savedHeader{
		Format: savedFormat, Version: savedFormatVersion, Last: s.r.last, Newest: h.newest, After: h.after,
		Listed: sortedResources(h.listed), RBACListed: s.r.rbac.listed,
		Evicted: savedEvicted{
			Newer: sortedHashes(h.evicted.newer), Older: sortedHashes(h.evicted.older),
			Resources: sortedFloors(h.evicted.resources), Forgotten: sortedFloors(h.evicted.forgotten),
		},
	}
	for _, m := range h.clock.marks {
		if !m.begun.Before(s.before) {
			out.Clock = append(out.Clock, savedMark{Begun: m.begun, ResourceVersion: m.rv})
		}
	}
	s.line(savedLine{Header: out})
}

func sortedResources[V any](of map[[2]string]V) [][2]string {
	return slices.SortedFunc(maps.Keys(of), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
}

func sortedHashes(of map[uint64]floor) (out []savedFloor) {
	for _, hash := range slices.Sorted(maps.Keys(of)) {
		s := of[hash].save()
		s.Hash = hash
		out = append(out, s)
	}
	return out
}

func sortedFloors(of map[[2]string]floor) (out []savedFloor) {
	for _, resource := range sortedResources(of) {
		s := of[resource].save()
		s.Resource = resource
		out = append(out, s)
	}
	return out
}

// policies writes the policies and bindings as they were at the horizon; the changes since come after them.
func (s *saver) policies() {
	state := maps.Clone(s.r.given)
	for _, c := range s.r.policies.changes {
		resource := resourceOf(policyKinds, c.Kind)
		switch k := keyOf(policyGroup, resource, "", c.Name); {
		case !c.to.Before(s.before):
		case c.Content != nil:
			state[k] = c.Content
		case !c.Opaque:
			delete(state, k)
		}
	}
	keys := slices.SortedFunc(maps.Keys(state), func(a, b Key) int { return strings.Compare(a.Resource+"/"+a.Name, b.Resource+"/"+b.Name) })
	for _, k := range keys {
		s.line(savedLine{Policy: &savedPolicy{Resource: k.Resource, Name: k.Name, Content: appendJSON(nil, state[k])}})
	}
}

func resourceOf(kinds map[string]string, kind string) string {
	for resource, of := range kinds {
		if of == kind {
			return resource
		}
	}
	return ""
}

// RestoredPolicies are the policies and bindings as a restored history has them from before its horizon; the changes
// since are among those of View. restored is false for a resource of which the history holds only what the log showed.
func (r *Replayer) RestoredPolicies() (objects []map[string]any, restored func(schema.GroupResource) bool) {
	for _, k := range slices.SortedFunc(maps.Keys(r.given), func(a, b Key) int { return strings.Compare(a.Resource+"/"+a.Name, b.Resource+"/"+b.Name) }) {
		objects = append(objects, r.given[k])
	}
	return objects, func(of schema.GroupResource) bool { return r.restored[[2]string{of.Group, of.Resource}] }
}
