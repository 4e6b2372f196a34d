package replay

// What the parts of a History take beside the objects, in bytes. They are about what Go allocates; a test holds the sum
// against the heap.
const (
	// chainBytes is a chain with its places in the maps.
	chainBytes = 360
	// versionBytes is a version with its uid, auditID and packed object, the compressed JSON left aside.
	versionBytes = 400
	unknownBytes = 80
)

// size is about how many bytes a version holds on to, its unpacked object left aside.
func (v *version) size() int64 {
	n := int64(versionBytes + unknownBytes*len(v.unknown))
	if v.object != nil {
		n += int64(len(v.object.json))
	}
	if v.derive != nil {
		// What derive was made of is held both packed and, in part, decoded.
		n += int64(len(v.event)) + unpackedBytes(3*len(v.event))
	}
	return n
}

// HistorySize is what the history of objects holds.
type HistorySize struct {
	Objects, Versions int
	// Bytes is about the memory that it takes.
	Bytes int64
	// Evicted are the objects that had to go and are remembered to have gone.
	Evicted int
}

// HistorySize measures the history of objects.
func (r *Replayer) HistorySize() HistorySize {
	h := r.history
	h.mu.RLock()
	defer h.mu.RUnlock()
	s := HistorySize{Objects: len(h.objects), Evicted: len(h.evicted.newer) + len(h.evicted.older)}
	for _, c := range h.objects {
		s.Versions += len(c.versions)
	}
	s.Bytes = h.lru.used + h.unpacker.size() + int64(s.Evicted)*hashBytes
	return s
}
