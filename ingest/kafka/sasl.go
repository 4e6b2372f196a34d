package kafka

import (
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// Mechanisms of SASL.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// SASL says how to log in.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. PLAIN shows the password to whoever sees the connection: it
	// wants TLS.
	Mechanism string
	// Username and Password are what the brokers know.
	Username, Password string
}

// mechanism returns nil for a nil SASL.
func (s *SASL) mechanism() (sasl.Mechanism, error) {
	if s == nil {
		return nil, nil
	}
	if s.Username == "" || s.Password == "" {
		return nil, errors.New("SASL needs a user name and a password")
	}
	switch s.Mechanism {
	case Plain:
		return plain.Mechanism{Username: s.Username, Password: s.Password}, nil
	case ScramSHA256:
		return scramMechanism(scram.SHA256, s)
	case ScramSHA512:
		return scramMechanism(scram.SHA512, s)
	default:
		return nil, fmt.Errorf("SASL mechanism %q is not known: it has to be %s, %s or %s", s.Mechanism,
			Plain, ScramSHA256, ScramSHA512)
	}
}

func scramMechanism(algorithm scram.Algorithm, s *SASL) (sasl.Mechanism, error) {
	m, err := scram.Mechanism(algorithm, s.Username, s.Password)
	if err != nil {
		// The library's message may quote what it could not prepare.
		return nil, fmt.Errorf("the user name or the password cannot be used with %s", s.Mechanism)
	}
	return m, nil
}
