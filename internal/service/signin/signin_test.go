package signin

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A liar is a provider that says what a test wants.
type liar struct {
	*httptest.Server
	key       *rsa.PrivateKey
	challenge string         // of the login that has begun
	claims    map[string]any // of the token
	info      map[string]any // of the user; nil for no such endpoint
	token     func(signed string) string
	status    int // of the token's answer
	asked     url.Values
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (l *liar) sign(key *rsa.PrivateKey, header string, claims map[string]any) string {
	body, _ := json.Marshal(claims)
	text := b64([]byte(header)) + "." + b64(body)
	sum := sha256.Sum256([]byte(text))
	signature, _ := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	return text + "." + b64(signature)
}

func newLiar(t *testing.T) *liar {
	t.Helper()
	l := &liar{info: map[string]any{}}
	var err error
	if l.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		doc := map[string]any{"issuer": l.URL, "authorization_endpoint": l.URL + "/auth", "token_endpoint": l.URL + "/token", "jwks_uri": l.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}}
		if l.info != nil {
			doc["userinfo_endpoint"] = l.URL + "/me"
		}
		say(w, doc)
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		say(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256", "n": b64(l.key.N.Bytes()), "e": b64(big.NewInt(int64(l.key.E)).Bytes())}}})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		l.asked = r.PostForm
		id, secret, _ := r.BasicAuth()
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if l.status != 0 || b64(sum[:]) != l.challenge || r.PostForm.Get("code") != "the code" || id+secret != "corewalksecret" && r.PostForm.Get("client_secret") != "secret" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(max(l.status, 400))
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"the code is gone"}`)
			return
		}
		signed := l.sign(l.key, `{"alg":"RS256","kid":"1"}`, l.claims)
		if l.token != nil {
			signed = l.token(signed)
		}
		say(w, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 60, "id_token": signed})
	})
	mux.HandleFunc("/me", func(w http.ResponseWriter, _ *http.Request) { say(w, l.info) })
	l.Server = httptest.NewServer(mux)
	t.Cleanup(l.Close)
	return l
}

var rules = []Rule{{"shop", []string{"read", "triage"}, "groups", "dev"}, {"shop", []string{"read", "admin"}, "email", "ann@example.com"}, {"bank", []string{"read"}, "email", "@example.com"}, {"odd", []string{"read"}, "https://x.example/roles.of", "a"}, {"deep", []string{"read"}, "realm.roles", "r"}, {"flag", []string{"read"}, "staff", "true"}, {"cold", []string{"read"}, "email", "@kelvin.example"}}

// login begins and ends a login, with a query that may be changed.
func (l *liar) login(t *testing.T, p *Provider, change func(held *string, q url.Values)) (Person, string, error) {
	t.Helper()
	to, held, err := p.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	l.challenge = q.Get("code_challenge")
	if q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || q.Get("nonce") == "" || q.Get("response_type") != "code" || q.Get("client_id") != "corewalk" || strings.Contains(to, "secret") {
		t.Errorf("%s", to)
	}
	l.claims["nonce"] = q.Get("nonce")
	back := url.Values{"state": {q.Get("state")}, "code": {"the code"}}
	if change != nil {
		change(&held, back)
	}
	return p.End(t.Context(), held, back)
}

func (l *liar) truth() map[string]any {
	return map[string]any{"iss": l.URL, "aud": "corewalk", "sub": "7", "exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix(), "email": "Ann@Example.com", "email_verified": true}
}

func (l *liar) provider(t *testing.T) *Provider {
	t.Helper()
	p, err := New(Config{Issuer: l.URL, ID: "corewalk", Secret: "secret", Callback: "https://crash.example/login/oidc/callback", Scopes: []string{"groups"}, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Who comes back with what the provider says has the projects of the rules.
func TestLogin(t *testing.T) {
	l := newLiar(t)
	l.info = map[string]any{"sub": "7", "groups": []string{"dev", "ops"}, "email": "root@evil.example"}
	p := l.provider(t)
	l.claims = l.truth()
	who, _, err := l.login(t, p, func(_ *string, q url.Values) { q.Set("iss", l.URL) })
	if err != nil || who.Name != "Ann@Example.com" || len(who.Subject) != 32 || !reflect.DeepEqual(who.Projects, map[string][]string{"shop": {"admin", "read", "triage"}, "bank": {"read"}}) {
		t.Errorf("%+v %v", who, err)
	}
	// Whether an address was verified is said beside it.
	for _, c := range []struct{ claims, info map[string]any }{
		{map[string]any{"email": "ann@example.com"}, map[string]any{"email": "x@evil.example", "email_verified": true}},
		{map[string]any{"email_verified": true}, map[string]any{"email": "ann@example.com"}},
	} {
		l.claims, l.info = l.truth(), c.info
		delete(l.claims, "email")
		delete(l.claims, "email_verified")
		for name, v := range c.claims {
			l.claims[name] = v
		}
		l.info["sub"] = "7"
		if who, _, err := l.login(t, p, nil); !errors.Is(err, ErrNobody) {
			t.Errorf("%v: %+v %v", c, who, err)
		}
	}
	l.claims, l.info = l.truth(), map[string]any{"sub": "7", "email": "ann@example.com", "email_verified": true}
	delete(l.claims, "email")
	if who, _, err := l.login(t, p, nil); err != nil || who.Name != "ann@example.com" { // the user endpoint says both
		t.Errorf("%+v %v", who, err)
	}
	if p.Host() != strings.TrimPrefix(l.URL, "http://") {
		t.Error(p.Host())
	}
	// Without an endpoint for users the token counts alone.
	l = newLiar(t)
	l.info = nil
	p = l.provider(t)
	for claims, want := range map[string]string{
		`{"email_verified":"true"}`: "map[bank:[read] shop:[admin read]] Ann@Example.com", `{"email_verified":false,"groups":"dev","preferred_username":"ann\u0000\n"}`: "map[shop:[read triage]] ann (unverified, SUBJECT)",
		`{"email_verified":null,"https://x.example/roles.of":["a"]}`: "map[odd:[read]] 7", `{"email":"x@sub.example.com","realm":{"roles":["r"]}}`: "map[deep:[read]] x@sub.example.com", `{"email_verified":false,"groups":"dev","preferred_username":"Ann@Example.com"}`: "map[shop:[read triage]] Ann@Example.com (unverified, SUBJECT)",
		`{"email_verified":false,"groups":"dev","preferred_username":"\u0000","name":"n"}`: "map[shop:[read triage]] n (unverified, SUBJECT)",
		`{"email":"x@y","staff":true,"name":"n"}`:                                          "map[flag:[read]] x@y", `{"email":"","staff":"true","name":"` + strings.Repeat("\u00e9", 300) + `"}`: "map[flag:[read]] " + strings.Repeat("\u00e9", 100) + " (unverified, SUBJECT)",
	} {
		l.claims = l.truth()
		if err := json.Unmarshal([]byte(claims), &l.claims); err != nil {
			t.Fatal(err)
		}
		who, _, err := l.login(t, p, nil)
		if want = strings.ReplaceAll(want, "SUBJECT", who.Subject[:min(len(who.Subject), 8)]); err != nil || fmt.Sprint(who.Projects, " ", who.Name) != want {
			t.Errorf("%s: %v %q %v, want %s", claims, who.Projects, who.Name, err, want)
		}
	}
	for _, claims := range []string{`{"email_verified":false}`, `{"email":"@example.com"}`, `{"email":"ann@example.com.evil"}`, `{"email":"x@y","groups":["devs"]}`, `{"email":"x@y","groups":{"dev":1}}`, `{"email":"x@y","staff":false}`, `{"email":7}`, `{"email":"x@\u212aelvin.example"}`} {
		l.claims = l.truth()
		if err := json.Unmarshal([]byte(claims), &l.claims); err != nil {
			t.Fatal(err)
		}
		if who, _, err := l.login(t, p, nil); !errors.Is(err, ErrNobody) {
			t.Errorf("%s: %v %v", claims, who, err)
		}
	}
}

// Nobody gets in with anything but what the provider has signed for this login, this client and this moment.
func TestLies(t *testing.T) {
	l := newLiar(t)
	p := l.provider(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		claims func(map[string]any)
		token  func(string) string
		query  func(*string, url.Values)
		status int
		err    error
	}{
		"another state":     {query: func(_ *string, q url.Values) { q.Set("state", "x") }, err: ErrState},
		"no state":          {query: func(_ *string, q url.Values) { q.Del("state") }, err: ErrState},
		"nothing held":      {query: func(h *string, _ url.Values) { *h = "" }, err: ErrState},
		"empty, both":       {query: func(h *string, q url.Values) { *h = "...x"; q.Set("state", "") }, err: ErrState},
		"too much held":     {query: func(h *string, _ url.Values) { *h += strings.Repeat("x", 600) }, err: ErrState},
		"refused":           {query: func(_ *string, q url.Values) { q.Set("error", "access_denied") }, err: ErrRefused},
		"another issuer":    {query: func(_ *string, q url.Values) { q.Set("iss", "https://evil.example") }, err: ErrRefused},
		"no code":           {query: func(_ *string, q url.Values) { q.Del("code") }, err: ErrRefused},
		"another code":      {query: func(_ *string, q url.Values) { q.Set("code", "x") }, err: ErrRefused},
		"another verifier":  {query: func(h *string, _ url.Values) { s := strings.SplitN(*h, ".", 4); s[2] = "x"; *h = strings.Join(s, ".") }, err: ErrRefused},
		"another nonce":     {claims: func(c map[string]any) { c["nonce"] = "x" }, err: ErrProvider},
		"no nonce":          {claims: func(c map[string]any) { delete(c, "nonce") }, err: ErrProvider},
		"another client":    {claims: func(c map[string]any) { c["aud"] = "other" }, err: ErrProvider},
		"signed by another": {claims: func(c map[string]any) { c["iss"] = "https://evil.example" }, err: ErrProvider},
		"over":              {claims: func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }, err: ErrProvider},
		"nobody":            {claims: func(c map[string]any) { c["sub"] = "" }, err: ErrProvider},
		"another token":     {claims: func(c map[string]any) { c["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" }, err: ErrProvider},
		"somebody else":     {claims: func(c map[string]any) { c["sub"] = "8" }, err: ErrProvider},
		"no token":          {token: func(string) string { return "" }, err: ErrProvider},
		"unsigned":          {token: func(s string) string { return b64([]byte(`{"alg":"none"}`)) + "." + strings.Split(s, ".")[1] + "." }, err: ErrProvider},
		"another key":       {token: func(string) string { return l.sign(other, `{"alg":"RS256","kid":"1"}`, l.claims) }, err: ErrProvider},
		"an unknown key":    {token: func(string) string { return l.sign(other, `{"alg":"RS256","kid":"2"}`, l.claims) }, err: ErrProvider},
		"changed": {token: func(s string) string {
			p := strings.Split(s, ".")
			p[1] = b64([]byte(`{}`))
			return strings.Join(p, ".")
		}, err: ErrProvider},
		"the provider fails": {status: 500, err: ErrRefused},
	} {
		l.claims, l.token, l.status, l.info, l.asked = l.truth(), c.token, c.status, map[string]any{"sub": "7"}, nil
		if name == "nobody" {
			l.info["sub"] = ""
		}
		query := func(h *string, q url.Values) {
			if c.claims != nil {
				c.claims(l.claims)
			}
			if c.query != nil {
				c.query(h, q)
			}
		}
		who, _, err := l.login(t, p, query)
		if !errors.Is(err, c.err) || err == nil || strings.Contains(err.Error(), "\n") || len(who.Projects) > 0 {
			t.Errorf("%s: %+v %v, want %v", name, who, err, c.err)
		}
		if l.asked != nil && (c.err == ErrState || name == "no code") {
			t.Errorf("%s: the provider is asked", name)
		}
	}
	l.claims, l.token, l.status = l.truth(), nil, 0
	if _, _, err := l.login(t, p, nil); err != nil { // all of it was the lies
		t.Error(err)
	}
	// A project that was asked for is the one that is had.
	_, held, err := p.Begin(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	f, _ := flowOf(held)
	sum := sha256.Sum256([]byte(f.verifier))
	l.challenge, l.claims["nonce"] = b64(sum[:]), f.nonce
	if _, project, err := p.End(t.Context(), held, url.Values{"state": {f.state}, "code": {"the code"}}); !errors.Is(err, ErrNobody) || project != "other" {
		t.Errorf("%s %v", project, err)
	}
}

// A provider that is not there is asked again, and what it sends is bounded.
func TestProviderAway(t *testing.T) {
	l := newLiar(t)
	p := l.provider(t)
	away := true
	p.c.Client.Transport = short{transport(func(r *http.Request) (*http.Response, error) {
		if away {
			return nil, errors.New("away")
		}
		return http.DefaultTransport.RoundTrip(r)
	})}
	if _, _, err := p.Begin(t.Context(), ""); !errors.Is(err, ErrProvider) {
		t.Error(err)
	}
	away = false
	gone, cancel := context.WithCancel(t.Context())
	_, _, err := p.Begin(gone, "")
	cancel() // who came first has gone, and the keys can still be fetched
	if err != nil {
		t.Fatal(err)
	}
	l.claims, l.info = l.truth(), map[string]any{"sub": "7"}
	if _, _, err := l.login(t, p, nil); err != nil {
		t.Error(err)
	}
	l.info["x"] = strings.Repeat("x", maxAnswer)
	if _, _, err := l.login(t, p, nil); !errors.Is(err, ErrProvider) {
		t.Error(err)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What a provider sends is read by the same limits whoever makes its client.
func TestLimits(t *testing.T) {
	for _, own := range []*http.Client{nil, {Timeout: time.Minute}} {
		p, err := New(Config{Issuer: "https://id.example", ID: "a", Secret: "b", Callback: "c", Rules: rules, Client: own})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.c.Client.Transport.(short); !ok || p.c.Client.Timeout <= 0 {
			t.Errorf("%+v", p.c.Client)
		}
	}
}

// A claim whose name is written otherwise, and names with points in them.
func TestOddClaims(t *testing.T) {
	l := newLiar(t)
	l.info = nil
	l.claims = l.truth()
	delete(l.claims, "sub")
	l.claims["SUB"] = "7"
	if who, _, err := l.login(t, l.provider(t), nil); err != nil || who.Subject == "" { // as the library reads it
		t.Errorf("%+v %v", who, err)
	}
	r := Rule{"odd", []string{"read"}, "a.b.c", "v"}
	if !r.takes(map[string]any{"a": map[string]any{"x": 1}, "a.b": map[string]any{"c": "v"}}) {
		t.Error("the first name that fits is looked in alone")
	}
}

// What cannot be is said before anybody logs in.
func TestConfig(t *testing.T) {
	good := Config{Issuer: "https://id.example", ID: "a", Secret: "b", Callback: "c", Rules: rules}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Config){func(c *Config) { c.Issuer = "http://id.example" }, func(c *Config) { c.Issuer = "https:" }, func(c *Config) { c.Issuer = "ftp://localhost" }, func(c *Config) { c.ID = "" }, func(c *Config) { c.Secret = "" }, func(c *Config) { c.Callback = "" }, func(c *Config) { c.Rules = nil }} {
		c := good
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%+v", c)
		}
	}
	for text, want := range map[string]Rule{"shop:read,triage:groups=dev": {"shop", []string{"read", "triage"}, "groups", "dev"}, "a:read:https://x.example/a=b=c": {"a", []string{"read"}, "https://x.example/a=b", "c"}} {
		if r, err := ParseRule(text); err != nil || !reflect.DeepEqual(r, want) {
			t.Errorf("%s: %+v %v", text, r, err)
		}
	}
	for _, text := range []string{"", "shop", "shop:read", "shop:read:", "shop:read:groups", "shop:read:=x", "shop:read:groups=", ":read:a=b", "shop::a=b"} {
		if r, err := ParseRule(text); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}
