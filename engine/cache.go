package engine

import "sync"

// cache holds values that were asked for lately by their digest.
type cache[V any] struct {
	shards [cacheShards]cacheShard[V]
}

const (
	cacheShards = 16
	// shardEntries is how many values each of the two generations of a shard holds. An entry takes some 60 bytes: 128 K
	// entries in all, and 10 MB; and what whole policies came to, if it is no pass, some 500 more, up to 70 MB.
	shardEntries = 4 << 10
)

// cacheShard has those of the older generation that are met again moved to the younger one, and the rest of them forgotten
// when that is full.
type cacheShard[V any] struct {
	mu             sync.Mutex
	younger, older map[digest]V
}

func (c *cache[V]) shard(key digest) *cacheShard[V] { return &c.shards[key[0]%cacheShards] }

func (c *cache[V]) get(key digest) (V, bool) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.younger[key]; ok {
		return v, true
	}
	v, ok := s.older[key]
	if ok {
		s.put(key, v)
	}
	return v, ok
}

func (c *cache[V]) put(key digest, v V) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, v)
}

func (s *cacheShard[V]) put(key digest, v V) {
	if s.younger == nil || len(s.younger) >= shardEntries {
		s.younger, s.older = make(map[digest]V), s.younger
	}
	s.younger[key] = v
}
