package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLS says how connections are encrypted. The files are read when a Source or a Writer is made.
type TLS struct {
	// CAFile holds the authorities, as PEM, that the brokers' certificates are signed with. Without it those of the system
	// are trusted.
	CAFile string
	// CertFile and KeyFile are this client's certificate and key, as PEM, for brokers that ask for one. Both or none.
	CertFile, KeyFile string
	// ServerName is the name that the brokers' certificates are made out to, where it is not the host of their address.
	ServerName string
	// InsecureSkipVerify takes any certificate. Then nobody knows who the broker is: a password may go to anybody.
	InsecureSkipVerify bool
}

// config returns nil for a nil TLS.
func (t *TLS) config() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: t.ServerName,
		// Only where the configuration says so by this very name.
		InsecureSkipVerify: t.InsecureSkipVerify,
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the certificate authorities: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", t.CAFile)
		}
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("a client certificate needs its key and the key its certificate: name both files")
	}
	if t.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate %s: %w", t.CertFile, err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}
