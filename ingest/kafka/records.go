package kafka

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// message is what a record is for us.
type message struct {
	offset int64
	value  []byte
	// headers are read only if a header is looked for.
	headers []byte
}

// records reads the messages of a batch, one at a time, so that no more than one is in memory decompressed.
type records struct {
	batch    *batch
	reader   *bufio.Reader
	codec    io.ReadCloser
	left     int32
	maxBytes int
}

var errNoMore = errors.New("no more messages in the batch")

func openRecords(b *batch, maxBytes int) (*records, error) {
	r := &records{batch: b, left: b.count, maxBytes: maxBytes}
	if b.corrupt {
		return nil, errors.New("the checksum does not fit")
	}
	codec, err := decompress(b.attributes&codecBits, b.records, maxBytes)
	if err != nil {
		return nil, err
	}
	r.codec, r.reader = codec, bufio.NewReader(codec)
	return r, nil
}

// next returns errNoMore behind the last message.
func (r *records) next() (message, error) {
	if r.left <= 0 {
		return message{}, errNoMore
	}
	size, err := binary.ReadVarint(r.reader)
	if err != nil {
		return message{}, fmt.Errorf("%d of %d messages cannot be read: %w", r.left, r.batch.count, err)
	}
	if size < 0 {
		return message{}, fmt.Errorf("a message of %d bytes", size)
	}
	if size > int64(r.maxBytes)+fetchOverhead {
		return message{}, &TooLargeError{Offset: r.batch.first, Size: int(size), MaxBytes: r.maxBytes}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r.reader, data); err != nil {
		return message{}, fmt.Errorf("%d of %d messages cannot be read: %w", r.left, r.batch.count, err)
	}
	r.left--
	return parseMessage(r.batch.first, data)
}

func parseMessage(first int64, data []byte) (message, error) {
	w := wire{data: data}
	w.int8()   // attributes
	w.varint() // time
	m := message{offset: first + w.varint()}
	w.bytes() // key
	m.value = w.bytes()
	m.headers = w.data
	if w.short {
		return message{}, errors.New("a message ends inside itself")
	}
	return m, nil
}

// header returns the last header of a name.
func (m message) header(name string) (value string, found bool) {
	w := wire{data: m.headers}
	for range max(w.varint(), 0) {
		key, v := w.bytes(), w.bytes()
		if w.short {
			break
		}
		if string(key) == name {
			value, found = string(v), true
		}
	}
	return value, found
}

func (r *records) close() {
	if r.codec != nil {
		_ = r.codec.Close() // gives the decoder back; what it read is in memory
		r.codec = nil
	}
}
