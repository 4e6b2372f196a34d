package kafka

import (
	"fmt"
	"hash/crc32"
)

// A batch as it stands in a log: https://kafka.apache.org/documentation/#recordbatch
const (
	// batchPrefix is the first offset and the length of what follows.
	batchPrefix = 8 + 4
	batchHeader = 61
	// magicAt is where the version of the format stands.
	magicAt = 16

	codecBits        = 0x07
	transactionalBit = 0x10
	controlBit       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batch is a run of messages as they were written. Compaction takes messages away, but not the batch's ends.
type batch struct {
	first, last int64
	attributes  int16
	producer    int64
	count       int32
	// records are the messages, compressed.
	records []byte
	// corrupt is set where the checksum does not fit.
	corrupt bool
}

func (b *batch) transactional() bool { return b.attributes&transactionalBit != 0 }
func (b *batch) control() bool       { return b.attributes&controlBit != 0 }

// parseBatches takes the records of an answer apart. The last batch may be cut, as a broker stops at the size that was
// asked for: it is left out.
func parseBatches(data []byte) ([]*batch, error) {
	var batches []*batch
	for len(data) > magicAt {
		w := wire{data: data}
		first, length := w.int64(), int(w.int32())
		if data[magicAt] != 2 {
			return nil, &FormatError{Offset: first, Magic: int(data[magicAt])}
		}
		if length < batchHeader-batchPrefix {
			return nil, fmt.Errorf("a batch of %d bytes at offset %d is shorter than its header", length, first)
		}
		if len(w.data) < length {
			break
		}
		data = w.data[length:]
		batches = append(batches, parseBatch(first, w.data[:length]))
	}
	return batches, nil
}

// parseBatch reads what follows the length.
func parseBatch(first int64, data []byte) *batch {
	w := wire{data: data}
	w.int32() // leader's epoch
	w.int8()  // format
	sum := uint32(w.int32())
	b := &batch{first: first, corrupt: crc32.Checksum(w.data, castagnoli) != sum}
	b.attributes = w.int16()
	b.last = first + int64(max(w.int32(), 0))
	w.take(8 + 8) // times
	b.producer = w.int64()
	w.take(2 + 4) // producer's epoch and sequence
	b.count = w.int32()
	b.records = w.data
	return b
}
