package engine

import (
	"maps"
	"slices"

	"github.com/vapshadow/vapshadow/replay"
)

// sameness is what has to be in object as it was in oldObject for a failure to be none of the update's own making.
type sameness struct {
	// places are those of object that the failure hangs on, by their numbers.
	places []int32
	// whole: object is read in a way that its places do not tell.
	whole bool
	// never: the failure hangs on who asks and how, or on nothing of object. The object does not fail then, the request
	// does.
	never bool
}

// findSameness prepares the policy for telling failures that repeat. An error may be that of another validation, or of
// them all: it hangs on whatever the policy reads but for its audit annotations.
func (c *compiled) findSameness(m *memory) {
	var all []*expression
	for _, v := range c.validations {
		c.fails = append(c.fails, c.samenessOf(m, []*expression{v.expression}))
		all = append(all, v.expression)
	}
	c.errs = c.samenessOf(m, append(all, c.messages...))
}

// samenessOf is that of a failure of some validations. Match conditions belong to it: an object that a policy is about
// only now fails for the first time. Who asks does not make a failure when they read it, for what fails is the object.
func (c *compiled) samenessOf(m *memory, validations []*expression) sameness {
	s := sameness{never: true}
	for _, p := range c.placesOf(validations) {
		if p.input == readsObject && !p.isNull {
			s.never = false
		}
	}
	for _, p := range c.placesOf(validations) {
		s.never = s.never || p.input == readsAuthorizer || p.tellsRequester()
	}
	conditions := make([]*expression, len(c.matchConditions))
	for i, n := range c.matchConditions {
		conditions[i] = n.expression
	}
	for _, p := range c.placesOf(append(conditions, validations...)) {
		switch {
		case p.input != readsObject || p.isNull:
		case len(p.fields) == 0:
			s.whole = true
		default:
			s.places = append(s.places, m.places.of(p))
		}
	}
	slices.Sort(s.places)
	return s
}

// tellsRequester says whether the place is a part of the request that is not the object's: who asks, and how.
func (p place) tellsRequester() bool {
	if p.input != readsRequest || p.isNull {
		return false
	}
	return len(p.fields) == 0 || slices.Contains([]string{"userInfo", "options", "dryRun"}, p.fields[0])
}

// tellRepeats marks the failures that the object had before the update. It is asked of each request anew, since what is
// remembered of one is of no use here: another may have the same object and another oldObject.
func (r *run) tellRepeats(b *compiledBinding) {
	if len(r.out.Verdicts) == 0 || !r.updates() || !r.policy.constraints.selectedBefore(r.req) || !b.constraints.selectedBefore(r.req) {
		return
	}
	var told []Verdict
	for i, v := range r.out.Verdicts {
		on := &r.policy.errs
		if v.Result == Fail {
			on = &r.policy.fails[v.ExpressionIndex]
		}
		if v.Result == Unknown || !r.unchanged(on) {
			continue
		}
		if told == nil {
			told = slices.Clone(r.out.Verdicts) // They may be those of the memory.
			r.out.Verdicts = told
		}
		told[i].Repeats = true
	}
}

// updates says whether the request changes an object that is known before and after, in the version that it was made in.
func (r *run) updates() bool {
	return r.req.Operation == replay.Update && !r.req.OrCreate && !r.objects.converted && len(r.objects.missing) == 0 &&
		r.req.Object.Content != nil && r.req.OldObject.Content != nil
}

// selectedBefore says whether the selectors matched the object as it was before, too.
func (c *criteria) selectedBefore(req *replay.Request) bool {
	if c == nil {
		return true
	}
	if !c.objects.Empty() && c.matchObject(req.OldObject, "").is != yes {
		return false
	}
	if req.Resource.Group == "" && req.Resource.Resource == "namespaces" && !c.namespaces.Empty() {
		return matchLabels(c.namespaces, req.OldObject, "").is == yes
	}
	return true
}

// unchanged says whether object is known to hold what oldObject held.
func (r *run) unchanged(s *sameness) bool {
	if s.never || s.whole && !r.unchangedAsWhole() {
		return false
	}
	for _, n := range s.places {
		now, known := r.at(n)
		if !known {
			return false
		}
		before := r.places[n]
		before.input = readsOldObject
		if r.hides(&before) || now != r.inputDigest(n, &before, r.req.OldObject.Content, r.objects.goType) {
			return false
		}
	}
	return true
}

// unchangedAsWhole compares all that a person writes: status and metadata are left out, but for labels and annotations.
// What a policy looks at is nearly always there, and controllers write the rest over and over.
func (r *run) unchangedAsWhole() bool {
	for _, u := range r.unknown {
		if u.input&(readsObject|readsOldObject) != 0 && r.compares(u.path[1:]) {
			return false
		}
	}
	return digestOf(r.compared(r.req.Object.Content)) == digestOf(r.compared(r.req.OldObject.Content))
}

// claimNoRepeats takes back which failures repeat: the object is not known to the letter.
func claimNoRepeats(evaluations []Evaluation) {
	for _, e := range evaluations {
		for i := range e.Verdicts {
			if e.Verdicts[i].Repeats { // Those of the memory never do.
				e.Verdicts[i].Repeats = false
			}
		}
	}
}

var comparedMetadata = []string{"labels", "annotations"}

// compares says whether a part of the object is compared where the object is compared as a whole.
func (r *run) compares(path []string) bool {
	switch {
	case len(path) == 0:
		return true
	case path[0] == "status":
		return r.req.SubResource == "status" // What is written is the status then.
	case path[0] == "metadata":
		return len(path) == 1 || slices.Contains(comparedMetadata, path[1])
	}
	return true
}

// compared is the part of an object that is compared.
func (r *run) compared(content map[string]any) map[string]any {
	out := maps.Clone(content)
	for field := range content {
		if field == "metadata" || !r.compares([]string{field}) {
			delete(out, field)
		}
	}
	metadata, _ := content["metadata"].(map[string]any)
	for _, field := range comparedMetadata {
		out["metadata."+field] = metadata[field]
	}
	return out
}
