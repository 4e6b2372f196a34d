package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	kafkago "github.com/segmentio/kafka-go"
)

// TooLargeError says that messages do not fit in what the configuration allows.
type TooLargeError struct {
	Partition      string
	Offset         int64
	Size, MaxBytes int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: the messages from offset %d on have %d bytes, more than MaxBytes (%d): set it above the largest event",
		e.Partition, e.Offset, e.Size, e.MaxBytes)
}

// FormatError says that a partition holds messages in a format of before Kafka 0.11.
type FormatError struct {
	Offset int64
	Magic  int
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("the messages at offset %d have format %d, which no producer since Kafka 0.11 writes: "+
		"write them to a new topic", e.Offset, e.Magic)
}

// BeyondEndError says that a partition ends before the place to read on at: the topic was made anew, or its brokers
// lost messages.
type BeyondEndError struct {
	Partition   string
	Offset, End int64
}

func (e *BeyondEndError) Error() string {
	return fmt.Sprintf("%s is to be read on at offset %d, but ends at %d: the topic was made anew, or has lost messages; "+
		"give it another name, or remove its stored position", e.Partition, e.Offset, e.End)
}

// nature says what is to be done about an error.
type nature int

const (
	// passes: try again, as long as it takes.
	passes nature = iota
	// mayPass: try again for a while; then a person has to see to it.
	mayPass
	// login: a person has to see to it, unless it worked before: a broker that starts may not know its users yet.
	login
	// forGood: trying again is of no use.
	forGood
)

func natureOf(err error) nature {
	if _, ok := errors.AsType[*TooLargeError](err); ok {
		return forGood
	}
	if _, ok := errors.AsType[*FormatError](err); ok {
		return forGood
	}
	if _, ok := errors.AsType[*BeyondEndError](err); ok {
		return mayPass
	}
	if refusedTLS(err) {
		return login
	}
	code, ok := errors.AsType[kafkago.Error](err)
	if !ok {
		return passes
	}
	switch code {
	case kafkago.UnknownTopicOrPartition:
		return mayPass
	case kafkago.SASLAuthenticationFailed, kafkago.UnsupportedSASLMechanism, kafkago.IllegalSASLState,
		kafkago.TopicAuthorizationFailed, kafkago.GroupAuthorizationFailed, kafkago.ClusterAuthorizationFailed:
		return login
	case kafkago.InvalidTopic, kafkago.UnsupportedVersion, kafkago.InvalidSessionTimeout, kafkago.InvalidGroupId,
		kafkago.InconsistentGroupProtocol:
		return forGood
	}
	return passes
}

// hint says what may be wrong where a broker just hangs up, which is all that it does about a protocol that it does not
// expect. It does so also when it stops, so the error is one that passes.
func hint(err error, question string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("the broker closed the connection; %s (%w)", question, err)
	}
	return err
}

// refusedTLS tells whether one of the two sides does not take the other's certificate, or does not speak TLS.
func refusedTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "remote error" || op.Op == "local error") // an alert of TLS
}
