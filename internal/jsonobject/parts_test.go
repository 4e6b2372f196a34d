package jsonobject_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/vapshadow/vapshadow/internal/jsonobject"
)

// object is one whose spec is long enough to be a part.
func object(name, image string) []byte {
	return fmt.Appendf(nil, `{"metadata":{"name":%q,"labels":{"long":%q}},"spec":{"image":%q,"inner":{"text":%q},"list":[{"text":%q}]}}`,
		name, strings.Repeat("l", 300), image, strings.Repeat("\\u00e9", 100), strings.Repeat("}\\\"", 200))
}

func same(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

func field(m map[string]any, path ...string) map[string]any {
	for _, f := range path {
		m, _ = m[f].(map[string]any)
	}
	return m
}

func TestPartsAreShared(t *testing.T) {
	one, two, other := jsonobject.Decode(object("one", "a")), jsonobject.Decode(object("two", "a")), jsonobject.Decode(object("one", "b"))
	for _, tt := range []struct {
		what string
		a, b map[string]any
		same bool
	}{
		{"equal specs", field(one, "spec"), field(two, "spec"), true},
		{"equal labels of different metadata", field(one, "metadata", "labels"), field(two, "metadata", "labels"), true},
		{"specs that differ", field(one, "spec"), field(other, "spec"), false},
		{"a part of specs that differ", field(one, "spec", "inner"), field(other, "spec", "inner"), true},
		{"whole objects", one, jsonobject.Decode(object("one", "a")), false},
		{"metadata", field(one, "metadata"), field(other, "metadata"), false},
	} {
		if got := same(tt.a, tt.b); got != tt.same {
			t.Errorf("%s: the same is %v", tt.what, got)
		}
	}
	for _, text := range [][]byte{object("one", "a"), object("two", "a"), object("one", "b")} {
		if want, got := decodedByKubernetes(text), jsonobject.Decode(text); !reflect.DeepEqual(want, got) {
			t.Errorf("%v, but Kubernetes makes %v of it", got, want)
		}
	}
}

// TestBrokenAroundParts: what is no JSON is none either where parts of it are known.
func TestBrokenAroundParts(t *testing.T) {
	whole := string(object("one", "a"))
	jsonobject.Decode([]byte(whole))
	for at := range whole {
		for _, text := range []string{whole[:at], whole[:at] + "}" + whole[at:], whole[:at] + whole[at+1:], whole[:at] + "\x01" + whole[at+1:]} {
			if want, got := decodedByKubernetes([]byte(text)), jsonobject.Decode([]byte(text)); !reflect.DeepEqual(want, got) {
				t.Fatalf("%s: %v, but Kubernetes makes %v of it", text, got, want)
			}
		}
	}
}

// TestPartsThatBeginAlike: a part is known by all of its text, however much of it another has too.
func TestPartsThatBeginAlike(t *testing.T) {
	long := strings.Repeat("l", 400)
	texts := []string{
		`{"spec":{"long":"` + long + `"}}`,
		`{"spec":{"long":"` + long + `","more":1}}`,
		`{"spec":{"long":"` + long + `","more":2}}`,
		`{"spec":{"long":"` + long + `"},"status":{"long":"` + long + `","more":1}}`,
		`{"spec":{"long":"` + long + `"},"more":1}`,
		`{"spec":{"long":"` + long + `"`,
		`{"spec":{"long":"` + long + `"}`,
	}
	for range 3 {
		for _, text := range texts {
			if want, got := decodedByKubernetes([]byte(text)), jsonobject.Decode([]byte(text)); !reflect.DeepEqual(want, got) {
				t.Errorf("%s: %v, but Kubernetes makes %v of it", text, got, want)
			}
		}
	}
	first, last := jsonobject.Decode([]byte(texts[1])), jsonobject.Decode([]byte(texts[3]))
	if !same(field(first, "spec"), field(last, "status")) {
		t.Error("the same text, in another field, is another part")
	}
}

func TestOnce(t *testing.T) {
	calls := 0
	ask := func(of map[string]any, question any) int {
		return jsonobject.Once(of, question, func() int { calls++; return len(of) })
	}
	shared, own := field(jsonobject.Decode(object("one", "once")), "spec"), map[string]any{"a": 1, "b": 2}
	for range 3 {
		if got := ask(shared, "size"); got != 3 {
			t.Errorf("of a part: %d", got)
		}
	}
	if calls != 1 {
		t.Errorf("worked out %d times", calls)
	}
	if ask(shared, "other"); calls != 2 {
		t.Errorf("another question was worked out %d times", calls-1)
	}
	for range 3 {
		if got := ask(own, "size"); got != 2 {
			t.Errorf("of another value: %d", got)
		}
	}
	if calls != 5 {
		t.Errorf("of another value: worked out %d times", calls-2)
	}
	// However many questions are asked, the answers are right.
	for i := range 100 {
		if got := jsonobject.Once(shared, i, func() int { return i }); got != i {
			t.Errorf("question %d: %d", i, got)
		}
	}
}

// TestPartsAreForgotten: however many parts there are, a bounded number of them is remembered, those that come again first.
func TestPartsAreForgotten(t *testing.T) {
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	text := func(i int) []byte {
		return fmt.Appendf(nil, `{"spec":{"n":%d,"text":%q}}`, i, strings.Repeat("x", 2000))
	}
	before := heap()
	often := field(jsonobject.Decode(text(-1)), "spec")
	once := field(jsonobject.Decode(text(-2)), "spec")
	jsonobject.Once(once, "number", func() int { return -2 })
	for i := range 12_000 { // 24 MB
		spec := field(jsonobject.Decode(text(i)), "spec")
		if got := jsonobject.Once(spec, "number", func() int { return i }); got != i {
			t.Fatalf("part %d has the answer of %d", i, got)
		}
		if i%100 == 0 && !same(often, field(jsonobject.Decode(text(-1)), "spec")) {
			t.Fatalf("a part that came often was forgotten at part %d", i)
		}
	}
	if same(once, field(jsonobject.Decode(text(-2)), "spec")) {
		t.Error("a part that came once is still remembered")
	}
	if grown := int64(heap()) - int64(before); grown > 40<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

func TestPartsInParallel(t *testing.T) {
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 500 {
				got := jsonobject.Decode(object(fmt.Sprint(n), fmt.Sprint(i%50)))
				image := jsonobject.Once(field(got, "spec"), "image", func() any { return field(got, "spec")["image"] })
				if image != fmt.Sprint(i%50) {
					t.Errorf("image %v instead of %d", image, i%50)
				}
			}
		})
	}
	all.Wait()
}
