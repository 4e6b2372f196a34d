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
	begins [partShards]beginShard
	byMap  sync.Map // of *part by unsafe.Pointer
}

// beginShard has the part that was met last of those that begin alike, by the hash of how they begin: of a part that is
// met again the end need not be looked for.
type beginShard struct {
	mu   sync.RWMutex
	last map[uint64]*part
}

// beginBytes is how much of a part its beginning is.
const beginBytes = 128

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
		p.begins[i].last = map[uint64]*part{}
	}
	return p
}

// hashOf is the hash of a text.
func hashOf[T string | []byte](p *parts, text T) uint64 {
	switch text := any(text).(type) {
	case string:
		return maphash.String(p.seed, text)
	case []byte:
		return maphash.Bytes(p.seed, text)
	}
	return 0
}

// find returns the part of a text, nil where it is not remembered, and the hash to put it under.
func find[T string | []byte](p *parts, text T) (*part, uint64) {
	hash := hashOf(p, text)
	s := &p.shards[hash%partShards]
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := s.byText[hash]
	if found == nil || found.text != string(text) {
		return nil, hash
	}
	found.meet()
	p.lead(found)
	return found, hash
}

func (p *part) meet() {
	if !p.met.Load() {
		p.met.Store(true)
	}
}

// beginning returns the part that a text begins with, where it is the last one that began so; nil otherwise. What equals
// an object as far as that goes is that object.
func beginning[T string | []byte](p *parts, text T) *part {
	if len(text) < minPart {
		return nil
	}
	hash := hashOf(p, text[:beginBytes])
	s := &p.begins[hash%partShards]
	s.mu.RLock()
	found := s.last[hash]
	s.mu.RUnlock()
	if found == nil || len(text) < len(found.text) || string(text[:len(found.text)]) != found.text {
		return nil
	}
	found.meet()
	return found
}

// lead makes a part the last one that begins as it does. The shard of its text is locked, so that it is not forgotten
// meanwhile.
func (p *parts) lead(to *part) {
	hash := hashOf(p, to.text[:beginBytes])
	s := &p.begins[hash%partShards]
	s.mu.RLock()
	leads := s.last[hash] == to
	s.mu.RUnlock()
	if leads {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[hash] = to
}

// forget makes a part that is no more no part that anything begins with.
func (p *parts) forget(gone *part) {
	hash := hashOf(p, gone.text[:beginBytes])
	s := &p.begins[hash%partShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last[hash] == gone {
		delete(s.last, hash)
	}
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
	p.lead(added)
	for s.bytes > partBytes/partShards {
		oldest := s.order[s.begin]
		s.begin++
		if old := s.byText[oldest]; old.met.Swap(false) {
			s.order = append(s.order, oldest)
		} else {
			delete(s.byText, oldest)
			p.byMap.Delete(address(old.value))
			p.forget(old)
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
