package enforcement

import "slices"

// namespaceLabel is the label that each namespace has with its own name.
const namespaceLabel = "kubernetes.io/metadata.name"

// binding is a ValidatingAdmissionPolicyBinding. All that is not changed stays as it is, whatever it is.
type binding struct{ object, spec map[string]any }

func (b *binding) denies() bool {
	actions, _ := b.spec["validationActions"].([]any)
	return slices.Contains(actions, any("Deny"))
}

func (b *binding) setActions(actions ...any) { b.spec["validationActions"] = actions }

func (b *binding) rename(name string) { child(b.object, "metadata")["name"] = name }

// narrow adds a condition on the namespace. The conditions that are there hold too.
func (b *binding) narrow(operator string, names []any) {
	selector := child(child(b.spec, "matchResources"), "namespaceSelector")
	expressions, _ := selector["matchExpressions"].([]any)
	selector["matchExpressions"] = append(expressions, map[string]any{"key": namespaceLabel, "operator": operator, "values": names})
}

// child is a field that holds fields, and is made where it is not there.
func child(of map[string]any, name string) map[string]any {
	c, ok := of[name].(map[string]any)
	if !ok {
		c = map[string]any{}
		of[name] = c
	}
	return c
}
