package service_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/reach"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/notify"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/tables"
)

// A receiver has what it was sent, and fails as often as it is told to.
type receiver struct {
	*httptest.Server
	got  chan received
	mu   sync.Mutex // guards fail
	fail int
}

type received struct {
	header http.Header
	body   string
}

func receive(t *testing.T) *receiver {
	r := &receiver{got: make(chan received, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		fails := r.fail > 0
		r.fail--
		r.mu.Unlock()
		if fails {
			w.WriteHeader(503)
		}
		r.got <- received{q.Header, string(b)}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) next(t *testing.T) received {
	t.Helper()
	select {
	case x := <-r.got:
		return x
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
		return received{}
	}
}

func (r *receiver) none(t *testing.T) {
	t.Helper()
	select {
	case x := <-r.got:
		t.Fatalf("%s came", x.body)
	case <-time.After(120 * time.Millisecond):
	}
}

// quick is a service that looks often, and may send to this machine.
func quick(c *service.Config) {
	c.Detect, c.NoticeWait, c.PublicURL = 50*time.Millisecond, 10*time.Millisecond, "https://crashes.example"
	c.Notify = notify.New(reach.Local, nil)
}

type hook struct {
	ID, To, Secret, Failure string
	Events                  []string
	Dropped                 int
}

func (w *world) hook(kind, to, events, quiet string) (h hook) {
	w.t.Helper()
	body, _ := json.Marshal(map[string]any{"kind": kind, "to": to, "events": strings.Split(events, ","), "quiet": quiet})
	w.want(201, &h, "POST", "/api/v1/projects/a/hooks", string(body))
	return h
}

// A webhook is told once of a new group, of one that is back, and of one that is spiking; the signature is right, and what was not taken is sent again.
func TestWebhook(t *testing.T) {
	t.Parallel()
	w, r := start(t, quick), receive(t)
	w.send("group g0 build b1")
	h := w.hook("webhook", r.URL+"/secret-path", "new,regressed,spiking", "")
	w.send("group g0 build b1 again") // not new
	r.none(t)
	r.fail = 2
	w.send("group g1 build b1")
	var ids []string
	for range 3 {
		x := r.next(t)
		var m notify.Message
		if err := json.Unmarshal([]byte(x.body), &m); err != nil {
			t.Fatal(err)
		}
		if m.Event != "new" || m.Project != "a" || m.Group != "g1" || m.Reason != "abort in g1" || m.Where != "g1_function shop.c:7" || m.Count != 1 || m.URL != "https://crashes.example/#/g/g1" {
			t.Errorf("%+v", m)
		}
		if got, want := x.header.Get("X-Corewalk-Signature"), notify.Sign(h.Secret, x.header.Get("X-Corewalk-Timestamp"), []byte(x.body)); got != want {
			t.Errorf("signature %s, want %s", got, want)
		}
		ids = append(ids, x.header.Get("X-Corewalk-Delivery"))
	}
	if ids[0] != ids[1] || ids[1] != ids[2] || ids[0] == "" {
		t.Errorf("deliveries %v", ids)
	}
	r.none(t)
	w.want(204, nil, "PUT", "/api/v1/projects/a/groups/g1/state", `{"state":"fixed","build":"b1"}`)
	r.none(t)
	later := time.Now()
	w.send("group g1 build b1 back")
	var told struct{ At time.Time }
	if x := r.next(t); !strings.Contains(x.body, `"event":"regressed"`) || !strings.Contains(x.body, `"fixed_in":"b1"`) || json.Unmarshal([]byte(x.body), &told) != nil || told.At.Before(later) {
		t.Error(x.body)
	}
	r.none(t)
	for i := range 10 {
		w.send(fmt.Sprint("group g0 build b1 many ", i))
	}
	if x := r.next(t); !strings.Contains(x.body, `"event":"spiking"`) || !strings.Contains(x.body, `"group":"g0"`) {
		t.Error(x.body)
	}
	r.none(t)
	// Whoever sees the list sees no secret. Another hook is told of nothing that was before.
	if text := w.want(200, nil, "GET", "/api/v1/projects/a/hooks", ""); strings.Contains(text, h.Secret) || strings.Contains(text, "secret") {
		t.Error(text)
	}
	other := receive(t)
	w.hook("chat", other.URL, "new,regressed,spiking", "")
	other.none(t)
	w.want(202, nil, "POST", "/api/v1/projects/a/hooks/"+h.ID+"/test", "")
	if x := r.next(t); !strings.Contains(x.body, `"event":"test"`) {
		t.Error(x.body)
	}
	w.want(404, nil, "POST", "/api/v1/projects/a/hooks/zz/test", "")
	w.want(204, nil, "DELETE", "/api/v1/projects/a/hooks/"+h.ID, "")
	w.send("group g2 build b1")
	if x := other.next(t); x.body != `{"text":"New in a: abort in g2\nWhere: g2_function shop.c:7\nProgram: shop\nDumps: 1\nGroup: g2\nhttps://crashes.example/#/g/g2"}` {
		t.Error(x.body)
	}
	r.none(t)
	if strings.Contains(w.log.String(), "secret-path") {
		t.Error("the URL is in the log")
	}
}

// Those who may make hooks do not reach through them what trusts this machine, and nobody is led there.
func TestWebhookReach(t *testing.T) {
	t.Parallel()
	r := receive(t)
	w := start(t, func(c *service.Config) { quick(c); c.Notify = notify.New(reach.Public, nil) })
	for _, to := range []string{r.URL, "http://localhost/x", "http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/", "ftp://x/", "https:///x", "https://h/\x00", "x", "https://u:p@h/", "https://h/\nX: y", "https://" + strings.Repeat("x", 2001)} {
		body, _ := json.Marshal(map[string]any{"kind": "webhook", "to": to, "events": []string{"new"}})
		w.want(400, nil, "POST", "/api/v1/projects/a/hooks", string(body))
	}
	for _, body := range []string{`{"kind":"webhook","to":"https://h/","events":[]}`, `{"kind":"webhook","to":"https://h/","events":["other"]}`, `{"kind":"pigeon","to":"https://h/","events":["new"]}`,
		`{"kind":"mail","to":"me@example.org","events":["new"]}`, `{"kind":"webhook","to":"https://h/","events":["new"],"quiet":"late"}`} {
		w.want(400, nil, "POST", "/api/v1/projects/a/hooks", body)
	}
	// A name whose address is only known later, and a redirection.
	s := notify.New(reach.Public, nil)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(r.URL, "http://"))
	if err := s.Send(t.Context(), notify.Target{Kind: "webhook", To: "http://localhost:" + port + "/secret"}, notify.Message{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error("it was sent to this machine, or its URL is told: ", err)
	}
	led := httptest.NewServer(http.RedirectHandler(r.URL, http.StatusTemporaryRedirect))
	defer led.Close()
	if err := notify.New(reach.Local, nil).Send(t.Context(), notify.Target{Kind: "webhook", To: led.URL + "/secret"}, notify.Message{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	r.none(t)
}

// What is never taken is given up, and the list says so; a project has so many hooks.
func TestWebhookGivesUp(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *service.Config) { quick(c); c.Detect, c.NoticeWait = 5*time.Millisecond, time.Millisecond })
	r := receive(t)
	r.fail = 1000
	w.hook("webhook", r.URL, "new", "")
	w.send("group g1 build b1")
	for range 10 {
		r.next(t)
	}
	r.none(t)
	var list struct{ Hooks []hook }
	if w.want(200, &list, "GET", "/api/v1/projects/a/hooks", ""); list.Hooks[0].Failure != "the answer is 503" || list.Hooks[0].Dropped != 1 {
		t.Errorf("%+v", list)
	}
	for range 19 {
		w.hook("webhook", r.URL, "new", "")
	}
	w.want(400, nil, "POST", "/api/v1/projects/a/hooks", `{"kind":"webhook","to":"`+r.URL+`","events":["new"]}`)
}

// What has happened before is not told, and no spike is what is usual, long ago, or of a group that is ignored.
func TestWebhookNothing(t *testing.T) {
	t.Parallel()
	w, r := start(t, quick), receive(t)
	w.send("group g1 build b1")
	w.want(204, nil, "PUT", "/api/v1/projects/a/groups/g1/state", `{"state":"fixed","build":"b1"}`)
	w.send("group g1 build b1 back")
	h := w.hook("webhook", r.URL, "regressed,spiking", "")
	r.none(t)
	old := 0
	came := func(group string, ago time.Duration, n int) {
		t.Helper()
		err := w.db.(*tables.DB).Together(t.Context(), func(db store.Store) (err error) {
			for range n {
				old++
				u := store.Upload{Project: "a", ID: fmt.Sprint("old", old), Received: time.Now().Add(-ago)}
				_, e := db.AddUpload(t.Context(), u)
				err = errors.Join(err, e, db.Finish(t.Context(), "a", u.ID, store.Result{Group: group}))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.send("group g2 build b1")
	w.want(204, nil, "PUT", "/api/v1/projects/a/groups/g2/state", `{"state":"ignored"}`)
	came("g2", 0, 20) // nobody wants to know
	came("g3", 2*time.Hour, 20)
	came("g4", 90*time.Hour, 340)
	came("g4", 0, 10) // two in each hour are usual
	r.none(t)
	came("g3", 0, 15)
	if x := r.next(t); !strings.Contains(x.body, `"event":"spiking"`) || !strings.Contains(x.body, `"group":"g3"`) {
		t.Error(x.body)
	}
	w.want(204, nil, "DELETE", "/api/v1/projects/a/hooks/"+h.ID, "")
}

// More than so many messages in an hour are one in the next.
func TestWebhookHourly(t *testing.T) {
	t.Parallel()
	if left := time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)); left < 20*time.Second {
		time.Sleep(left)
	}
	w, r := start(t, func(c *service.Config) { quick(c); c.Hourly = 2 }), receive(t)
	h := w.hook("webhook", r.URL, "new", "")
	for i := range 5 {
		w.send(fmt.Sprintf("group g%d build b1", i))
	}
	for range 2 {
		if x := r.next(t); !strings.Contains(x.body, `"event":"new"`) {
			t.Error(x.body)
		}
	}
	r.none(t)
	var list struct{ Hooks []hook }
	if w.want(200, &list, "GET", "/api/v1/projects/a/hooks", ""); list.Hooks[0].Dropped != 3 || list.Hooks[0].Failure != "" {
		t.Errorf("%+v", list)
	}
	n, err := w.db.TakeNotice(t.Context(), time.Now().Add(time.Hour), time.Now()) // the next hour comes early
	if err != nil || n.Event != store.EventSummary {
		t.Fatal(n, err)
	}
	x := r.next(t)
	if !strings.Contains(x.body, `"event":"summary"`) || !strings.Contains(x.body, `"left_out":3`) || !strings.Contains(x.body, `"url":"https://crashes.example/#/"`) {
		t.Error(x.body)
	}
	r.none(t)
	if l, err := w.db.Hooks(t.Context(), "a"); err != nil || l[0].ID != h.ID || l[0].Held != 0 {
		t.Error(l, err)
	}
}

// A message that is sent again is one message of the hour.
func TestWebhookHourlyAgain(t *testing.T) {
	t.Parallel()
	w, r := start(t, func(c *service.Config) { quick(c); c.Hourly = 1 }), receive(t)
	w.hook("webhook", r.URL, "new", "")
	r.mu.Lock()
	r.fail = 2
	r.mu.Unlock()
	w.send("group g1 build b1")
	for range 3 {
		if x := r.next(t); !strings.Contains(x.body, `"event":"new"`) {
			t.Error(x.body)
		}
	}
	until(t, "the message is not ended, or held back", func() bool {
		list, err := w.db.Hooks(t.Context(), "a")
		return err == nil && list[0].Failure == "" && list[0].Held == 0 && list[0].Dropped == 0
	})
}

// In quiet hours nothing is sent, and what waits is not lost.
func TestWebhookQuiet(t *testing.T) {
	t.Parallel()
	w, r := start(t, quick), receive(t)
	now := time.Now().UTC()
	h := w.hook("webhook", r.URL, "new,new", now.Add(-time.Hour).Format("15:04")+"-"+now.Add(time.Hour).Format("15:04"))
	if len(h.Events) != 1 {
		t.Error(h.Events)
	}
	w.send("group g1 build b1")
	r.none(t)
	w.want(202, nil, "POST", "/api/v1/projects/a/hooks/"+h.ID+"/test", "") // whoever asks for it is awake
	if x := r.next(t); !strings.Contains(x.body, `"event":"test"`) {
		t.Error(x.body)
	}
	r.none(t)
	n, err := w.db.TakeNotice(t.Context(), now.Add(2*time.Hour), now.Add(3*time.Hour))
	if err != nil || n.Group != "g1" || n.Attempts != 0 {
		t.Errorf("%+v, %v", n, err)
	}
}

// mailbox is a server of SMTP that takes one mail after the other.
func mailbox(t *testing.T) (address string, mails chan string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	mails = make(chan string, 10)
	serve := func(c net.Conn) {
		defer c.Close()
		in := bufio.NewScanner(c)
		fmt.Fprint(c, "220 here\r\n")
		var envelope, data strings.Builder
		for in.Scan() {
			line := in.Text()
			switch verb := strings.ToUpper(line[:min(4, len(line))]); verb {
			case "EHLO":
				fmt.Fprint(c, "250-here\r\n250 AUTH PLAIN\r\n")
			case "DATA":
				fmt.Fprint(c, "354 go\r\n")
				for in.Scan() && in.Text() != "." {
					data.WriteString(strings.TrimPrefix(in.Text(), ".") + "\r\n")
				}
				mails <- envelope.String() + "\n" + data.String()
				fmt.Fprint(c, "250 ok\r\n")
			case "QUIT":
				fmt.Fprint(c, "221 bye\r\n")
				return
			default:
				envelope.WriteString(line + ";")
				fmt.Fprint(c, map[bool]string{true: "235 ok\r\n", false: "250 ok\r\n"}[verb == "AUTH"])
			}
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String(), mails
}

// A mail says what happened; what a dump says becomes no header.
func TestMail(t *testing.T) {
	t.Parallel()
	address, mails := mailbox(t)
	server, err := notify.ParseMail("smtp://me@"+address, "crashes@example.org", "pass")
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *service.Config) { quick(c); c.Notify = notify.New(reach.Public, server) })
	for _, to := range []string{"x", "a@b\r\nBcc: c@d", "A <a@b>", "a@b, c@d"} {
		body, _ := json.Marshal(map[string]any{"kind": "mail", "to": to, "events": []string{"new"}})
		w.want(400, nil, "POST", "/api/v1/projects/a/hooks", string(body))
	}
	w.hook("mail", "team@example.org", "new", "")
	w.send("group g1 build b1")
	next := func() (envelope string, m *mail.Message) {
		t.Helper()
		select {
		case text := <-mails:
			envelope, text, _ := strings.Cut(text, "\n")
			m, err := mail.ReadMessage(strings.NewReader(text))
			if err != nil {
				t.Fatal(err, text)
			}
			return envelope, m
		case <-time.After(20 * time.Second):
			t.Fatal("no mail came")
			return "", nil
		}
	}
	envelope, m := next()
	if !strings.Contains(envelope, "MAIL FROM:<crashes@example.org>") || !strings.Contains(envelope, "RCPT TO:<team@example.org>") || !strings.Contains(envelope, "AUTH PLAIN") {
		t.Error(envelope)
	}
	body, _ := io.ReadAll(quotedprintable.NewReader(m.Body))
	if m.Header.Get("Subject") != "New in a: abort in g1" || m.Header.Get("To") != "team@example.org" || !strings.Contains(string(body), "https://crashes.example/#/g/g1") {
		t.Errorf("%v\n%s", m.Header, body)
	}
	err = notify.New(reach.Public, server).Send(t.Context(), notify.Target{Kind: "mail", To: "team@example.org"}, notify.Message{ID: "i", Event: "new", Project: "p",
		Reason: "é\r\nBcc: other@example.org\r\n\r\n.\r\nQUIT", Where: "\r\n.\r\nMAIL FROM:<x>\u202e"})
	if err != nil {
		t.Fatal(err)
	}
	_, m = next()
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || m.Header.Get("Bcc") != "" || !strings.Contains(subject, `é\x0d\nBcc`) {
		t.Errorf("%v, %q, %v", m.Header, subject, err)
	}
	if body, _ = io.ReadAll(quotedprintable.NewReader(m.Body)); !strings.Contains(string(body), `\x0d\n.\x0d\nMAIL FROM:<x>\u{202e}`) {
		t.Errorf("%q", body)
	}
}
