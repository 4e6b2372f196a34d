package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vapshadow/vapshadow/dashboards/web"
)

const token = "correct horse battery staple"

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

func TestWhoMayLook(t *testing.T) {
	db := recording(t)
	open := serve(t, web.Config{Reader: db})
	withToken := serve(t, web.Config{Reader: db, Token: token})
	withHeader := serve(t, web.Config{Reader: db, TrustedHeader: "X-Forwarded-User"})
	both := serve(t, web.Config{Reader: db, Token: token, TrustedHeader: "X-Forwarded-User"})
	for _, test := range []struct {
		name, url string
		change    func(*http.Request)
		want      int
	}{
		{"open", open.URL, host("127.0.0.1"), 200},
		{"open, as localhost", open.URL, host("localhost:9081"), 200},
		{"open, as IPv6", open.URL, host("[::1]:9081"), 200},
		{"open, under another name", open.URL, host("evil.example"), 421},
		{"open, under a name that looks like it", open.URL, host("127.0.0.1.evil.example:80"), 421},
		{"no token", withToken.URL, host("pages.example"), 401},
		{"another token", withToken.URL, header("Authorization", "Bearer wrong"), 401},
		{"the token", withToken.URL, header("Authorization", "Bearer "+token), 200},
		{"the token as a password", withToken.URL, header("Authorization", "Basic "+token), 401},
		{"a made-up session", withToken.URL, header("Cookie", "vapshadow_session=99999999999.00"), 401},
		{"an empty session", withToken.URL, header("Cookie", "vapshadow_session="), 401},
		{"a header that is not trusted", withToken.URL, header("X-Forwarded-User", "jane"), 401},
		{"from elsewhere", withToken.URL, header("Sec-Fetch-Site", "cross-site"), 200},
		{"no header", withHeader.URL, host("pages.example"), 403},
		{"an empty header", withHeader.URL, header("X-Forwarded-User", ""), 403},
		{"the header", withHeader.URL, header("X-Forwarded-User", "jane"), 200},
		{"either: neither", both.URL, host("pages.example"), 401},
		{"either: the header", both.URL, header("X-Forwarded-User", "jane"), 200},
		{"either: the token", both.URL, header("Authorization", "Bearer "+token), 200},
	} {
		for _, path := range []string{"/", "/policy?policy=op-nsobj", "/sources"} {
			page := get(t, test.url+path, test.change)
			if page.code != test.want {
				t.Errorf("%s: %s gives %d, not %d", test.name, path, page.code, test.want)
			}
			shown := strings.Contains(page.body, "op-nsobj-b") || strings.Contains(page.body, "arrived is accounted for")
			if allowed := test.want == 200 && test.name != "from elsewhere"; shown != allowed {
				t.Errorf("%s: %s shows data: %t", test.name, path, shown)
			}
		}
	}
}

func TestLogin(t *testing.T) {
	s := serve(t, web.Config{Reader: recording(t), Token: token})
	post := func(path string, values url.Values, change ...func(*http.Request)) reply {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(values.Encode()))
		fatal(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, c := range change {
			c(r)
		}
		return do(t, r)
	}
	if got := post("/login", url.Values{"token": {"wrong"}}); got.code != 401 || got.header.Get("Set-Cookie") != "" {
		t.Errorf("a wrong token gives %d", got.code)
	}
	if got := post("/login", url.Values{"token": {token}}, header("Origin", "https://evil.example"), header("Sec-Fetch-Site", "cross-site")); got.code != 403 {
		t.Errorf("a login from another site gives %d", got.code)
	}
	for next, want := range map[string]string{
		"https://evil.example/": "./", "//evil.example/": "./", `/\evil.example`: "./", "javascript:alert(1)": "./", "./login": "./", "": "./",
		"/policy?policy=op-nsobj": "./policy?policy=op-nsobj", "./policy?policy=a%20b": "./policy?policy=a%20b",
	} {
		if got := post("/login", url.Values{"token": {token}, "next": {next}}); got.code != 303 || got.header.Get("Location") != want {
			t.Errorf("a login with next %q gives %d, %s; want %s", next, got.code, got.header.Get("Location"), want)
		}
	}
	cookie := post("/login", url.Values{"token": {token}}).header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie is not %s: %s", part, cookie)
		}
	}
	if strings.Contains(cookie, token) {
		t.Error("the cookie holds the token")
	}
	if secure := post("/login", url.Values{"token": {token}}, header("X-Forwarded-Proto", "https")).header.Get("Set-Cookie"); !strings.Contains(secure, "Secure") {
		t.Error("the cookie of an HTTPS page is not Secure")
	}
	session, _, _ := strings.Cut(cookie, ";")
	if got := get(t, s.URL, header("Cookie", session)); got.code != 200 || !strings.Contains(got.body, "Log out") {
		t.Errorf("a session gives %d", got.code)
	}
	value, _ := strings.CutPrefix(session, "vapshadow_session=")
	for _, forged := range []string{"9" + value, strings.Replace(value, ".", "0.", 1), value + "0", "1." + value} {
		if got := get(t, s.URL, header("Cookie", "vapshadow_session="+forged)); got.code != 401 {
			t.Errorf("a forged session gives %d", got.code)
		}
	}
	other := serve(t, web.Config{Reader: recording(t), Token: token + "!"})
	if got := get(t, other.URL, header("Cookie", session)); got.code != 401 {
		t.Errorf("a session of another token gives %d", got.code)
	}
	if got := post("/logout", nil); got.code != 303 || !strings.HasPrefix(got.header.Get("Set-Cookie"), "vapshadow_session=;") {
		t.Errorf("logging out gives %d, %q", got.code, got.header.Get("Set-Cookie"))
	}
}

func TestGuarded(t *testing.T) {
	for _, test := range []struct {
		address, token, header string
		want                   bool
	}{
		{"127.0.0.1:9081", "", "", true}, {"localhost:9081", "", "", true}, {"[::1]:9081", "", "", true}, {"127.8.8.8:1", "", "", true},
		{":9081", "", "", false}, {"0.0.0.0:9081", "", "", false}, {"[::]:9081", "", "", false}, {"10.0.0.1:9081", "", "", false},
		{"example.org:80", "", "", false}, {"localhost.example.org:80", "", "", false}, {"", "", "", false},
		{":9081", "file", "", true}, {":9081", "", "X-User", true},
	} {
		if got := web.Guarded(test.address, test.token, test.header); got != test.want {
			t.Errorf("Guarded(%q, %q, %q) is %t", test.address, test.token, test.header, got)
		}
	}
	if _, err := web.New(web.Config{Reader: recording(t), Token: "short"}); err == nil {
		t.Error("a short token is accepted")
	}
}
