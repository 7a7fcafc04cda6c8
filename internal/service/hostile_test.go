package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/servers"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/postgres"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	ledgerPG "github.com/corewalk/corewalk/internal/triage/ledger/postgres"
)

// hostileWords are what a stranger may write where a text, a number, a time or an identifier is asked for.
var hostileWords = []string{"a\x00b", "\x00", "b\xff\xfec", "\xed\xa0\x80", `\ud800`, `\u0000`, "\u202ex\u2066\x1b[2J\u0007", "''; DROP TABLE \"@uploads\" -- $1 ?", "\U0010ffff", "%", `%_\`, `\`, "caf\u00e9", "cafe\u0301",
	"null", "'{NULL,\"x\"}'", "E'\\''", "\r\nX: y", "9223372036854775808", "-9223372036854775809", "1e400", "-1", "00", "NaN", "2147483648", "../..", "..", ".", "a/b", "<b>", "a:b", ":",
	"0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "1.1.1.1.1.1.1.1.1.1", strings.Repeat("[", 3000), strings.Repeat("\u202e", 3000)}

// hostileJSON are what may stand for a value in a document.
func hostileJSON() map[string]string {
	out := map[string]string{"half": `"\ud800"`, "half, other": `"\udc00x\ud800"`, "nul": `"a\u0000b"`, "bytes": "\"a\xff\xfe\"", "control": "\"a\x01\"", "large": "9223372036854775808", "small": "-9223372036854775809", "huge": "1e400",
		"digits": strings.Repeat("9", 5000), "deep": strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), "too deep": strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), "deep objects": strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000),
		"long": `"` + strings.Repeat("x", 1<<20) + `"`, "null": "null", "true": "true", "list": `["a",null,1,"\u0000"]`, "object": `{"a\u0000":1}`, "empty": `""`, "fraction": "0.1", "nothing": ""}
	for _, text := range hostileWords {
		b, _ := json.Marshal(text)
		out[text] = string(b)
	}
	return out
}

// hostileRun says of a dump "hostile N" that word N is everything that it says.
func hostileRun(ctx context.Context, project string, src triage.Source, to ledger.Store, sink triage.Sink) error {
	run, err := to.Begin(ctx, "test")
	if err != nil {
		return err
	}
	for path, err := range src.Dumps(ctx) {
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var n int
		if _, err := fmt.Sscanf(string(b), "hostile %d", &n); err != nil {
			n = 0
		}
		s := hostileWords[n%len(hostileWords)]
		name := s[:min(len(s), 40)]
		d := ledger.Dump{Path: path, Identity: "sha256:" + string(b), Time: time.Now(), SeenAt: time.Now(), Group: fmt.Sprintf("%032x", n), Signature: fmt.Sprint("v1:", n), Program: s, Build: s, Arch: s, OS: s, Reason: s, Kind: s, Where: s, Trust: s, Strict: s, Files: s,
			Frames: []string{s, s}, Attributes: [][2]string{{name, s}, {"lacks", s}, {"uses", s}, {"user_id", s}, {"release", s}}, Needed: map[string]int{s: 1 << 40}, Client: s, Report: []byte(`{"crash":{"reason":"` + strings.Repeat("[", 100) + `"}}`)}
		if n%3 == 2 {
			d.Fault, d.FaultKind, d.Group = s, ledger.FaultUnreadable, ""
		}
		if err := to.Add(context.WithoutCancel(ctx), run.ID, []ledger.Dump{d}); err != nil {
			return err
		}
		sink.Dump(d, false)
	}
	return nil
}

// asked are the names of the query parameters that the service's sources ask for.
func asked(t *testing.T) (names []string) {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	get := regexp.MustCompile(`(?:q\.Get|Query\(\)\.(?:Get|Has)|number\(r,|q\[)\(?\s*"([a-z_]+)"`)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		source, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range get.FindAllStringSubmatch(string(source), -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) < 15 || !slices.Contains(names, "has") {
		t.Errorf("the sources ask for %q", names)
	}
	return names
}

// hostileBodies are documents in which each value is to be replaced by a hostile one.
func hostileBodies(group, other string) map[string]string {
	p := "/api/v1/projects/a"
	return map[string]string{
		"PUT " + p + "/groups/" + group + "/state":        `{"state": "fixed", "release": ""}`,
		"PUT " + p + "/groups/" + group + "/mark":         `{"assignee": "ann", "ticket": "https://x.example/1"}`,
		"PUT " + p + "/groups/" + group + "/merge":        `{"into": "` + other + `"}`,
		"PUT " + p + "/groups":                            `{"groups": ["` + group + `"], "state": "ignored", "assignee": "ann", "ticket": "https://x.example/1", "build": "b", "release": "r"}`,
		"POST " + p + "/groups/" + group + "/notes":       `{"text": "a note"}`,
		"POST " + p + "/searches":                         `{"name": "n", "query": "state=open"}`,
		"PUT " + p + "/settings":                          `{"tracker": "https://x.example/{title}"}`,
		"PUT " + p + "/builds/b1":                         `{"release": "1.2"}`,
		"POST " + p + "/releases":                         `{"release": "1.4"}`,
		"POST " + p + "/hooks":                            `{"kind": "webhook", "to": "https://192.0.2.1/", "events": ["new"], "quiet": "22:00-07:00"}`,
		"POST " + p + "/tokens":                           `{"scopes": ["upload"], "note": "n"}`,
		"POST /sym/a/v1/uploads/x:complete":               `{"symbol_id": {"debug_file": "a", "debug_id": "AB"}, "symbol_upload_type": "BREAKPAD", "use_async_processing": 1}`,
		"POST /sym/a/v1/uploads:create":                   `{}`,
		"POST /api/0/projects/any/a/files/difs/assemble/": `{"0000000000000000000000000000000000000000": {"name": "n", "debug_id": "d", "chunks": ["0000000000000000000000000000000000000001"]}}`,
	}
}

// TestHostileRequests: whatever is in any path, parameter, document, form, envelope or dump, no answer is an error of the service, nothing of it is in the log as one, and all
// that is answered afterwards is valid.
func TestHostileRequests(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		hostileRequests(t, nil, func(c *service.Config) { c.Run = hostileRun })
	})
	t.Run("postgres", func(t *testing.T) {
		server := servers.StartPostgres(t)
		connect := func(schema string) *pgxpool.Pool {
			t.Helper()
			root, err := pgxpool.New(t.Context(), server.Connection())
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			if _, err := root.Exec(t.Context(), "CREATE SCHEMA "+schema); err != nil {
				t.Fatal(err)
			}
			pool, err := pgxpool.New(t.Context(), server.Schema(schema))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			return pool
		}
		db, err := postgres.Use(t.Context(), connect("s"))
		if err != nil {
			t.Fatal(err)
		}
		ledgers := map[string]ledger.Store{}
		for _, project := range []string{"a", "b"} {
			if ledgers[project], err = ledgerPG.Use(t.Context(), connect("l_"+project), "v1"); err != nil {
				t.Fatal(err)
			}
		}
		hostileRequests(t, db, func(c *service.Config) {
			c.Store, c.Run = db, hostileRun
			c.Ledger = func(_ context.Context, project string) (ledger.Store, error) { return lent{ledgers[project]}, nil }
		})
	})
}

// lent is a ledger that its service must not close.
type lent struct{ ledger.Store }

func (lent) Close() error { return nil }

func hostileRequests(t *testing.T, db store.Store, change func(*service.Config)) {
	w := start(t, change)
	if db != nil {
		var err error
		if w.token["a all"], _, err = service.NewToken(t.Context(), db, "a", service.Scopes(), "all"); err != nil {
			t.Fatal(err)
		}
	}
	token := w.token["a all"]
	var mu sync.Mutex
	statuses := map[int]int{}
	ask := func(method, path string, body string, headers ...string) (int, string) {
		r, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
		if err != nil {
			return 0, "" // no client sends it
		}
		r.Header.Set("Authorization", "Bearer "+token)
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		a, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			if !strings.Contains(err.Error(), "invalid header") { // no client sends it
				t.Errorf("%s %.200q: %v", method, path, err)
			}
			return 0, ""
		}
		defer a.Body.Close()
		b, err := io.ReadAll(a.Body)
		mu.Lock()
		statuses[a.StatusCode]++
		mu.Unlock()
		if a.StatusCode >= 500 && a.StatusCode != http.StatusServiceUnavailable || err != nil {
			t.Errorf("%s %.300q %.200q %.200q: %d %.200s %v", method, path, body, headers, a.StatusCode, b, err)
		}
		if method != http.MethodHead && strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") && !(utf8.Valid(b) && json.Valid(b)) {
			t.Errorf("%s %.300q: %.300q is no document", method, path, b)
		}
		return a.StatusCode, string(b)
	}
	// What comes with dumps, and what is in them.
	var sent sync.WaitGroup
	limit := make(chan struct{}, 8)
	atOnce := func(do func()) {
		limit <- struct{}{}
		sent.Go(func() {
			defer func() { <-limit }()
			do()
		})
	}
	base := "/api/v1/projects/a"
	documents := hostileJSON()
	for n, s := range hostileWords {
		atOnce(func() {
			name := s[:min(len(s), 250)]
			ask("POST", base+"/dumps?name="+url.QueryEscape(s)+"&"+url.QueryEscape(name)+"="+url.QueryEscape(s)+"&release="+url.QueryEscape(s)+"&user_id="+url.QueryEscape(s), fmt.Sprint("hostile ", n))
			quoted := strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace(name)
			b, kind := formOf(t, part{"upload_file_minidump", quoted, quoted, fmt.Sprint("hostile ", n+100)}, part{quoted, quoted, quoted, s}, part{"comments", "", "", s}, part{"email", "", "", s}, part{"feedback_name", "", "", s}, part{"guid", "", "", s},
				part{"sentry", "", "", `{"event_id":"` + s + `","release":"` + s + `","tags":{"` + s + `":"` + s + `"}}`}, part{"sentry[tags][" + quoted + "]", "", "", s}, part{quoted, "", "", s})
			ask("POST", "/api/a/minidump", b, "Content-Type", kind)
			ask("POST", "/api/a/minidump", b, "Content-Type", s, "Content-Encoding", s)
			text, _ := json.Marshal(s)
			ask("POST", base+"/minidump?timeout="+url.QueryEscape(s), b, "Content-Type", kind)
			for _, doc := range []string{string(text), `"` + s + `"`} {
				event := `{"event_id":` + doc + `,"release":` + doc + `,"environment":` + doc + `,"platform":` + doc + `,"dist":` + doc + `,"tags":{` + doc + `:` + doc + `},"user":{"id":` + doc + `}}`
				envelope := `{"event_id":` + doc + "}\n" + `{"type":"attachment","attachment_type":"event.minidump","filename":` + doc + "}\n" + fmt.Sprint("hostile ", n+200) + "\n" + `{"type":"event"}` + "\n" + event + "\n" +
					`{"type":"attachment","filename":` + doc + `,"content_type":` + doc + "}\n" + strings.NewReplacer("\n", "", "\r", "").Replace(s) + "\n" + `{"type":"user_report"}` + "\n" + `{"event_id":` + doc + `,"name":` + doc + `,"email":` + doc + `,"comments":` + doc + "}\n" +
					`{"type":"feedback"}` + "\n" + `{"contexts":{"feedback":{"message":` + doc + `,"contact_email":` + doc + `,"associated_event_id":` + doc + "}}}\n"
				ask("POST", "/api/a/envelope/", envelope)
			}
			ask("POST", base+"/uploads/", "", "Tus-Resumable", "1.0.0", "Upload-Length", s, "Upload-Metadata", "filename "+s)
			ask("POST", base+"/uploads/", "hostile 1", "Tus-Resumable", "1.0.0", "Upload-Length", "9", "Content-Type", "application/offset+octet-stream", "Upload-Metadata", s+" "+s)
		})
	}
	for name, doc := range documents {
		atOnce(func() {
			for _, event := range []string{`{"event_id":` + doc + `}`, `{"release":` + doc + `}`, `{"tags":` + doc + `}`, `{"tags":[["a",` + doc + `]]}`, `{"tags":{"a":` + doc + `}}`, `{"user":{"id":` + doc + `}}`, doc} {
				ask("POST", "/api/a/envelope/", "{}\n"+`{"type":"attachment","attachment_type":"event.minidump"}`+"\nhostile 3"+name+"\n"+`{"type":"event"}`+"\n"+strings.ReplaceAll(event, "\n", " ")+"\n")
				b, kind := formOf(t, part{"upload_file_minidump", "x", "", "hostile 4" + name}, part{"sentry", "", "", event[:min(len(event), 60_000)]})
				ask("POST", "/api/a/minidump", b, "Content-Type", kind)
			}
			ask("POST", "/api/a/envelope/", `{"event_id":`+doc+"}\n")
			ask("POST", "/api/a/envelope/", "{}\n"+`{"type":"attachment","length":`+doc+"}\nx\n")
		})
	}
	sent.Wait()
	// They are analysed.
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, waiting := ask("GET", base+"/dumps?state=waiting", "")
		_, working := ask("GET", base+"/dumps?state=working", "")
		if !strings.Contains(waiting+working, `"id"`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("not all dumps were analysed: %.300s", waiting+working)
		}
	}
	var groups struct{ Groups []struct{ ID string } }
	var dumps struct{ Dumps []struct{ ID, Fault string } }
	w.want(200, &groups, "GET", base+"/groups?state=all&limit=1000", "")
	w.want(200, &dumps, "GET", base+"/dumps?limit=1000", "")
	if len(groups.Groups) < len(hostileWords)/2 || len(dumps.Dumps) < len(hostileWords) {
		t.Fatalf("%d groups, %d dumps", len(groups.Groups), len(dumps.Dumps))
	}
	group, other, id := groups.Groups[0].ID, groups.Groups[1].ID, dumps.Dumps[0].ID
	// Every path, with each of its parts replaced.
	names := asked(t)
	all := slices.Sorted(maps.Keys(endpoints(id, group, "TOKEN")))
	replaced := []string{id, group, "/x", "/b1", "/0", "/a.sym", "/AB", "/projects/a/", "/api/a/", "/fetch/a/", "/any/", "/symbols/a"}
	for i, s := range hostileWords {
		for k, endpoint := range all {
			if (i+k)%6 != 0 && !fixture.IsLong(t) {
				continue // a sixth of all pairs, each word and each path
			}
			method, path, _ := strings.Cut(endpoint, " ")
			path = strings.ReplaceAll(path, "TOKEN", token)
			if method == "DELETE" && strings.HasSuffix(path, id) {
				path = strings.ReplaceAll(path, id, strings.Repeat("0", 32))
			}
			atOnce(func() {
				headers := []string{"Tus-Resumable", "1.0.0"}
				for _, part := range replaced {
					if strings.Contains(path, part) {
						to := url.PathEscape(s[:min(len(s), 3000)])
						if strings.HasPrefix(part, "/") {
							to = "/" + to
						}
						if strings.HasSuffix(part, "/") {
							to += "/"
						}
						ask(method, strings.Replace(path, part, to, 1), "x", headers...)
					}
				}
				if method != "GET" {
					ask(method, path, s, append(headers, "Content-Type", "application/json", "Upload-Offset", s, "Upload-Length", s, "Content-Encoding", s)...)
					return
				}
				for _, name := range names {
					ask(method, path+"?"+name+"="+url.QueryEscape(s), "")
				}
				ask(method, path+"?has=gpu:"+url.QueryEscape(s)+"&has="+url.QueryEscape(s)+":x&a="+url.QueryEscape(s)+"&b=b&by="+url.QueryEscape(s), "", "Range", s, "If-Modified-Since", s, "X-Sentry-Auth", s)
			})
		}
	}
	sent.Wait()
	// Every document, with each of its values replaced.
	value := regexp.MustCompile(`"[^"{}]*"(?:\s*:)?|\b\d+\b|\[[^\]]*\]`)
	for endpoint, body := range hostileBodies(group, other) {
		method, path, _ := strings.Cut(endpoint, " ")
		if status, text := ask(method, path, body); status/100 != 2 && !strings.Contains(path, "/sym/") {
			t.Errorf("%s as it is meant: %d %s", endpoint, status, text)
		}
		for _, at := range value.FindAllStringIndex(body, -1) {
			for _, doc := range documents {
				key := ""
				if strings.HasSuffix(body[at[0]:at[1]], ":") {
					key = ":"
				}
				changed := body[:at[0]] + doc + key + body[at[1]:]
				atOnce(func() { ask(method, path, changed, "Content-Type", "application/json") })
			}
		}
	}
	sent.Wait()
	// What people read afterwards.
	for _, endpoint := range all {
		method, path, _ := strings.Cut(endpoint, " ")
		if method == "GET" && strings.HasPrefix(path, base) {
			ask(method, path, "")
		}
	}
	for _, d := range dumps.Dumps {
		if status, text := ask("GET", base+"/dumps/"+d.ID, ""); status != 200 {
			t.Errorf("dump %s: %d %s", d.ID, status, text)
		}
	}
	for _, g := range groups.Groups {
		if status, text := ask("GET", base+"/groups/"+g.ID, ""); status != 200 {
			t.Errorf("group %s: %d %s", g.ID, status, text)
		}
	}
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") || strings.Contains(line, "goroutine ") {
			t.Errorf("the log has %.400q", line)
		}
		if !utf8.ValidString(line) || strings.ContainsAny(line, "\u202e\x1b\x00") {
			t.Errorf("the log has %.400q as it is", line)
		}
	}
	t.Logf("answers by status: %v", statuses)
}

// A project has so many uploads in parts that are not complete; one that is given up makes room.
func TestResumableOfOne(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	token, base := w.token["a upload"], "/api/v1/projects/a/uploads/"
	headers := []string{"Tus-Resumable", "1.0.0", "Upload-Length", "5"}
	first := ""
	for i := range 501 {
		status, text, h := w.do(token, "POST", base, nil, headers...)
		if want := map[bool]int{true: 201, false: 429}[i < 500]; status != want {
			t.Fatalf("upload %d: %d %s, want %d", i, status, text, want)
		}
		if i == 0 {
			first = h.Get("Location")[strings.Index(h.Get("Location"), base):]
		}
	}
	if status, text, _ := w.do(w.token["b upload"], "POST", "/api/v1/projects/b/uploads/", nil, headers...); status != 201 {
		t.Errorf("of another project: %d %s", status, text)
	}
	w.do(token, "DELETE", first, nil, headers...)
	if status, text, _ := w.do(token, "POST", base, nil, headers...); status != 201 {
		t.Errorf("after one was given up: %d %s", status, text)
	}
}

// The cookie is for TLS where the client speaks TLS with a proxy.
func TestCookieSecure(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	for proto, want := range map[string]bool{"https": true, "HTTPS": true, "http": false, "": false} {
		status, text, h := w.do("", "POST", "/login", strings.NewReader(url.Values{"token": {w.token["a all"]}}.Encode()), "Content-Type", "application/x-www-form-urlencoded", "X-Requested-With", "corewalk", "X-Forwarded-Proto", proto)
		if c := h.Get("Set-Cookie"); status/100 != 2 && status/100 != 3 || c == "" || strings.Contains(c, "; Secure") != want {
			t.Errorf("%q: %d %s %q", proto, status, text, c)
		}
	}
}
