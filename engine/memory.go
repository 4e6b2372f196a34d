package engine

import "sync"

// memory remembers what evaluations came to by the values that they read: controllers write the same objects over and
// over, and most of what policies look at stays as it is. An Engine shares its memory with those made from it.
type memory struct {
	places *places
	ways   ways
	shards [memoryShards]memoryShard
}

const (
	memoryShards = 16
	// shardEntries is how many results each of the two generations of a shard holds. An entry takes some 60 bytes, and
	// its result, if it is no pass, some 500 more: 128 K entries in all, and 10 to 70 MB.
	shardEntries = 4 << 10
)

// memoryShard keeps the results that were asked for lately: those of the older generation are moved to the younger one
// when they are met again, and the rest of them forgotten when that is full.
type memoryShard struct {
	mu             sync.Mutex
	younger, older map[digest]*remembered
}

// remembered is what an evaluation came to, the binding and the evidence left aside.
type remembered struct {
	// elsewhere: the result hangs on the places of messages and audit annotations too, and is kept under a key with them.
	elsewhere bool
	result    Result
	verdicts  []Verdict
	// annotations, blocksAnyway and annotationError are those of the evaluation.
	annotations     []annotation
	blocksAnyway    bool
	annotationError string
	// read are the inputs that were looked at.
	read inputSet
}

// passes are what most evaluations come to, by what they read.
var passes = func() (list [1 << 6]*remembered) {
	for i := range list {
		list[i] = &remembered{read: inputSet(i)}
	}
	return list
}()

// shared is the one of results alike, where there is one.
func (r *remembered) shared() *remembered {
	if r.result != "" || len(r.verdicts) > 0 || len(r.annotations) > 0 || r.blocksAnyway || r.annotationError != "" {
		return r
	}
	return passes[r.read]
}

func newMemory() *memory { return &memory{places: newPlaces()} }

func (m *memory) shard(key digest) *memoryShard { return &m.shards[key[0]%memoryShards] }

func (m *memory) get(key digest) *remembered {
	s := m.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.younger[key]; r != nil {
		return r
	}
	r := s.older[key]
	if r != nil {
		s.put(key, r)
	}
	return r
}

func (m *memory) put(key digest, r *remembered) {
	s := m.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, r)
}

func (s *memoryShard) put(key digest, r *remembered) {
	if s.younger == nil || len(s.younger) >= shardEntries {
		s.younger, s.older = make(map[digest]*remembered), s.younger
	}
	s.younger[key] = r
}
