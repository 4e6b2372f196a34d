package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vapshadow/vapshadow/engine/convert"
	"github.com/vapshadow/vapshadow/engine/value"
	"github.com/vapshadow/vapshadow/replay"
)

// run is one (policy, binding, params) on its way through the phases of an evaluation.
type run struct {
	*scope
	policy *compiled

	objects *objects
	params  ref.Val
	// own is `request` as match conditions see it, matched as validations do.
	own, matched ref.Val
	ns           *namespaceValues
	user, check  ref.Val
	authz        *authorizer

	// unknown are all the parts of the inputs that are not known.
	unknown []unknownInput
	levels  map[inputSet]replay.Level
	out     Evaluation
	// trace is nil where nobody asks how the evaluation came about.
	trace *evaluationTrace
}

// evaluate runs the match conditions, the validations with their messages, and the audit annotations, each with inputs
// and a budget of their own, as the apiserver does.
func (s *scope) evaluate(c *compiled, b *compiledBinding, as target, params *replay.Object, level replay.Level) Evaluation {
	r := &run{scope: s, policy: c, out: c.evaluation(b), params: types.NullValue}
	r.out.Params, r.out.ParamsHash, r.out.Evidence = nameOf(params), s.engine.hashes.of(params), replay.Weaker(replay.Exact, level)
	r.trace = s.trace.evaluation(r, params)
	if because, on := r.prepare(as, params); because != "" {
		u := c.undecided(b, because, on)
		u.Params, u.ParamsHash = r.out.Params, r.out.ParamsHash
		return u
	}
	if r.matchConditions() && r.validate() {
		r.annotate()
	}
	r.out.settle()
	return r.out
}

// prepare makes the inputs of an evaluation. Where the evaluation as a whole cannot be known, it says why.
func (r *run) prepare(as target, params *replay.Object) (because replay.Reason, on string) {
	r.levels = map[inputSet]replay.Level{}
	maps.Copy(r.levels, r.scope.levels)
	r.unknown = append(r.unknown, r.scope.unknown...)
	r.objects = &objects{object: types.NullValue, oldObject: types.NullValue}
	if r.policy.reads(readsObject | readsOldObject) {
		r.objects = r.in(as.kind)
		r.unknown = append(r.unknown, r.objects.missing...)
	}
	if r.policy.reads(readsRequest) {
		var err error
		if r.matched, err = r.request(as); err != nil {
			return replay.NotStored, "request"
		}
		if r.own, err = r.request(target{resource: r.req.Resource, kind: as.kind}); err != nil {
			return replay.NotStored, "request"
		}
	}
	if because := r.prepareParams(params); because != "" {
		return because, "params"
	}
	r.ns = r.namespaceObject()
	if r.ns.absent {
		return replay.NoNamespace, "namespaceObject"
	}
	r.levels[readsNamespace] = r.ns.evidence.Level
	if r.ns.evidence.Level == replay.Missing {
		r.add(readsNamespace, r.ns.evidence.Because, "namespaceObject")
	}
	for _, u := range r.ns.unknown {
		r.add(readsNamespace, u.Because, append([]string{"namespaceObject"}, u.Path...)...)
	}
	if r.policy.reads(readsAuthorizer) {
		r.prepareAuthorizer()
	}
	return "", ""
}

func (r *run) add(input inputSet, because replay.Reason, path ...string) {
	r.unknown = append(r.unknown, unknownInput{input: input, path: path, because: because})
}

func (r *run) prepareParams(params *replay.Object) replay.Reason {
	if params == nil || !r.policy.reads(readsParams) {
		return ""
	}
	kind := schema.FromAPIVersionAndKind(r.policy.policy.Spec.ParamKind.APIVersion, r.policy.policy.Spec.ParamKind.Kind)
	version, _ := params.Content["apiVersion"].(string)
	content := params.Content
	if version != r.policy.policy.Spec.ParamKind.APIVersion {
		gvr, _, _ := r.req.View.Resources().Resource(kind)
		strategy, custom := r.req.View.Resources().Custom(gvr)
		converted, err := convert.Convert(content, kind, custom, strategy)
		if err != nil {
			return replay.NoConversion
		}
		content = converted
	}
	// Params are shown as JSON-like maps in every version of Kubernetes.
	r.params = value.OfJSON(content)
	r.levels[readsParams] = params.Level
	for _, u := range params.Unknown {
		r.add(readsParams, u.Because, append([]string{"params"}, u.Path...)...)
	}
	return ""
}

func (r *run) prepareAuthorizer() {
	var evidence replay.Evidence
	r.user, r.check, r.authz, evidence = r.authorizer()
	r.levels[readsAuthorizer] = evidence.Level
	if evidence.Level == replay.Missing {
		r.add(readsAuthorizer, evidence.Because, "authorizer")
		r.add(readsAuthorizer, evidence.Because, "authorizer.requestResource")
	}
}

// activation makes the variables of a phase. Messages and audit annotations have no authorizer. The namespace is nil for
// match conditions, which see none, not even one that is not known.
func (r *run) activation(request, namespace ref.Val, withAuthorizer bool) *activation {
	known := r.policy.read
	if namespace == nil {
		namespace = types.NullValue
		known &^= readsNamespace
	}
	a := &activation{object: r.objects.object, oldObject: r.objects.oldObject, params: r.params, request: request, namespace: namespace, trace: r.trace}
	if withAuthorizer {
		a.authorizer, a.requestResource = r.user, r.check
	}
	if !withAuthorizer {
		known &^= readsAuthorizer
	}
	for _, u := range r.unknown {
		if u.input&known != 0 && (namespace != r.ns.fields || !hiddenOfNamespace(u.path)) {
			a.unknown |= u.input
			if !slices.Contains(u.path, replay.EachElement) {
				a.patterns = append(a.patterns, u.pattern())
			}
		}
	}
	return a
}

// hiddenOfNamespace says whether a path leads to a part of the Namespace that only audit annotations are shown.
func hiddenOfNamespace(path []string) bool {
	return len(path) == 3 && path[0] == "namespaceObject" && path[1] == "metadata" && (path[2] == "managedFields" || path[2] == "ownerReferences")
}

// done takes what a phase looked at into the evaluation's evidence.
func (r *run) done(a *activation) {
	for input := readsObject; input <= readsAuthorizer; input <<= 1 {
		if level, ok := r.levels[input]; ok && a.read&input != 0 && level != replay.Missing {
			r.out.Evidence = replay.Weaker(r.out.Evidence, level)
		}
	}
}

// hangs names what an unknown value hangs on, and why the first of it is not known.
func (r *run) hangs(u *types.Unknown) (on []string, because replay.Reason) {
	for _, id := range u.IDs() {
		trails, _ := u.GetAttributeTrails(id)
		for _, t := range trails {
			on = append(on, strings.ReplaceAll(t.String(), `["*"]`, "[*]"))
			if because == "" {
				because = r.because(t)
			}
		}
	}
	return on, because
}

func (r *run) because(t *types.AttributeTrail) replay.Reason {
	switch t.Variable() {
	case costUnknown:
		return CostUnknown
	case value.RoundedTimes:
		return replay.NotStored
	}
	path := []string{t.Variable()}
	for _, q := range t.QualifierPath() {
		if field, ok := q.(string); ok {
			path = append(path, field)
		}
	}
	for _, u := range r.unknown {
		if overlaps(u.path, path) {
			return u.because
		}
	}
	if r.authz != nil && r.authz.because != "" {
		return r.authz.because
	}
	return replay.NotStored
}
