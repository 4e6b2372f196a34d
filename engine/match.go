package engine

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/vapshadow/vapshadow/replay"
)

// answer is three-valued, with the errors that make a policy misconfigured beside it.
type answer int

const (
	no answer = iota
	yes
	unknown
	misconfigured
)

// match is whether something matched a request, and if that is not known, why.
type match struct {
	is      answer
	because replay.Reason
	// on is the attribute that an unknown answer hangs on.
	on  string
	err error
	// evidence is the weakest of the inputs that were looked at.
	evidence replay.Level
	// by is the part of the constraints that the answer is due to, rule the index of the rule that matched.
	by   string
	rule int
}

// The parts of matchConstraints and matchResources, as the API names them.
const (
	byNamespaceSelector = "namespaceSelector"
	byObjectSelector    = "objectSelector"
	byExcludes          = "excludeResourceRules"
	byRules             = "resourceRules"
)

var matched = match{is: yes}

func unknownMatch(because replay.Reason, on string) match {
	return match{is: unknown, because: because, on: on}
}

func configError(err error) match { return match{is: misconfigured, err: err} }

// matches says whether the constraints match a request, and as which resource. Selectors are looked at first, and their
// errors count only where the rules match.
func (c *criteria) matches(req *replay.Request) (target, match) {
	if c.err != nil {
		return target{}, configError(c.err)
	}
	namespaces := c.matchNamespace(req)
	if namespaces.is == no {
		return target{}, match{by: byNamespaceSelector}
	}
	objects := c.matchObjects(req)
	if objects.is == no {
		return target{}, match{by: byObjectSelector}
	}
	if len(c.excludes) > 0 {
		_, excluded := matchRules(c.excludes, c.equivalent, req)
		excluded.by = byExcludes
		switch excluded.is {
		case yes:
			return target{}, match{by: byExcludes, rule: excluded.rule}
		case unknown:
			return target{}, excluded
		}
	}
	t, rules := target{resource: req.Resource, kind: req.Kind}, matched
	if len(c.rules) > 0 {
		t, rules = matchRules(c.rules, c.equivalent, req)
	}
	rules.by, namespaces.by, objects.by = byRules, byNamespaceSelector, byObjectSelector
	if rules.is != yes {
		return t, rules
	}
	for _, m := range []match{namespaces, objects} {
		if m.is == misconfigured {
			return t, m
		}
	}
	for _, m := range []match{namespaces, objects} {
		if m.is == unknown {
			return t, m
		}
	}
	return t, match{is: yes, evidence: replay.Weaker(namespaces.evidence, objects.evidence), by: byRules, rule: rules.rule}
}

// matchNamespace matches the namespaceSelector: on the object's own labels for a Namespace that is being written, on
// its namespace's otherwise. Cluster-scoped objects always match.
func (c *criteria) matchNamespace(req *replay.Request) match {
	if req.Namespace == "" && req.Resource.Resource != "namespaces" {
		return matched
	}
	if c.namespaceErr != nil {
		return configError(fmt.Errorf("Internal error occurred: %w", c.namespaceErr))
	}
	if c.namespaces.Empty() {
		return matched
	}
	if req.Resource.Resource == "namespaces" && req.SubResource == "" && req.Operation != replay.Delete {
		return matchLabels(c.namespaces, req.Object, "object.metadata.labels")
	}
	namespace := req.View.Namespace(req.Namespace)
	if namespace.Null() {
		return configError(fmt.Errorf("namespaces %q not found", req.Namespace))
	}
	return matchLabels(c.namespaces, namespace, "namespaceObject.metadata.labels")
}

// matchObjects matches the objectSelector: either of the two objects will do.
func (c *criteria) matchObjects(req *replay.Request) match {
	if c.objectErr != nil {
		return configError(fmt.Errorf("Internal error occurred: %w", c.objectErr))
	}
	if c.objects.Empty() {
		return matched
	}
	object := c.matchObject(req.Object, "object.metadata.labels")
	if object.is == yes {
		return object
	}
	old := c.matchObject(req.OldObject, "oldObject.metadata.labels")
	if old.is != no {
		return old
	}
	return object
}

func (c *criteria) matchObject(object replay.Object, on string) match {
	if object.Null() {
		return match{}
	}
	if _, hasMetadata := object.Content["metadata"]; object.Content != nil && !hasMetadata {
		return match{} // The options of a CONNECT have no labels to select.
	}
	return matchLabels(c.objects, object, on)
}

func matchLabels(selector labels.Selector, object replay.Object, on string) match {
	if object.Level == replay.Missing {
		return unknownMatch(object.Because, on)
	}
	for _, u := range object.Unknown {
		if overlaps(u.Path, []string{"metadata", "labels"}) {
			return unknownMatch(u.Because, on)
		}
	}
	if selector.Matches(labelSet(object.Content)) {
		return match{is: yes, evidence: object.Level}
	}
	return match{}
}

// overlaps says whether one of the paths leads to or through the other.
func overlaps(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// labelSet reads the labels of an object.
func labelSet(content map[string]any) labels.Set {
	metadata, _ := content["metadata"].(map[string]any)
	raw, _ := metadata["labels"].(map[string]any)
	set := make(labels.Set, len(raw))
	for k, v := range raw {
		if s, ok := v.(string); ok {
			set[k] = s
		}
	}
	return set
}
