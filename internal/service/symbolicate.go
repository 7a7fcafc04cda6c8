package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Symbolicator's way to have a minidump read: the dump is sent, and the answer is the stacks, now or when they are asked for.
// The answers have Symbolicator's keys: https://getsentry.github.io/symbolicator/api/.

// pendingReports are reports that are being made, or wait to be taken. Each is taken once.
type pendingReports struct {
	mu   sync.Mutex // guards list; no other lock is taken inside
	list map[string]*pendingReport
}

type pendingReport struct {
	project string
	done    chan struct{} // closed when doc is there
	doc     any
	until   time.Time
}

// Limits of reports that nobody has taken.
const (
	reportTime     = 10 * time.Minute
	maxReports     = 64
	defaultTimeout = 5 * time.Second
	maxTimeout     = time.Minute
)

// begin has a report made, unless it is already.
func (p *pendingReports) begin(project, id string, do func() any) (*pendingReport, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := project + "/" + id
	now := time.Now()
	for k, r := range p.list {
		if now.After(r.until) {
			delete(p.list, k)
		}
	}
	if r := p.list[key]; r != nil {
		return r, true
	}
	if len(p.list) >= maxReports {
		return nil, false
	}
	if p.list == nil {
		p.list = map[string]*pendingReport{}
	}
	r := &pendingReport{project: project, done: make(chan struct{}), until: now.Add(reportTime)}
	p.list[key] = r
	go func() {
		defer close(r.done)
		r.doc = do()
	}()
	return r, true
}

func (p *pendingReports) get(project, id string) *pendingReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list[project+"/"+id]
}

func (p *pendingReports) remove(project, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.list, project+"/"+id)
}

// symbolicate takes a dump in a form, and answers with its stacks.
func (s *Service) symbolicate(w http.ResponseWriter, r *http.Request, p *request) error {
	if !slices.Contains(p.token.Scopes, store.ScopeUpload) {
		return denial{store.ScopeUpload, false}
	}
	wait, err := timeoutOf(r)
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, s.c.MaxUpload+s.besides())
	plain, err := s.plain(r, s.c.MaxUpload+s.besides())
	if err != nil {
		return err
	}
	u, err := s.receiveForm(r, plain, p.project)
	if err != nil {
		return err
	}
	return s.report(w, r, p.project, u.ID, wait)
}

// timeoutOf is how long a client waits for an answer.
func timeoutOf(r *http.Request) (time.Duration, error) {
	n, err := number(r, "timeout", int(defaultTimeout/time.Second), 3600)
	return min(time.Duration(n)*time.Second, maxTimeout), err
}

// symbolicated answers with stacks that were being made when symbolicate answered.
func (s *Service) symbolicated(w http.ResponseWriter, r *http.Request, p *request) error {
	wait, err := timeoutOf(r)
	if err != nil {
		return err
	}
	if s.reports.get(p.project, r.PathValue("id")) == nil {
		return fs.ErrNotExist
	}
	return s.report(w, r, p.project, r.PathValue("id"), wait)
}

func (s *Service) report(w http.ResponseWriter, r *http.Request, project, id string, wait time.Duration) error {
	pending, ok := s.reports.begin(project, id, func() any { return s.stacks(context.WithoutCancel(r.Context()), project, id) })
	if !ok {
		w.Header().Set("Retry-After", "5")
		return httpError{http.StatusTooManyRequests, "too many reports that nobody takes: try again later"}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-pending.done:
		s.reports.remove(project, id)
		answer(w, http.StatusOK, pending.doc)
	case <-timer.C:
		answer(w, http.StatusOK, map[string]any{"status": "pending", "request_id": id, "retry_after": 1})
	case <-r.Context().Done():
		return context.Canceled
	}
	return nil
}

// stacks makes the answer for a dump.
func (s *Service) stacks(ctx context.Context, project, id string) any {
	failed := func(err error) any { return map[string]string{"status": "failed", "message": err.Error()} }
	u := store.Upload{Project: project, ID: id}
	file, release, err := s.c.Objects.Local(ctx, dumpKey(&u))
	if err != nil {
		return failed(errors.New("the dump is gone"))
	}
	defer release()
	var out bytes.Buffer
	if err := s.c.Report(ctx, project, file, "json", &limited{&out, maxReport, maxReport}); err != nil {
		return failed(err)
	}
	doc, err := symbolicatorOf(out.Bytes())
	if err != nil {
		return failed(err)
	}
	return doc
}

// The parts of a report that become an answer.
type reportDoc struct {
	Dump  struct{ OS, Arch, Time string }
	Crash *struct{ Signal, Code, Exception, Reason, Message string }
	// Modules and Threads are those of the report.
	Modules []struct {
		Path, Base, End, File, Status string
		BuildID                       string `json:"build_id"`
		DebugID                       string `json:"debug_id"`
		DebugFile                     string `json:"debug_file"`
	}
	Threads []struct {
		ID        uint64
		Name      string
		Crashed   bool
		Registers map[string]string
		Frames    []struct {
			PC, Module, Function, Trust string
			Source                      struct {
				File string
				Line int
			}
		}
	}
}

type symbolicatorFrame struct {
	Status   string `json:"status"`
	Index    int    `json:"original_index"`
	Address  string `json:"instruction_addr"`
	Package  string `json:"package,omitempty"`
	Function string `json:"function,omitempty"`
	Symbol   string `json:"symbol,omitempty"`
	AbsPath  string `json:"abs_path,omitempty"`
	Filename string `json:"filename,omitempty"`
	Line     int    `json:"lineno,omitempty"`
	Trust    string `json:"trust,omitempty"`
}

type symbolicatorStack struct {
	Thread    uint64              `json:"thread_id"`
	Name      string              `json:"thread_name,omitempty"`
	Crashed   bool                `json:"is_requesting"`
	Registers map[string]string   `json:"registers,omitempty"`
	Frames    []symbolicatorFrame `json:"frames"`
}

type symbolicatorModule struct {
	Type      string `json:"type"`
	DebugID   string `json:"debug_id,omitempty"`
	CodeID    string `json:"code_id,omitempty"`
	CodeFile  string `json:"code_file"`
	DebugFile string `json:"debug_file,omitempty"`
	Address   string `json:"image_addr"`
	Size      uint64 `json:"image_size"`
	Debug     string `json:"debug_status"`
}

type symbolicatorDoc struct {
	Status    string               `json:"status"`
	System    map[string]string    `json:"system_info"`
	Crashed   bool                 `json:"crashed"`
	Reason    string               `json:"crash_reason,omitempty"`
	Details   string               `json:"crash_details,omitempty"`
	Assertion string               `json:"assertion,omitempty"`
	Stacks    []symbolicatorStack  `json:"stacktraces"`
	Modules   []symbolicatorModule `json:"modules"`
}

// symbolicatorOf makes an answer of a report.
func symbolicatorOf(text []byte) (*symbolicatorDoc, error) {
	var r reportDoc
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	systems := map[string][2]string{"linux": {"Linux", "elf"}, "windows": {"Windows", "pe"}, "macos": {"macOS", "macho"}, "ios": {"iOS", "macho"}, "android": {"Android", "elf"}}
	system, ok := systems[r.Dump.OS]
	if !ok {
		system = [2]string{r.Dump.OS, "elf"}
	}
	arches := map[string]string{"x86-64": "x86_64", "i386": "x86", "aarch64": "arm64"}
	arch := r.Dump.Arch
	if name, ok := arches[arch]; ok {
		arch = name
	}
	doc := &symbolicatorDoc{Status: "completed", System: map[string]string{"os_name": system[0], "cpu_arch": arch}, Stacks: []symbolicatorStack{}, Modules: []symbolicatorModule{}}
	if c := r.Crash; c != nil {
		doc.Crashed, doc.Details, doc.Assertion = true, c.Reason, c.Message
		doc.Reason = strings.Trim(c.Signal+c.Exception+" / "+c.Code, " /")
	}
	for _, m := range r.Modules {
		from, _ := strconv.ParseUint(m.Base, 0, 64)
		to, _ := strconv.ParseUint(m.End, 0, 64)
		debug := "missing"
		if m.File != "" {
			debug = "found"
		}
		doc.Modules = append(doc.Modules, symbolicatorModule{system[1], m.DebugID, m.BuildID, m.Path, m.DebugFile, m.Base, to - min(from, to), debug})
	}
	for _, t := range r.Threads {
		st := symbolicatorStack{Thread: t.ID, Name: t.Name, Crashed: t.Crashed, Registers: t.Registers, Frames: []symbolicatorFrame{}}
		for i, f := range t.Frames {
			status := "symbolicated"
			if f.Function == "" {
				status = "missing_symbol"
			}
			name := ""
			if f.Source.File != "" {
				name = path.Base(strings.ReplaceAll(f.Source.File, `\`, "/"))
			}
			st.Frames = append(st.Frames, symbolicatorFrame{status, i, f.PC, f.Module, f.Function, f.Function, f.Source.File, name, f.Source.Line, trustOf(f.Trust)})
		}
		doc.Stacks = append(doc.Stacks, st)
	}
	return doc, nil
}

// trustOf is a frame's trust in Symbolicator's words.
func trustOf(trust string) string {
	switch trust {
	case "context":
		return "context"
	case "scan":
		return "scan"
	case "frame-pointer":
		return "fp"
	}
	return "cfi"
}
