package engine

import (
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

	as         target
	objects    *objects
	paramsFrom *replay.Object
	params     ref.Val
	// own is `request` as match conditions see it, matched as validations do.
	own, matched ref.Val
	ns           *namespaceValues
	user, check  ref.Val
	authz        *authorizer

	// unknown are all the parts of the inputs that are not known.
	unknown []unknownInput
	levels  inputLevels
	// read are the inputs that were looked at.
	read inputSet
	// remembers: what it reads is as the memory has it.
	remembers bool
	// further is set when a message or an audit annotation is evaluated.
	further bool
	// out is what it comes to.
	out *Evaluation
	// trace is nil where nobody asks how the evaluation came about.
	trace *evaluationTrace
}

// evaluate runs the match conditions, the validations with their messages, and the audit annotations, each with inputs
// and a budget of their own, as the apiserver does. What that comes to is appended.
func (s *scope) evaluate(list []Evaluation, c *compiled, b *compiledBinding, as target, params *replay.Object, level replay.Level) []Evaluation {
	list = append(list, Evaluation{})
	r := s.spare
	if s.spare = nil; r == nil {
		r = new(run)
	}
	*r = run{scope: s, policy: c, as: as, paramsFrom: params, out: &list[len(list)-1], params: types.NullValue}
	c.begin(r.out, b)
	r.out.Params, r.out.ParamsHash, r.out.Evidence = nameOf(params), s.engine.hashes.of(params), replay.Weaker(replay.Exact, level)
	r.trace = s.trace.evaluation(r, params)
	if because, on := r.prepare(); because != "" {
		r.undecided(b, because, on)
		return list
	}
	keys := r.keys()
	if known := keys.find(); known != nil {
		r.recall(known)
		s.spare = r // Nothing has got hold of it.
	} else {
		if because, on := r.prepareValues(); because != "" {
			r.undecided(b, because, on)
			return list
		}
		if r.matchConditions() && r.validate() {
			r.annotate()
		}
		keys.keep()
	}
	r.tellRepeats(b)
	r.weigh()
	r.out.settle()
	return list
}

func (r *run) undecided(b *compiledBinding, because replay.Reason, on string) {
	u := r.policy.undecided(b, because, on)
	u.Params, u.ParamsHash = r.out.Params, r.out.ParamsHash
	*r.out = u
}

// prepare finds out what of the inputs is not known. Where the evaluation as a whole cannot be known, it says why.
func (r *run) prepare() (because replay.Reason, on string) {
	r.levels = r.scope.levels
	r.unknown = r.scope.unknown
	r.objects = &noObjects
	if r.policy.reads(readsObject | readsOldObject) {
		r.objects = r.in(r.as.kind)
		r.unknown = append(slices.Clip(r.unknown), r.objects.missing...)
	}
	if because := r.prepareParams(r.paramsFrom); because != "" {
		return because, "params"
	}
	r.ns = r.namespaceObject()
	if r.ns.absent {
		return replay.NoNamespace, "namespaceObject"
	}
	if r.policy.reads(readsNamespace) {
		r.prepareNamespace()
	}
	if r.policy.reads(readsAuthorizer) {
		r.prepareAuthorizer()
	}
	return "", ""
}

func (r *run) prepareNamespace() {
	evidence := r.ns.known(r.engine.minor)
	r.levels.set(readsNamespace, evidence.Level)
	if evidence.Level == replay.Missing {
		r.add(readsNamespace, evidence.Because, "namespaceObject")
	}
	for _, u := range r.ns.unknown {
		r.add(readsNamespace, u.Because, append([]string{"namespaceObject"}, u.Path...)...)
	}
}

// prepareValues makes the CEL values that are not made on the way.
func (r *run) prepareValues() (because replay.Reason, on string) {
	if !r.policy.reads(readsRequest) {
		return "", ""
	}
	var err error
	if r.matched, err = r.request(r.as); err != nil {
		return replay.NotStored, "request"
	}
	if len(r.policy.matchConditions) > 0 {
		if r.own, err = r.request(target{resource: r.req.Resource, kind: r.as.kind}); err != nil {
			return replay.NotStored, "request"
		}
	}
	return "", ""
}

func (r *run) add(input inputSet, because replay.Reason, path ...string) {
	r.unknown = append(slices.Clip(r.unknown), unknownInput{input: input, path: path, because: because})
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
	r.levels.set(readsParams, params.Level)
	for _, u := range params.Unknown {
		r.add(readsParams, u.Because, append([]string{"params"}, u.Path...)...)
	}
	return ""
}

func (r *run) prepareAuthorizer() {
	var evidence replay.Evidence
	r.user, r.check, r.authz, evidence = r.authorizer()
	r.levels.set(readsAuthorizer, evidence.Level)
	if evidence.Level == replay.Missing {
		r.add(readsAuthorizer, evidence.Because, "authorizer")
		r.add(readsAuthorizer, evidence.Because, "authorizer.requestResource")
	}
}

// activation makes the variables of a phase. Messages and audit annotations have no authorizer, and match conditions no
// namespace, not even one that is not known.
func (r *run) activation(request ref.Val, namespace namespacePart, withAuthorizer bool) *activation {
	known := r.policy.read
	if namespace == noNamespace {
		known &^= readsNamespace
	}
	a := &activation{run: r, request: request, namespace: namespace}
	if withAuthorizer {
		a.authorizer, a.requestResource = r.user, r.check
	} else {
		known &^= readsAuthorizer
	}
	for _, u := range r.unknown {
		if u.input&known != 0 && (namespace != namespaceFields || !hiddenOfNamespace(u.path)) {
			a.unknown |= u.input
			if !slices.Contains(u.path, replay.EachElement) && !r.isPartOfUnknown(u) {
				a.patterns = append(a.patterns, u.pattern())
			}
		}
	}
	return a
}

// isPartOfUnknown says whether more than this is not known. Of two patterns that both fit, cel-go names any.
func (r *run) isPartOfUnknown(part unknownInput) bool {
	return slices.ContainsFunc(r.unknown, func(u unknownInput) bool {
		return len(u.path) < len(part.path) && !slices.Contains(u.path, replay.EachElement) && overlaps(u.path, part.path)
	})
}

// hiddenOfNamespace says whether a path leads to a part of the Namespace that only audit annotations are shown.
func hiddenOfNamespace(path []string) bool {
	return len(path) == 3 && path[0] == "namespaceObject" && path[1] == "metadata" && (path[2] == "managedFields" || path[2] == "ownerReferences")
}

// done takes note of what a phase looked at.
func (r *run) done(a *activation) { r.read |= a.read }

// weigh takes what was looked at into the evaluation's evidence.
func (r *run) weigh() {
	for input := readsObject; input <= readsAuthorizer; input <<= 1 {
		if level := r.levels.of(input); r.read&input != 0 && level != "" && level != replay.Missing {
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
	var because replay.Reason
	for _, u := range r.unknown {
		switch {
		case !overlaps(u.path, path):
		case len(u.path) <= len(path):
			return u.because // All of it is not known.
		case because == "":
			because = u.because
		}
	}
	if because != "" {
		return because
	}
	if r.authz != nil && r.authz.because != "" {
		return r.authz.because
	}
	return replay.NotStored
}
