package engine

import (
	"maps"
	"strings"
	"sync"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
)

// place is a part of an input that an expression reads: object.spec.replicas. What an expression comes to, and what it
// costs, hangs on the places that it reads and on nothing else.
type place struct {
	input inputSet
	// fields lead from the input to the part; none stand for the input as a whole.
	fields []string
	// isNull: nothing but whether the input is null is read.
	isNull bool
}

func (p place) key() string {
	key := string(rune(p.input))
	if p.isNull {
		key += "?"
	}
	return key + "\x00" + strings.Join(p.fields, "\x00")
}

// places numbers the places that the policies of an Engine, and of those made from it, read.
type places struct {
	mu     sync.RWMutex
	list   []place
	number map[string]int32
}

func newPlaces() *places { return &places{number: map[string]int32{}} }

func (p *places) of(at place) int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := at.key()
	n, ok := p.number[key]
	if !ok {
		n = int32(len(p.list))
		p.list = append(p.list, at)
		p.number[key] = n
	}
	return n
}

// all are the places that are numbered so far. Their numbers stay.
func (p *places) all() []place {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.list
}

// placeFinder finds the places that expressions read, and the variables.
type placeFinder struct {
	found map[string]place
	seen  map[string]bool
	// allVariables: `variables` is read in a way that is not followed.
	allVariables bool
}

// placesOf are the places that any of some expressions of a policy reads, through variables too.
func (c *compiled) placesOf(expressions []*expression) map[string]place {
	f := &placeFinder{found: map[string]place{}, seen: map[string]bool{}}
	for _, e := range expressions {
		f.expression(e)
	}
	for again := true; again; {
		again = false
		for _, v := range c.variables {
			if (f.allVariables || f.seen[v.name]) && !f.seen["\x00"+v.name] {
				f.seen["\x00"+v.name], again = true, true
				f.expression(v.expression)
			}
		}
	}
	return f.found
}

func (f *placeFinder) expression(e *expression) {
	if e != nil && e.ast != nil {
		f.walk(e.ast.NativeRep().Expr())
	}
}

func (f *placeFinder) walk(node celast.Expr) {
	if name, ok := testsForNull(node); ok {
		f.add(place{input: inputNames[name], isNull: true})
		return
	}
	if root, fields, _, ok := f.chain(node); ok {
		f.reads(root, fields)
		return
	}
	switch node.Kind() {
	case celast.SelectKind:
		f.walk(node.AsSelect().Operand())
	case celast.CallKind:
		call := node.AsCall()
		if call.IsMemberFunction() {
			f.walk(call.Target())
		}
		f.walkAll(call.Args())
	case celast.ListKind:
		f.walkAll(node.AsList().Elements())
	case celast.MapKind:
		for _, entry := range node.AsMap().Entries() {
			f.walk(entry.AsMapEntry().Key())
			f.walk(entry.AsMapEntry().Value())
		}
	case celast.StructKind:
		for _, field := range node.AsStruct().Fields() {
			f.walk(field.AsStructField().Value())
		}
	case celast.ComprehensionKind:
		c := node.AsComprehension()
		f.walkAll([]celast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()})
	}
}

func (f *placeFinder) walkAll(nodes []celast.Expr) {
	for _, node := range nodes {
		f.walk(node)
	}
}

// chain follows selections, a.b['c'].?d, down to the name that they begin with. It is closed behind a step that is not
// known before evaluation, or that leads into a list: what is selected from there on does not narrow the place.
func (f *placeFinder) chain(node celast.Expr) (root string, fields []string, closed, ok bool) {
	switch node.Kind() {
	case celast.IdentKind:
		root, field, dotted := strings.Cut(node.AsIdent(), ".")
		if dotted { // authorizer.requestResource is a variable of that name.
			fields = []string{field}
		}
		return root, fields, dotted, true
	case celast.SelectKind:
		root, fields, closed, ok = f.chain(node.AsSelect().Operand())
		if ok && !closed {
			fields = append(fields, node.AsSelect().FieldName())
		}
		return root, fields, closed, ok
	case celast.CallKind:
		call := node.AsCall()
		switch call.FunctionName() {
		case operators.OptSelect, operators.Index, operators.OptIndex:
		default:
			return "", nil, false, false
		}
		root, fields, closed, ok = f.chain(call.Args()[0])
		if !ok {
			return "", nil, false, false
		}
		if field, literal := stringLiteral(call.Args()[1]); !literal {
			f.walk(call.Args()[1])
			closed = true
		} else if !closed {
			fields = append(fields, field)
		}
		return root, fields, closed, true
	}
	return "", nil, false, false
}

func stringLiteral(node celast.Expr) (string, bool) {
	if node.Kind() != celast.LiteralKind {
		return "", false
	}
	s, ok := node.AsLiteral().(types.String)
	return string(s), ok
}

func (f *placeFinder) reads(root string, fields []string) {
	switch {
	case root == plugincel.VariableVarName && len(fields) > 0:
		f.seen[fields[0]] = true
	case root == plugincel.VariableVarName:
		f.allVariables = true
	case inputNames[root] != 0:
		f.add(place{input: inputNames[root], fields: fields})
	}
}

func (f *placeFinder) add(p place) { f.found[p.key()] = p }

// readFields is what of an object some place leads to: to make a Go struct of the rest would be for nothing. It is the
// fields at the top, and all of metadata but the managedFields, which are long.
func readFields(places []place, of inputSet, content map[string]any) map[string]any {
	fields := map[string]bool{"apiVersion": true, "kind": true, "metadata": true}
	managed := false
	for _, p := range places {
		switch {
		case p.input != of || p.isNull:
			continue
		case len(p.fields) == 0:
			return content
		case p.fields[0] == "metadata":
			managed = managed || len(p.fields) == 1 || p.fields[1] == "managedFields"
		}
		fields[p.fields[0]] = true
	}
	out := make(map[string]any, len(fields))
	for field, value := range content {
		if fields[field] {
			out[field] = value
		}
	}
	if metadata, ok := content["metadata"].(map[string]any); ok && !managed && metadata["managedFields"] != nil {
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		out["metadata"] = metadata
	}
	return out
}
