package engine

import (
	"reflect"
	"slices"
)

// recallable is what a policy's results are remembered by.
type recallable struct {
	// id tells policies apart.
	id digest
	// core are the places that match conditions and validations read, further those that messages and audit annotations
	// read beyond. No place is in both.
	core, further []int32
}

// findPlaces makes the policy recallable.
func (c *compiled) findPlaces(m *memory) {
	var core, further []*expression
	for _, n := range c.matchConditions {
		core = append(core, n.expression)
	}
	for _, v := range c.validations {
		core = append(core, v.expression)
	}
	further = append(further, c.messages...)
	for _, a := range c.annotations {
		further = append(further, a.expression)
	}
	r := &recallable{id: digestNumber(tagOther, others.Add(1))}
	inCore := c.placesOf(core)
	for _, p := range inCore {
		r.core = append(r.core, m.places.of(p))
	}
	for key, p := range c.placesOf(further) {
		if _, ok := inCore[key]; !ok {
			r.further = append(r.further, m.places.of(p))
		}
	}
	slices.Sort(r.core)
	slices.Sort(r.further)
	c.recallable = r
	for _, n := range c.matchConditions {
		c.rememberAlone(n.expression, tagCondition, m)
	}
	for _, v := range c.validations {
		c.rememberAlone(v.expression, tagValidation, m)
	}
}

// keys are those under which the result of a run is remembered.
type keys struct {
	run *run
	// core is the key by the places of match conditions and validations, whole that with those of messages and audit
	// annotations besides.
	core, whole digest
	// hasCore is false where one of the places is not known, hasWhole until it is asked for too.
	hasCore, hasWhole bool
}

// keys makes the first key of a run.
func (r *run) keys() keys {
	k := keys{run: r}
	c := r.policy.recallable
	if c == nil || r.trace != nil || r.objects.converted || len(r.objects.missing) > 0 || r.convertedParams() {
		return k
	}
	r.remembers = true
	k.core, k.hasCore = r.digest(c.id.and(r.asDigest(r.as)).and(r.doubts()), c.core)
	return k
}

// find returns what is remembered; nil where nothing is.
func (k *keys) find() *remembered {
	if !k.hasCore {
		return nil
	}
	m := k.run.engine.memory
	known, _ := m.evaluations.get(k.core)
	if known == nil || !known.elsewhere {
		return known
	}
	if !k.further() {
		return nil
	}
	known, _ = m.evaluations.get(k.whole)
	return known
}

// further makes the second key; it is false where a place is not known.
func (k *keys) further() bool {
	if !k.hasWhole {
		k.whole, k.hasWhole = k.run.digest(k.core.and(digestNumber(tagOther, 0)), k.run.policy.recallable.further)
	}
	return k.hasWhole
}

var elsewhere = &remembered{elsewhere: true}

// keep remembers what the run came to, before the binding's actions have their effect. What is not known is not
// remembered: it hangs on more than values.
func (k *keys) keep() {
	r := k.run
	if !k.hasCore || !r.decided() {
		return
	}
	m := r.engine.memory
	key := k.core
	if r.further {
		m.evaluations.put(k.core, elsewhere)
		if !k.further() {
			return
		}
		key = k.whole
	}
	known := remembered{
		result: r.out.Result, verdicts: r.out.Verdicts, annotations: r.out.annotations,
		blocksAnyway: r.out.BlocksAnyway, annotationError: r.out.AnnotationError, read: r.read,
	}
	m.evaluations.put(key, known.shared())
}

// decided says whether nothing of the result is unknown.
func (r *run) decided() bool {
	e := r.out
	unknown := func(v Verdict) bool { return v.Result == Unknown }
	return e.Result != Unknown && e.Because == "" && e.Unknown == nil && !slices.ContainsFunc(e.Verdicts, unknown)
}

// recall makes the run come to what is remembered.
func (r *run) recall(known *remembered) {
	r.out.Result, r.out.Verdicts, r.out.annotations = known.result, slices.Clip(known.verdicts), known.annotations
	r.out.BlocksAnyway, r.out.AnnotationError = known.blocksAnyway, known.annotationError
	r.read = known.read
}

// convertedParams says whether the params had to be converted.
func (r *run) convertedParams() bool {
	if r.paramsFrom == nil || !r.policy.reads(readsParams) {
		return false
	}
	version, _ := r.paramsFrom.Content["apiVersion"].(string)
	return version != r.policy.policy.Spec.ParamKind.APIVersion
}

// doubts is the digest of which inputs are known in part: those are evaluated by another program.
func (r *run) doubts() digest {
	var any, shown inputSet
	for _, u := range r.unknown {
		any |= u.input
		if !hiddenOfNamespace(u.path) {
			shown |= u.input
		}
	}
	return digestNumber(tagInt, uint64(any)<<8|uint64(shown))
}

// digest goes on with the digests of what is at some places. It is false where that is not known.
func (r *run) digest(d digest, places []int32) (digest, bool) {
	for _, n := range places {
		at, ok := r.at(n)
		if !ok {
			return d, false
		}
		d = d.and(at)
	}
	return d, true
}

// at is the digest of what is at a place. That of the params differs from run to run, others are made once a request.
func (r *run) at(n int32) (digest, bool) {
	if int(n) >= len(r.digests) {
		list := r.engine.memory.places.all()
		r.places = list
		r.digests = append(r.digests, make([]placeDigest, len(list)-len(r.digests))...)
	}
	p, known := &r.places[n], &r.digests[n]
	if p.input == readsParams {
		return r.inputDigest(n, p, r.paramsContent(), nil), !r.hides(p)
	}
	if !known.made {
		*known = placeDigest{digest: r.placeDigest(n, p), made: true, unknown: r.hides(p)}
	}
	return known.digest, !known.unknown
}

// placeDigest is the digest of what is at a place of one of the inputs that a request has once.
type placeDigest struct {
	digest        digest
	made, unknown bool
}

func (r *run) paramsContent() map[string]any {
	if r.paramsFrom == nil {
		return nil
	}
	return r.paramsFrom.Content
}

func (r *run) placeDigest(n int32, p *place) digest {
	switch p.input {
	case readsObject:
		return r.inputDigest(n, p, r.req.Object.Content, r.objects.goType)
	case readsOldObject:
		return r.inputDigest(n, p, r.req.OldObject.Content, r.objects.goType)
	case readsNamespace:
		return r.inputDigest(n, p, r.ns.content, namespaceType)
	case readsAuthorizer:
		return authorizerDigest(r.req, p)
	default:
		return requestDigest(r.req, p)
	}
}

// inputDigest is the digest of what is at a place of an input.
func (r *run) inputDigest(n int32, p *place, content map[string]any, in reflect.Type) digest {
	switch {
	case content == nil:
		return digestNumber(tagNull, 2)
	case p.isNull:
		return digestNumber(tagMap, 0)
	}
	return digestAt(content, r.engine.memory.ways.to(n, p, in))
}

// hides says whether a part of what is at a place is not known.
func (r *run) hides(p *place) bool {
	for _, u := range r.unknown {
		if u.input == p.input && (p.isNull && len(u.path) == 1 || !p.isNull && overlaps(u.path[1:], p.fields)) {
			return true
		}
	}
	return false
}
