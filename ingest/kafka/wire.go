package kafka

import "encoding/binary"

// wire reads the numbers and texts of the protocol, big end first. Behind the end of the data everything is zero, and
// short is set.
type wire struct {
	data  []byte
	short bool
}

// take returns the next n bytes, which share memory with the data.
func (w *wire) take(n int) []byte {
	if n < 0 || n > len(w.data) {
		w.data, w.short = nil, true
		return nil
	}
	out := w.data[:n:n]
	w.data = w.data[n:]
	return out
}

func (w *wire) int8() int8 {
	b := w.take(1)
	if b == nil {
		return 0
	}
	return int8(b[0])
}

func (w *wire) int16() int16 {
	b := w.take(2)
	if b == nil {
		return 0
	}
	return int16(binary.BigEndian.Uint16(b))
}

func (w *wire) int32() int32 {
	b := w.take(4)
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

func (w *wire) int64() int64 {
	b := w.take(8)
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

func (w *wire) string() string { return string(w.take(int(w.int16()))) }

// varint reads a number of variable length.
func (w *wire) varint() int64 {
	v, n := binary.Varint(w.data)
	if n <= 0 {
		w.data, w.short = nil, true
		return 0
	}
	w.data = w.data[n:]
	return v
}

// bytes reads a length and so many bytes; nil for a length below zero.
func (w *wire) bytes() []byte {
	n := w.varint()
	if n < 0 {
		return nil
	}
	if n > int64(len(w.data)) {
		w.data, w.short = nil, true
		return nil
	}
	return w.take(int(n))
}
