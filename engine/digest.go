package engine

import (
	"hash/maphash"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/vapshadow/vapshadow/internal/jsonobject"
)

// digest stands for a value: two values that differ have, but for a chance of about 2^-100, different digests. The
// digests of two runs of the program differ, so that nobody can make two values with the same.
type digest [2]uint64

var digestSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// digestKeys are odd numbers that nobody outside the program knows.
var digestKeys = func() (keys [8]uint64) {
	for i := range keys {
		keys[i] = maphash.Comparable(digestSeeds[i%2], i) | 1
	}
	return keys
}()

// Tags tell the kinds of values apart.
const (
	tagNull = iota + 1
	tagString
	tagInt
	tagDouble
	tagTrue
	tagFalse
	tagMap
	tagList
	tagAbsent
	tagStopped
	tagOther
	tagCondition
	tagValidation
)

// and is the digest of a sequence that goes on with another digest.
func (d digest) and(o digest) digest {
	return digest{
		fold(d[0]^digestKeys[0], o[0]^digestKeys[1]) + bits.RotateLeft64(o[1], 17),
		fold(d[1]^digestKeys[2], o[1]^digestKeys[3]) + bits.RotateLeft64(o[0], 41),
	}
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func digestNumber(tag int, n uint64) digest {
	return digest{
		fold(n^digestKeys[4], digestKeys[5]+uint64(tag)*digestKeys[0]),
		fold(n^digestKeys[6], digestKeys[7]+uint64(tag)*digestKeys[1]),
	}
}

func digestString(s string) digest {
	return digest{maphash.String(digestSeeds[0], s), maphash.String(digestSeeds[1], s)}
}

// digestOf is the digest of a JSON value. The order of a map's keys does not matter.
func digestOf(content any) digest {
	switch v := content.(type) {
	case nil:
		return digestNumber(tagNull, 0)
	case string:
		d := digestString(v)
		return digestNumber(tagString, d[0]).and(d)
	case int64:
		return digestNumber(tagInt, uint64(v))
	case float64:
		return digestNumber(tagDouble, math.Float64bits(v))
	case bool:
		if v {
			return digestNumber(tagTrue, 1)
		}
		return digestNumber(tagFalse, 0)
	case map[string]any:
		if v == nil {
			return digestNumber(tagNull, 1)
		}
		return jsonobject.Once(v, digestQuestion{}, func() digest { return digestMap(v) })
	case []any:
		out := digestNumber(tagList, uint64(len(v)))
		for _, value := range v {
			out = out.and(digestOf(value))
		}
		return out
	}
	// Nothing decodes JSON to other types. Such a value would be like none other.
	return digestNumber(tagOther, others.Add(1))
}

// digestQuestion asks for the digest of an object that may come again.
type digestQuestion struct{}

func digestMap(m map[string]any) digest {
	var sum digest
	for key, value := range m {
		entry := digestString(key).and(digestOf(value))
		sum[0] += entry[0]
		sum[1] += entry[1]
	}
	return digestNumber(tagMap, uint64(len(m))).and(sum)
}

var others atomic.Uint64
