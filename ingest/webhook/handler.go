package webhook

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	path = "/audit"
	// answerTimeout is how long a client may take to read an answer.
	answerTimeout = 10 * time.Second
)

// ServeHTTP answers when the events of a request are stored, or cannot be.
func (s *Source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cluster, refused := s.check(r)
	if refused != nil {
		s.answer(w, refused)
		return
	}
	// The time for the body ends with the body: a connection that is slow to get its answer is not a slow client.
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(s.cfg.BodyTimeout)); err != nil {
		s.answer(w, err)
		return
	}
	b, err := s.readBody(w, r)
	if err == nil {
		err = control.SetReadDeadline(time.Time{})
		if err != nil {
			s.queue.release(b.room)
		}
	}
	if err != nil {
		s.answer(w, err)
		return
	}
	c, err := s.queue.add(cluster, b.data, b.room)
	if err != nil {
		s.answer(w, err)
		return
	}
	s.wait(w, r, c)
}

// wait answers with the outcome of a call. The call goes on when the client is gone.
func (s *Source) wait(w http.ResponseWriter, r *http.Request, c *call) {
	timeout := time.NewTimer(s.cfg.StoreTimeout)
	defer timeout.Stop()
	select {
	case <-c.done:
		s.answer(w, c.err)
	case <-timeout.C:
		s.answer(w, errSlow)
	case <-r.Context().Done():
		s.counters.left()
	}
}

var errSlow = errors.New("the events are not stored yet")

// check refuses a request for what is known before its body, and returns the cluster that it names.
func (s *Source) check(r *http.Request) (cluster string, refused error) {
	rest, ok := strings.CutPrefix(r.URL.Path, path)
	if !ok || rest != "" && rest[0] != '/' {
		return "", refuse(http.StatusNotFound, "events go to %s/<cluster>", path)
	}
	if !s.authenticated(r) {
		return "", refuse(http.StatusUnauthorized, "a client certificate or a bearer token is needed")
	}
	cluster = strings.Trim(rest, "/")
	switch {
	case cluster == "":
		cluster = s.cfg.DefaultCluster
	case !clusterName.MatchString(cluster), len(s.cfg.Clusters) > 0 && !slices.Contains(s.cfg.Clusters, cluster):
		return "", refuse(http.StatusNotFound, "no such cluster")
	}
	if r.Method != http.MethodPost {
		return "", refuse(http.StatusMethodNotAllowed, "events are posted")
	}
	if refused := s.checkHeaders(r); refused != nil {
		return "", refused
	}
	return cluster, nil
}

func (s *Source) authenticated(r *http.Request) bool {
	if s.cfg.ClientCAFile == "" && len(s.cfg.TokenFiles) == 0 {
		return true
	}
	if s.cfg.ClientCAFile != "" && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && s.files.knows(strings.TrimSpace(token))
}

// answer writes the response for an outcome. It tells no more of a failure of the store than that there is one: the
// client has no use for it.
func (s *Source) answer(w http.ResponseWriter, err error) {
	code, text := http.StatusOK, ""
	r, refused := errors.AsType[*refusal](err)
	switch {
	case err == nil:
	case refused:
		code, text = r.code, r.text
	case errors.Is(err, errFull):
		code, text = http.StatusTooManyRequests, err.Error()
	case errors.Is(err, errClosing), errors.Is(err, errSlow):
		code, text = http.StatusServiceUnavailable, err.Error()
	default:
		code, text = http.StatusServiceUnavailable, "the events could not be stored"
	}
	h := w.Header()
	switch code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.FormatInt(int64(max(s.cfg.RetryAfter.Round(time.Second), time.Second)/time.Second), 10))
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		h.Set("Allow", http.MethodPost)
	}
	s.counters.answered(code)
	// Where a deadline cannot be set, the connection is gone, and so is the answer.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout))
	if code == http.StatusOK {
		w.WriteHeader(code)
		return
	}
	http.Error(w, text, code)
}
