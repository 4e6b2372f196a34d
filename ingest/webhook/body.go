package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// refusal is an answer other than success.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return r.text }

func refuse(code int, format string, args ...any) *refusal {
	return &refusal{code: code, text: fmt.Sprintf(format, args...)}
}

const readSize = 64 << 10

// body is a body as it is read, and the room that it takes.
type body struct {
	data []byte
	room int64
}

// checkHeaders refuses what cannot be an EventList before any of it is read.
func (s *Source) checkHeaders(r *http.Request) *refusal {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "the content type has to be application/json")
	}
	if encoding := r.Header.Get("Content-Encoding"); !isGzip(r) && encoding != "" && !strings.EqualFold(encoding, "identity") {
		return refuse(http.StatusUnsupportedMediaType, "the content encoding has to be gzip, or none")
	}
	if r.ContentLength > s.cfg.MaxBodyBytes {
		return s.tooLarge()
	}
	return nil
}

func isGzip(r *http.Request) bool { return strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip") }

func (s *Source) tooLarge() *refusal {
	return refuse(http.StatusRequestEntityTooLarge,
		"the body is larger than %d bytes: let the apiserver send fewer events in a batch, or truncate them", s.cfg.MaxBodyBytes)
}

// readBody reads a body, decompressed. It takes room as the body grows; what it returns an error for has none.
func (s *Source) readBody(w http.ResponseWriter, r *http.Request) (body, error) {
	var b body
	err := s.readInto(&b, w, r)
	if err == nil && !bytes.HasPrefix(bytes.TrimLeft(b.data[:min(len(b.data), readSize)], " \t\r\n"), []byte("{")) {
		err = refuse(http.StatusBadRequest, "the body is no EventList")
	}
	if err != nil {
		s.queue.release(b.room)
		return body{}, err
	}
	return b, nil
}

func (s *Source) readInto(b *body, w http.ResponseWriter, r *http.Request) error {
	var stream io.Reader = http.MaxBytesReader(w, r.Body, s.cfg.MaxBodyBytes)
	if isGzip(r) {
		z, err := gzip.NewReader(stream)
		if err != nil {
			return s.readError(err)
		}
		stream = z
	}
	// One byte more than the body has shows its end at once.
	if err := s.grow(b, max(min(r.ContentLength, s.cfg.MaxBodyBytes), 0)+1); err != nil {
		return err
	}
	for {
		if len(b.data) == cap(b.data) {
			if err := s.grow(b, int64(max(len(b.data), readSize))); err != nil {
				return err
			}
		}
		n, err := stream.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		switch {
		case int64(len(b.data)) > s.cfg.MaxBodyBytes:
			return s.tooLarge()
		case err == io.EOF:
			return nil
		case err != nil:
			return s.readError(err)
		}
	}
}

// grow makes the body's memory larger by up to n bytes.
func (s *Source) grow(b *body, n int64) error {
	n = min(n, s.cfg.MaxBodyBytes+1-int64(len(b.data)))
	// The byte that shows a body to be too large is nobody's.
	room := min(n, s.cfg.MaxBodyBytes-b.room)
	if err := s.queue.take(room); err != nil {
		return err
	}
	b.room += room
	larger := make([]byte, len(b.data), int64(len(b.data))+n)
	copy(larger, b.data)
	b.data = larger
	return nil
}

// readError says what an error of reading is to the client.
func (s *Source) readError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return s.tooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refuse(http.StatusRequestTimeout, "the body did not arrive in time")
	}
	return refuse(http.StatusBadRequest, "the body ends early, or is not what its headers say")
}
