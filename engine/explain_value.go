package engine

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apiserver/pkg/cel/lazy"
)

// shownBytes is about how long a value may be written.
const shownBytes = 200

// show writes a value as in CEL, cut where it is long. Of a value that may come from a Secret, it writes only whether it
// is true, false or null, and otherwise how large it is.
func show(v ref.Val, secret bool) (typeName, text string) {
	typeName = v.Type().TypeName()
	switch v.(type) {
	case types.Bool, types.Null:
		secret = false
	}
	if secret {
		return typeName, Mask + sizeOf(v)
	}
	w := &valueWriter{}
	w.write(v)
	return typeName, w.text()
}

func sizeOf(v ref.Val) string {
	switch x := v.(type) {
	case *lazy.MapValue:
		return ""
	case types.String:
		return fmt.Sprintf(", %d bytes", len(x))
	case types.Bytes:
		return fmt.Sprintf(", %d bytes", len(x))
	case traits.Sizer:
		if n, ok := x.Size().(types.Int); ok {
			return fmt.Sprintf(", %d entries", n)
		}
	}
	return ""
}

// valueWriter writes values until there are enough of them.
type valueWriter struct{ out strings.Builder }

func (w *valueWriter) full() bool { return w.out.Len() >= shownBytes }

// text is what was written, cut between two characters.
func (w *valueWriter) text() string {
	s := w.out.String()
	if len(s) <= shownBytes {
		return s
	}
	cut := shownBytes
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

func (w *valueWriter) write(v ref.Val) {
	if w.full() {
		return
	}
	switch x := v.(type) {
	case types.Null:
		w.out.WriteString("null")
	case types.Bool:
		w.out.WriteString(strconv.FormatBool(bool(x)))
	case types.Int:
		w.out.WriteString(strconv.FormatInt(int64(x), 10))
	case types.Uint:
		w.out.WriteString(strconv.FormatUint(uint64(x), 10) + "u")
	case types.Double:
		w.double(float64(x))
	case types.String:
		w.quote("", string(x))
	case types.Bytes:
		w.quote("b", string(x))
	case types.Timestamp:
		w.call("timestamp", x.Format(time.RFC3339Nano))
	case types.Duration:
		w.call("duration", x.Duration.String())
	case *types.Optional:
		w.optional(x)
	case *lazy.MapValue:
		w.out.WriteString("variables") // Reading one would evaluate it.
	case traits.Mapper:
		w.mapping(x)
	case traits.Lister:
		w.list(x)
	default:
		w.opaque(v)
	}
}

func (w *valueWriter) double(f float64) {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	w.out.WriteString(s)
}

// quote writes a string, of a long one the beginning only.
func (w *valueWriter) quote(prefix, s string) {
	if len(s) > shownBytes {
		s = s[:shownBytes]
	}
	w.out.WriteString(prefix + strconv.Quote(s))
}

func (w *valueWriter) call(name, argument string) {
	w.out.WriteString(name + "(" + strconv.Quote(argument) + ")")
}

func (w *valueWriter) optional(o *types.Optional) {
	if !o.HasValue() {
		w.out.WriteString("optional.none()")
		return
	}
	w.out.WriteString("optional.of(")
	w.write(o.GetValue())
	w.out.WriteString(")")
}

func (w *valueWriter) list(l traits.Lister) {
	w.out.WriteString("[")
	for i, it := 0, l.Iterator(); it.HasNext() == types.True && !w.full(); i++ {
		if i > 0 {
			w.out.WriteString(", ")
		}
		w.write(it.Next())
	}
	w.out.WriteString("]")
}

// mapping writes the entries by key, whose order a map does not have.
func (w *valueWriter) mapping(m traits.Mapper) {
	var keys []ref.Val
	for it := m.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, func(a, b ref.Val) int { return strings.Compare(fmt.Sprint(a.Value()), fmt.Sprint(b.Value())) })
	w.out.WriteString("{")
	for i, key := range keys {
		if w.full() {
			break
		}
		if i > 0 {
			w.out.WriteString(", ")
		}
		w.write(key)
		w.out.WriteString(": ")
		w.write(m.Get(key))
	}
	w.out.WriteString("}")
}

// opaque writes a value that CEL cannot look into: those of the Kubernetes libraries by their text.
func (w *valueWriter) opaque(v ref.Val) {
	switch x := v.Value().(type) {
	case *resource.Quantity:
		w.call("quantity", x.String())
	case *url.URL:
		w.call("url", x.String())
	case netip.Addr:
		w.call("ip", x.String())
	case netip.Prefix:
		w.call("cidr", x.String())
	default:
		w.out.WriteString("(" + v.Type().TypeName() + ")")
	}
}
