package service_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/browser"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/signin"
	"github.com/corewalk/corewalk/internal/service/store"
)

// providerSource is a provider of OpenID Connect: whoever logs in is who he says he is, in groups after the first letter.
const providerSource = `
import Provider from "oidc-provider";
import { createServer } from "node:http";
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = "http://127.0.0.1:" + server.address().port;
  const p = new Provider(issuer, {
    clients: [{ client_id: "corewalk", client_secret: "the secret", redirect_uris: [process.argv[2]] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] }, scopes: ["openid", "email", "profile", "groups"],
    pkce: { required: () => true },
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, email: id + "@example.com", email_verified: id !== "unverified", groups: [id[0], "all"] }) }),
  });
  server.on("request", p.callback());
  console.log("at " + issuer);
});
`

// realProvider begins a provider, or skips the test. It returns its URL.
func realProvider(t *testing.T, callback string) string {
	t.Helper()
	fixture.Long(t)
	dir := fromNPM(t, "oidc-provider@9.13.3")
	if err := os.WriteFile(filepath.Join(dir, "provider.mjs"), []byte(providerSource), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("node", "provider.mjs", callback)
	run.Dir, run.Stderr = dir, t.Output()
	out, err := run.StdoutPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		run.Process.Kill()
		run.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "at "); ok {
			go io.Copy(io.Discard, out)
			return at
		}
	}
	t.Fatal("the provider does not begin")
	return ""
}

// A reader is a browser without scripts.
type reader struct {
	t *testing.T
	*http.Client
	last *url.URL
}

func newReader(t *testing.T) *reader {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &reader{t: t, Client: &http.Client{Jar: jar, Timeout: 30 * time.Second}}
}

// get opens a page, or sends a form, and returns the text of where it leads.
func (b *reader) get(at string, form url.Values) string {
	b.t.Helper()
	var a *http.Response
	var err error
	if form != nil {
		a, err = b.PostForm(at, form)
	} else {
		a, err = b.Get(at)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.last = a.Request.URL
	return string(text)
}

// login goes through the provider's pages as somebody, until the service has the browser again.
func (b *reader) login(at, who string) {
	b.t.Helper()
	text := b.get(at, nil)
	for range 4 {
		form := regexp.MustCompile(`<form[^>]* action="([^"]*)"`).FindStringSubmatch(text)
		if form == nil || !strings.Contains(b.last.Path, "/interaction/") {
			return
		}
		fields := url.Values{}
		for _, m := range regexp.MustCompile(`name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			fields.Set(m[1], m[2])
		}
		if fields.Get("prompt") == "login" {
			fields.Set("login", who)
			fields.Set("password", "any")
		}
		to, err := b.last.Parse(form[1])
		if err != nil {
			b.t.Fatal(err)
		}
		text = b.get(to.String(), fields)
	}
	b.t.Fatalf("the login does not end: %s", b.last)
}

// whoami is who the service thinks the browser is.
func (b *reader) whoami(w *world) string {
	b.t.Helper()
	var who struct {
		Project, Note string
		Scopes, Also  []string
	}
	_ = json.Unmarshal([]byte(b.get(w.url+"/api/v1/whoami", nil)), &who)
	return fmt.Sprint(who.Project, who.Scopes, who.Note, who.Also)
}

// late is a service whose provider is known after its own address is.
func late(t *testing.T, rules []string, change func(*signin.Config)) *world {
	t.Helper()
	w := start(t, nil)
	conf := signin.Config{ID: "corewalk", Secret: "the secret", Callback: w.url + service.SigninCallback, Scopes: []string{"groups"}}
	for _, text := range rules {
		r, err := signin.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		conf.Rules = append(conf.Rules, r)
	}
	change(&conf)
	p, err := signin.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	w.service.SetSignIn(p, time.Hour)
	return w
}

// People log in by a real provider: who is known gets what the rules say, in one project or the other, until he logs out.
func TestSignIn(t *testing.T) {
	w := late(t, []string{"a:read,triage:groups=d", "b:read:email=@example.com"}, func(c *signin.Config) { c.Issuer = realProvider(t, c.Callback) })
	d := w.send("group g1 build b1")
	b := newReader(t)
	if text := b.get(w.url+"/login/ways", nil); !strings.Contains(text, `"oidc":"127.0.0.1:`) {
		t.Error(text)
	}
	b.login(w.url+"/login/oidc", "dora")
	if got := b.whoami(w); b.last.Host != strings.TrimPrefix(w.url, "http://") || got != "a[read triage]dora@example.com[b]" {
		t.Fatalf("%s at %s", got, b.last)
	}
	// What is decided has the person's name.
	r, err := http.NewRequest("POST", w.url+"/api/v1/projects/a/groups/"+d.Group+"/notes", strings.NewReader(`{"text":"mine"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Requested-With", "corewalk")
	if a, err := b.Do(r); err != nil || a.StatusCode != 204 {
		t.Errorf("%v %v", a, err)
	}
	if text := w.want(200, nil, "GET", "/api/v1/projects/a/groups/"+d.Group, ""); !strings.Contains(text, `"by":"dora@example.com"`) {
		t.Error(text)
	}
	if text := b.get(w.url+"/api/v1/projects/a/tokens", nil); !strings.Contains(text, "no access") {
		t.Error(text)
	}
	session := w.want(200, nil, "GET", "/api/v1/projects/a/tokens", "")
	if !strings.Contains(session, `"note":"dora@example.com"`) || !strings.Contains(session, `"expires":"`) {
		t.Error(session)
	}
	b.login(w.url+"/login/oidc?project=b", "dora") // the provider knows her already
	if got := b.whoami(w); got != "b[read]dora@example.com[a]" {
		t.Error(got)
	}
	b.login(w.url+"/login/oidc?project=c", "dora")
	if got := b.last.Fragment; got != "/out/nobody" {
		t.Errorf("%s", b.last)
	}
	if got := b.whoami(w); got != "b[read]dora@example.com[a]" { // she is who she was
		t.Error(got)
	}
	other := newReader(t)
	other.login(w.url+"/login/oidc", "unverified")
	if other.last.Fragment != "/out/nobody" || other.whoami(w) != "[][]" {
		t.Errorf("%s %s", other.last, other.whoami(w))
	}
	// She logs out: the session is over, also for who has its cookie.
	home, err := url.Parse(w.url)
	if err != nil {
		t.Fatal(err)
	}
	cookie := slices.DeleteFunc(b.Jar.Cookies(home), func(c *http.Cookie) bool { return c.Name != "corewalk_token" }) // the provider is of this host, too
	r, err = http.NewRequest("POST", w.url+"/logout", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Requested-With", "corewalk")
	if a, err := b.Do(r); err != nil || a.StatusCode != 204 {
		t.Errorf("%v %v", a, err)
	}
	b.Jar.SetCookies(home, cookie)
	if got := b.whoami(w); got != "[][]" || len(cookie) != 1 {
		t.Errorf("%s after the logout, %v", got, cookie)
	}
	if log := w.log.String(); strings.Contains(log, "the secret") || strings.Contains(log, "cw_") || strings.Contains(log, "code=") {
		t.Error("a secret is in the log")
	}
	// A token's logout leaves the token.
	status, _, h := w.do("", "POST", "/login", strings.NewReader("token="+w.token["a all"]), "Content-Type", "application/x-www-form-urlencoded", "X-Requested-With", "corewalk")
	if status != 200 {
		t.Fatal(status)
	}
	w.do("", "POST", "/logout", nil, "X-Requested-With", "corewalk", "Cookie", h.Get("Set-Cookie"))
	w.want(200, nil, "GET", "/api/v1/whoami", "")
}

// A service without a provider has no such paths; one with a provider that is away says so, and gives nothing to who comes without having gone.
func TestSignInAccess(t *testing.T) {
	w := start(t, nil)
	for _, path := range []string{"/login/oidc", service.SigninCallback + "?code=x&state=y"} {
		if status, text, _ := w.do("", "GET", path, nil); status != 404 || !strings.Contains(text, "not found") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if _, text, _ := w.do("", "GET", "/login/ways", nil); text != "{}\n" {
		t.Error(text)
	}
	w = late(t, []string{"a:read:email=@example.com"}, func(c *signin.Config) {
		c.Issuer = "https://id.invalid"
		c.Client = &http.Client{Transport: nobody{}}
	})
	follow := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]string{
		"/login/oidc": "/#/out/provider", service.SigninCallback: "/#/out/state", service.SigninCallback + "?code=x&state=y": "/#/out/state", service.SigninCallback + "?error=access_denied&error_description=%3Cb%3E%0A": "/#/out/state",
		"/login/oidc?project=../x": "404", "/login/oidc?project=%3Cb%3E": "404",
	} {
		a, err := follow.Get(w.url + path)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if got := a.Header.Get("Location"); got != want && fmt.Sprint(a.StatusCode) != want {
			t.Errorf("%s: %d %s, want %s", path, a.StatusCode, got, want)
		}
		for _, c := range a.Cookies() {
			if c.Value != "" {
				t.Errorf("%s: %v", path, c)
			}
		}
	}
	if text := w.log.String(); !strings.Contains(text, "a login failed") || strings.Contains(text, "<b>") {
		t.Error(text)
	}
}

// However much a provider says, the log has a short line of it; and who comes while too many others wait for it is told so.
func TestSignInMuch(t *testing.T) {
	asked, answers := make(chan bool, 1000), make(chan bool)
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		<-answers
		http.Error(w, strings.Repeat("so much ", 10_000), http.StatusInternalServerError)
	})
	provider := httptest.NewServer(slow)
	defer provider.Close()
	w := late(t, []string{"a:read:email=@example.com"}, func(c *signin.Config) { c.Issuer = provider.URL })
	follow := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	const most = 4 + 64
	led := make(chan string, most+1)
	for range most + 1 {
		go func() {
			a, err := follow.Get(w.url + "/login/oidc")
			if err != nil {
				led <- err.Error()
				return
			}
			a.Body.Close()
			led <- a.Header.Get("Location")
		}()
	}
	<-asked
	if got := <-led; got != "/#/out/busy" {
		t.Error(got)
	}
	close(answers)
	for range most {
		if got := <-led; got != "/#/out/provider" {
			t.Error(got)
		}
	}
	for line := range strings.Lines(w.log.String()) {
		if len(line) > 1500 {
			t.Errorf("%d bytes: %.200s", len(line), line)
		}
	}
}

// What a browser holds of a login is for the way back alone, and for once; and who comes back while too many others do is told so.
func TestSignInBack(t *testing.T) {
	asked, answers := make(chan bool, 1000), make(chan bool)
	var provider *httptest.Server
	provider = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			asked <- true
			<-answers
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q,"jwks_uri":%q}`, provider.URL, provider.URL+"/auth", provider.URL+"/token", provider.URL+"/keys")
	}))
	defer provider.Close()
	w := late(t, []string{"a:read:email=@example.com"}, func(c *signin.Config) { c.Issuer = provider.URL })
	follow := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(path, cookie string) (to *url.URL, held *http.Cookie) {
		r, err := http.NewRequest("GET", w.url+path, nil)
		if err != nil {
			t.Error(err)
			return &url.URL{}, &http.Cookie{}
		}
		r.Header.Set("Cookie", cookie)
		r.Header.Set("X-Forwarded-Proto", "https")
		a, err := follow.Do(r)
		if err != nil {
			t.Error(err)
			return &url.URL{}, &http.Cookie{}
		}
		a.Body.Close()
		to, err = a.Location()
		if list := a.Cookies(); err == nil && len(list) == 1 {
			return to, list[0]
		}
		t.Errorf("%s: %s %v %v", path, a.Status, a.Cookies(), err)
		return &url.URL{}, &http.Cookie{}
	}
	to, held := get("/login/oidc", "")
	if held.Path != service.SigninCallback || !held.HttpOnly || !held.Secure || held.SameSite != http.SameSiteLaxMode || held.MaxAge != 600 {
		t.Errorf("%v", held)
	}
	back := service.SigninCallback + "?" + url.Values{"code": {"x"}, "state": {to.Query().Get("state")}}.Encode()
	const most = 4 + 64
	led := make(chan string, most+1)
	for range most + 1 {
		go func() {
			to, gone := get(back, held.Name+"="+held.Value)
			if gone.Name != held.Name || gone.Path != held.Path || gone.MaxAge >= 0 || gone.Value != "" {
				t.Errorf("%v", gone)
			}
			led <- to.Fragment
		}()
	}
	<-asked
	if got := <-led; got != "/out/busy" {
		t.Error(got)
	}
	close(answers)
	for range most {
		if got := <-led; got != "/out/provider" {
			t.Error(got)
		}
	}
}

// nobody answers.
type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded }

// Sessions end by themselves.
func TestSessionExpires(t *testing.T) {
	w := start(t, nil)
	text, made := service.SecretToken()
	made.Project, made.Scopes, made.Subject, made.Expires = "a", []string{store.ScopeRead}, "x", time.Now().Add(time.Second)
	if err := w.db.AddSession(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := w.do(text, "GET", "/api/v1/projects/a/groups", nil); status != 200 {
		t.Errorf("%d", status)
	}
	until(t, "a session lasts for ever", func() bool {
		status, _, _ := w.do(text, "GET", "/api/v1/projects/a/groups", nil)
		return status == 403
	})
	if list := w.want(200, nil, "GET", "/api/v1/projects/a/tokens", ""); strings.Contains(list, made.ID) {
		t.Error(list)
	}
}

// The page leads to the provider, and says why a login failed in words of its own.
func TestSignInPage(t *testing.T) {
	c := browser.Start(t)
	w := late(t, []string{"a:read:email=@example.com", "b:read:email=@example.com"}, func(c *signin.Config) {
		c.Issuer = "https://id.invalid"
		c.Client = &http.Client{Transport: nobody{}}
	})
	c.Open(w.url, nil)
	c.Want(`document.querySelector("a#oidc") && document.querySelector("a#oidc").textContent == "Log in with id.invalid" && new URL(document.querySelector("a#oidc").href).pathname == "/login/oidc"`)
	c.Want(`!document.querySelector("main [role=alert]") && !!document.getElementById("token")`)
	for _, look := range []string{browser.LowContrast, browser.NamelessControls} {
		if found := c.Eval(look); found != "" && found != `""` {
			t.Error(found)
		}
	}
	c.Eval(`document.querySelector("a#oidc").click()`) // it is away
	c.Want(`document.querySelector("main [role=alert]") && document.querySelector("main [role=alert]").textContent.startsWith("The identity provider does not answer") && location.hash == "#/"`)
	for hash, want := range map[string]string{"#/out/nobody": "You are known", "#/out/other": "The login failed.", "#/out/toString": "The login failed."} {
		c.Eval(fmt.Sprintf(`location.hash = %q`, hash))
		c.Want(fmt.Sprintf(`document.querySelector("main [role=alert]") && document.querySelector("main [role=alert]").textContent.startsWith(%q) && location.hash == "#/"`, want))
	}
	c.Eval(`location.hash = "#/out/<img src=x onerror=alert(1)>"`)
	c.Want(`!document.querySelector("main img") && !!document.getElementById("token")`)
	// Who has several projects goes from one to the other.
	text, made := service.SecretToken()
	made.Project, made.Scopes, made.Subject, made.Note, made.Also, made.Expires = "a", []string{store.ScopeRead, store.ScopeAdmin}, "x", "<b>ann</b>", []string{"b"}, time.Now().Add(time.Hour)
	if err := w.db.AddSession(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	c.Eval(fmt.Sprintf(`fetch("/login", { method: "POST", headers: { "X-Requested-With": "corewalk" }, body: new URLSearchParams({ token: %q }) }).then(() => location.reload()); 0`, text))
	c.Want(`document.querySelector("#others a") && document.querySelector("#others a").textContent == "b" && document.querySelector("#others a").getAttribute("href") == "/login/oidc?project=b"`)
	c.Eval(`location.hash = "#/tokens"`)
	c.Want(`[...document.querySelectorAll("td")].some(e => e.textContent.includes("<b>ann</b>")) && !document.querySelector("main td b") && [...document.querySelectorAll("td")].some(e => e.textContent.includes("a session"))`)
}
