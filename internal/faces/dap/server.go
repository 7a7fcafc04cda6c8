// Package dap serves a session to editors by the Debug Adapter Protocol, version 1.71. The process is only read: what would
// run it or change it is refused with a sentence.
package dap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/go-dap"

	"github.com/corewalk/corewalk/internal/faces"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// A server has one client.
type server struct {
	open faces.Opener

	out   io.Writer
	write sync.Mutex
	seq   int

	s     *session.Session
	close func()
	ready bool // the client has sent its configuration
	begun bool // it was told where the process stopped

	console *prompt
	pages   []pageOf
	listed  int  // how many threads, and how many goroutines and other tasks, the list of threads has, at most
	redraws bool // the client takes events that say what it has to ask again
	sources sources

	current sync.Mutex   // guards those below
	running int          // seq of the request that is being answered; 0 for none
	waiting map[int]bool // by seq: the requests that were read and are not being answered yet, and whether they are cancelled
	cancel  context.CancelCauseFunc
}

// maxMessage is the largest message that is read, in bytes.
const maxMessage = 16 << 20

// maxWaiting is how many messages are read before the one that is being answered has its response: one that cancels it may be behind others.
const maxWaiting = 64

// errCancelled: the client has cancelled the request.
var errCancelled = errors.New("cancelled")

// Serve answers requests until the client disconnects, in ends, or ctx is done.
func Serve(ctx context.Context, in io.Reader, out io.Writer, open faces.Opener) error {
	sv := &server{open: open, out: out, listed: threadPage, waiting: map[int]bool{}}
	defer func() {
		if sv.close != nil {
			sv.close()
		}
	}()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	requests := make(chan dap.Message, maxWaiting)
	failed := make(chan error, 1)
	go sv.read(ctx, bufio.NewReader(in), requests, failed)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-failed:
			for len(requests) > 0 { // those that were read before
				if done, err := sv.answer(ctx, <-requests); done || err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case m := <-requests:
			if done, err := sv.answer(ctx, m); done || err != nil {
				return err
			}
		}
	}
}

// read reads requests. Those that cancel another one are obeyed at once.
func (sv *server) read(ctx context.Context, in *bufio.Reader, requests chan<- dap.Message, failed chan<- error) {
	for {
		data, err := readMessage(in)
		if err != nil {
			failed <- err
			return
		}
		m := decode(data)
		if m == nil {
			continue
		}
		sv.note(m)
		select {
		case requests <- m:
		case <-ctx.Done():
			return
		}
	}
}

// note writes down that a message waits, and cancels the request that it says.
func (sv *server) note(m dap.Message) {
	sv.current.Lock()
	defer sv.current.Unlock()
	if c, ok := m.(*dap.CancelRequest); ok && c.Arguments != nil {
		id := c.Arguments.RequestId
		if _, waits := sv.waiting[id]; waits {
			sv.waiting[id] = true
		} else if sv.running != 0 && sv.running == id {
			sv.cancel(errCancelled)
		}
	}
	if r, ok := m.(dap.RequestMessage); ok {
		sv.waiting[r.GetRequest().Seq] = false
	}
}

// An invalid request is one that cannot be read. Its client gets an answer, and may go on: where the next message begins is known.
type invalid struct {
	dap.Request
	why error
}

// decode reads a message; nil for responses and events, which mean nothing. One that is not the protocol's is invalid, or, if only its
// command is not known, a bare dap.Request.
func decode(data []byte) dap.Message {
	m, err := dap.DecodeProtocolMessage(data)
	if err == nil {
		return m
	}
	var parts struct{ Seq, Type, Command json.RawMessage }
	if json.Unmarshal(data, &parts) != nil {
		return &invalid{why: errors.New("a message that is not the protocol's: no object of JSON")}
	}
	var r dap.Request
	for _, part := range []struct {
		text json.RawMessage
		to   any
	}{{parts.Seq, &r.Seq}, {parts.Type, &r.Type}, {parts.Command, &r.Command}} {
		_ = json.Unmarshal(part.text, part.to) // what is of another type stays empty
	}
	if r.Type == "response" || r.Type == "event" {
		return nil
	}
	var field *dap.DecodeProtocolMessageFieldError
	if errors.As(err, &field) && field.FieldName == "command" {
		return &r
	}
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		err = fmt.Errorf("%s: %s is not its type in the protocol", other.Field, other.Value)
	}
	return &invalid{r, fmt.Errorf("a message that is not the protocol's: %w", err)}
}

// readMessage reads one message, whose size a header tells.
func readMessage(in *bufio.Reader) ([]byte, error) {
	size := -1
	for n := 0; ; n++ {
		line, err := in.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, bufio.ErrBufferFull) || n > 16 {
				return nil, errors.New("a header that is not the protocol's")
			}
			return nil, err
		}
		if text := string(line); text == "\r\n" || text == "\n" {
			break
		} else if _, err := fmt.Sscanf(text, "Content-Length: %d", &size); err != nil && n > 16 {
			return nil, errors.New("a header that is not the protocol's")
		}
	}
	if size < 0 || size > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes", size)
	}
	data := make([]byte, size)
	_, err := io.ReadFull(in, data)
	return data, err
}

// send writes a message.
func (sv *server) send(m dap.Message) error {
	sv.write.Lock()
	defer sv.write.Unlock()
	sv.seq++
	switch m := m.(type) {
	case dap.ResponseMessage:
		m.GetResponse().Seq, m.GetResponse().Type = sv.seq, "response"
	case dap.EventMessage:
		m.GetEvent().Seq, m.GetEvent().Type = sv.seq, "event"
	}
	b, err := report.JSON(m, "")
	if err != nil {
		return err
	}
	return dap.WriteBaseMessage(sv.out, b)
}

// answer answers one request. done says that the client has disconnected.
func (sv *server) answer(ctx context.Context, m dap.Message) (done bool, err error) {
	r, ok := m.(dap.RequestMessage)
	if !ok {
		return false, nil // responses and events of a client mean nothing
	}
	req := r.GetRequest()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sv.current.Lock()
	sv.running, sv.cancel = req.Seq, cancel
	if sv.waiting[req.Seq] {
		cancel(errCancelled)
	}
	delete(sv.waiting, req.Seq)
	sv.current.Unlock()
	var response dap.ResponseMessage
	var after []dap.Message
	if err = context.Cause(ctx); err == nil {
		response, after, err = sv.handle(ctx, m)
	}
	sv.current.Lock()
	sv.running = 0
	sv.current.Unlock()
	if err != nil {
		response = failure(err)
	}
	head := response.GetResponse()
	head.RequestSeq, head.Command, head.Success = req.Seq, req.Command, err == nil
	if err != nil {
		head.Message = report.Clean(err.Error())
		if errors.Is(err, errCancelled) {
			head.Message = "cancelled"
		}
	}
	if err := sv.send(response); err != nil {
		return true, err
	}
	for _, e := range after {
		if err := sv.send(e); err != nil {
			return true, err
		}
	}
	_, done = m.(*dap.DisconnectRequest)
	return done, nil
}

// failure is the response to a request that failed.
func failure(err error) *dap.ErrorResponse {
	return &dap.ErrorResponse{Body: dap.ErrorResponseBody{Error: &dap.ErrorMessage{Id: 1, Format: "{_}", Variables: map[string]string{"_": report.Clean(err.Error())}, ShowUser: false}}}
}

// errReadOnly is the answer to what would run the process or change it.
var errReadOnly = errors.New("the process is only read: it is not run and not changed")

// errNotOpen: nothing was launched yet.
var errNotOpen = errors.New("no dump is open yet: launch or attach comes first")

// handle makes the response to a request, and events that follow it.
func (sv *server) handle(ctx context.Context, m dap.Message) (dap.ResponseMessage, []dap.Message, error) {
	switch r := m.(type) {
	case *invalid:
		return nil, nil, r.why
	case *dap.InitializeRequest:
		sv.redraws = r.Arguments.SupportsInvalidatedEvent
		return &dap.InitializeResponse{Body: capabilities()}, []dap.Message{event(&dap.InitializedEvent{}, "initialized")}, nil
	case *dap.LaunchRequest:
		err := sv.launch(ctx, r.Arguments)
		return &dap.LaunchResponse{}, sv.stopped(ctx, err), err
	case *dap.AttachRequest:
		err := sv.launch(ctx, r.Arguments)
		return &dap.AttachResponse{}, sv.stopped(ctx, err), err
	case *dap.ConfigurationDoneRequest:
		sv.ready = true
		return &dap.ConfigurationDoneResponse{}, sv.stopped(ctx, nil), nil
	case *dap.CancelRequest:
		return &dap.CancelResponse{}, nil, nil
	case *dap.DisconnectRequest:
		return &dap.DisconnectResponse{}, nil, nil
	case *dap.TerminateRequest:
		return &dap.TerminateResponse{}, []dap.Message{event(&dap.TerminatedEvent{}, "terminated")}, nil
	case *dap.SetBreakpointsRequest:
		return &dap.SetBreakpointsResponse{Body: dap.SetBreakpointsResponseBody{Breakpoints: noBreakpoints(len(r.Arguments.Breakpoints))}}, nil, nil
	case *dap.SetFunctionBreakpointsRequest:
		return &dap.SetFunctionBreakpointsResponse{Body: dap.SetFunctionBreakpointsResponseBody{Breakpoints: noBreakpoints(len(r.Arguments.Breakpoints))}}, nil, nil
	case *dap.SetExceptionBreakpointsRequest:
		return &dap.SetExceptionBreakpointsResponse{}, nil, nil
	case *dap.SetInstructionBreakpointsRequest:
		return &dap.SetInstructionBreakpointsResponse{Body: dap.SetInstructionBreakpointsResponseBody{Breakpoints: noBreakpoints(len(r.Arguments.Breakpoints))}}, nil, nil
	case *dap.SetDataBreakpointsRequest:
		return &dap.SetDataBreakpointsResponse{Body: dap.SetDataBreakpointsResponseBody{Breakpoints: noBreakpoints(len(r.Arguments.Breakpoints))}}, nil, nil
	case *dap.DataBreakpointInfoRequest: // no id says that there can be none
		return &dap.DataBreakpointInfoResponse{Body: dap.DataBreakpointInfoResponseBody{Description: errReadOnly.Error()}}, nil, nil
	case *dap.BreakpointLocationsRequest:
		return &dap.BreakpointLocationsResponse{Body: dap.BreakpointLocationsResponseBody{Breakpoints: []dap.BreakpointLocation{}}}, nil, nil
	case *dap.StepInTargetsRequest:
		return &dap.StepInTargetsResponse{Body: dap.StepInTargetsResponseBody{Targets: []dap.StepInTarget{}}}, nil, nil
	case *dap.GotoTargetsRequest:
		return &dap.GotoTargetsResponse{Body: dap.GotoTargetsResponseBody{Targets: []dap.GotoTarget{}}}, nil, nil
	}
	if sv.s == nil {
		return nil, nil, errNotOpen
	}
	if r, ok := m.(*dap.Request); ok {
		return sv.own(ctx, r.Command)
	}
	response, err := sv.ask(ctx, m)
	return response, nil, err
}

// ask makes the response to a question about the dump.
func (sv *server) ask(ctx context.Context, m dap.Message) (dap.ResponseMessage, error) {
	switch r := m.(type) {
	case *dap.ThreadsRequest:
		return sv.threads(ctx)
	case *dap.StackTraceRequest:
		return sv.stackTrace(ctx, &r.Arguments)
	case *dap.ScopesRequest:
		return sv.scopes(ctx, &r.Arguments)
	case *dap.VariablesRequest:
		return sv.variables(ctx, &r.Arguments)
	case *dap.EvaluateRequest:
		return sv.evaluate(ctx, &r.Arguments)
	case *dap.CompletionsRequest:
		return sv.completions(ctx, &r.Arguments)
	case *dap.ModulesRequest:
		return sv.modules(ctx, &r.Arguments)
	case *dap.LoadedSourcesRequest:
		return &dap.LoadedSourcesResponse{Body: dap.LoadedSourcesResponseBody{Sources: sv.sources.all()}}, nil
	case *dap.SourceRequest:
		return sv.source(ctx, &r.Arguments)
	case *dap.DisassembleRequest:
		return sv.disassemble(ctx, &r.Arguments)
	case *dap.ReadMemoryRequest:
		return sv.readMemory(ctx, &r.Arguments)
	case *dap.ExceptionInfoRequest:
		return sv.exceptionInfo(ctx, session.StackID(r.Arguments.ThreadId))
	}
	return nil, errReadOnly
}

func capabilities() dap.Capabilities {
	return dap.Capabilities{
		SupportsConfigurationDoneRequest: true, SupportsEvaluateForHovers: true, SupportsModulesRequest: true, SupportsExceptionInfoRequest: true,
		SupportsDelayedStackTraceLoading: true, SupportsLoadedSourcesRequest: true, SupportsReadMemoryRequest: true,
		SupportsDisassembleRequest: true, SupportsCancelRequest: true, SupportsTerminateRequest: true,
		SupportsCompletionsRequest: true, CompletionTriggerCharacters: []string{".", ">", " "},
	}
}

// event sets the name of an event.
func event[E dap.EventMessage](e E, name string) E {
	e.GetEvent().Event = name
	return e
}

// noBreakpoints says of n breakpoints that none is set.
func noBreakpoints(n int) []dap.Breakpoint {
	list := make([]dap.Breakpoint, n)
	for i := range list {
		list[i].Message = errReadOnly.Error()
	}
	return list
}

// A list of directories or one directory.
type stringList []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *stringList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		if one != "" {
			*l = stringList{one}
		}
		return nil
	}
	var list []string
	err := json.Unmarshal(data, &list)
	*l = list
	return err
}

// arguments are those of launch and attach. They are named as the command's flags.
type arguments struct {
	Core            string     `json:"core"`
	CoreFile        string     `json:"coreFile"` // as other adapters call it
	Binary          string     `json:"binary"`
	Program         string     `json:"program"` // as other adapters call it
	Search          stringList `json:"search"`
	Sysroot         stringList `json:"sysroot"`
	DebugDir        stringList `json:"debugDir"`
	SourceMap       sourceMap  `json:"sourceMap"`
	SymbolPath      string     `json:"symbolPath"`
	ForceMismatched bool       `json:"forceMismatched"`
}

// A sourceMap is a list of FROM=TO, or an object from FROM to TO.
type sourceMap []string

// UnmarshalJSON implements json.Unmarshaler.
func (m *sourceMap) UnmarshalJSON(data []byte) error {
	var pairs map[string]string
	if json.Unmarshal(data, &pairs) == nil {
		for from, to := range pairs {
			*m = append(*m, from+"="+to)
		}
		return nil
	}
	return (*stringList)(m).UnmarshalJSON(data)
}

// launch opens a dump.
func (sv *server) launch(ctx context.Context, data json.RawMessage) error {
	if sv.s != nil {
		return errors.New("a dump is open already")
	}
	var a arguments
	if err := json.Unmarshal(data, &a); err != nil {
		return fmt.Errorf("the arguments of launch: %w", err)
	}
	if a.Core == "" {
		a.Core = a.CoreFile
	}
	if a.Binary == "" {
		a.Binary = a.Program
	}
	if a.Core == "" {
		return errors.New(`the argument "core" is missing: the path of a core, a minidump or a pack`)
	}
	s, end, err := sv.open(ctx, faces.Request{Core: a.Core, Binary: a.Binary, Search: a.Search, Sysroot: a.Sysroot, DebugDir: a.DebugDir,
		SourceMap: a.SourceMap, SymbolPath: a.SymbolPath, ForceMismatched: a.ForceMismatched})
	if err != nil {
		return err
	}
	sv.s, sv.close = s, end
	return nil
}

// stopped tells the client once, when it has sent its configuration and the dump is open, where the process stopped.
func (sv *server) stopped(ctx context.Context, failed error) []dap.Message {
	if failed != nil || sv.s == nil || !sv.ready || sv.begun {
		return nil
	}
	sv.begun = true
	body := dap.StoppedEventBody{Reason: "pause", Description: "a dump", AllThreadsStopped: true}
	if threads, err := sv.s.Threads(ctx); err == nil && len(threads) > 0 {
		body.ThreadId = int(threads[0].ID)
		if threads[0].Crashed {
			body.Reason = "exception"
			body.Description, body.Text = sv.died(ctx)
		}
	}
	return []dap.Message{event(&dap.StoppedEvent{Body: body}, "stopped")}
}
