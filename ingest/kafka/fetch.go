package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
)

const (
	// fetchBytes is how much is asked for at once. A broker sends one batch whole even if it is larger.
	fetchBytes = 4 << 20
	// fetchOverhead is room for what an answer holds beside the batches.
	fetchOverhead = 64 << 10
	// readCommitted leaves out what is part of a transaction that has not ended.
	readCommitted = 1
)

// fetched is the answer to a fetch request for one partition.
type fetched struct {
	code int16
	// highWatermark is behind the last message that all replicas have; lastStable is behind the last that can be read: no
	// transaction before it is open.
	highWatermark, lastStable int64
	aborted                   []abortedTransaction
	records                   []byte
}

type fetchRequest struct {
	topic     string
	partition int32
	offset    int64
	// wait is how long the broker holds the answer back while there is nothing.
	wait time.Duration
	// maxBytes is the most that is taken as an answer.
	maxBytes int
}

// fetch asks for messages from an offset on. What comes back may begin before it: batches are sent whole.
func (c *connection) fetch(ctx context.Context, r fetchRequest) (fetched, error) {
	defer c.bound(ctx)()
	c.correlation++
	size := int32(min(fetchBytes, r.maxBytes))
	request := &fetch.Request{
		ReplicaID:      -1,
		MaxWaitTime:    int32(r.wait.Milliseconds()),
		MinBytes:       1,
		MaxBytes:       size,
		IsolationLevel: readCommitted,
		SessionEpoch:   -1, // no session
		Topics: []fetch.RequestTopic{{Topic: r.topic, Partitions: []fetch.RequestPartition{{
			Partition:          r.partition,
			CurrentLeaderEpoch: -1,
			FetchOffset:        r.offset,
			LogStartOffset:     -1,
			PartitionMaxBytes:  size,
		}}}},
	}
	if err := protocol.WriteRequest(c, fetchVersion, c.correlation, c.clientID, request); err != nil {
		return fetched{}, err
	}
	body, err := c.answer(r)
	if err != nil {
		return fetched{}, err
	}
	return parseFetched(body, r)
}

// answer reads the bytes of an answer, behind its size and number. kafka-go's own decoder drops batches that it cannot
// read, and where a batch ends: so it is not used here.
func (c *connection) answer(r fetchRequest) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:4]))) - 4
	switch number := int32(binary.BigEndian.Uint32(head[4:])); {
	case size < 0 || number != c.correlation:
		return nil, fmt.Errorf("the broker's answer %d of %d bytes is not to request %d", number, size, c.correlation)
	case size > r.maxBytes+fetchOverhead:
		return nil, &TooLargeError{Partition: partitionName(r.topic, r.partition), Offset: r.offset, Size: size, MaxBytes: r.maxBytes}
	}
	body := make([]byte, size)
	_, err := io.ReadFull(c, body)
	return body, err
}

func parseFetched(body []byte, r fetchRequest) (fetched, error) {
	w := wire{data: body}
	w.int32() // throttling
	if code := w.int16(); code != 0 {
		return fetched{}, kafkago.Error(code)
	}
	w.int32() // session
	if n := w.int32(); n != 1 {
		return fetched{}, fmt.Errorf("the broker answers for %d topics, not one", n)
	}
	topic := w.string()
	if n := w.int32(); n != 1 {
		return fetched{}, fmt.Errorf("the broker answers for %d partitions, not one", n)
	}
	if partition := w.int32(); topic != r.topic || partition != r.partition {
		return fetched{}, fmt.Errorf("the broker answers for another partition than %s", partitionName(r.topic, r.partition))
	}
	f := fetched{code: w.int16(), highWatermark: w.int64(), lastStable: w.int64()}
	w.int64() // start of the log
	for range max(w.int32(), 0) {
		if w.short {
			break
		}
		f.aborted = append(f.aborted, abortedTransaction{producer: w.int64(), first: w.int64()})
	}
	f.records = w.take(int(max(w.int32(), 0)))
	if w.short {
		return fetched{}, io.ErrUnexpectedEOF
	}
	return f, nil
}

// offsets are the first offset of a partition and the one behind its last.
type offsets struct{ first, end int64 }

func (c *connection) offsets(ctx context.Context, topic string, partition int32) (offsets, error) {
	const earliest, latest = -2, -1
	var o offsets
	for _, ask := range []struct {
		time int64
		into *int64
	}{{earliest, &o.first}, {latest, &o.end}} {
		answer, err := c.roundTrip(ctx, listOffsetsVersion, &listoffsets.Request{
			ReplicaID: -1,
			Topics: []listoffsets.RequestTopic{{Topic: topic, Partitions: []listoffsets.RequestPartition{{
				Partition: partition, CurrentLeaderEpoch: -1, Timestamp: ask.time,
			}}}},
		})
		if err != nil {
			return o, err
		}
		a := answer.(*listoffsets.Response)
		if len(a.Topics) != 1 || len(a.Topics[0].Partitions) != 1 {
			return o, fmt.Errorf("the broker does not say which offsets %s has", partitionName(topic, partition))
		}
		p := a.Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			return o, kafkago.Error(p.ErrorCode)
		}
		*ask.into = p.Offset
	}
	return o, nil
}
