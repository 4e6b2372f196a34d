package replay

import (
	"bytes"
	"container/list"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/s2"

	"github.com/vapshadow/vapshadow/ingest"
)

// packed is an object of the history as compressed JSON. While it is in use its content is held as well.
type packed struct {
	json []byte // compressed with S2; never changed
	// bytes is about what the content takes.
	bytes   int64
	content atomic.Pointer[map[string]any]
	used    atomic.Bool
	held    *list.Element // in unpacker.order; nil where the content is not held
}

// maxUnpackedBytes bounds the contents that are held beside the packed objects, where the history is not smaller.
const maxUnpackedBytes = 32 << 20

// unpacker packs objects, and holds the contents of those that were last written or looked at.
type unpacker struct {
	limit int64

	mu    sync.Mutex
	bytes int64
	// order has the next that has to go in front. One that was looked at meanwhile is sent back once.
	order list.List
}

func newUnpacker(limit int64) *unpacker { return &unpacker{limit: limit} }

// pack packs an object, whose JSON is at hand, and goes on holding its content.
func (u *unpacker) pack(content map[string]any, text []byte) *packed {
	p := packJSON(text)
	u.hold(p, content)
	return p
}

func packJSON(text []byte) *packed {
	return &packed{json: packText(text), bytes: unpackedBytes(len(text))}
}

var packBuffers = sync.Pool{New: func() any { return new([]byte) }}

// packText packs a text. S2 makes two fifths of recorded objects. With zstd it is a third, but that takes four times as
// long, and each write is packed.
func packText(text []byte) []byte {
	buffer, _ := packBuffers.Get().(*[]byte)
	defer packBuffers.Put(buffer)
	*buffer = s2.Encode((*buffer)[:cap(*buffer)], text)
	return bytes.Clone(*buffer) // no longer than it is
}

func unpackText(packed []byte) []byte {
	out, err := s2.Decode(nil, packed)
	if err != nil {
		panic(err) // It was compressed here: only broken memory leads to this.
	}
	return out
}

// unpackedBytes is about what an object of so many bytes of JSON takes when it is decoded: seven times as much, of which it
// mostly shares half with others.
func unpackedBytes(text int) int64 { return int64(text) * 4 }

// unpack returns the content of an object.
func (u *unpacker) unpack(p *packed) map[string]any {
	if content := p.content.Load(); content != nil {
		if !p.used.Load() {
			p.used.Store(true)
		}
		return *content
	}
	return u.hold(p, decodeBody(p.text()))
}

// text is the object as JSON.
func (p *packed) text() []byte { return unpackText(p.json) }

// hold holds the content of an object, unless it is held already, and lets go of what is over the limit.
func (u *unpacker) hold(p *packed, content map[string]any) map[string]any {
	u.mu.Lock()
	defer u.mu.Unlock()
	if have := p.content.Load(); have != nil {
		return *have
	}
	p.content.Store(&content)
	p.held = u.order.PushBack(p)
	u.bytes += p.bytes
	for u.bytes > u.limit && u.order.Len() > 0 {
		if oldest, _ := u.order.Front().Value.(*packed); oldest.used.Swap(false) {
			u.order.MoveToBack(oldest.held)
		} else {
			u.letGo(oldest)
		}
	}
	return content
}

// release lets go of the content of an object that nobody will look at again.
func (u *unpacker) release(p *packed) {
	if p == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.letGo(p)
}

func (u *unpacker) letGo(p *packed) {
	if p.held == nil {
		return
	}
	u.order.Remove(p.held)
	p.held = nil
	p.content.Store(nil)
	u.bytes -= p.bytes
}

func (u *unpacker) size() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.bytes
}

// packEvent keeps of an event what a version is made of, so that it can be made again when the history is restored.
func packEvent(ev *ingest.Event) []byte {
	only := *ev
	only.User, only.ImpersonatedUser, only.SourceIPs, only.UserAgent = ingest.UserInfo{}, nil, nil, ""
	text, err := json.Marshal(&only)
	if err != nil {
		return nil // A body that is no JSON: then nothing was derived from it either.
	}
	return packText(text)
}
