// Package service is a crash service: it takes dumps and symbols over HTTP, has them analysed, and answers questions about groups of
// crashes, by a JSON interface and a page.
//
// A project is what a token belongs to: it has dumps, symbols and a ledger of its own, and nothing of it is seen with a token of
// another. Dumps are analysed by package work in other processes; this one reads nothing of a dump.
package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/corewalk/corewalk/internal/files/reach"
	"github.com/corewalk/corewalk/internal/service/notify"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/question"
	"github.com/corewalk/corewalk/internal/service/receive"
	"github.com/corewalk/corewalk/internal/service/signin"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/work"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// Config says what a Service works with. All of it is required but the limits.
type Config struct {
	Store   store.Store
	Objects objects.Store
	// Ledger opens the ledger of a project. The service closes what it opened.
	Ledger func(ctx context.Context, project string) (ledger.Store, error)
	// Run is triage.Run with the options for a project; nil for a service that leaves that to others.
	Run func(ctx context.Context, project string, src triage.Source, to ledger.Store, sink triage.Sink) error
	// Enter is that of work.Config; it may be nil.
	Enter func(ctx context.Context, project string, run int64, dumps []ledger.Dump, of []store.Finished) error
	// Wanted is that of work.Config; it may be nil.
	Wanted func(ctx context.Context, u *store.Upload, build string) bool
	Ahead  int // that of work.Config
	// Closed says that nothing is served but health and metrics.
	Closed bool
	// Report writes the report of a dump in a format of the command corewalk.
	Report func(ctx context.Context, project, path, format string, w io.Writer) error
	// Ask opens a dump in another process for questions.
	Ask func(ctx context.Context, project, path string) (Conversation, error)
	// AnswerTimeout is how long that process may take for an answer; 0 for a minute.
	AnswerTimeout time.Duration
	// Uploads is a directory for uploads in parts, which are there until they are whole.
	Uploads string
	Name    string // of this process among the workers
	Version string
	Log     *slog.Logger

	MaxUpload int64 // bytes of a dump, and of a symbol file; 0 for 2 GiB
	// Attachments is how many bytes of files that come with a dump are kept; 0 for none.
	Attachments int64
	Rate        float64 // uploads that a token may send each second; 0 for no limit
	// Connections is how many there may be at a time; 0 for 4,096, or what the files that may be open are enough for.
	Connections int
	Keep        Retention
	Idle        time.Duration
	Fresh       time.Duration // for so long the counts of groups are not made anew; 0 for a second
	// Matching is of how many dumps of a project, the newest, it is looked up whether they have several attributes; 0 for 5,000.
	Matching int
	// Notify sends messages; nil for one that reaches public addresses and has no mail. PublicURL is the page's address in them.
	Notify    *notify.Sender
	PublicURL string
	// Detect is how often it is looked for what is to be told, NoticeWait how long a message waits that was not taken; 0 for half a minute.
	Detect, NoticeWait time.Duration
	// Hourly is how many messages a hook is sent in an hour; 0 for 60.
	Hourly int
	// SignIn lets people in whom an identity provider knows; nil for none. Session is how long; 0 for twelve hours.
	SignIn  *signin.Provider
	Session time.Duration
	// Versions are releases by the builds of all projects.
	Versions map[string]string
}

// A Service is safe for concurrent use.
type Service struct {
	c         Config
	access    access
	worker    *work.Worker
	metrics   counters
	draining  atomic.Bool
	ledgers   ledgers
	snapshots snapshots
	mux       *http.ServeMux
	tus       *resumable
	keys      keys
	pending   pendingUploads
	reports   pendingReports
	sessions  sessions
	analyses  *slots // reports that are made
	signins   *slots // people who log in by the identity provider
	hashes    *slots // passwords that are hashed
	guesses   guesses
}

const defaultMaxUpload = 2 << 30

// DefaultAttachments is how many bytes of files that come with a dump are kept, unless something else is wanted.
const DefaultAttachments = 20 << 20

// New returns a service. Run does its work.
func New(c Config) (*Service, error) {
	if c.MaxUpload <= 0 {
		c.MaxUpload = defaultMaxUpload
	}
	c.Fresh, c.Matching, c.Hourly = cmp.Or(c.Fresh, time.Second), cmp.Or(c.Matching, 5_000), cmp.Or(c.Hourly, 60)
	c.Session = cmp.Or(c.Session, 12*time.Hour)
	if c.Notify == nil {
		c.Notify = notify.New(reach.Public, nil)
	}
	s := &Service{c: c, access: access{store: c.Store, rate: rate.Limit(c.Rate), burst: int(2*c.Rate) + 1, denials: rate.NewLimiter(denialsFree, denialsFree)}, mux: http.NewServeMux(), analyses: newSlots(reportsAtOnce, reportsWaiting), signins: newSlots(signinsAtOnce, signinsWaiting), hashes: newSlots(hashesAtOnce, hashesWaiting)}
	s.ledgers.open = c.Ledger
	s.sessions = sessions{begin: c.Ask, idle: openIdle, limit: cmp.Or(c.AnswerTimeout, time.Minute) + answerGrace}
	if c.Run != nil {
		s.worker = work.New(work.Config{Name: c.Name, Store: c.Store, Objects: c.Objects, Key: dumpKey, Ledger: s.ledgers.get, Run: c.Run, Enter: c.Enter, Wanted: c.Wanted, Hash: s.hashed, Ahead: c.Ahead, Log: c.Log, Idle: c.Idle, Counted: s.counted})
	}
	if err := s.routes(); err != nil {
		return nil, err
	}
	return s, nil
}

// dumpKey is the key of a dump's file.
func dumpKey(u *store.Upload) string {
	return path.Join("projects", u.Project, "dumps", u.ID[:2], u.ID)
}

// idOf is the identifier of a dump, by its digest.
func idOf(sum string) string { return sum[:32] }

// Run analyses dumps and forgets old ones until ctx is done, and then ends: uploads that have begun must have ended before.
func (s *Service) Run(ctx context.Context) error {
	defer s.ledgers.close()
	defer s.sessions.shut()
	if n, err := s.c.Store.Recover(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	} else if n > 0 {
		s.c.Log.Warn("dumps were being analysed when the service died: they are analysed again", "dumps", n)
	}
	var tidying sync.WaitGroup
	tidying.Go(func() { s.forget(ctx) })
	tidying.Go(func() { s.backfill(ctx) })
	if !s.c.Closed {
		tidying.Go(func() { s.tidyUploads(ctx) })
		tidying.Go(func() { s.notices(ctx) })
	}
	defer tidying.Wait()
	if s.worker == nil {
		<-ctx.Done()
		return nil
	}
	return s.worker.Run(ctx)
}

// Tell tells the service that a dump may wait that somebody else has stored.
func (s *Service) Tell() {
	if s.worker != nil {
		s.worker.Tell()
	}
}

// Drain has the service say that it takes no more requests, so that others get them.
func (s *Service) Drain() { s.draining.Store(true) }

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	start := time.Now()
	connection := http.NewResponseController(w)
	_ = connection.SetWriteDeadline(time.Time{}) // that of the request before
	body := &patient{ReadCloser: r.Body, c: connection, begun: start, ended: r.ContentLength == 0}
	counted := &statusWriter{ResponseWriter: w, c: connection, body: body}
	r.Body = body
	defer func() {
		if v := recover(); v != nil {
			s.c.Log.Error("a request failed", "request", r.Pattern, "panic", fmt.Sprint(v))
			if counted.status == 0 {
				http.Error(counted, "internal error", http.StatusInternalServerError)
			}
		}
		if counted.status == 0 { // there is no more than that
			body.rest()
		}
		s.metrics.add(fmt.Sprintf(`corewalk_http_requests_total{method=%q,status="%d"}`, known(r.Method), counted.status), 1)
		// The pattern, because paths and queries have tokens in them.
		s.c.Log.Debug("answered", "request", r.Pattern, "status", counted.status, "seconds", time.Since(start).Seconds(), "from", r.RemoteAddr)
	}()
	s.mux.ServeHTTP(counted, r)
}

func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// A statusWriter remembers the status, and waits for each part of the answer to be taken, but not for ever.
type statusWriter struct {
	http.ResponseWriter
	c      *http.ResponseController
	body   *patient // of the request
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		w.body.rest()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
		w.body.rest()
	}
	_ = w.c.SetWriteDeadline(time.Now().Add(stallTime)) // a test's recorder has none
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// An action answers a request of a token's holder in a project.
type action func(w http.ResponseWriter, r *http.Request, p *request) error

// A request is who asks, and about which project.
type request struct {
	project string
	token   store.Token
}

// routes sets up all paths. Each but the page's files, health and metrics needs a token with a scope.
func (s *Service) routes() error {
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	s.mux.HandleFunc("GET /readyz", s.ready)
	s.mux.HandleFunc("GET /metrics", s.writeMetrics)
	if s.c.Closed {
		return nil
	}
	const project = "/api/v1/projects/{project}"
	for pattern, h := range map[string]struct {
		scope string
		do    action
	}{
		"POST " + project + "/dumps":                                             {store.ScopeUpload, s.takeDump},
		"GET " + project + "/dumps":                                              {store.ScopeRead, s.listDumps},
		"GET " + project + "/dumps/{id}":                                         {store.ScopeRead, s.oneDump},
		"GET " + project + "/dumps/{id}/report":                                  {store.ScopeRead, s.dumpReport},
		"GET " + project + "/dumps/{id}/file":                                    {store.ScopeRead, s.dumpFile},
		"GET " + project + "/dumps/{id}/attachments/{attachment}":                {store.ScopeRead, s.attachment},
		"GET " + project + "/dumps/{id}/about":                                   {store.ScopeRead, s.inDump(question.About)},
		"GET " + project + "/dumps/{id}/memory":                                  {store.ScopeRead, s.inDump(question.Memory)},
		"GET " + project + "/dumps/{id}/modules":                                 {store.ScopeRead, s.inDump(question.Modules)},
		"GET " + project + "/dumps/{id}/stacks":                                  {store.ScopeRead, s.inDump(question.Stacks)},
		"GET " + project + "/dumps/{id}/stacks/{stack}/frames":                   {store.ScopeRead, s.inDump(question.Frames)},
		"GET " + project + "/dumps/{id}/stacks/{stack}/frames/{frame}/variables": {store.ScopeRead, s.inDump(question.Variables)},
		"POST " + project + "/dumps/{id}/again":                                  {store.ScopeTriage, s.again},
		"DELETE " + project + "/dumps/{id}":                                      {store.ScopeAdmin, s.removeDump},
		"GET " + project + "/groups":                                             {store.ScopeRead, s.listGroups},
		"GET " + project + "/groups/{group}":                                     {store.ScopeRead, s.oneGroup},
		"PUT " + project + "/groups/{group}/state":                               {store.ScopeTriage, s.decide},
		"PUT " + project + "/groups/{group}/mark":                                {store.ScopeTriage, s.mark},
		"PUT " + project + "/groups/{group}/merge":                               {store.ScopeTriage, s.mergeGroup},
		"DELETE " + project + "/groups/{group}/merge":                            {store.ScopeTriage, s.splitGroup},
		"PUT " + project + "/groups":                                             {store.ScopeTriage, s.changeGroups},
		"GET " + project + "/settings":                                           {store.ScopeRead, s.getSettings},
		"PUT " + project + "/settings":                                           {store.ScopeAdmin, s.putSettings},
		"GET " + project + "/searches":                                           {store.ScopeRead, s.listSearches},
		"POST " + project + "/searches":                                          {store.ScopeTriage, s.saveSearch},
		"DELETE " + project + "/searches/{id}":                                   {store.ScopeTriage, s.removeSearch},
		"POST " + project + "/groups/{group}/notes":                              {store.ScopeTriage, s.addNote},
		"GET " + project + "/builds":                                             {store.ScopeRead, s.listBuilds},
		"GET " + project + "/compare":                                            {store.ScopeRead, s.compare},
		"PUT " + project + "/builds/{build}":                                     {store.ScopeTriage, s.nameBuild},
		"GET " + project + "/releases":                                           {store.ScopeRead, s.listReleases},
		"POST " + project + "/releases":                                          {store.ScopeTriage, s.announce},
		"GET " + project + "/symbols":                                            {store.ScopeRead, s.lacking},
		"GET " + project + "/symbols/stored":                                     {store.ScopeRead, s.storedSymbols},
		"GET " + project + "/attributes":                                         {store.ScopeRead, s.listAttributes},
		"POST /api/{project}/minidump/{$}":                                       {store.ScopeUpload, s.takeDump}, // Breakpad, Crashpad, Sentry
		"POST /api/{project}/minidump":                                           {store.ScopeUpload, s.takeDump},
		"POST /api/{project}/envelope/{$}":                                       {store.ScopeUpload, s.takeDump},
		"PUT " + project + "/symbols/{path...}":                                  {store.ScopeSymbols, s.putSymbols},
		"GET " + project + "/symbols/{path...}":                                  {store.ScopeFetch, s.getSymbols},
		"POST " + project + "/sym_upload":                                        {store.ScopeSymbols, s.symUpload},
		"GET /fetch/{project}/{token}/{path...}":                                 {store.ScopeFetch, s.getSymbols},  // for clients that know no header
		"GET /sym/{project}/v1/symbols/{file}/{id}":                              {store.ScopeSymbols, s.symStatus}, // Breakpad's sym_upload, version 2
		"POST /sym/{project}/v1/uploads:create":                                  {store.ScopeSymbols, s.symCreate},
		"POST /sym/{project}/v1/uploads/{upload}":                                {store.ScopeSymbols, s.symComplete},
		"GET /api/0/organizations/{project}/chunk-upload/{$}":                    {store.ScopeSymbols, s.chunkWays}, // sentry-cli debug-files upload
		"POST /api/0/organizations/{project}/chunk-upload/{$}":                   {store.ScopeSymbols, s.takeChunks},
		"POST /api/0/projects/{org}/{project}/files/difs/assemble/{$}":           {store.ScopeSymbols, s.assemble},
		"POST " + project + "/minidump":                                          {store.ScopeRead, s.symbolicate}, // Symbolicator
		"GET " + project + "/requests/{id}":                                      {store.ScopeRead, s.symbolicated},
		"GET " + project + "/hooks":                                              {store.ScopeAdmin, s.listHooks},
		"POST " + project + "/hooks":                                             {store.ScopeAdmin, s.makeHook},
		"POST " + project + "/hooks/{id}/test":                                   {store.ScopeAdmin, s.testHook},
		"DELETE " + project + "/hooks/{id}":                                      {store.ScopeAdmin, s.removeHook},
		"GET " + project + "/people":                                             {store.ScopeTriage, s.listPeople},
		"GET " + project + "/accounts":                                           {store.ScopeAdmin, s.listAccounts},
		"POST " + project + "/accounts":                                          {store.ScopeAdmin, s.makeAccount},
		"PUT " + project + "/accounts/{name}":                                    {store.ScopeAdmin, s.setAccount},
		"POST " + project + "/accounts/{name}/invitation":                        {store.ScopeAdmin, s.inviteAgain},
		"DELETE " + project + "/accounts/{name}":                                 {store.ScopeAdmin, s.removeAccount},
		"GET " + project + "/tokens":                                             {store.ScopeAdmin, s.listTokens},
		"POST " + project + "/tokens":                                            {store.ScopeAdmin, s.makeToken},
		"DELETE " + project + "/tokens/{id}":                                     {store.ScopeAdmin, s.revokeToken},
		"/api/v1/projects/{project}/uploads/{id...}":                             {store.ScopeUpload, s.resume},
	} {
		s.mux.HandleFunc(pattern, s.guarded(h.scope, h.do))
	}
	s.mux.HandleFunc("PUT /sym/put/{key}", s.symPut) // its key is the permission
	s.mux.HandleFunc("GET /api/v1/whoami", s.whoami)
	s.mux.HandleFunc("POST /login", s.login)
	s.mux.HandleFunc("POST /logout", s.logout)
	s.mux.HandleFunc("GET /login/ways", s.loginWays)
	s.mux.HandleFunc("POST /login/password", s.passwordLogin)
	s.mux.HandleFunc("POST /login/invitation", s.acceptInvitation)
	s.mux.HandleFunc("POST /login/project", s.changeProject)
	s.mux.HandleFunc("POST /account/password", s.changePassword)
	s.mux.HandleFunc("GET /login/oidc", s.beginSignin)
	s.mux.HandleFunc("GET "+signinPath, s.endSignin)
	s.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return errors.Join(s.page(), s.resumable())
}

// guarded checks the token of a request before a handler sees it.
func (s *Service) guarded(scope string, do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := &request{project: r.PathValue("project")}
		var err error
		if p.token, err = s.access.check(r, p.project, scope); err == nil {
			if sends := scope == store.ScopeUpload || scope == store.ScopeSymbols; sends && r.Method != http.MethodHead && !s.access.allow(&p.token) {
				w.Header().Set("Retry-After", "1")
				err = httpError{http.StatusTooManyRequests, "too many requests with this token: try again later"}
			} else {
				err = do(w, r, p)
			}
		}
		if err != nil {
			s.answerError(w, r, err)
		}
	}
}

// An httpError is an error with its status, and a text for the client.
type httpError struct {
	status int
	text   string
}

func (e httpError) Error() string { return e.text }

func wrong(format string, args ...any) error {
	return httpError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// answerError answers with an error in one line of JSON. What the client has no part in is logged only.
func (s *Service) answerError(w http.ResponseWriter, r *http.Request, err error) {
	status, text := http.StatusInternalServerError, "internal error"
	var known httpError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		status, text = known.status, known.text
	case errors.Is(err, errDenied):
		status, text = http.StatusForbidden, err.Error()
		if presentedText, _, _ := presented(r); presentedText == "" {
			status = http.StatusUnauthorized
			w.Header().Set("WWW-Authenticate", `Bearer realm="corewalk"`)
		}
	case errors.Is(err, store.ErrNotFound), errors.Is(err, ledger.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		status, text = http.StatusNotFound, "not found"
	case errors.Is(err, ledger.ErrAmbiguous):
		status, text = http.StatusBadRequest, "several groups begin like this: give more characters"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		status, text = http.StatusInsufficientStorage, "the service's disk is full"
		s.metrics.add("corewalk_disk_full_total", 1)
		s.c.Log.Error("the disk is full", "request", r.Pattern, "error", err)
	case errors.As(err, &large):
		status, text = http.StatusRequestEntityTooLarge, fmt.Sprintf("more than %d bytes", large.Limit)
	case errors.Is(err, receive.ErrTooMuch):
		status, text = http.StatusRequestEntityTooLarge, err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		status, text = http.StatusBadRequest, "the request ended early"
	case errors.Is(err, context.Canceled):
		status = 499 // the client has gone
	default:
		s.c.Log.Error("a request failed", "request", r.Pattern, "error", err)
	}
	if status == http.StatusForbidden || status == http.StatusUnauthorized {
		s.metrics.add("corewalk_denied_total", 1)
	}
	answer(w, status, map[string]string{"error": report.Clean(text)})
}

// answer writes a document of JSON.
func answer(w http.ResponseWriter, status int, v any) { answerIndented(w, status, v, "") }

func answerIndented(w http.ResponseWriter, status int, v any, indent string) {
	b, err := report.JSON(v, indent)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(b, '\n'))
}

func (s *Service) ready(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return
	}
	if _, err := s.c.Store.Counts(r.Context()); err != nil {
		http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, "ready\n")
}

// plainText answers with a short text, as clients of uploads want it.
func plainText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, strings.TrimSpace(text))
}
