package replay

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:embed resources_builtin.txt
var builtinText string

// builtinLines is the parsed table. It is part of the binary, so a fault in it is a fault of the program.
var builtinLines = sync.OnceValue(func() []builtinResource {
	lines, err := parseBuiltin(builtinText)
	if err != nil {
		panic(fmt.Sprintf("reading the table of built-in resources: %v", err))
	}
	return lines
})

// BuiltinResources returns the resources of a kube-apiserver 1.minor, with those versions served that are so by
// default. The table begins with 1.30, which also stands for what is older; a minor that is newer than the table has
// the newest resources that the table knows.
func BuiltinResources(minor int) *Resources {
	minor = max(minor, 30)
	groups := map[string][]*resource{}
	for _, line := range builtinLines() {
		if line.minors.include(minor) {
			groups[line.Group] = append(groups[line.Group], line.at(minor))
		}
	}
	r := &Resources{groups: make(map[string]*resourceGroup, len(groups)), crds: map[string]string{}}
	for name, resources := range groups {
		r.groups[name] = newResourceGroup(resources, true)
	}
	return r
}

// builtinResource is a line of the table.
type builtinResource struct {
	resource
	minors       minors
	subresources []builtinSubresource
}

type builtinSubresource struct {
	name   string
	kind   schema.GroupVersionKind
	minors minors
}

// minors is a range of minor versions, both ends included.
type minors struct{ first, last int }

func (m minors) include(minor int) bool { return m.first <= minor && minor <= m.last }

func (b *builtinResource) at(minor int) *resource {
	res := b.resource
	res.subresources = map[string]schema.GroupVersionKind{}
	for _, sub := range b.subresources {
		if sub.minors.include(minor) {
			res.subresources[sub.name] = sub.kind
		}
	}
	return &res
}

func parseBuiltin(text string) ([]builtinResource, error) {
	var out []builtinResource
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		b, err := parseBuiltinLine(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		out = append(out, b)
	}
	return out, nil
}

func parseBuiltinLine(fields []string) (b builtinResource, err error) {
	if len(fields) < 6 {
		return b, fmt.Errorf("want at least 6 fields, not %d", len(fields))
	}
	gv, err := schema.ParseGroupVersion(fields[0])
	if err != nil {
		return b, err
	}
	b.GroupVersionResource = gv.WithResource(fields[1])
	b.kind = gv.WithKind(fields[2])
	if b.namespaced = fields[3] == "Namespaced"; !b.namespaced && fields[3] != "Cluster" {
		return b, fmt.Errorf("scope %q is neither Namespaced nor Cluster", fields[3])
	}
	if b.minors, err = parseMinors(fields[4]); err != nil {
		return b, err
	}
	if b.served = fields[5] == "default"; !b.served && fields[5] != "optional" {
		return b, fmt.Errorf("%q is neither default nor optional", fields[5])
	}
	for _, field := range fields[6:] {
		sub, err := parseBuiltinSubresource(field, b.kind)
		if err != nil {
			return b, fmt.Errorf("subresource %q: %w", field, err)
		}
		b.subresources = append(b.subresources, sub)
	}
	return b, nil
}

// parseBuiltinSubresource reads NAME[=KIND|=GROUP/VERSION.KIND][@MINORS].
func parseBuiltinSubresource(field string, parent schema.GroupVersionKind) (sub builtinSubresource, err error) {
	field, span, spanned := strings.Cut(field, "@")
	sub.minors = minors{0, math.MaxInt}
	if spanned {
		if sub.minors, err = parseMinors(span); err != nil {
			return sub, err
		}
	}
	name, kind, other := strings.Cut(field, "=")
	sub.name, sub.kind = name, parent
	if !other {
		return sub, nil
	}
	sub.kind.Kind = kind
	if dot := strings.LastIndex(kind, "."); dot >= 0 {
		gv, err := schema.ParseGroupVersion(kind[:dot])
		if err != nil {
			return sub, err
		}
		sub.kind = gv.WithKind(kind[dot+1:])
	}
	return sub, nil
}

// parseMinors reads FIRST-LAST or FIRST-.
func parseMinors(span string) (m minors, err error) {
	first, last, _ := strings.Cut(span, "-")
	if m.first, err = strconv.Atoi(first); err != nil {
		return m, fmt.Errorf("minors %q: %w", span, err)
	}
	m.last = math.MaxInt
	if last != "" {
		if m.last, err = strconv.Atoi(last); err != nil {
			return m, fmt.Errorf("minors %q: %w", span, err)
		}
	}
	return m, nil
}
