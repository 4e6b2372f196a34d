package kafkatest

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
)

// controller is the listener of the controller, which no client uses.
const controller Listener = "CONTROLLER"

var protocols = map[Listener]string{
	Plaintext: "PLAINTEXT", controller: "PLAINTEXT", TLS: "SSL", MutualTLS: "SSL", SASL: "SASL_PLAINTEXT", SASLOverTLS: "SASL_SSL",
}

// freePorts finds a port for each listener. All are held until the last is found, so that none is given twice.
func freePorts(security bool) (map[Listener]int, error) {
	ports := make(map[Listener]int)
	for l := range protocols {
		if !security && l != Plaintext && l != controller {
			continue
		}
		socket, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer socket.Close() //nolint:errcheck // it was opened to learn its port
		ports[l] = socket.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

func (b *Broker) properties(o Options) []byte {
	var listeners, protocolMap []string
	for _, l := range slices.Sorted(maps.Keys(b.ports)) {
		listeners = append(listeners, fmt.Sprintf("%s://%s", l, b.AddrOf(l)))
		protocolMap = append(protocolMap, fmt.Sprintf("%s:%s", l, protocols[l]))
	}
	p := map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        "1",
		"controller.quorum.voters":       "1@" + b.AddrOf(controller),
		"controller.listener.names":      string(controller),
		"inter.broker.listener.name":     string(Plaintext),
		"listeners":                      strings.Join(listeners, ","),
		"listener.security.protocol.map": strings.Join(protocolMap, ","),
		"log.dirs":                       b.file("data"),
		"auto.create.topics.enable":      "false",

		// One node cannot replicate.
		"offsets.topic.num.partitions":                     "1",
		"offsets.topic.replication.factor":                 "1",
		"transaction.state.log.num.partitions":             "1",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"share.coordinator.state.topic.replication.factor": "1",

		// Tests wait for none of this.
		"group.initial.rebalance.delay.ms": "0",
		"group.min.session.timeout.ms":     "500",
		"broker.session.timeout.ms":        "1500",
		"broker.heartbeat.interval.ms":     "200",
		"log.retention.check.interval.ms":  "500",
		"log.initial.task.delay.ms":        "500",
		"log.cleaner.backoff.ms":           "200",
		"log.cleaner.dedupe.buffer.size":   "4194304",

		"message.max.bytes": "67108864",
	}
	if o.Security {
		maps.Copy(p, b.security())
	}
	maps.Copy(p, o.Properties)
	var out bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&out, "%s=%s\n", key, p[key])
	}
	return out.Bytes()
}

func (b *Broker) security() map[string]string {
	p := map[string]string{
		"ssl.keystore.type":                  "PEM",
		"ssl.keystore.location":              b.file("server.pem"),
		"ssl.truststore.type":                "PEM",
		"ssl.truststore.location":            b.CAFile,
		"listener.name.mtls.ssl.client.auth": "required",

		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":           "User:ANONYMOUS;User:" + User + ";User:CN=client",
	}
	for _, l := range []Listener{SASL, SASLOverTLS} {
		prefix := "listener.name." + strings.ToLower(string(l)) + "."
		p[prefix+"sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
		p[prefix+"plain.sasl.jaas.config"] = fmt.Sprintf(
			"org.apache.kafka.common.security.plain.PlainLoginModule required user_%s=%q user_%s=%q;",
			User, Password, Stranger, StrangersPassword)
		for _, mechanism := range []string{"scram-sha-256", "scram-sha-512"} {
			p[prefix+mechanism+".sasl.jaas.config"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
		}
	}
	return p
}
