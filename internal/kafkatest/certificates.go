package kafkatest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"slices"
	"time"
)

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (b *Broker) writeCertificates() error {
	ca, err := b.writeAuthority("ca.pem")
	if err != nil {
		return err
	}
	if _, err := b.writeAuthority("other-ca.pem"); err != nil {
		return err
	}
	serverCert, serverKey, err := ca.issue("server")
	if err != nil {
		return err
	}
	clientCert, clientKey, err := ca.issue("client")
	if err != nil {
		return err
	}
	b.CAFile, b.OtherCAFile = b.file("ca.pem"), b.file("other-ca.pem")
	b.ClientCertFile, b.ClientKeyFile = b.file("client-cert.pem"), b.file("client-key.pem")
	for name, content := range map[string][]byte{
		b.file("server.pem"): slices.Concat(serverKey, serverCert),
		b.ClientCertFile:     clientCert,
		b.ClientKeyFile:      clientKey,
	} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// writeAuthority makes an authority and writes its certificate.
func (b *Broker) writeAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &authority{cert: template, key: key}, os.WriteFile(b.file(name), encode("CERTIFICATE", der), 0o644)
}

// issue returns a certificate for 127.0.0.1 and its key, both as PEM.
func (a *authority) issue(name string) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := certificate(name)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", pkcs8), nil
}

func certificate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // crypto/rand does not fail
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
