package service_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/sqlite"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	ledgerDB "github.com/corewalk/corewalk/internal/triage/ledger/sqlite"
)

// A world is a service whose dumps are texts: the analysis of "group G build B" is of group G, and that of another text fails.
type world struct {
	t       testing.TB
	service *service.Service
	db      store.Store
	dir     string
	url     string
	stop    func()
	log     *words
	token   map[string]string // by project and scope: "a upload"
}

// textual analyses texts.
func textual(ctx context.Context, _ string, src triage.Source, to ledger.Store, sink triage.Sink) error {
	run, err := to.Begin(ctx, "test")
	if err != nil {
		return err
	}
	for path, err := range src.Dumps(ctx) {
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, told, _ := strings.Cut(string(text), " told ")
		d := ledger.Dump{Attributes: [][2]string{{"user_id", told}}, Path: path, Identity: "sha256:" + filepath.Base(path), Time: time.Now(), SeenAt: time.Now(), Program: "shop", Kind: "abort"}
		if _, lacks, ok := strings.Cut(string(text), " lacks "); ok {
			d.Attributes, d.Needed = [][2]string{{"lacks", lacks}}, map[string]int{"b.sym/AB/b.sym": 7, "c.sym/AB/c.sym": 0}
		}
		if _, uses, ok := strings.Cut(string(text), " uses "); ok {
			d.Attributes = [][2]string{{"uses", uses}}
		}
		if _, err := fmt.Sscanf(string(text), "group %s build %s", &d.Group, &d.Build); err != nil {
			d.Fault, d.FaultKind = "not a dump", ledger.FaultUnreadable
		} else {
			d.Signature, d.Reason, d.Where = "v1:"+d.Group, "abort in "+d.Group, d.Group+"_function shop.c:7"
			d.Report = []byte(`{"crash":{"signal":"SIGABRT","reason":"abort"},"threads":[]}`)
		}
		if err := to.Add(context.WithoutCancel(ctx), run.ID, []ledger.Dump{d}); err != nil {
			return err
		}
		sink.Dump(d, false)
	}
	return nil
}

func start(t testing.TB, change func(*service.Config)) *world {
	t.Helper()
	return startIn(t, t.TempDir(), change)
}

// startIn starts the service of a directory.
func startIn(t testing.TB, dir string, change func(*service.Config)) *world {
	t.Helper()
	w := &world{t: t, dir: dir, token: map[string]string{}, log: new(words)}
	var err error
	if w.db, err = sqlite.Open(t.Context(), filepath.Join(w.dir, "service.db")); err != nil {
		t.Fatal(err)
	}
	files, err := objects.OpenDir(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	c := service.Config{Store: w.db, Objects: files, Uploads: filepath.Join(w.dir, "uploads"), Name: "test", Version: "1", Log: slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), w.log), &slog.HandlerOptions{Level: slog.LevelDebug})),
		MaxUpload: 1 << 20, Attachments: 100_000, Idle: 10 * time.Millisecond, Fresh: 20 * time.Millisecond,
		Ledger: func(ctx context.Context, project string) (ledger.Store, error) {
			return ledgerDB.Open(ctx, filepath.Join(w.dir, "projects", project, "ledger.db"), "v1")
		},
		Run: textual,
		Report: func(_ context.Context, _, path, format string, out io.Writer) error {
			text, err := os.ReadFile(path)
			if !strings.HasPrefix(string(text), "group ") {
				return errors.New("not a dump")
			}
			fmt.Fprintf(out, `{"format":%q}`, format)
			return err
		},
		Ask: talk(nil)}
	if change != nil {
		change(&c)
	}
	s, err := service.New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.service = s
	server := httptest.NewServer(s)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	w.url = server.URL
	w.stop = func() {
		server.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
		w.stop = func() {}
	}
	t.Cleanup(func() { w.stop() })
	for _, project := range []string{"a", "b"} {
		for _, scope := range append(service.Scopes(), "all") {
			scopes := []string{scope}
			if scope == "all" {
				scopes = service.Scopes()
			}
			text, _, err := service.NewToken(t.Context(), w.db, project, scopes, "the "+scope)
			if err != nil {
				t.Fatal(err)
			}
			w.token[project+" "+scope] = text
		}
	}
	return w
}

// do sends a request with a token.
func (w *world) do(token, method, path string, body io.Reader, headers ...string) (status int, text string, h http.Header) {
	w.t.Helper()
	r, err := http.NewRequest(method, w.url+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(b), answer.Header
}

// want is do with all scopes in project a, and a status that is expected. It reads the answer's JSON into v, if that is not nil.
func (w *world) want(status int, v any, method, path, body string, headers ...string) string {
	w.t.Helper()
	got, text, _ := w.do(w.token["a all"], method, path, strings.NewReader(body), headers...)
	if got != status {
		w.t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	if v != nil {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			w.t.Fatalf("%s: %v", text, err)
		}
	}
	return text
}

type dump struct {
	ID, State, Group, Fault, Reason, Name string
	Times                                 int
	Annotations                           map[string]string
}

// analysed waits until a dump has been analysed.
func (w *world) analysed(id string) (d dump) {
	w.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if w.want(200, &d, "GET", "/api/v1/projects/a/dumps/"+id, ""); d.State == store.Done {
			return d
		}
		if time.Now().After(end) {
			w.t.Fatalf("never analysed: %+v", d)
		}
	}
}

func (w *world) send(text string) dump {
	w.t.Helper()
	var d dump
	w.want(202, &d, "POST", "/api/v1/projects/a/dumps?name=core.7&host=till+3", text)
	return w.analysed(d.ID)
}

func form(t *testing.T, fields map[string]string, files map[string]string) (body, kind string) {
	t.Helper()
	var b strings.Builder
	f := multipart.NewWriter(&b)
	for name, value := range fields {
		if err := f.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		part, err := f.CreateFormFile(name, name+".dmp")
		if err == nil {
			_, err = io.WriteString(part, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	return b.String(), f.FormDataContentType()
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// Each client's way to send a dump leads to the same dump.
func TestUploads(t *testing.T) {
	w := start(t, nil)
	key := "?token=" + w.token["a upload"]
	body, kind := form(t, map[string]string{"prod": "Shop", "ver": "1.2"}, map[string]string{"upload_file_minidump": "group g1 build b1"})
	envelope := `{"event_id":"9ec79c33ec9942ab8353589fcb2e04dc"}` + "\n" +
		`{"type":"event","length":64}` + "\n" + fmt.Sprintf("%-64s", `{"release":"1.2","tags":{"till":"3"}}`) + "\n" +
		`{"type":"attachment","length":17,"attachment_type":"event.minidump","filename":"x.dmp"}` + "\n" + "group g1 build b1" + "\n"
	lines := `{}` + "\n" + `{"type":"attachment","attachment_type":"event.minidump"}` + "\n" + "group g1 build b1"
	id := ""
	for i, c := range []struct {
		name, path, body string
		headers          []string
		field            string // an annotation, NAME=VALUE
	}{
		{"Breakpad", "/api/a/minidump" + key, body, []string{"Content-Type", kind}, "ver=1.2"},
		{"Crashpad", "/api/a/minidump/" + key, packed(body), []string{"Content-Type", kind, "Content-Encoding", "gzip"}, "prod=Shop"},
		{"the interface", "/api/v1/projects/a/dumps" + key + "&host=till+3", "group g1 build b1", nil, "host=till 3"},
		{"packed", "/api/v1/projects/a/dumps" + key, packed("group g1 build b1"), []string{"Content-Encoding", "gzip"}, ""},
		{"Sentry", "/api/a/envelope/?sentry_key=" + w.token["a upload"], envelope, nil, "tag.till=3"},
		{"Sentry, without lengths", "/api/a/envelope/", lines, []string{"X-Sentry-Auth", "Sentry sentry_version=7, sentry_key=" + w.token["a upload"]}, ""},
	} {
		w.db.Remove(t.Context(), "a", id)
		status, text, _ := w.do("", "POST", c.path, strings.NewReader(c.body), c.headers...)
		var d dump
		if status > 202 {
			t.Fatalf("%s: %d %s", c.name, status, text)
		}
		if json.Unmarshal([]byte(text), &d) != nil {
			d.ID = text
		}
		if i > 0 && d.ID != id {
			t.Errorf("%s: dump %s, want %s", c.name, d.ID, id)
		}
		id = d.ID
		d = w.analysed(id)
		if d.Group != "g1" || d.Times != 1 {
			t.Errorf("%s: %+v", c.name, d)
		}
		if name, value, _ := strings.Cut(c.field, "="); d.Annotations[name] != value {
			t.Errorf("%s: annotations %v, want %s", c.name, d.Annotations, c.field)
		}
		if strings.Contains(fmt.Sprint(d.Annotations), "cw_") {
			t.Errorf("%s: the token is kept: %v", c.name, d.Annotations)
		}
	}
	if d := w.send("group g1 build b1"); d.Times != 2 {
		t.Errorf("sent again: %+v", d)
	}
	if d := w.send("nonsense"); d.Fault != "not a dump" || d.Group != "" {
		t.Errorf("%+v", d)
	}
	for name, c := range map[string]struct {
		path, body, kind string
		status           int
	}{
		"empty":              {"/api/v1/projects/a/dumps", "", "", 400},
		"too large":          {"/api/v1/projects/a/dumps", strings.Repeat("x", 1<<20+1), "", 413},
		"no dump":            {"/api/a/minidump", "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n--b--\r\n", "multipart/form-data; boundary=b", 400},
		"not a form":         {"/api/a/minidump", "abc", "multipart/form-data; boundary=b", 400},
		"no boundary":        {"/api/a/minidump", "abc", "multipart/form-data", 400},
		"a form that breaks": {"/api/a/minidump", body[:len(body)-40], kind, 400},
		"no envelope":        {"/api/a/envelope/", "abc", "", 400},
		"a cut envelope":     {"/api/a/envelope/", envelope[:len(envelope)-9], "", 400},
		"a long item":        {"/api/a/envelope/", "{}\n" + `{"type":"attachment","attachment_type":"event.minidump","length":99999999999}` + "\nabc", "", 400},
		"too many fields":    {"/api/a/minidump", strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"x%d\"\r\n\r\n1\r\n", 600) + "--b--\r\n", "multipart/form-data; boundary=b", 413},
	} {
		status, text, _ := w.do(w.token["a all"], "POST", c.path, strings.NewReader(c.body), "Content-Type", c.kind)
		if status != c.status || !strings.Contains(text, `"error"`) {
			t.Errorf("%s: %d %s, want %d", name, status, text, c.status)
		}
	}
	// What unpacks to more than is taken is refused while it is unpacked.
	status, text, _ := w.do(w.token["a all"], "POST", "/api/v1/projects/a/dumps", strings.NewReader(packed(strings.Repeat("x", 1<<20+1))), "Content-Encoding", "gzip")
	if status != 413 {
		t.Errorf("a bomb: %d %s", status, text)
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "tmp", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// tus has the steps of the protocol: https://tus.io/protocols/resumable-upload, version 1.0.0.
func TestResumable(t *testing.T) {
	w := start(t, nil)
	content := "group g2 build b1"
	token := w.token["a upload"]
	version := []string{"Tus-Resumable", "1.0.0"}
	base := "/api/v1/projects/a/uploads/"
	meta := "filename " + base64.StdEncoding.EncodeToString([]byte("core.9")) + ",host " + base64.StdEncoding.EncodeToString([]byte("till 3"))
	status, text, h := w.do(token, "POST", base, nil, append(version, "Upload-Length", fmt.Sprint(len(content)), "Upload-Metadata", meta)...)
	if status != 201 || h.Get("Tus-Resumable") != "1.0.0" {
		t.Fatalf("%d %s %v", status, text, h)
	}
	at := h.Get("Location")
	if i := strings.Index(at, base); i < 0 {
		t.Fatalf("at %s", at)
	} else {
		at = at[i:]
	}
	patch := func(offset int, part string) (int, http.Header) {
		status, _, h := w.do(token, "PATCH", at, strings.NewReader(part), append(version, "Upload-Offset", fmt.Sprint(offset), "Content-Type", "application/offset+octet-stream")...)
		return status, h
	}
	if status, h := patch(0, content[:5]); status != 204 || h.Get("Upload-Offset") != "5" {
		t.Fatalf("%d %v", status, h)
	}
	if status, _ := patch(3, content[3:]); status != 409 {
		t.Errorf("a wrong offset: %d", status)
	}
	if status, _, h := w.do(token, "HEAD", at, nil, version...); status != 200 || h.Get("Upload-Offset") != "5" || h.Get("Upload-Length") != fmt.Sprint(len(content)) || h.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", status, h)
	}
	if status, _, _ := w.do(token, "PATCH", at, strings.NewReader("x"), "Upload-Offset", "5", "Content-Type", "application/offset+octet-stream"); status != 412 {
		t.Errorf("without the version: %d", status)
	}
	if status, _, _ := w.do(w.token["b upload"], "HEAD", strings.Replace(at, "/a/", "/b/", 1), nil, version...); status != 404 {
		t.Errorf("of another project: %d", status)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(w.dir, "x"), []byte("secret"), 0o600), os.WriteFile(filepath.Join(w.dir, "x.info"), []byte(`{"ID":"../../x","Size":6}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if status, _, h := w.do(token, "HEAD", base+"..%2f..%2fx", nil, version...); status != 404 || h.Get("Upload-Length") != "" {
		t.Errorf("a file outside: %d %v", status, h)
	}
	for _, id := range []string{"..%2f..%2fservice.db", "../x", "nonsense"} {
		if status, _, _ := w.do(token, "HEAD", base+id, nil, version...); status != 404 && status != 301 && status != 307 && status != 403 && status != 400 {
			t.Errorf("%s: %d", id, status)
		}
	}
	status, h = patch(5, content[5:])
	if status != 204 || h.Get("Upload-Offset") != fmt.Sprint(len(content)) || h.Get("X-Corewalk-Dump") == "" {
		t.Fatalf("%d %v", status, h)
	}
	d := w.analysed(h.Get("X-Corewalk-Dump"))
	if d.Group != "g2" || d.Name != "core.9" || d.Annotations["host"] != "till 3" {
		t.Errorf("%+v", d)
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "uploads", "a", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if status, _, _ := w.do(token, "POST", base, nil, append(version, "Upload-Length", fmt.Sprint(1<<20+1))...); status != 413 {
		t.Errorf("too large: %d", status)
	}
	if status, _, h := w.do(token, "OPTIONS", base, nil); status > 204 || !strings.Contains(h.Get("Tus-Extension"), "creation") || h.Get("Tus-Version") == "" {
		t.Errorf("%d %v", status, h)
	}
	// An upload may also be given up.
	_, _, h = w.do(token, "POST", base, nil, append(version, "Upload-Length", "5")...)
	gone := h.Get("Location")[strings.Index(h.Get("Location"), base):]
	if status, _, _ := w.do(token, "DELETE", gone, nil, version...); status != 204 {
		t.Errorf("%d", status)
	}
	if status, _, _ := w.do(token, "HEAD", gone, nil, version...); status != 404 && status != 410 {
		t.Errorf("%d", status)
	}
}

// endpoints are all that need a token, with the scope that each needs.
func endpoints(id, group, token string) map[string]string {
	p := "/api/v1/projects/a"
	return map[string]string{
		"POST " + p + "/dumps": "upload", "POST /api/a/minidump": "upload", "POST /api/a/minidump/": "upload", "POST /api/a/envelope/": "upload",
		"POST " + p + "/uploads/": "upload", "HEAD " + p + "/uploads/x": "upload", "PATCH " + p + "/uploads/x": "upload", "DELETE " + p + "/uploads/x": "upload", "OPTIONS " + p + "/uploads/": "upload",
		"GET " + p + "/dumps": "read", "GET " + p + "/dumps/" + id: "read", "GET " + p + "/dumps/" + id + "/report": "read", "GET " + p + "/dumps/" + id + "/file": "read", "GET " + p + "/dumps/" + id + "/attachments/0": "read",
		"GET " + p + "/dumps/" + id + "/about": "read", "GET " + p + "/dumps/" + id + "/memory": "read", "GET " + p + "/dumps/" + id + "/modules": "read", "GET " + p + "/dumps/" + id + "/stacks": "read", "GET " + p + "/dumps/" + id + "/stacks/0/frames": "read",
		"GET " + p + "/dumps/" + id + "/stacks/0/frames/0/variables": "read",
		"GET " + p + "/groups": "read", "GET " + p + "/groups/" + group: "read", "GET " + p + "/builds": "read", "GET " + p + "/compare?a=1&b=2": "read",
		"PUT " + p + "/builds/b1": "triage", "GET " + p + "/releases": "read", "POST " + p + "/releases": "triage", "GET " + p + "/attributes": "read", "GET " + p + "/symbols": "read", "GET " + p + "/symbols/stored": "read",
		"POST " + p + "/dumps/" + id + "/again": "triage", "PUT " + p + "/groups/" + group + "/state": "triage", "POST " + p + "/groups/" + group + "/notes": "triage",
		"PUT " + p + "/symbols/a/AB/a.sym": "symbols", "POST " + p + "/sym_upload": "symbols",
		"GET /api/0/organizations/a/chunk-upload/": "symbols", "POST /api/0/organizations/a/chunk-upload/": "symbols", "POST /api/0/projects/any/a/files/difs/assemble/": "symbols", "GET " + p + "/symbols/a/AB/a.sym": "fetch", "GET /fetch/a/" + token + "/a/AB/a.sym": "fetch",
		"GET /sym/a/v1/symbols/a/AB:checkStatus": "symbols", "POST /sym/a/v1/uploads:create": "symbols", "POST /sym/a/v1/uploads/x:complete": "symbols",
		"GET " + p + "/requests/" + id:            "read",
		"PUT " + p + "/groups/" + group + "/mark": "triage", "PUT " + p + "/groups/" + group + "/merge": "triage", "DELETE " + p + "/groups/" + group + "/merge": "triage",
		"PUT " + p + "/groups": "triage", "GET " + p + "/settings": "read", "PUT " + p + "/settings": "admin",
		"POST " + p + "/minidump": "read",
		"GET " + p + "/searches":  "read", "POST " + p + "/searches": "triage", "DELETE " + p + "/searches/x": "triage",
		"GET " + p + "/hooks": "admin", "POST " + p + "/hooks": "admin", "POST " + p + "/hooks/x/test": "admin", "DELETE " + p + "/hooks/x": "admin",
		"GET " + p + "/people": "triage", "GET " + p + "/accounts": "admin", "POST " + p + "/accounts": "admin", "PUT " + p + "/accounts/ann": "admin", "POST " + p + "/accounts/ann/invitation": "admin", "DELETE " + p + "/accounts/ann": "admin",
		"GET " + p + "/tokens": "admin", "POST " + p + "/tokens": "admin", "DELETE " + p + "/tokens/x": "admin", "DELETE " + p + "/dumps/" + id: "admin",
	}
}

// openPaths are those that need no token, and why. TestAccess, TestPage, TestCookie, TestSymUpload2, TestSignIn and TestAccounts try what they say.
var openPaths = map[string]string{
	`"GET /healthz"`: "says that it runs", `"GET /readyz"`: "says that it runs", `"GET /metrics"`: "counts",
	`"GET /{$}"`: "the page, which has no data", `"GET /"+f.Name()`: "the page, which has no data", `"GET /favicon.ico"`: "is empty",
	`"PUT /sym/put/{key}"`: "its key is the permission", `"GET /api/v1/whoami"`: "says of which project the token is", `"POST /login"`: "takes a token",
	`"POST /logout"`: "forgets a token", `"GET /login/ways"`: "says how to log in", `"GET /login/oidc"`: "leads to the provider", `"GET "+signinPath`: "takes what the provider says",
	`"POST /login/password"`: "takes a password", `"POST /login/invitation"`: "takes a secret", `"POST /login/project"`: "takes the session of an account", `"POST /account/password"`: "takes the session of an account, and its password",
	`"GET "+secret+"/{project}/{path...}"`: "its path is the permission, on this machine",
}

// allTried fails for a path of the service that is neither tried with every token nor open.
func allTried(t *testing.T, tried []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	guarded := regexp.MustCompile(`(?m)^\s*("[^\n]*"): *\{store\.Scope`)
	handled := regexp.MustCompile(`mux\.Handle(?:Func)?\(([^,]+),`)
	place := regexp.MustCompile(`\{[^}]*\}`)
	found := 0
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range guarded.FindAllStringSubmatch(string(source), -1) {
			found++
			pattern := strings.Trim(strings.ReplaceAll(m[1], `" + project + "`, "/api/v1/projects/{project}"), `"`)
			method, path, all := strings.Cut(pattern, " ")
			if !all {
				method, path = "[A-Z]+", pattern
			}
			path, exact := strings.CutSuffix(path, "{$}")
			parts := strings.Split(place.ReplaceAllString(path, "\x00"), "\x00")
			for i := range parts {
				parts[i] = regexp.QuoteMeta(parts[i])
			}
			route := regexp.MustCompile("^" + method + " " + strings.Join(parts, "[^?]*") + `(\?.*)?$`)
			if !slices.ContainsFunc(tried, route.MatchString) || exact && !strings.HasSuffix(path, "/") {
				t.Errorf("%s: %s is not tried: endpoints has no row for it", name, pattern)
			}
		}
		for _, m := range handled.FindAllStringSubmatch(string(source), -1) {
			if m[1] != "pattern" && openPaths[m[1]] == "" {
				t.Errorf("%s: %s has no token's scope, and is not among those that are open", name, m[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("%d paths were found in the code", found)
	}
}

// No token, no data: without one, with a wrong one, with another project's and with another scope's nothing is answered and nothing
// is changed.
func TestAccess(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	d := w.send("group g1 build b1")
	right := w.token["a all"]
	allTried(t, slices.Collect(maps.Keys(endpoints(d.ID, d.Group, "TOKEN"))))
	wrong := []string{"", "cw_", "cw_x_y", right[:len(right)-1], right + "x", "cw_000000000000_" + strings.Repeat("A", 32), strings.ToUpper(right)}
	for endpoint, scope := range endpoints(d.ID, d.Group, "TOKEN") {
		method, path, _ := strings.Cut(endpoint, " ")
		tokens := append([]string{w.token["b all"]}, wrong...)
		for _, other := range service.Scopes() {
			if other != scope {
				tokens = append(tokens, w.token["a "+other])
			}
		}
		for _, token := range tokens {
			inPath := strings.Contains(path, "TOKEN")
			p, header := path, token
			if inPath {
				if token == "" {
					continue
				}
				p, header = strings.Replace(path, "TOKEN", token, 1), ""
			}
			status, text, _ := w.do(header, method, p, strings.NewReader("group g9 build b9"), "Tus-Resumable", "1.0.0", "Upload-Length", "5")
			want := 403
			if token == "" {
				want = 401
			}
			if status != want || strings.Contains(text, "g1") || strings.Contains(text, d.ID) {
				t.Errorf("%s with %q: %d %s, want %d", endpoint, token, status, text, want)
			}
			if method != "HEAD" && !strings.Contains(text, "with the scope "+scope+" is needed") {
				t.Errorf("%s with %q: %s does not name the scope %s", endpoint, token, text, scope)
			}
			if !inPath { // the same token in the URL
				sep := "?"
				if strings.Contains(p, "?") {
					sep = "&"
				}
				if status, _, _ := w.do("", method, p+sep+"token="+token, strings.NewReader("x")); status != 403 && status != 401 {
					t.Errorf("%s with %q in the URL: %d", endpoint, token, status)
				}
			}
		}
		// With the right scope it is let through; in a URL only where clients know no other way.
		if status, text, _ := w.do(w.token["a "+scope], method, strings.Replace(path, "TOKEN", w.token["a "+scope], 1), strings.NewReader(""), "Tus-Resumable", "1.0.0"); (status == 401 || status == 403) && path != "/api/v1/projects/a/minidump" { // that also needs upload
			t.Errorf("%s with its scope: %d %s", endpoint, status, text)
		}
		if !strings.Contains(path, "TOKEN") {
			sep := "?"
			if strings.Contains(path, "?") {
				sep = "&"
			}
			status, _, _ := w.do("", method, path+sep+"token="+w.token["a "+scope], strings.NewReader(""), "Tus-Resumable", "1.0.0")
			if denied := status == 401 || status == 403; denied == slices.Contains([]string{"upload", "symbols", "fetch"}, scope) {
				t.Errorf("%s with its scope in the URL: %d", endpoint, status)
			}
		}
		if method == "DELETE" {
			d = w.send("group g1 build b1")
		}
	}
	if strings.Contains(w.log.String(), "cw_") {
		t.Error("a token is in the log")
	}
	// A revoked token is wrong at once.
	var made struct{ ID, Token string }
	w.want(201, &made, "POST", "/api/v1/projects/a/tokens", `{"scopes":["read"],"note":"visitor"}`)
	if status, _, _ := w.do(made.Token, "GET", "/api/v1/projects/a/groups", nil); status != 200 {
		t.Errorf("a new token: %d", status)
	}
	if status, _, _ := w.do(w.token["b all"], "DELETE", "/api/v1/projects/b/tokens/"+made.ID, nil); status != 404 {
		t.Errorf("another project revokes it: %d", status)
	}
	if list := w.want(200, nil, "GET", "/api/v1/projects/a/tokens", ""); !strings.Contains(list, made.ID) || strings.Contains(list, made.Token) {
		t.Errorf("%s", list)
	}
	w.want(204, nil, "DELETE", "/api/v1/projects/a/tokens/"+made.ID, "")
	if status, _, _ := w.do(made.Token, "GET", "/api/v1/projects/a/groups", nil); status != 403 {
		t.Errorf("a revoked token: %d", status)
	}
	if status, _, _ := w.do("", "GET", "/api/v1/whoami", nil); status != 401 {
		t.Errorf("nobody: %d", status)
	}
	for _, path := range []string{"/", "/app.js", "/groups.js", "/app.css", "/healthz", "/readyz", "/metrics"} {
		if status, text, _ := w.do("", "GET", path, nil); status != 200 || strings.Contains(text, "g1") || strings.Contains(text, d.ID) {
			t.Errorf("%s: %d %.80s", path, status, text)
		}
	}
}

// With a cookie, a page of another site changes nothing.
func TestCookie(t *testing.T) {
	w := start(t, nil)
	d := w.send("group g1 build b1")
	status, _, h := w.do("", "POST", "/login", strings.NewReader("token="+w.token["a all"]), "Content-Type", "application/x-www-form-urlencoded", "X-Requested-With", "corewalk")
	cookie := h.Get("Set-Cookie")
	if status != 200 || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Fatalf("%d %s", status, cookie)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	if status, _, _ := w.do("", "GET", "/api/v1/projects/a/groups", nil, "Cookie", cookie); status != 200 {
		t.Errorf("%d", status)
	}
	again := "/api/v1/projects/a/dumps/" + d.ID + "/again"
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{[]string{"X-Requested-With", "corewalk", "Sec-Fetch-Site", "same-origin"}, 204},
		{[]string{"Sec-Fetch-Site", "same-origin"}, 403},
		{[]string{"X-Requested-With", "corewalk", "Sec-Fetch-Site", "cross-site"}, 403},
		{[]string{"X-Requested-With", "corewalk", "Origin", "https://elsewhere.example"}, 403},
	} {
		if status, _, _ := w.do("", "POST", again, nil, append(c.headers, "Cookie", cookie)...); status != c.status {
			t.Errorf("%v: %d, want %d", c.headers, status, c.status)
		}
	}
	if status, _, _ := w.do("", "POST", "/login", strings.NewReader("token="+w.token["a all"]), "Content-Type", "application/x-www-form-urlencoded"); status != 403 && status != 401 {
		t.Errorf("a form of another site logs in: %d", status)
	}
}

type group struct {
	ID, State, Reason string
	FixedIn           string `json:"fixed_in"`
	Count, Builds     int
	Trend             []int
}

// groups waits until the list is what it will be.
func (w *world) groups(query string, want ...string) []group {
	w.t.Helper()
	var list struct{ Groups []group }
	var got []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		w.want(200, &list, "GET", "/api/v1/projects/a/groups"+query, "")
		got = nil
		for _, g := range list.Groups {
			got = append(got, fmt.Sprintf("%s %d %s", g.ID, g.Count, g.State))
		}
		if slices.Equal(got, want) {
			return list.Groups
		}
	}
	w.t.Fatalf("groups %s: %q, want %q", query, got, want)
	return nil
}

// A group that was fixed regresses with a dump of the build, or of one that came later, and not with one of an older build.
func TestStates(t *testing.T) {
	w := start(t, nil)
	for i, text := range []string{"group g1 build old", "group g1 build old", "group g1 build mid", "group g2 build mid", "group g2 build new", "group g3 build new"} {
		w.send(text + fmt.Sprint(" ", i))
	}
	all := w.groups("", "g1 3 open", "g2 2 open", "g3 1 open")
	if n := all[0].Trend; len(n) != 30 || n[29] != 3 {
		t.Errorf("trend %v", n)
	}
	p := "/api/v1/projects/a/groups/"
	w.want(204, nil, "PUT", p+"g1/state", `{"state":"fixed","build":"new"}`)
	w.want(204, nil, "PUT", p+"g3/state", `{"state":"ignored"}`)
	w.want(400, nil, "PUT", p+"g3/state", `{"state":"lost"}`)
	w.want(404, nil, "PUT", p+"zz/state", `{"state":"fixed"}`)
	w.groups("", "g1 3 fixed", "g2 2 open")
	w.groups("?state=all", "g1 3 fixed", "g2 2 open", "g3 1 ignored")
	w.groups("?state=ignored", "g3 1 ignored")
	w.groups("?state=all&build=mid", "g1 3 fixed", "g2 2 open")
	w.groups("?q=G2_FUNC", "g2 2 open")
	w.groups("?q=g2", "g2 2 open")
	w.groups("?program=shop&kind=abort&limit=1", "g1 3 fixed")
	w.groups("?limit=1&skip=1", "g2 2 open")
	w.groups("?program=other")
	w.send("group g1 build mid again") // an older build: people have not updated
	w.groups("", "g1 4 fixed", "g2 2 open")
	w.send("group g1 build new again")
	w.groups("", "g1 5 regressed", "g2 2 open")
	w.want(400, nil, "PUT", p+"g1/state", `{"state":"fixed","build":"next"}`) // a build that was not seen yet
	w.groups("?state=regressed", "g1 5 regressed")
	w.send("group g4 build next")
	w.want(204, nil, "PUT", p+"g1/state", `{"state":"fixed","build":"next"}`)
	w.groups("?state=fixed", "g1 5 fixed")
	w.send("group g1 build new once more")
	w.groups("?state=fixed", "g1 6 fixed")
	w.send("group g1 build next")
	w.groups("?state=regressed", "g1 7 regressed")

	w.want(204, nil, "POST", p+"g1/notes", `{"text":"seen <b>often</b>"}`)
	w.want(400, nil, "POST", p+"g1/notes", `{"text":" "}`)
	w.want(400, nil, "POST", p+"g1/notes", `{"text":"x","more":1}`)
	var one struct {
		Group  group
		Notes  []struct{ Text, By string }
		Builds []struct {
			Build string
			Count int
		}
		Dumps  []dump
		Report struct{ Crash struct{ Signal string } }
	}
	w.want(200, &one, "GET", p+"g1", "")
	if len(one.Notes) != 1 || one.Notes[0].Text != "seen <b>often</b>" || one.Notes[0].By != "the all (token)" || len(one.Dumps) != 7 || one.Report.Crash.Signal != "SIGABRT" || one.Group.State != "regressed" {
		t.Errorf("%+v", one)
	}
	if b := one.Builds; len(b) != 4 || b[0].Build != "next" || b[3].Build != "old" || b[3].Count != 2 {
		t.Errorf("%+v", b)
	}
	var two struct {
		Groups []struct {
			ID, State string
			A, B      int
		}
	}
	w.want(204, nil, "PUT", p+"g2/state", `{"state":"ignored"}`)
	w.want(200, &two, "GET", "/api/v1/projects/a/compare?a=mid&b=new", "")
	if got := fmt.Sprint(two.Groups); got != "[{g3 ignored 0 1} {g1 regressed 2 2} {g2 ignored 1 1}]" {
		t.Errorf("%s", got)
	}
	w.want(400, nil, "GET", "/api/v1/projects/a/compare?a=mid&b=mid", "")
	w.want(400, nil, "GET", "/api/v1/projects/a/groups?limit=x", "")
}

// Dumps are listed in pages, read, analysed again and removed.
func TestDumps(t *testing.T) {
	w := start(t, nil)
	a, b := w.send("group g1 build b1"), w.send("nonsense")
	p := "/api/v1/projects/a/dumps/"
	if text := w.want(200, nil, "GET", p+a.ID+"/file", ""); text != "group g1 build b1" {
		t.Error(text)
	}
	if text := w.want(200, nil, "GET", p+a.ID+"/report", ""); text != `{"format":"json"}` {
		t.Error(text)
	}
	if text := w.want(422, nil, "GET", p+b.ID+"/report?format=text", ""); !strings.Contains(text, "not a dump") {
		t.Error(text)
	}
	w.want(400, nil, "GET", p+a.ID+"/report?format=pdf", "")
	status, text, h := w.do(w.token["a all"], "GET", p+a.ID+"/report?format=html", nil)
	if policy := h.Get("Content-Security-Policy"); status != 200 || text != `{"format":"html"}` || !strings.HasPrefix(policy, "sandbox allow-scripts; default-src 'none'") || strings.Contains(policy, "'self'") ||
		h.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("a page: %d, %q, %v", status, text, h)
	}
	w.want(404, nil, "GET", p+"zz", "")
	var list struct{ Dumps []dump }
	if w.want(200, &list, "GET", "/api/v1/projects/a/dumps?group=g1", ""); len(list.Dumps) != 1 || list.Dumps[0].ID != a.ID {
		t.Errorf("%+v", list)
	}
	w.want(204, nil, "POST", p+a.ID+"/again", "")
	w.analysed(a.ID)
	w.want(204, nil, "DELETE", p+a.ID, "")
	w.want(404, nil, "GET", p+a.ID, "")
	if _, err := os.Stat(filepath.Join(w.dir, "projects", "a", "dumps", a.ID[:2], a.ID)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	w.groups("", "g1 1 open") // the ledger remembers
}

// Old dumps are removed; those of the ledger stay.
func TestKeep(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *service.Config) { c.Keep.Age = 200 * time.Millisecond })
	d := w.send("group g1 build b1")
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		status, _, _ := w.do(w.token["a all"], "GET", "/api/v1/projects/a/dumps/"+d.ID, nil)
		if _, err := os.Stat(filepath.Join(w.dir, "projects", "a", "dumps", d.ID[:2], d.ID)); status == 404 && errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it is not removed")
		}
	}
	w.groups("", "g1 1 open")
}

// A token may send only so much.
func TestRate(t *testing.T) {
	w := start(t, func(c *service.Config) { c.Rate = 0.001 })
	refused := 0
	for i := range 4 {
		status, _, h := w.do(w.token["a upload"], "POST", "/api/v1/projects/a/dumps", strings.NewReader(fmt.Sprint("x", i)))
		if status == 429 && h.Get("Retry-After") != "" {
			refused++
		}
	}
	if refused != 3 {
		t.Errorf("%d refused of 4", refused)
	}
	if status, _, _ := w.do(w.token["b upload"], "POST", "/api/v1/projects/b/dumps", strings.NewReader("x")); status != 202 {
		t.Errorf("another token: %d", status)
	}
	if status, _, _ := w.do(w.token["a read"], "GET", "/api/v1/projects/a/groups", nil); status != 200 {
		t.Errorf("reading: %d", status)
	}
}

// Symbols are found again at the paths of both kinds of servers, and nowhere else.
func TestSymbols(t *testing.T) {
	w := start(t, nil)
	p := "/api/v1/projects/a/symbols/"
	id := "00ff5ad1c0ffee00"
	sym := "MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 shop.so\nPUBLIC 10 0 f\n"
	named := "MODULE windows x86_64 ab12 shop.pdb\nPUBLIC 10 0 f\n"
	bid, err := hex.DecodeString(id)
	if err != nil {
		t.Fatal(err)
	}
	debug, program := string(elftest.WithID(3, bid, 0)), string(elftest.WithID(3, bid, 1000))
	w.want(201, nil, "PUT", p+"buildid/"+id+"/debuginfo", debug)
	w.want(201, nil, "PUT", p+"buildid/"+strings.ToUpper(id)+"/executable", packed(program), "Content-Encoding", "gzip")
	w.want(201, nil, "PUT", p+"shop.pdb/ab12/shop.sym", named)
	body, kind := form(t, map[string]string{"os": "Linux"}, map[string]string{"symbol_file": sym})
	w.want(200, nil, "POST", "/api/v1/projects/a/sym_upload", body, "Content-Type", kind)
	// What says itself that it is something else replaces nothing.
	for path, data := range map[string]string{
		"buildid/" + id + "/debuginfo": "debug", "buildid/" + id + "/executable": string(elftest.WithID(3, []byte("other"), 0)),
		"shop.pdb/ab12/shop.sym": sym, "shop.so/000102030405060708090A0B0C0D0E0F0/shop.so.sym": named, "shop.pdb/ab12/shop.pdb": program,
		"shop.pdb/AB12/shop.sym": "MODULE windows x86_64 ab12 shop.pdb\nPUBLIC 10", // cut
	} {
		if text := w.want(400, nil, "PUT", p+path, data); !strings.Contains(text, "not the file of") || strings.Contains(text, w.dir) {
			t.Errorf("%s: %s", path, text)
		}
	}
	for path, want := range map[string]string{"buildid/" + id + "/debuginfo": debug, "buildid/" + id + "/executable": program, "shop.pdb/AB12/shop.sym": named,
		"shop.so/000102030405060708090A0B0C0D0E0F0/shop.so.sym": sym} {
		status, text, h := w.do("", "GET", "/fetch/a/"+w.token["a fetch"]+"/"+path, nil)
		if status != 200 || text != want || h.Get("X-Debuginfod-Size") != fmt.Sprint(len(want)) {
			t.Errorf("%s: %d %q %v", path, status, text, h)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "projects", "a", "symbols", ".build-id", id[:2], id[2:]+".debug")); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"buildid/" + id + "/source/x", "buildid/xyz/debuginfo", "a/b", "../../service.db", "x/ab/../../y", "a%2f..%2f..%2fb/ab/c", ".x/ab/c", "a/ab/.c", "a%00/ab/c", "a/xy/c", `a\b/ab/c`, "a:b/ab/c"} {
		if status, text, _ := w.do(w.token["a all"], "PUT", p+path, strings.NewReader("x")); status == 201 {
			t.Errorf("%s: stored: %s", path, text)
		}
		if status, text, _ := w.do(w.token["a all"], "GET", p+path, nil); status == 200 {
			t.Errorf("%s: %.40q", path, text)
		}
	}
	body, kind = form(t, nil, map[string]string{"symbol_file": "nonsense"})
	w.want(400, nil, "POST", "/api/v1/projects/a/sym_upload", body, "Content-Type", kind)
	w.want(400, nil, "PUT", p+"a/ab/c", "")
	outside := []string{}
	filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, _ error) error {
		if rel, _ := filepath.Rel(w.dir, path); !d.IsDir() && !strings.HasPrefix(rel, "projects/a/symbols/") && !strings.Contains(rel, ".db") {
			outside = append(outside, rel)
		}
		return nil
	})
	if len(outside) > 0 {
		t.Errorf("files elsewhere: %v", outside)
	}
}

// The second protocol of sym_upload: ask, get a URL, put the file there without a token, name it.
func TestSymUpload2(t *testing.T) {
	w := start(t, nil)
	token := w.token["a symbols"]
	key := "?key=" + token
	id := "0001-0203-0405"
	var st struct{ Status, UploadURL, UploadKey, Result string }
	ask := func(status int, method, path, body string) {
		t.Helper()
		st.Status, st.Result = "", ""
		got, text, _ := w.do("", method, path, strings.NewReader(body))
		if got != status {
			t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
		}
		if err := json.Unmarshal([]byte(text), &st); got == 200 && text != "" && err != nil {
			t.Fatal(text, err)
		}
	}
	if ask(200, "GET", "/sym/a/v1/symbols/shop.pdb/"+id+":checkStatus"+key, ""); st.Status != "MISSING" {
		t.Errorf("%+v", st)
	}
	ask(200, "POST", "/sym/a/v1/uploads:create"+key, "")
	put := strings.TrimPrefix(st.UploadURL, w.url)
	named := `{"symbol_id":{"debug_file":"shop.pdb","debug_id":"` + id + `"},"symbol_upload_type":"BREAKPAD"}`
	complete := "/sym/a/v1/uploads/" + st.UploadKey + ":complete"
	ask(404, "POST", complete+key, named) // nothing was put yet
	ask(404, "PUT", "/sym/put/0123", "x")
	ask(400, "PUT", put, "not symbols")
	ask(200, "PUT", put, "MODULE windows x86_64 1 shop.pdb\n")
	ask(400, "POST", complete+key, named) // the file says itself that it is another
	again := func() {
		t.Helper()
		w.nothingPut()
		ask(200, "PUT", put, "MODULE windows x86_64 000102030405 shop.pdb\n")
	}
	again()
	if status, _, _ := w.do(w.token["b symbols"], "POST", strings.Replace(complete, "/a/", "/b/", 1), strings.NewReader(named)); status != 404 {
		t.Errorf("another project completes it: %d", status)
	}
	ask(400, "POST", complete+key, `{"symbol_id":{"debug_file":"../x","debug_id":"1"}}`)
	ask(404, "POST", complete+key, named) // what failed is put again
	for _, body := range []string{strings.Replace(named, "BREAKPAD", "NATIVE", 1), "{", strings.Repeat("{", 1<<20)} {
		again()
		ask(400, "POST", complete+key, body)
	}
	again()
	if ask(200, "POST", complete+key, named); st.Result != "OK" {
		t.Errorf("%+v", st)
	}
	ask(404, "POST", complete+key, named) // it is used up
	ask(404, "PUT", put, "y")
	if ask(200, "GET", "/sym/a/v1/symbols/shop.pdb/"+id+":checkStatus"+key, ""); st.Status != "FOUND" {
		t.Errorf("%+v", st)
	}
	if status, text, _ := w.do(w.token["a fetch"], "GET", "/api/v1/projects/a/symbols/shop.pdb/000102030405/shop.sym", nil); status != 200 || !strings.HasPrefix(text, "MODULE") {
		t.Errorf("%d %s", status, text)
	}
}

// Files of other types than Breakpad's belong where they say themselves.
func TestSymUpload2Images(t *testing.T) {
	w := start(t, nil)
	key := "?key=" + w.token["a symbols"]
	id := []byte{0xab, 0xcd, 0xef, 1}
	send := func(put, kind string) (string, int) {
		var st struct{ UploadURL, UploadKey, Result string }
		_, text, _ := w.do("", "POST", "/sym/a/v1/uploads:create"+key, nil)
		if err := json.Unmarshal([]byte(text), &st); err != nil {
			t.Fatal(err, text)
		}
		if status, text, _ := w.do("", "PUT", strings.TrimPrefix(st.UploadURL, w.url), strings.NewReader(put)); status != 200 {
			return text, status
		}
		body := `{ symbol_id: {debug_file: "shop", debug_id: "ABCDEF01" }, symbol_upload_type: "` + kind + `" }`
		status, text, _ := w.do("", "POST", "/sym/a/v1/uploads/"+st.UploadKey+":complete"+key, strings.NewReader(body), "Content-Type", "application/son")
		w.nothingPut()
		return text, status
	}
	if text, status := send(string(elftest.WithID(3, id, 1000)), "ELF"); status != 200 || !strings.Contains(text, `"result": "OK"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, _, _ := w.do(w.token["a fetch"], "GET", "/api/v1/projects/a/symbols/buildid/abcdef01/executable", nil); status != 200 {
		t.Errorf("it is not there: %d", status)
	}
	for what, c := range map[string][2]string{
		"an image as Breakpad's":  {string(elftest.WithID(3, id, 0)), "BREAKPAD"},
		"Breakpad's as an image":  {"MODULE windows x86_64 000102030405 shop.pdb\nPUBLIC 10 0 f\n", "PE"},
		"a damaged image":         {"\x7fELF and so on", "ELF"},
		"an image without a name": {"MZ", "PE"},
		"what is no symbols":      {"text", "ELF"},
		"nothing":                 {"", "ELF"},
	} {
		if text, status := send(c[0], c[1]); status != 400 {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
}

// nothingPut: no file waits for being named.
func (w *world) nothingPut() {
	w.t.Helper()
	if left, _ := filepath.Glob(filepath.Join(w.dir, "tmp", "*")); len(left) > 0 {
		w.t.Errorf("left behind: %v", left)
	}
}

// The bytes that sym_upload of Breakpad sends (2026), and what it searches for in the answers: it reads no JSON.
func TestSymUpload2Bytes(t *testing.T) {
	w := start(t, nil)
	host := strings.TrimPrefix(w.url, "http://")
	const url, key = `"uploadUrl": "([^"]+)"`, `"uploadKey": "([^"]+)"`
	found := map[string]string{"TOKEN": w.token["a symbols"], "HOST": host}
	for _, step := range []struct {
		sent  string
		wants []string
	}{
		{"GET /sym/a/v1/symbols/shop.pdb/000102030405:checkStatus?key=TOKEN HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\n\r\n", []string{`"status": "(MISSING)"`}},
		{"POST /sym/a/v1/uploads:create?key=TOKEN HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\nContent-Length: 0\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n", []string{url, key}},
		{"PUT URL HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\nTransfer-Encoding: chunked\r\n\r\n3a\r\nMODULE windows x86_64 000102030405 shop.pdb\nPUBLIC 10 0 f\n\r\n0\r\n\r\n", nil},
		{"POST /sym/a/v1/uploads/KEY:complete?key=TOKEN HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\nContent-Type: application/son\r\nContent-Length: 98\r\n\r\n" +
			`{ symbol_id: {debug_file: "shop.pdb", debug_id: "000102030405" }, symbol_upload_type: "BREAKPAD" }`, []string{`"result": "(OK)"`}},
		{"GET /sym/a/v1/symbols/shop.pdb/000102030405:checkStatus?key=TOKEN HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\n\r\n", []string{`"status": "(FOUND)"`}},
	} {
		sent := step.sent
		for name, value := range found {
			sent = strings.ReplaceAll(sent, name, value)
		}
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != 200 {
			t.Fatalf("%.60s: %d %s", sent, answer.StatusCode, text)
		}
		for _, want := range step.wants {
			m := regexp.MustCompile(want).FindStringSubmatch(string(text))
			if m == nil {
				t.Fatalf("%.60s: %s, without %s", sent, text, want)
			}
			switch want {
			case url:
				found["URL"] = strings.TrimPrefix(m[1], w.url)
			case key:
				found["KEY"] = m[1]
			}
		}
	}
	w.nothingPut()
}

// Symbolicator's way: a dump is sent in a form, and its stacks are the answer, at once or when they are there.
func TestSymbolicator(t *testing.T) {
	hold := make(chan struct{})
	w := start(t, func(c *service.Config) {
		c.Report = func(_ context.Context, _, path, format string, out io.Writer) error {
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), "slow") {
				<-hold
			}
			if strings.Contains(string(text), "bad") {
				return errors.New("not a dump")
			}
			io.WriteString(out, `{"dump":{"os":"linux","arch":"x86-64"},"crash":{"signal":"SIGSEGV","code":"SEGV_MAPERR","reason":"write at null"},
				"modules":[{"path":"/bin/shop","base":"0x1000","end":"0x3000","file":"/bin/shop","build_id":"ab12"},{"path":"/lib/x","base":"0x5000","end":"0x4000"}],
				"threads":[{"id":7,"name":"till","crashed":true,"registers":{"rip":"0x1010"},"frames":[
					{"pc":"0x1010","module":"/bin/shop","function":"pay","trust":"context","source":{"file":"/src/pay.c","line":12}},{"pc":"0x5010","module":"/lib/x","trust":"scan"}]}]}`)
			return err
		}
	})
	type doc struct {
		Status, Message string
		RequestID       string `json:"request_id"`
		Crashed         bool
		CrashReason     string            `json:"crash_reason"`
		System          map[string]string `json:"system_info"`
		Stacktraces     []struct {
			ID     int  `json:"thread_id"`
			Is     bool `json:"is_requesting"`
			Frames []struct {
				Status, Function, Filename, Trust string
				Address                           string `json:"instruction_addr"`
				Line                              int    `json:"lineno"`
			}
		}
		Modules []struct {
			Code string `json:"code_id"`
			Size int    `json:"image_size"`
			Type string
		}
	}
	send := func(text, query string) (d doc) {
		t.Helper()
		body, kind := form(t, map[string]string{"sources": "[]"}, map[string]string{"upload_file_minidump": text})
		w.want(200, &d, "POST", "/api/v1/projects/a/minidump"+query, body, "Content-Type", kind)
		return d
	}
	d := send("group g1 build b1", "?timeout=30&scope=x")
	if d.Status != "completed" || !d.Crashed || d.CrashReason != "SIGSEGV / SEGV_MAPERR" || d.System["os_name"] != "Linux" || d.System["cpu_arch"] != "x86_64" || len(d.Stacktraces) != 1 || !d.Stacktraces[0].Is {
		t.Fatalf("%+v", d)
	}
	if got := fmt.Sprint(d.Stacktraces[0].Frames); got != "[{symbolicated pay pay.c context 0x1010 12} {missing_symbol   scan 0x5010 0}]" {
		t.Error(got)
	}
	if got := fmt.Sprint(d.Modules); got != "[{ab12 8192 elf} { 0 elf}]" {
		t.Error(got)
	}
	if d := send("bad", ""); d.Status != "failed" || d.Message != "not a dump" {
		t.Errorf("%+v", d)
	}
	slow := send("slow", "?timeout=0")
	if slow.Status != "pending" || slow.RequestID == "" {
		t.Fatalf("%+v", slow)
	}
	path := "/api/v1/projects/a/requests/" + slow.RequestID
	if status, _, _ := w.do(w.token["b all"], "GET", strings.Replace(path, "/a/", "/b/", 1), nil); status != 404 {
		t.Errorf("another project: %d", status)
	}
	close(hold)
	if w.want(200, &d, "GET", path+"?timeout=30", ""); d.Status != "completed" {
		t.Errorf("%+v", d)
	}
	w.want(404, nil, "GET", path, "") // handed out once
	w.want(400, nil, "POST", "/api/v1/projects/a/minidump?timeout=x", "")
	if status, _, _ := w.do(w.token["a read"], "POST", "/api/v1/projects/a/minidump", strings.NewReader("x")); status != 403 {
		t.Errorf("without the scope to send: %d", status)
	}
}

// What was being analysed when a service died is analysed by the next; a dump of which the third died is set aside.
func TestDeaths(t *testing.T) {
	block := make(chan struct{})
	w := start(t, func(c *service.Config) {
		c.Run = func(ctx context.Context, project string, src triage.Source, to ledger.Store, sink triage.Sink) error {
			for range src.Dumps(ctx) {
				<-block
			}
			return nil
		}
	})
	var d dump
	w.want(202, &d, "POST", "/api/v1/projects/a/dumps", "group g1 build b1")
	for n := 1; n <= store.MaxDeaths; n++ {
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			if w.want(200, &d, "GET", "/api/v1/projects/a/dumps/"+d.ID, ""); d.State == store.Working {
				break
			}
			if _, err := w.db.Take(t.Context(), "another", "a"); err == nil {
				continue
			}
			if time.Now().After(end) {
				t.Fatalf("%+v", d)
			}
		}
		if k, err := w.db.Recover(t.Context()); err != nil || k != 1 {
			t.Fatal(k, err)
		}
	}
	if w.want(200, &d, "GET", "/api/v1/projects/a/dumps/"+d.ID, ""); d.State != store.Aside {
		t.Errorf("%+v", d)
	}
	w.want(204, nil, "POST", "/api/v1/projects/a/dumps/"+d.ID+"/again", "")
	if w.want(200, &d, "GET", "/api/v1/projects/a/dumps/"+d.ID, ""); d.State == store.Aside {
		t.Errorf("%+v", d)
	}
	close(block)
}

// A service that ends gives back what it has not analysed.
func TestEnds(t *testing.T) {
	begun := make(chan struct{})
	w := start(t, func(c *service.Config) {
		c.Run = func(ctx context.Context, _ string, src triage.Source, _ ledger.Store, _ triage.Sink) error {
			for range src.Dumps(ctx) {
				close(begun)
				<-ctx.Done()
			}
			return nil
		}
	})
	var d dump
	w.want(202, &d, "POST", "/api/v1/projects/a/dumps", "group g1 build b1")
	<-begun
	w.stop()
	db, err := sqlite.Open(t.Context(), filepath.Join(w.dir, "service.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	u, err := db.Upload(t.Context(), "a", d.ID)
	if err != nil || u.State != store.Waiting || u.Attempts != 1 {
		t.Errorf("%+v %v", u, err)
	}
}

// Names of projects are names of directories.
func TestProjectNames(t *testing.T) {
	for name, ok := range map[string]bool{"shop": true, "a-b_c.9": true, "": false, "..": false, ".": false, "a/b": false, "A": false, "-x": false, strings.Repeat("a", 65): false, "a\x00": false} {
		if err := service.CheckProject(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// So many reports are made at a time, so many requests wait, and the others are to come again.
func TestReportsAtOnce(t *testing.T) {
	t.Parallel()
	var at, most, made atomic.Int64
	hold := make(chan struct{})
	w := start(t, func(c *service.Config) {
		c.Report = func(_ context.Context, _, _, _ string, out io.Writer) error {
			if n := at.Add(1); n > most.Load() {
				most.Store(n)
			}
			<-hold
			at.Add(-1)
			made.Add(1)
			_, err := io.WriteString(out, "{}")
			return err
		}
	})
	id := w.send("group g build b").ID
	var refused atomic.Int64
	var asking sync.WaitGroup
	for range 30 {
		asking.Go(func() {
			status, _, h := w.do(w.token["a read"], "GET", "/api/v1/projects/a/dumps/"+id+"/report", nil)
			if status == 503 && h.Get("Retry-After") != "" {
				refused.Add(1)
			} else if status != 200 {
				t.Errorf("status %d", status)
			}
		})
	}
	until(t, "nobody is refused", func() bool { return refused.Load() == 12 })
	close(hold)
	asking.Wait()
	if most.Load() != 2 || made.Load() != 18 {
		t.Errorf("%d at once, %d made, %d refused", most.Load(), made.Load(), refused.Load())
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "uploads", ".report-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
