package service_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/signin"
)

// away are parameters by which services are asked to lead elsewhere.
const away = "to=https://elsewhere.invalid&next=//elsewhere.invalid&redirect_uri=https://elsewhere.invalid&return_to=/%5Celsewhere.invalid&rd=https:elsewhere.invalid&error=//elsewhere.invalid&url=javascript:x"

// Whoever comes, with whatever parameters and headers, is led to the provider that was set up or to the page itself: by a login that begins, fails or succeeds, by
// passwords, invitations and logging out.
func TestLedNowhereElse(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	var nonce string
	var provider *httptest.Server
	provider = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var doc any
		switch r.URL.Path {
		case "/token":
			claims, _ := json.Marshal(map[string]any{"iss": provider.URL, "aud": "corewalk", "sub": "7", "nonce": nonce, "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
				"email": "ann@example.com", "email_verified": true})
			text := b64([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + b64(claims)
			sum := sha256.Sum256([]byte(text))
			sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
			if err != nil {
				t.Error(err)
			}
			doc = map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": text + "." + b64(sig)}
		case "/keys":
			doc = map[string]any{"keys": []any{map[string]any{"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256", "n": b64(key.N.Bytes()), "e": b64(big.NewInt(int64(key.E)).Bytes())}}}
		default:
			doc = map[string]any{"issuer": provider.URL, "authorization_endpoint": provider.URL + "/auth", "token_endpoint": provider.URL + "/token", "jwks_uri": provider.URL + "/keys",
				"id_token_signing_alg_values_supported": []string{"RS256"}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(doc)
	}))
	defer provider.Close()
	w := late(t, []string{"a:read:email=@example.com"}, func(c *signin.Config) { c.Issuer = provider.URL })
	w.member("ben", secretOf, map[string][]string{"a": {"read"}})
	follow := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(method, path, cookie string, form url.Values) (status int, to string, set []*http.Cookie) {
		t.Helper()
		r, err := http.NewRequest(method, w.url+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Cookie": cookie, "X-Requested-With": "corewalk", "Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-Host": "elsewhere.invalid",
			"Referer": "https://elsewhere.invalid/", "X-Original-URL": "https://elsewhere.invalid/", "Forwarded": "host=elsewhere.invalid"} {
			r.Header.Set(name, value)
		}
		a, err := follow.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a.StatusCode, a.Header.Get("Location"), a.Cookies()
	}
	_, to, set := ask("GET", "/login/oidc?"+away, "", nil)
	begun, err := url.Parse(to)
	if err != nil || len(set) != 1 || begun.Scheme+"://"+begun.Host+begun.Path != provider.URL+"/auth" || begun.Query().Get("redirect_uri") != w.url+service.SigninCallback {
		t.Fatalf("%q, %v, %v", to, set, err)
	}
	nonce = begun.Query().Get("nonce")
	back := service.SigninCallback + "?code=x&state=" + begun.Query().Get("state")
	if status, to, _ := ask("GET", service.SigninCallback+"?code=x&state=y&"+away, "", nil); status != 303 || to != "/#/out/state" {
		t.Errorf("a login that fails: %d %q", status, to)
	}
	if status, to, got := ask("GET", back+"&"+strings.ReplaceAll(away, "error=", "x="), set[0].Name+"="+set[0].Value, nil); status != 303 || to != "/" || len(got) != 2 {
		t.Errorf("a login: %d %q %v", status, to, got)
	}
	elsewhere, err := url.ParseQuery(away)
	if err != nil {
		t.Fatal(err)
	}
	form := func(pairs ...string) url.Values {
		v := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		for k, list := range elsewhere {
			v[k] = list
		}
		return v
	}
	_, _, ben := ask("POST", "/login/password?"+away, "", form("name", "ben", "password", secretOf))
	if len(ben) == 0 {
		t.Fatal("no login by password")
	}
	for path, f := range map[string]url.Values{
		"/login/password": form("name", "ben", "password", "wrong"), "/login": form("token", "wrong"), "/login/invitation": form("name", "ben", "secret", "x"), "/login/project": form("project", "a"),
		"/account/password": form("old", "x", "new", "y"), "/logout": form(),
	} {
		if status, to, _ := ask("POST", path+"?"+away, ben[0].Name+"="+ben[0].Value, f); to != "" {
			t.Errorf("%s: %d leads to %q", path, status, to)
		} else if status == 404 || status == 405 {
			t.Errorf("%s: %d", path, status)
		}
	}
	for _, path := range []string{"//elsewhere.invalid/", "/%5Celsewhere.invalid/", "/\\elsewhere.invalid", "/api/v1//elsewhere.invalid/..", "/.//elsewhere.invalid", "//elsewhere.invalid/%2e%2e"} {
		r, err := http.NewRequest("GET", w.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Opaque = path
		a, err := follow.Do(r)
		if err != nil {
			continue
		}
		a.Body.Close()
		if to := a.Header.Get("Location"); strings.HasPrefix(to, "//") || strings.HasPrefix(to, `/\`) || strings.Contains(to, "://") {
			t.Errorf("%s leads to %q", path, fmt.Sprint(to))
		}
	}
}
