package web_test

import (
	"net/http"
	"net/http/cookiejar"
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
			resp, body := get(t, test.url+path, test.change)
			if resp.StatusCode != test.want {
				t.Errorf("%s: %s gives %s, not %d", test.name, path, resp.Status, test.want)
			}
			shown := strings.Contains(body, "op-nsobj-b") || strings.Contains(body, "arrived is accounted for")
			if allowed := test.want == 200 && test.name != "from elsewhere"; shown != allowed {
				t.Errorf("%s: %s shows data: %t", test.name, path, shown)
			}
		}
	}
}

func TestLogin(t *testing.T) {
	s := serve(t, web.Config{Reader: recording(t), Token: token})
	jar, err := cookiejar.New(nil)
	fatal(t, err)
	client := &http.Client{Jar: jar}
	post := func(path string, values url.Values, change ...func(*http.Request)) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(values.Encode()))
		fatal(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, c := range change {
			c(r)
		}
		resp, err := client.Do(r)
		fatal(t, err)
		fatal(t, resp.Body.Close())
		return resp
	}
	if resp := post("/login", url.Values{"token": {"wrong"}}); resp.StatusCode != 401 {
		t.Errorf("a wrong token gives %s", resp.Status)
	}
	if resp := post("/login", url.Values{"token": {token}}, header("Origin", "https://evil.example"), header("Sec-Fetch-Site", "cross-site")); resp.StatusCode != 403 {
		t.Errorf("a login from another site gives %s", resp.Status)
	}
	for _, next := range []string{"https://evil.example/", "//evil.example/", `/\evil.example`, "javascript:alert(1)", "./login"} {
		resp := post("/login", url.Values{"token": {token}, "next": {next}})
		if resp.StatusCode != 200 || resp.Request.URL.String() != s.URL+"/" {
			t.Errorf("a login with next %q ends at %s: %s", next, resp.Request.URL, resp.Status)
		}
	}
	resp := post("/login", url.Values{"token": {token}, "next": {"/policy?policy=op-nsobj"}})
	if resp.StatusCode != 200 || resp.Request.URL.RequestURI() != "/policy?policy=op-nsobj" {
		t.Errorf("a login ends at %s: %s", resp.Request.URL, resp.Status)
	}
	cookie := resp.Request.Response.Header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie is not %s: %s", part, cookie)
		}
	}
	if strings.Contains(cookie, token) {
		t.Error("the cookie holds the token")
	}
	other := serve(t, web.Config{Reader: recording(t), Token: token + "!"})
	if resp, _ := get(t, other.URL, header("Cookie", strings.Split(cookie, ";")[0])); resp.StatusCode != 401 {
		t.Errorf("a session of another token gives %s", resp.Status)
	}
	if resp := post("/logout", nil); resp.Request.URL.Path != "/login" {
		t.Errorf("logging out ends at %s", resp.Request.URL)
	}
	r, err := client.Get(s.URL)
	fatal(t, err)
	fatal(t, r.Body.Close())
	if r.StatusCode != 401 {
		t.Errorf("after logging out: %s", r.Status)
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
