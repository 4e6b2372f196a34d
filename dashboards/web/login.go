package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	minToken   = 16
	cookieName = "vapshadow_session"
	// session is how long a login lasts.
	session = 12 * time.Hour
)

// guard lets through who may see the pages, and asks all others to log in.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.allowed(r):
			next.ServeHTTP(w, r)
		case s.Token == "":
			s.fail(w, r, http.StatusForbidden, "The proxy in front of this page did not say who you are.")
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Method == http.MethodGet:
			// Whoever follows a link from elsewhere may be logged in: the browser shows the cookie only to a request that
			// comes from here.
			s.render(w, r, http.StatusOK, "again", view{Title: "One moment"})
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="vapshadow"`)
			s.render(w, r, http.StatusUnauthorized, "login", view{Title: "Log in", Body: loginView{Next: nextOf(r.URL.RequestURI())}})
		}
	})
}

// allowed says whether a request shows what is asked for.
func (s *server) allowed(r *http.Request) bool {
	if s.Token == "" && s.TrustedHeader == "" {
		return true
	}
	if s.TrustedHeader != "" && r.Header.Get(s.TrustedHeader) != "" {
		return true
	}
	if s.Token == "" {
		return false
	}
	if shown, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return s.isToken(shown)
	}
	cookie, err := r.Cookie(cookieName)
	return err == nil && s.isSession(cookie.Value)
}

func (s *server) isToken(shown string) bool {
	a, b := sha256.Sum256([]byte(shown)), sha256.Sum256([]byte(s.Token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// seal signs the end of a session. The cookie holds no token, and a new token ends all sessions.
func (s *server) seal(until string) string {
	key := sha256.Sum256([]byte("vapshadow session " + s.Token))
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte(until))
	return until + "." + hex.EncodeToString(mac.Sum(nil))
}

func (s *server) isSession(value string) bool {
	until, _, _ := strings.Cut(value, ".")
	if !hmac.Equal([]byte(s.seal(until)), []byte(value)) {
		return false
	}
	seconds, err := strconv.ParseInt(until, 10, 64)
	return err == nil && time.Now().Before(time.Unix(seconds, 0))
}

type loginView struct {
	Next  string
	Wrong bool
}

func (s *server) login(w http.ResponseWriter, r *http.Request) {
	if s.Token == "" || s.allowed(r) {
		to(w, "./")
		return
	}
	s.render(w, r, http.StatusOK, "login", view{Title: "Log in", Body: loginView{Next: "./"}})
}

// enter begins a session for who knows the token.
func (s *server) enter(w http.ResponseWriter, r *http.Request) {
	next := nextOf(r.PostFormValue("next"))
	if s.Token == "" || !s.isToken(strings.TrimSpace(r.PostFormValue("token"))) {
		s.render(w, r, http.StatusUnauthorized, "login", view{Title: "Log in", Body: loginView{Next: next, Wrong: true}})
		return
	}
	until := time.Now().Add(session)
	s.setCookie(w, r, s.seal(strconv.FormatInt(until.Unix(), 10)), until)
	to(w, next)
}

func (s *server) leave(w http.ResponseWriter, r *http.Request) {
	s.setCookie(w, r, "", time.Unix(1, 0))
	to(w, "./login")
}

// to sends on to another page, by a relative address: a proxy may serve the pages below a path.
func to(w http.ResponseWriter, page string) {
	w.Header().Set("Location", page)
	w.WriteHeader(http.StatusSeeOther)
}

func (s *server) setCookie(w http.ResponseWriter, r *http.Request, value string, until time.Time) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/", Expires: until, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

// nextOf is the page to go to after a login: one of ours, whatever the form says.
func nextOf(asked string) string {
	u, err := url.Parse(asked)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return "./"
	}
	name := strings.TrimPrefix(strings.TrimPrefix(u.Path, "."), "/")
	if strings.ContainsAny(name, `/\`) || name == "login" {
		return "./"
	}
	if u.RawQuery != "" {
		return "./" + url.PathEscape(name) + "?" + u.RawQuery
	}
	return "./" + url.PathEscape(name)
}
