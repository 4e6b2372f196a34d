package kafka_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/vapshadow/vapshadow/ingest"
	"github.com/vapshadow/vapshadow/ingest/kafka"
	"github.com/vapshadow/vapshadow/internal/kafkatest"
)

// Each way in is tried with a reader, with a member of a group, and, where it has to fail, for what both say.
func TestSecurity(t *testing.T) {
	b := broker(t)
	topic := topicOf(t, b, 1)
	produce(t, b, &kafkago.Writer{Topic: topic}, values(0, 1)...)
	ca := kafka.TLS{CAFile: b.CAFile}
	mutual := kafka.TLS{CAFile: b.CAFile, CertFile: b.ClientCertFile, KeyFile: b.ClientKeyFile}
	login := func(mechanism string) *kafka.SASL {
		return &kafka.SASL{Mechanism: mechanism, Username: kafkatest.User, Password: kafkatest.Password}
	}
	wrong := func(mechanism string) *kafka.SASL {
		return &kafka.SASL{Mechanism: mechanism, Username: kafkatest.User, Password: "a wrong one"}
	}
	for name, tt := range map[string]struct {
		listener kafkatest.Listener
		tls      *kafka.TLS
		sasl     *kafka.SASL
		// fails is part of the error.
		fails string
	}{
		"TLS":                   {listener: kafkatest.TLS, tls: &ca},
		"TLS unverified":        {listener: kafkatest.TLS, tls: &kafka.TLS{InsecureSkipVerify: true}},
		"mutual TLS":            {listener: kafkatest.MutualTLS, tls: &mutual},
		"PLAIN":                 {listener: kafkatest.SASL, sasl: login(kafka.Plain)},
		"SCRAM 256":             {listener: kafkatest.SASL, sasl: login(kafka.ScramSHA256)},
		"SCRAM 512":             {listener: kafkatest.SASL, sasl: login(kafka.ScramSHA512)},
		"PLAIN over TLS":        {listener: kafkatest.SASLOverTLS, tls: &ca, sasl: login(kafka.Plain)},
		"SCRAM 256 over TLS":    {listener: kafkatest.SASLOverTLS, tls: &ca, sasl: login(kafka.ScramSHA256)},
		"SCRAM 512 over TLS":    {listener: kafkatest.SASLOverTLS, tls: &ca, sasl: login(kafka.ScramSHA512)},
		"unknown authority":     {listener: kafkatest.TLS, tls: &kafka.TLS{CAFile: b.OtherCAFile}, fails: "unknown authority"},
		"another name":          {listener: kafkatest.TLS, tls: &kafka.TLS{CAFile: b.CAFile, ServerName: "kafka.example"}, fails: "kafka.example"},
		"no client certificate": {listener: kafkatest.MutualTLS, tls: &ca, fails: "certificate"},
		"PLAIN wrong password":  {listener: kafkatest.SASL, sasl: wrong(kafka.Plain), fails: "SASL Authentication Failed"},
		"SCRAM wrong password":  {listener: kafkatest.SASL, sasl: wrong(kafka.ScramSHA512), fails: "SASL Authentication Failed"},
		"no rights": {listener: kafkatest.SASL, fails: "Topic Authorization Failed",
			sasl: &kafka.SASL{Mechanism: kafka.Plain, Username: kafkatest.Stranger, Password: kafkatest.StrangersPassword}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSource(t, kafka.Config{
				Access: kafka.Access{Brokers: []string{b.AddrOf(tt.listener)}, TLS: tt.tls, SASL: tt.sasl},
				Topics: []string{topic}, Group: unique(t),
			})
			if tt.fails == "" {
				if got := owns(t, s); !cmp.Equal(got, []string{topic + "/0"}) {
					t.Errorf("the group gives %v", got)
				}
				want := []string{line(topic, 0, "event 0")}
				if diff := cmp.Diff(want, texts(read(t, s, topic+"/0", 0))); diff != "" {
					t.Error(diff)
				}
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			watchErr := s.Watch(ctx, func(ingest.Assignment) { t.Error("there is an assignment") })
			for _, err := range []error{watchErr, fails(t, open(t, s, topic+"/0", 0))} {
				if !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("got %v, want %s", err, tt.fails)
				}
				if strings.Contains(err.Error(), "a wrong one") {
					t.Errorf("the password is in the error: %v", err)
				}
			}
		})
	}
}

// A broker that is spoken to in another protocol just hangs up, as one that stops does. So it is tried again, and what is
// shown says what to look at.
func TestWrongProtocol(t *testing.T) {
	b := broker(t)
	for name, tt := range map[string]struct {
		listener kafkatest.Listener
		tls      *kafka.TLS
		sasl     *kafka.SASL
		says     string
	}{
		"TLS to a plain listener": {kafkatest.Plaintext, &kafka.TLS{CAFile: b.CAFile}, nil, "does it speak TLS"},
		"no TLS":                  {kafkatest.TLS, nil, nil, "does it want TLS"},
		"no SASL":                 {kafkatest.SASL, nil, nil, "does it want TLS, or SASL"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSource(t, kafka.Config{
				Access: kafka.Access{Brokers: []string{b.AddrOf(tt.listener)}, TLS: tt.tls, SASL: tt.sasl}, Topics: []string{"any"}})
			stream := open(t, s, "any/0", 0)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for {
				c, err := stream.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if c.CaughtUp || c.Behind != -1 {
					t.Fatalf("without a broker, a chunk says %+v", c)
				}
				if h := s.Health(); len(h) == 1 && h[0].Of == "any/0" && strings.Contains(h[0].Retrying, tt.says) {
					return
				}
			}
		})
	}
}

// owns waits for the first assignment of a source.
func owns(t *testing.T, s *kafka.Source) (own []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := s.Watch(ctx, func(a ingest.Assignment) {
		own = a.Own
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Watch ended with %v", err)
	}
	return own
}

func TestConfigurationErrors(t *testing.T) {
	dir := t.TempDir()
	noPEM := filepath.Join(dir, "no.pem")
	if err := os.WriteFile(noPEM, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	one := []string{"127.0.0.1:9092"}
	for name, tt := range map[string]struct {
		config kafka.Config
		want   string
	}{
		"no broker":         {kafka.Config{Topics: []string{"a"}}, "no brokers"},
		"no port":           {kafka.Config{Access: kafka.Access{Brokers: []string{"kafka"}}, Topics: []string{"a"}}, "host:port"},
		"no topic":          {kafka.Config{Access: kafka.Access{Brokers: one}}, "no topics"},
		"a topic twice":     {kafka.Config{Access: kafka.Access{Brokers: one}, Topics: []string{"a", "a"}}, "twice"},
		"a bad topic":       {kafka.Config{Access: kafka.Access{Brokers: one}, Topics: []string{"a/b"}}, "no name of a topic"},
		"a cluster of none": {kafka.Config{Access: kafka.Access{Brokers: one}, Topics: []string{"a"}, Clusters: map[string]string{"b": "c"}}, "not read"},
		"negative":          {kafka.Config{Access: kafka.Access{Brokers: one}, Topics: []string{"a"}, MaxBytes: -1}, "negative"},
		"no CA file":        {kafka.Config{Access: kafka.Access{Brokers: one, TLS: &kafka.TLS{CAFile: filepath.Join(dir, "none")}}, Topics: []string{"a"}}, "no such file"},
		"no PEM":            {kafka.Config{Access: kafka.Access{Brokers: one, TLS: &kafka.TLS{CAFile: noPEM}}, Topics: []string{"a"}}, "no certificate"},
		"no key":            {kafka.Config{Access: kafka.Access{Brokers: one, TLS: &kafka.TLS{CertFile: noPEM}}, Topics: []string{"a"}}, "name both"},
		"no certificate":    {kafka.Config{Access: kafka.Access{Brokers: one, TLS: &kafka.TLS{CertFile: noPEM, KeyFile: noPEM}}, Topics: []string{"a"}}, "client certificate"},
		"no user":           {kafka.Config{Access: kafka.Access{Brokers: one, SASL: &kafka.SASL{Mechanism: kafka.Plain}}, Topics: []string{"a"}}, "user name"},
		"no mechanism":      {kafka.Config{Access: kafka.Access{Brokers: one, SASL: &kafka.SASL{Username: "u", Password: "p"}}, Topics: []string{"a"}}, "SCRAM-SHA-512"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := kafka.New(tt.config); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	s := newSource(t, kafka.Config{Access: kafka.Access{Brokers: one}, Topics: []string{"a"}})
	for _, name := range []string{"", "a", "a/", "a/x", "a/-1", "a/03", "a/1/2", "/1"} {
		if _, err := s.Open(t.Context(), name, ingest.Mark{}); err == nil {
			t.Errorf("%q opens", name)
		}
	}
}
