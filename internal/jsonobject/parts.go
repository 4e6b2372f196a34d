package jsonobject

import (
	"hash/maphash"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
)

// Parts of objects come again and again: a request, its response and the next request have the same spec. A part that was
// decoded lately is not decoded again: what Decode returns holds the very same map, which nobody may change. Parts are told
// apart by their whole text, never by a digest of it.
const (
	// minPart is how many bytes of JSON a part has at least. For less, looking it up takes as long as decoding it.
	minPart = 256
	// maxPart keeps few large parts from pushing all others out.
	maxPart = 128 << 10
	// partBytes bounds the JSON of the parts that are remembered. Their maps take some seven times as much.
	partBytes  = 4 << 20
	partShards = 16
)

// part is a JSON object within an object.
type part struct {
	text  string
	value map[string]any
	// met: it was asked for since it was last spared.
	met atomic.Bool
	// known are the answers of Once; the slice is never changed.
	known atomic.Pointer[[]answer]
}

type answer struct{ question, answer any }

// parts are those that were met lately, by the hash of their text and by their map. A part keeps its map, so that no
// other gets the same address.
type parts struct {
	seed   maphash.Seed
	shards [partShards]partShard
	byMap  sync.Map // of *part by unsafe.Pointer
}

type partShard struct {
	mu     sync.RWMutex
	byText map[uint64]*part
	// order has the hashes from the one that was put first; those before begin are gone.
	order []uint64
	begin int
	bytes int
}

var shared = newParts()

func newParts() *parts {
	p := &parts{seed: maphash.MakeSeed()}
	for i := range p.shards {
		p.shards[i].byText = map[uint64]*part{}
	}
	return p
}

// find returns the part of a text, nil where it is not remembered, and the hash to put it under.
func find[T string | []byte](p *parts, text T) (*part, uint64) {
	var hash uint64
	switch text := any(text).(type) {
	case string:
		hash = maphash.String(p.seed, text)
	case []byte:
		hash = maphash.Bytes(p.seed, text)
	}
	s := &p.shards[hash%partShards]
	s.mu.RLock()
	found := s.byText[hash]
	s.mu.RUnlock()
	if found == nil || found.text != string(text) {
		return nil, hash
	}
	if !found.met.Load() {
		found.met.Store(true)
	}
	return found, hash
}

// put remembers a part, and forgets those that were not met for the longest time.
func (p *parts) put(hash uint64, added *part) {
	s := &p.shards[hash%partShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byText[hash] != nil {
		return // Another goroutine was faster, or, once in a blue moon, another text has that hash.
	}
	s.byText[hash] = added
	s.order = append(s.order, hash)
	s.bytes += len(added.text)
	p.byMap.Store(address(added.value), added)
	for s.bytes > partBytes/partShards {
		oldest := s.order[s.begin]
		s.begin++
		if old := s.byText[oldest]; old.met.Swap(false) {
			s.order = append(s.order, oldest)
		} else {
			delete(s.byText, oldest)
			p.byMap.Delete(address(old.value))
			s.bytes -= len(old.text)
		}
	}
	if s.begin > len(s.order)/2 {
		s.order, s.begin = append([]uint64(nil), s.order[s.begin:]...), 0
	}
}

func address(m map[string]any) any { return reflect.ValueOf(m).UnsafePointer() }

// maxAnswers is how many answers are kept for a part: one for each Go type that it is held against, and for each use.
const maxAnswers = 8

// Once answers a question about a value that Decode returned. Of a part that comes again the answer is kept, and given
// again whenever the same question is asked. Questions are told apart as keys of a map are; the answer must hang on
// nothing but the question and the value.
func Once[T any](of map[string]any, question any, work func() T) T {
	found, ok := shared.byMap.Load(address(of))
	if !ok {
		return work()
	}
	p, _ := found.(*part)
	var known []answer
	if list := p.known.Load(); list != nil {
		known = *list
	}
	for _, k := range known {
		if k.question == question {
			answer, _ := k.answer.(T)
			return answer
		}
	}
	out := work()
	if len(known) < maxAnswers {
		list := append(slices.Clip(known), answer{question, out})
		p.known.Store(&list) // Of two at a time one is lost, and worked out again.
	}
	return out
}

// Again says whether a value is a part that comes again, of which Once keeps answers.
func Again(m map[string]any) bool {
	_, ok := shared.byMap.Load(address(m))
	return ok
}
