package engine

import (
	"slices"
	"strings"

	celast "github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/vapshadow/vapshadow/replay"
)

// Needs says whether some verdict can hang on what an object of a resource was before a request, in any version of the
// resource and any of its subresources. It answers by the rules and expressions of the policies alone, and says yes
// where they leave it open.
func (e *Engine) Needs(group, resource string) bool {
	for _, c := range e.policies {
		if c.takesParams(e.builtin, group, resource) {
			return true
		}
		if c.constraints.err != nil || !c.constraints.names(group, resource) {
			continue
		}
		for _, b := range c.bindings {
			if (b.constraints == nil || b.constraints.names(group, resource)) && c.looksBack(b, group, resource) {
				return true
			}
		}
	}
	return false
}

// takesParams says whether objects of a resource may be params of the policy. The resource of a custom kind hangs on
// its definition, which may change, so that any of its group will do.
func (c *compiled) takesParams(builtin func() *replay.Resources, group, resource string) bool {
	kind := c.policy.Spec.ParamKind
	if kind == nil {
		return false
	}
	gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	if gvr, _, ok := builtin().Resource(gvk); ok {
		return gvr.Group == group && gvr.Resource == resource
	}
	return gvk.Group == group
}

// names says whether some rule names a resource, whatever the version, subresource, operation, scope and name.
func (c *criteria) names(group, resource string) bool {
	return len(c.rules) == 0 || slices.ContainsFunc(c.rules, func(rule admissionv1.NamedRuleWithOperations) bool {
		return namesResource(&rule.RuleWithOperations, group, resource)
	})
}

func namesResource(rule *admissionv1.RuleWithOperations, group, resource string) bool {
	if !slices.ContainsFunc(sameObjects(group, resource), func(g string) bool { return anyOf(rule.APIGroups, g) }) {
		return false
	}
	return slices.ContainsFunc(rule.Resources, func(pattern string) bool {
		name, _, _ := strings.Cut(pattern, "/")
		return name == "*" || name == resource
	})
}

// sameObjects are the groups through which the objects of a resource are reached.
func sameObjects(group, resource string) []string {
	if resource == "events" && (group == "" || group == "events.k8s.io") {
		return []string{"", "events.k8s.io"}
	}
	return []string{group}
}

// looksBack says whether the policy with a binding hangs on the object before. Its expressions may read it; so they do
// where they read object, whose resourceVersion is that of the object before, and of which a response may show a part.
// And whether there was one tells a failed create from a failed update, which rules, request.operation and
// request.options tell apart.
func (c *compiled) looksBack(b *compiledBinding, group, resource string) bool {
	if c.reads(readsObject|readsOldObject) || c.readsOperation() {
		return true
	}
	for _, of := range []*criteria{c.constraints, b.constraints} {
		if of != nil && of.looksBack(group, resource) {
			return true
		}
	}
	return false
}

func (c *criteria) looksBack(group, resource string) bool {
	if c.objectErr != nil || !c.objects.Empty() {
		return true
	}
	for _, rule := range slices.Concat(c.rules, c.excludes) {
		r := &rule.RuleWithOperations
		if namesResource(r, group, resource) && matchOperation(r, replay.Create) != matchOperation(r, replay.Update) {
			return true
		}
	}
	return false
}

// readsOperation says whether some expression can read request.operation or request.options.
func (c *compiled) readsOperation() bool {
	for _, e := range c.expressions() {
		if e.readsOperation() {
			return true
		}
	}
	return false
}

// expressions are all expressions of the policy.
func (c *compiled) expressions() []*expression {
	var out []*expression
	for _, named := range slices.Concat(c.variables, c.matchConditions, c.annotations) {
		out = append(out, named.expression)
	}
	for _, v := range c.validations {
		out = append(out, v.expression)
	}
	return append(out, c.messages...)
}

// readsOperation says whether the expression reads request.operation or request.options, or may do so since it names
// `request` as a whole.
func (e *expression) readsOperation() bool {
	if e == nil || e.ast == nil {
		return false
	}
	named, elsewhere := 0, 0
	celast.PreOrderVisit(e.ast.NativeRep().Expr(), celast.NewExprVisitor(func(node celast.Expr) {
		switch node.Kind() {
		case celast.IdentKind:
			if name, _, _ := strings.Cut(node.AsIdent(), "."); name == plugincel.RequestVarName {
				named++
			}
		case celast.SelectKind:
			s := node.AsSelect()
			of := s.Operand()
			if of.Kind() == celast.IdentKind && of.AsIdent() == plugincel.RequestVarName && s.FieldName() != "operation" && s.FieldName() != "options" {
				elsewhere++
			}
		}
	}))
	return named != elsewhere
}
