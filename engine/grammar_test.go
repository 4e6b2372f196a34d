package engine_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// grammar draws expressions of CEL, well typed as far as types are known before an object is, and often in error. None
// tells in which order a map is walked, which is random.
type grammar struct {
	t *rapid.T
	// variables are the names of the policy's variables by type.
	variables map[string][]string
	// locals are the names that comprehensions have bound to strings.
	locals []string
	// fewChecks: an expression asks the authorizer once at most, so that it does not reach the cost limit by that. A check
	// costs 350,000 of 1,000,000.
	fewChecks, asked bool
	// dear: expressions may cost half of what a call may cost.
	dear bool
}

// The types of the grammar.
const (
	boolean = "bool"
	integer = "int"
	text    = "string"
	list    = "list" // of strings
)

// whole draws an expression of a type, of at most the given depth.
func (g *grammar) whole(of string, depth int) string {
	g.asked = false
	return g.expression(of, depth)
}

// expression draws an expression that can be a part of another.
func (g *grammar) expression(of string, depth int) string {
	if names := g.variables[of]; len(names) > 0 && g.one(5) {
		return "variables." + rapid.SampledFrom(names).Draw(g.t, "variable")
	}
	forms := atoms[of]
	if depth > 0 && !g.one(5) {
		forms = compounds[of]
	}
	form := rapid.SampledFrom(forms).Draw(g.t, of)
	return g.fill(form, depth-1)
}

// one is true once in n times.
func (g *grammar) one(n int) bool { return rapid.IntRange(1, n).Draw(g.t, "one in") == 1 }

// fill replaces the holes of a form: <B>, <I>, <S> and <L> are expressions by type, <Bx> and <Sx> the name and the body
// of a comprehension, <x> a name that one has bound. A form has no other less-than sign.
func (g *grammar) fill(form string, depth int) string {
	var out strings.Builder
	for i := 0; i < len(form); i++ {
		switch c := form[i]; c {
		case '<':
			end := strings.IndexByte(form[i:], '>') + i
			out.WriteString(g.hole(form[i+1:end], depth))
			i = end
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// hole fills one hole: a type, or a body in which x is bound, or something of a kind of its own.
func (g *grammar) hole(name string, depth int) string {
	switch name {
	case "B", "I", "S", "L":
		return g.expression(map[string]string{"B": boolean, "I": integer, "S": text, "L": list}[name], depth)
	case "Bx", "Sx":
		g.locals = append(g.locals, fmt.Sprintf("x%d", len(g.locals)))
		defer func() { g.locals = g.locals[:len(g.locals)-1] }()
		return g.local() + ", " + g.expression(map[string]string{"Bx": boolean, "Sx": text}[name], depth)
	case "x":
		if len(g.locals) == 0 {
			return "'free'"
		}
		return rapid.SampledFrom(g.locals).Draw(g.t, "local")
	case "object":
		return rapid.SampledFrom([]string{"object", "oldObject"}).Draw(g.t, "object")
	case "key":
		return rapid.SampledFrom([]string{"a", "b", "k"}).Draw(g.t, "key")
	case "authorizer":
		if g.fewChecks && (g.asked || len(g.locals) > 0) {
			return "true"
		}
		g.asked = true
		verb := rapid.SampledFrom([]string{"create", "get", "destroy"}).Draw(g.t, "verb")
		return fmt.Sprintf("authorizer.requestResource.check('%s').allowed()", verb)
	case "dear":
		if !g.dear {
			return "false"
		}
		return "variables.big.contains(variables.half)"
	}
	panic("no hole " + name)
}

// local is the name that was bound last.
func (g *grammar) local() string { return g.locals[len(g.locals)-1] }

var atoms = map[string][]string{
	boolean: {
		"true", "false", "has(<object>.metadata.labels)", "has(<object>.spec.replicas)", "has(<object>.metadata.labels.<key>)",
		"<object> == null", "<object> != null", "object == oldObject", "object.spec == oldObject.spec", "has(<object>.spec)",
		"object.metadata == oldObject.metadata", "request.operation == 'CREATE'", "request.dryRun", "has(request.name)",
		"namespaceObject.metadata.labels.env == 'prod'", "namespaceObject == null", "'<key>' in <object>.metadata.labels",
		"<object>.?spec.?replicas.hasValue()", "<object>.?metadata.?labels[?'<key>'].hasValue()", "params == null",
		"params.data.max == '1'", "<authorizer>", "<dear>", "has(<object>.metadata.managedFields)", "type(<object>.spec.replicas) == int",
		"<object>.metadata.labels == {'a': 'b'}", "<object>.spec.list == ['a', 'b']", "'a' in <object>.spec.list",
		"<object>.metadata.labels.all(k, k != 'b')", "<object>.metadata.labels.exists(k, v, k == 'a' && v == 'b')",
		"has(request.options.fieldManager)", "[object, oldObject].exists(o, o.metadata.name == 'a')",
	},
	integer: {
		"0", "1", "2", "<object>.spec.replicas", "size(<object>.metadata.labels)", "size(<object>.metadata.name)", "1 / 0",
		"<object>.?spec.?replicas.orValue(1)", "int(params.data.max)", "<object>.spec.list.size()", "size(<object>.spec)",
	},
	text: {
		"'a'", "'b'", "''", "<object>.metadata.name", "<object>.metadata.labels.<key>", "<object>.metadata.labels['<key>']",
		"request.userInfo.username", "request.name", "<object>.?metadata.?labels.?<key>.orValue('none')", "<x>", "<x>",
		"namespaceObject.metadata.name", "<object>.spec.list[0]", "<object>.nothing.at.all", "params.data.max",
		"<object>.metadata[?'name'].orValue('a')", "string(<object>.spec.replicas)", "<object>.kind",
	},
	list: {
		"[]", "['a', 'b']", "<object>.spec.list", "<object>.metadata.labels.map(k, k).sort()", "request.userInfo.groups",
		"<object>.?spec.?list.orValue(['a'])", "[?<object>.?metadata.?labels.?<key>]",
	},
}

var compounds = map[string][]string{
	boolean: {
		"(<B> || <B>)", "(<B> && <B>)", "!(<B>)", "(<B> ? <B> : <B>)", "<I> > <I>", "<I> == <I>", "<S> == <S>", "<S> in <L>",
		"<L>.all(<Bx>)", "<L>.exists(<Bx>)", "<L>.exists_one(<Bx>)", "<S>.startsWith(<S>)", "<S>.contains(<S>)", "<S>.matches('^[a-b]*$')",
		"<L> == <L>", "dyn(<S>) == dyn(<I>)", "sets.contains(<L>, <L>)", "<L>.isSorted()",
		"{'k': <B>}.k", "[<B>, <B>][0]", "[<B>][<I>]", "optional.of(<B>).orValue(true)", "{<S>: <B>}['a']", "{<S>: <I>} == {'a': 1}",
		"has({'k': <S>}.k)", "optional.of(<S>).hasValue()", "optional.ofNonZeroValue(<S>).hasValue()", "<S> in {<S>: 1}",
		"<L>.exists(<Bx>) || <B>", "(<B> ? object : oldObject).metadata.name == 'a'", "<object>.metadata.labels[<S>] == <S>",
		"<L>.all(i, v, v != <S> && 2 > i)", "isQuantity(<S>)", "<object>.metadata.labels.all(k, <object>.metadata.labels[?k].orValue('') == 'b')",
		"[1, 2].all(i, i > <I> && <B>)", "optional.of(<S>).optMap(z, z + 'a').orValue('') == 'aa'", "<L>.exists_one(<Bx>) && <B>",
	},
	integer: {
		"(<I> + <I>)", "(<I> - <I>)", "(<I> * <I>)", "(<I> / <I>)", "(<I> % <I>)", "size(<S>)", "size(<L>)", "int(<S>)",
		"(<B> ? <I> : <I>)", "<L>.map(<Sx>).size()", "<L>.filter(<Bx>).size()", "[<I>, <I>][0]", "<S>.indexOf(<S>)",
		"<L>.map(<Sx>).indexOf(<S>)", "[<I>, <I>].max()", "[<I>, <I>].sum()", "{'k': <I>}.size()", "quantity(<S>).asInteger()",
	},
	text: {
		"(<S> + <S>)", "(<B> ? <S> : <S>)", "string(<I>)", "string(<B>)", "<L>[<I>]", "<S>.upperAscii()", "<S>.substring(<I>)",
		"<L>.join('-')", "'%s/%d'.format([<S>, <I>])", "<S>.replace(<S>, <S>)", "{'k': <S>}['k']", "{<S>: <S>}[<S>]",
		"<L>.map(<Sx>).join('')", "optional.of(<S>).orValue(<S>)", "optional.none().orValue(<S>)", "<object>.metadata.labels[<S>]",
		"[<S>, <S>][<I>]", "<L>.filter(<Bx>)[0]", "'%s'.format([<L>])", "<S>.split('a')[0]", "<L>[?<I>].orValue(<S>)",
	},
	list: {
		"[<S>, <S>]", "(<L> + <L>)", "<L>.map(<Sx>)", "<L>.filter(<Bx>)", "(<B> ? <L> : <L>)", "<S>.split('')", "<L>.distinct()",
		"[?optional.of(<S>)]", "<L>.sort()", "[[<S>], <L>].flatten()", "<L>.slice(0, 1)", "{<S>: <I>}.map(k, k)",
	},
}
