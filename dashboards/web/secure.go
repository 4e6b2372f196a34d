package web

import (
	"net"
	"net/http"
)

// maxURI bounds what a request may ask for.
const maxURI = 8 << 10

// policyCSP lets a page load nothing but our stylesheet and icon, and run nothing.
const policyCSP = "default-src 'self'; script-src 'none'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// secured bounds requests, and tells browsers to do no more with a page than to show it.
func secured(s *server, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policyCSP)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if len(r.URL.RequestURI()) > maxURI {
			http.Error(w, "the address is too long", http.StatusRequestURITooLong)
			return
		}
		if !s.hostAllowed(r.Host) {
			http.Error(w, "these pages are open without a login, so they are only served under the name localhost, 127.0.0.1 or [::1]", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxURI)
		next.ServeHTTP(w, r)
	})
}

// hostAllowed refuses other names than those of this machine where nobody has to log in: another site could make its own
// name point here, and read along in a browser on this machine.
func (s *server) hostAllowed(host string) bool {
	if s.Token != "" || s.TrustedHeader != "" {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return isLoopback(name)
}

func isLoopback(host string) bool {
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Guarded says whether pages may be served on an address: others reach it only where they have to say who they are.
func Guarded(address, token, trustedHeader string) bool {
	host, _, err := net.SplitHostPort(address)
	return token != "" || trustedHeader != "" || err == nil && isLoopback(host)
}
