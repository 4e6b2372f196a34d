package value_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type (
	word  string
	count uint16

	inline struct {
		Inline string `json:"inline"`
		Empty  string `json:"empty,omitempty"`
	}
	Absent struct {
		Gone string `json:"gone"`
	}
	// byPointer writes its JSON only where it has an address.
	byPointer struct{ Text string }
	broken    struct{}

	// everything has a field of each kind of Go type, some of which no API type has.
	everything struct {
		Inline  inline `json:"inlined"`
		*Absent `json:",inline"`

		Bool     bool                 `json:"bool"`
		Int8     int8                 `json:"int8"`
		Uint     uint                 `json:"uint"`
		Count    count                `json:"count"`
		Overflow uint64               `json:"overflow"`
		Float32  float32              `json:"float32"`
		Float64  float64              `json:"float64"`
		Word     word                 `json:"word"`
		Bytes    []byte               `json:"bytes"`
		NilBytes []byte               `json:"nilBytes"`
		Raw      json.RawMessage      `json:"raw"`
		NoRaw    json.RawMessage      `json:"noRaw"`
		Array    [2]int               `json:"array"`
		Nil      *string              `json:"nil"`
		Pointer  **string             `json:"pointer"`
		Any      any                  `json:"any"`
		NilAny   any                  `json:"nilAny"`
		List     []any                `json:"list"`
		Lists    [][]int              `json:"lists"`
		NilList  []string             `json:"nilList"`
		Empty    []string             `json:"emptyList"`
		Omitted  []string             `json:"omittedList,omitempty"`
		Map      map[string]any       `json:"map"`
		NilMap   map[string]string    `json:"nilMap"`
		Words    map[word]int         `json:"words"`
		Numbers  map[int]string       `json:"numbers"`
		ByPtr    map[string]byPointer `json:"byPointer"`
		Broken   broken               `json:"broken"`
		Zero     metav1.Time          `json:"zero,omitzero"`
		Hidden   string               `json:"-"`
		NoTag    string

		Port        intstr.IntOrString    `json:"port"`
		Name        intstr.IntOrString    `json:"name"`
		Neither     intstr.IntOrString    `json:"neither"`
		PortPointer *intstr.IntOrString   `json:"portPointer"`
		Invalid     *intstr.IntOrString   `json:"invalid"`
		BrokenPort  *intstr.IntOrString   `json:"brokenPort"`
		NoPort      *intstr.IntOrString   `json:"noPort"`
		Ports       []*intstr.IntOrString `json:"ports"`
	}
)

func (p *byPointer) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"text":%q,"z":1,"a":1.5}`, p.Text), nil
}

func (broken) MarshalJSON() ([]byte, error) { return nil, errors.New("broken") }

func example() *everything {
	text := "text"
	pointer := &text
	return &everything{
		Inline: inline{Inline: "i"}, Bool: true, Int8: -8, Uint: 1, Count: 2, Overflow: 1 << 63, Float32: 0.5, Float64: 1,
		Word: "word", Bytes: []byte{0xff}, Raw: json.RawMessage(`[1,2.5,{"b":null,"a":[]}]`), Pointer: &pointer, Any: inline{Inline: "any"},
		List: []any{nil, 1, "a", inline{}, map[string]string{"b": "c"}, []string{"d"}}, Lists: [][]int{{1, 2}, nil, {}},
		Empty: []string{}, Map: map[string]any{"b": 1, "a": nil, "c": &text}, Words: map[word]int{"b": 1, "a": 2},
		Numbers: map[int]string{}, ByPtr: map[string]byPointer{"x": {Text: "x"}},
		Port: intstr.FromInt32(80), Name: intstr.FromString("http"), Neither: intstr.IntOrString{Type: 7},
		PortPointer: &intstr.IntOrString{IntVal: 1}, Invalid: &intstr.IntOrString{Type: intstr.String, StrVal: "a\xffb"},
		BrokenPort: &intstr.IntOrString{Type: 7}, Ports: []*intstr.IntOrString{nil, {IntVal: 2}},
	}
}

// operands are values of every shape; the functions make the views among them.
func operands(ofStruct func(any) ref.Val, ofJSON func(map[string]any) ref.Val) []ref.Val {
	out := append(literals(), jsons(ofJSON)...)
	return append(out, structs(ofStruct)...)
}

// literals are what an expression can compare a view with, or read it by.
func literals() []ref.Val {
	native := types.DefaultTypeAdapter.NativeToValue
	return []ref.Val{
		types.NullValue, types.True, types.Int(0), types.Int(1), types.Int(-1), types.Int(99), types.Uint(0), types.Uint(1 << 63),
		types.Double(0), types.Double(0.5), types.String(""), types.String("a"), types.String("b"), types.String("name"),
		types.Bytes("a"), types.NewErr("an error"), types.NewUnknown(1, nil), types.StringType, types.OptionalNone,
		native([]string{}), native([]string{"a"}), native([]string{"a", "b"}), native([]any{nil}), native([]any{int64(1)}),
		native(map[string]string{}), native(map[string]string{"a": "b"}), native(map[string]any{"a": nil}), native(map[int]int{1: 1}),
	}
}

func jsons(of func(map[string]any) ref.Val) []ref.Val {
	list := func(elems ...any) ref.Val {
		return of(map[string]any{"list": elems}).(traits.Mapper).Get(types.String("list"))
	}
	return []ref.Val{
		of(nil), of(map[string]any{}), of(map[string]any{"a": nil}), of(map[string]any{"a": "b"}),
		of(map[string]any{"a": int64(1)}), of(map[string]any{"a": 1.0}), of(map[string]any{"b": 1.0}), of(map[string]any{"a": true}),
		of(map[string]any{"a": map[string]any{}}), of(map[string]any{"a": []any{}}), of(map[string]any{"a": []any(nil)}),
		of(map[string]any{"a": []any{"a", []any{}, map[string]any{"b": nil}}, "b": true, "name": "a"}),
		of(map[string]any{"odd": []string{"a"}, "number": json.Number("1"), "uint": uint8(1)}),
		of(map[string]any{"metadata": map[string]any{"name": "a"}, "spec": nil, "status": map[string]any{}}),
		of(map[string]any{"inline": "a"}), of(map[string]any{"gone": ""}), of(map[string]any{"gone": []any{}}),
		list(), list("a"), list("a", "b"), list(nil), list(int64(1)), list(1.0), list(map[string]any{"a": "b"}, []any{"a"}, 0.5),
		list(map[string]any{"a": "b"}), list([]any{"a"}),
	}
}

func structs(of func(any) ref.Val) []ref.Val {
	quantity := func(s string) corev1.ResourceList { return corev1.ResourceList{"cpu": resource.MustParse(s)} }
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{Overhead: quantity("1")}}
	native := types.DefaultTypeAdapter.NativeToValue
	same := &corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: corev1.PodSpec{Overhead: quantity("1000m")}}
	return []ref.Val{
		of(nil), of((*string)(nil)), of("a"), of(true), of(int32(1)), of([]byte{}), of([]byte(nil)), of(make(chan int)), of([1]int{}),
		of([]string{}), of([]string(nil)), of([]string{"a"}), of([]string{"a", "b"}), of([]word{"a"}), of([]*string{nil}),
		of([]inline{{}}), of([]inline{{Inline: "a"}}), of([][]string{{"a"}}), of([]map[string]string{{"a": "b"}}), of([]int{1}), of([]float64{1}),
		of(map[string]string{}), of(map[string]string(nil)), of(map[string]string{"a": "b"}), of(map[word]word{"a": "b"}),
		of(map[string]any{"a": nil}), of(map[string]int{"a": 1}), of(map[string]inline{"a": {}}), of(map[string][]string{"a": {"b"}}),
		of(map[string]broken{"a": {}}), of(map[int]string{}),
		of(Absent{}), of(&inline{Inline: "a"}), of(inline{Inline: "a"}), of(struct {
			Gone map[string]string `json:"gone"`
		}{map[string]string{}}),
		of(pod), of(pod.DeepCopy()), of(same), of(&metav1.ObjectMeta{Name: "a"}), of(&metav1.ListMeta{}),
		of(quantity("1")), of(quantity("1000m")), of(metav1.Time{}), of(runtime.RawExtension{Raw: []byte(`{"a":"b"}`)}),
		of(&broken{}), of(example()), of(*example()),
		// Maps of cel-go's, to which a comparison that is an error is an equal one.
		native(map[string]any{"inline": of([]string{"a"})}), native(map[string]any{"a": of([]string{"a"})}),
	}
}
