package webhook

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// reloadEvery is how often the files are looked at, when there are requests.
const reloadEvery = time.Second

// files holds what the files of certificates and tokens say. They are small, so they are read again and compared: a
// time of change can lie.
type files struct {
	cfg    Config
	log    *slog.Logger
	errors atomic.Int64

	mu     sync.Mutex
	read   [][]byte // what the files held
	at     time.Time
	config *tls.Config
	tokens [][sha256.Size]byte
	failed string // the last error, to tell each once
}

func loadFiles(cfg Config) (*files, error) {
	f := &files{cfg: cfg, log: cfg.Log, at: time.Now()}
	if err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

// tls returns the configuration for a handshake.
func (f *files) tls() *tls.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reload()
	return f.config
}

// knows tells whether a token is one of those in the files. It takes as long for every token of a length.
func (f *files) knows(token string) bool {
	f.mu.Lock()
	f.reload()
	tokens := f.tokens
	f.mu.Unlock()
	sum := sha256.Sum256([]byte(token))
	found := 0
	for _, t := range tokens {
		found |= subtle.ConstantTimeCompare(sum[:], t[:])
	}
	return found == 1
}

// reload reads the files again, after a while. A file that cannot be used leaves all as it was: it may be half written.
func (f *files) reload() {
	if time.Since(f.at) < reloadEvery {
		return
	}
	f.at = time.Now()
	err := f.load()
	if err == nil {
		f.failed = ""
		return
	}
	f.errors.Add(1)
	if err.Error() != f.failed {
		f.failed = err.Error()
		f.log.Error("the webhook goes on with the certificates and tokens that it has", "error", err)
	}
}

func (f *files) load() error {
	var read [][]byte
	for _, name := range f.names() {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		read = append(read, data)
	}
	if f.read != nil && slices.EqualFunc(read, f.read, bytes.Equal) {
		return nil
	}
	config, read0, err := f.parseTLS(read)
	if err != nil {
		return err
	}
	tokens, err := f.parseTokens(read0)
	if err != nil {
		return err
	}
	f.read, f.config, f.tokens = read, config, tokens
	return nil
}

func (f *files) names() []string {
	var names []string
	if f.cfg.CertFile != "" {
		names = append(names, f.cfg.CertFile, f.cfg.KeyFile)
	}
	if f.cfg.ClientCAFile != "" {
		names = append(names, f.cfg.ClientCAFile)
	}
	return append(names, f.cfg.TokenFiles...)
}

// parseTLS reads the certificates, and returns the files behind them.
func (f *files) parseTLS(read [][]byte) (*tls.Config, [][]byte, error) {
	if f.cfg.CertFile == "" {
		return nil, read, nil
	}
	cert, err := tls.X509KeyPair(read[0], read[1])
	if err != nil {
		return nil, nil, fmt.Errorf("certificate %s with key %s: %w", f.cfg.CertFile, f.cfg.KeyFile, err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
		Certificates: []tls.Certificate{cert},
	}
	read = read[2:]
	if f.cfg.ClientCAFile == "" {
		return config, read, nil
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(read[0]) {
		return nil, nil, fmt.Errorf("client CA %s holds no certificate: it has to be PEM", f.cfg.ClientCAFile)
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	if len(f.cfg.TokenFiles) > 0 {
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return config, read[1:], nil
}

func (f *files) parseTokens(read [][]byte) ([][sha256.Size]byte, error) {
	var tokens [][sha256.Size]byte
	for i, data := range read {
		token := bytes.TrimSpace(data)
		if len(token) == 0 || bytes.ContainsAny(token, " \t\r\n") {
			return nil, fmt.Errorf("token file %s: %w", f.cfg.TokenFiles[i], errToken)
		}
		tokens = append(tokens, sha256.Sum256(token))
	}
	return tokens, nil
}

var errToken = errors.New("it has to hold one token, without white space")
