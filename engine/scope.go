package engine

import (
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/vapshadow/vapshadow/engine/convert"
	"github.com/vapshadow/vapshadow/engine/value"
	"github.com/vapshadow/vapshadow/replay"
)

// scope is one request on its way through the policies: the inputs as CEL values, made when the first policy asks for
// them and shared by all that follow.
type scope struct {
	engine *Engine
	req    *replay.Request

	objects   []*objects
	requests  map[target]ref.Val
	namespace *namespaceValues
	authz     *authorizer
	authzDone bool
	user      ref.Val
	resource  ref.Val

	// matches are what the criteria came to that were asked for last.
	matches []scopeMatch

	// unknown are the parts of object, oldObject and request that are not known.
	unknown []unknownInput
	levels  inputLevels
	// trace is nil where nobody asks how the evaluations came about.
	trace *trace

	// spare is a run that is done with.
	spare *run

	// digests are those of the places of the memory, by their number; asOf is that of asTarget.
	places   []place
	digests  []placeDigest
	asOf     digest
	asTarget target
	asKnown  bool
}

// objects are object and oldObject in one version of their kind.
type objects struct {
	kind schema.GroupVersionKind
	// goType is the Go struct that they are shown as; nil where they are shown as their JSON is.
	goType            reflect.Type
	object, oldObject input
	// missing is why they cannot be had in that version.
	missing []unknownInput
	// converted: the request has them in another version.
	converted bool
}

var noObjects = objects{object: input{value: types.NullValue}, oldObject: input{value: types.NullValue}}

func newScope(e *Engine, req *replay.Request) *scope {
	s := &scope{
		engine: e, req: req,
		requests: map[target]ref.Val{},
	}
	s.levels.set(readsObject, req.Object.Level)
	s.levels.set(readsOldObject, req.OldObject.Level)
	s.levels.set(readsRequest, replay.Exact)
	s.addObject(readsObject, "object", req.Object)
	s.addObject(readsOldObject, "oldObject", req.OldObject)
	for _, u := range req.Unknown {
		s.add(readsRequest, append([]string{"request"}, u.Path...), u.Because)
	}
	if req.Options.Level == replay.Missing {
		s.add(readsRequest, []string{"request", "options"}, req.Options.Because)
	}
	if req.Kind.Empty() {
		s.add(readsRequest, []string{"request", "kind"}, replay.UnknownKind)
		s.add(readsRequest, []string{"request", "requestKind"}, replay.UnknownKind)
	}
	return s
}

// scopeMatch is what criteria came to.
type scopeMatch struct {
	of *criteria
	as target
	is match
}

// recentMatches is how many of them are remembered.
const recentMatches = 4

// match says whether criteria match the request.
func (s *scope) match(c *criteria) (target, match) {
	for i := range s.matches {
		if m := &s.matches[i]; m.of == c {
			return m.as, m.is
		}
	}
	if s.matches == nil {
		s.matches = make([]scopeMatch, 0, recentMatches)
	}
	if len(s.matches) == recentMatches {
		s.matches = append(s.matches[:0], s.matches[1:]...)
	}
	as, is := c.matches(s.req)
	s.matches = append(s.matches, scopeMatch{c, as, is})
	return as, is
}

func (s *scope) addObject(input inputSet, name string, o replay.Object) {
	if o.Level == replay.Missing {
		s.add(input, []string{name}, o.Because)
		return
	}
	for _, u := range o.Unknown {
		s.add(input, append([]string{name}, u.Path...), u.Because)
	}
}

func (s *scope) add(input inputSet, path []string, because replay.Reason) {
	s.unknown = append(s.unknown, unknownInput{input: input, path: path, because: because})
}

// in returns object and oldObject in the version that a policy asked for.
func (s *scope) in(kind schema.GroupVersionKind) *objects {
	for _, o := range s.objects {
		if o.kind == kind {
			return o
		}
	}
	o := &objects{kind: kind, goType: s.goType(kind), converted: converted(s.req.Object, kind) || converted(s.req.OldObject, kind)}
	var because replay.Reason
	o.object, because = s.input("object", s.req.Object, kind, s.decoded())
	if because != "" {
		o.missing = append(o.missing, unknownInput{input: readsObject, path: []string{"object"}, because: because})
	}
	o.oldObject, because = s.input("oldObject", s.req.OldObject, kind, false)
	if because != "" {
		o.missing = append(o.missing, unknownInput{input: readsOldObject, path: []string{"oldObject"}, because: because})
	}
	s.objects = append(s.objects, o)
	return o
}

func (s *scope) goType(kind schema.GroupVersionKind) reflect.Type {
	if s.engine.minor < typedMinor {
		return nil
	}
	return goTypes[kind]
}

// converted says whether an object has to be converted to be of a kind.
func converted(o replay.Object, to schema.GroupVersionKind) bool {
	return o.Content != nil && gvkOf(o.Content) != to
}

func gvkOf(content map[string]any) schema.GroupVersionKind {
	version, _ := content["apiVersion"].(string)
	name, _ := content["kind"].(string)
	return schema.FromAPIVersionAndKind(version, name)
}

// decoded says whether the apiserver decoded the object from the version that the request names.
func (s *scope) decoded() bool {
	version, _ := s.req.Object.Content["apiVersion"].(string)
	writes := s.req.Operation == replay.Create || s.req.Operation == replay.Update
	return writes && s.req.SubResource == "" && version == s.req.Kind.GroupVersion().String()
}

// input makes the CEL value of an object in a version of its kind, or says why it cannot.
func (s *scope) input(variable string, o replay.Object, kind schema.GroupVersionKind, decoded bool) (input, replay.Reason) {
	null := input{value: types.NullValue}
	if o.Content == nil {
		return null, ""
	}
	content := o.Content
	if converted(o, kind) {
		if because := unconvertible(o); because != "" {
			return null, because
		}
		strategy, custom := s.req.View.Resources().Custom(s.req.Resource)
		converted, err := convert.Converter{Minor: s.engine.minor, Decoded: decoded}.Convert(content, kind, custom, strategy)
		if err != nil {
			return null, replay.NoConversion
		}
		content = converted
	}
	in, err := celInput(content, kind, s.goType(kind), func(content map[string]any) map[string]any {
		return readFields(s.engine.memory.places.all(), inputNames[variable], content)
	})
	if err != nil {
		return null, replay.NoConversion
	}
	if holes := holesOf(variable, o); len(holes) > 0 {
		whole := in
		in = input{make: func() ref.Val { return value.WithHoles(whole.get(), holes) }}
	}
	return in, ""
}

// unconvertible says why an object cannot be had in another version, if parts of it are not known that a conversion
// may move. Metadata stays where it is.
func unconvertible(o replay.Object) replay.Reason {
	for _, u := range o.Unknown {
		if u.Path[0] != "metadata" {
			return u.Because
		}
	}
	return ""
}

// holesOf are the parts of an object that are not known and that an attribute pattern cannot name: those below the
// elements of a list.
func holesOf(variable string, o replay.Object) [][]string {
	var holes [][]string
	for _, u := range o.Unknown {
		if slices.Contains(u.Path, replay.EachElement) {
			holes = append(holes, append([]string{variable}, u.Path...))
		}
	}
	return holes
}

// request is `request` as a policy that matched as the given target sees it.
func (s *scope) request(as target) (ref.Val, error) {
	if v, ok := s.requests[as]; ok {
		return v, nil
	}
	v, err := structValue(s.engine.minor, admissionRequest(s.req, as))
	if err == nil {
		s.requests[as] = v
	}
	return v, err
}

// authorizer returns the values of `authorizer` and `authorizer.requestResource`.
func (s *scope) authorizer() (user, resource ref.Val, authz *authorizer, e replay.Evidence) {
	state, evidence := s.req.View.RBAC()
	if because := s.userUnknown(); because != "" {
		evidence = replay.Evidence{Level: replay.Missing, Because: because}
	}
	if evidence.Level == replay.Missing {
		return types.NullValue, types.NullValue, nil, evidence
	}
	if !s.authzDone {
		s.authzDone = true
		states, err := s.engine.rbac.get(s.req.View, state)
		if err == nil {
			s.authz = &authorizer{states: states}
			info := userOf(s.req)
			s.user = library.NewAuthorizerVal(info, s.authz)
			s.resource = library.NewResourceAuthorizerVal(info, s.authz, requestResource{s.req})
		}
	}
	if s.authz == nil {
		return types.NullValue, types.NullValue, nil, replay.Evidence{Level: replay.Missing, Because: replay.NoRBAC}
	}
	return s.user, s.resource, s.authz, evidence
}

// userUnknown says why the user cannot be told that RBAC would be asked about; empty where it can be.
func (s *scope) userUnknown() replay.Reason {
	for _, u := range s.req.Unknown {
		if u.Path[0] == "userInfo" && (len(u.Path) == 1 || u.Path[1] == "username" || u.Path[1] == "groups") {
			return u.Because
		}
	}
	return ""
}
