package jsonobject_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/vapshadow/vapshadow/internal/jsonobject"
)

var texts = []string{
	`{}`, ` { "a" : [ 1 , -2.5 , 1e3 , -0 , 9223372036854775807, 9223372036854775808, true , false , null , {} , [] , "" ] } `,
	`{"metadata":{"name":"a","ownerReferences":[{"name":"b"}]},"a":1,"a":{"b":2},"a":"last"}`,
	`{"a":"\"\\\/\b\f\n\r\t\u00e9\u0000\ud83d\ude00\ud800x\u12"}`, `{"a":"\ud83d\ude00"}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\xc3\xa9é\"}", "{\"a\":\"\x01\"}",
	`{"a":01}`, `{"a":1.}`, `{"a":.1}`, `{"a":1e}`, `{"a":1e400}`, `{"a":-}`, `{"a":+1}`, `{"a":tru}`, `{"a":nul`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":[1,]}`, `{"a":[,]}`,
	`{"a":1}x`, `{"a":1} {}`, `[]`, `null`, `1`, ``, `{`, `{"`, `{"a":"`, `{"a":"\`, `{"a":"\q"}`, `{"a":[`, `{"a":{"b":[{"c":{"d":[[[]]]}}]}}`,
	`{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
}

// decodedByKubernetes is what an apiserver makes of a text.
func decodedByKubernetes(text []byte) map[string]any {
	var whole any
	if json.Unmarshal(text, &whole) == nil {
		if _, isObject := whole.(map[string]any); !isObject {
			return nil
		}
	}
	var out map[string]any
	if kjson.Unmarshal(text, &out) != nil {
		return nil
	}
	return out
}

func TestDecode(t *testing.T) {
	for _, text := range texts {
		if want, got := decodedByKubernetes([]byte(text)), jsonobject.Decode([]byte(text)); !reflect.DeepEqual(want, got) {
			t.Errorf("%.100s: %v, but Kubernetes makes %v of it", text, got, want)
		}
	}
}

// TestDecodeRecorded decodes the bodies of a recorded log.
func TestDecodeRecorded(t *testing.T) {
	bodies := recordedBodies(t)
	if len(bodies) < 20 {
		t.Fatalf("there are %d bodies", len(bodies))
	}
	for _, body := range bodies {
		if want, got := decodedByKubernetes(body), jsonobject.Decode(body); !reflect.DeepEqual(want, got) {
			t.Errorf("%v, but Kubernetes makes %v of it", got, want)
		}
	}
}

func recordedBodies(t testing.TB) (out [][]byte) {
	file, err := os.Open("../../examples/audit.log.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewReader(z); ; {
		line, err := s.ReadBytes('\n')
		if err != nil {
			return out
		}
		var ev struct{ RequestObject, ResponseObject json.RawMessage }
		if err := json.Unmarshal(line, &ev); err != nil {
			t.Fatal(err)
		}
		for _, body := range []json.RawMessage{ev.RequestObject, ev.ResponseObject} {
			if len(body) > 0 && body[0] == '{' {
				out = append(out, body)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range texts {
		if len(text) < 500 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if want, got := decodedByKubernetes(text), jsonobject.Decode(text); !reflect.DeepEqual(want, got) {
			t.Errorf("%v, but Kubernetes makes %v of it", got, want)
		}
	})
}

// BenchmarkDecode decodes recorded bodies, by vapshadow and by Kubernetes' own decoder.
func BenchmarkDecode(b *testing.B) {
	bodies := recordedBodies(b)
	size := 0
	for _, body := range bodies {
		size += len(body)
	}
	for _, by := range []struct {
		name   string
		decode func([]byte)
	}{
		{"vapshadow", func(text []byte) { jsonobject.Decode(text) }},
		{"kubernetes", func(text []byte) { var out map[string]any; _ = kjson.Unmarshal(text, &out) }},
	} {
		b.Run(by.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, body := range bodies {
					by.decode(body)
				}
			}
		})
	}
}
