package kafka_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/vapshadow/vapshadow/ingest/kafka"
	"github.com/vapshadow/vapshadow/internal/kafkatest"
)

// A log that ends in the mark of a transaction is read to its end, and what a transaction took back is not read.
func TestTransactions(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 1)
	p := newProducer(t, b, topic)
	p.write("committed 0", "committed 1") // 0 and 1, and the mark at 2
	p.end(true)
	p.write("aborted") // 3, and the mark at 4
	p.end(false)
	produce(t, b, &kafkago.Writer{Topic: topic}, kafkago.Message{Value: []byte("plain")}) // 5
	p.write("committed 2")                                                                // 6, and the mark at 7
	p.end(true)

	s := newSource(t, kafka.Config{Access: access(b), Topics: []string{topic}})
	want := []string{line(topic, 0, "committed 0"), line(topic, 1, "committed 1"), line(topic, 5, "plain"), line(topic, 6, "committed 2")}
	if diff := cmp.Diff(want, texts(read(t, s, topic+"/0", 0))); diff != "" {
		t.Error(diff)
	}
	// At the mark that ends the log, the position is at the end all the same.
	if got := read(t, s, topic+"/0", 7); got != nil {
		t.Errorf("at the last mark there is %v", texts(got))
	}

	// What is not committed yet is not there yet; that holds also for what follows it.
	p.write("open") // 8
	produce(t, b, &kafkago.Writer{Topic: topic}, kafkago.Message{Value: []byte("behind it")})
	stream := open(t, s, topic+"/0", 7)
	if got := untilCaughtUp(t, stream); got != nil {
		t.Errorf("an open transaction shows %v", texts(got))
	}
	p.end(true)
	if diff := cmp.Diff([]string{line(topic, 8, "open"), line(topic, 9, "behind it")}, texts(next(t, stream))); diff != "" {
		t.Error(diff)
	}

	// A log that holds nothing but what was taken back is read to its end.
	nothing := topicOf(t, b, 1)
	p = newProducer(t, b, nothing)
	p.write("aborted")
	p.end(false)
	s = newSource(t, kafka.Config{Access: access(b), Topics: []string{nothing}})
	if got := read(t, s, nothing+"/0", 0); got != nil {
		t.Errorf("an aborted transaction shows %v", texts(got))
	}
}

// producer writes transactions, which kafka-go's writer does not.
type producer struct {
	t        *testing.T
	broker   *kafkatest.Broker
	client   *kafkago.Client
	topic    string
	session  *kafkago.ProducerSession
	sequence int32
}

func newProducer(t *testing.T, b *kafkatest.Broker, topic string) *producer {
	t.Helper()
	transport := &kafkago.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	p := &producer{t: t, broker: b, topic: topic, client: &kafkago.Client{Addr: kafkago.TCP(b.Addr), Transport: transport}}
	eventually(t, "there is a coordinator of transactions", func() bool {
		answer, err := p.client.InitProducerID(t.Context(), &kafkago.InitProducerIDRequest{
			TransactionalID: topic, TransactionTimeoutMs: int(time.Minute.Milliseconds())})
		if err != nil || answer.Error != nil {
			return false
		}
		p.session = answer.Producer
		return true
	})
	return p
}

// write adds messages to the transaction, and begins one where there is none.
func (p *producer) write(values ...string) {
	p.t.Helper()
	eventually(p.t, "the partition is in the transaction", func() bool {
		// The transaction before may still be ending.
		added, err := p.client.AddPartitionsToTxn(p.t.Context(), &kafkago.AddPartitionsToTxnRequest{
			TransactionalID: p.topic, ProducerID: p.session.ProducerID, ProducerEpoch: p.session.ProducerEpoch,
			Topics: map[string][]kafkago.AddPartitionToTxn{p.topic: {{Partition: 0}}}})
		return err == nil && added.Topics[p.topic][0].Error == nil
	})
	answer, err := p.client.RawProduce(p.t.Context(), &kafkago.RawProduceRequest{
		Topic: p.topic, RequiredAcks: kafkago.RequireAll, TransactionalID: p.topic,
		RawRecords: protocol.RawRecordSet{Reader: bytes.NewReader(p.batch(values))}})
	if err != nil || answer.Error != nil {
		p.t.Fatal(err, answer)
	}
	p.sequence += int32(len(values))
}

// end waits until the mark is in the log: the brokers write it after they have answered.
func (p *producer) end(commit bool) {
	p.t.Helper()
	_, before := bounds(p.t, p.broker, p.topic)
	answer, err := p.client.EndTxn(p.t.Context(), &kafkago.EndTxnRequest{
		TransactionalID: p.topic, ProducerID: p.session.ProducerID, ProducerEpoch: p.session.ProducerEpoch, Committed: commit})
	if err != nil || answer.Error != nil {
		p.t.Fatal(err, answer)
	}
	eventually(p.t, "the transaction ends", func() bool {
		_, end := bounds(p.t, p.broker, p.topic)
		return end == before+1
	})
}

// batch encodes messages as part of a transaction, behind their size, which kafka-go wants too.
func (p *producer) batch(values []string) []byte {
	const transactional = 0x10
	var records []byte
	for i, value := range values {
		record := []byte{0}                            // attributes
		record = binary.AppendVarint(record, 0)        // time
		record = binary.AppendVarint(record, int64(i)) // offset
		record = binary.AppendVarint(record, -1)       // no key
		record = binary.AppendVarint(record, int64(len(value)))
		record = append(record, value...)
		record = binary.AppendVarint(record, 0) // no headers
		records = append(binary.AppendVarint(records, int64(len(record))), record...)
	}
	now := uint64(time.Now().UnixMilli())
	last := uint32(len(values) - 1)
	var checked []byte
	checked = binary.BigEndian.AppendUint16(checked, transactional)
	checked = binary.BigEndian.AppendUint32(checked, last)
	checked = binary.BigEndian.AppendUint64(checked, now)
	checked = binary.BigEndian.AppendUint64(checked, now)
	checked = binary.BigEndian.AppendUint64(checked, uint64(p.session.ProducerID))
	checked = binary.BigEndian.AppendUint16(checked, uint16(p.session.ProducerEpoch))
	checked = binary.BigEndian.AppendUint32(checked, uint32(p.sequence))
	checked = binary.BigEndian.AppendUint32(checked, last+1)
	checked = append(checked, records...)

	batch := binary.BigEndian.AppendUint64(nil, 0) // offset
	batch = binary.BigEndian.AppendUint32(batch, uint32(4+1+4+len(checked)))
	batch = binary.BigEndian.AppendUint32(batch, 0) // leader's epoch
	batch = append(batch, 2)
	batch = binary.BigEndian.AppendUint32(batch, crc32.Checksum(checked, crc32.MakeTable(crc32.Castagnoli)))
	batch = append(batch, checked...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(batch))), batch...)
}
