package dap_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/faces"
	serve "github.com/corewalk/corewalk/internal/faces/dap"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// A client is an editor.
type client struct {
	t      testing.TB
	in     *bufio.Reader
	out    io.WriteCloser
	seq    int
	events []dap.EventMessage
	done   chan error
	target *corewalk.Target
	core   string // the path of the dump
	body   []byte // of the last response
}

// options are those that a fixture is opened with.
func options(t testing.TB, c fixture.Case) []corewalk.Option {
	opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithSearch(c.Dir), corewalk.WithSourceMap("/src", filepath.Join(fixture.Root(t), "testdata", "src"))}
	if exe := c.Binary(t); exe != "" {
		opts = append(opts, corewalk.WithExecutable(exe))
	}
	for i := 0; i+1 < len(c.Args); i += 2 {
		dir := filepath.Join(c.Dir, c.Args[i+1])
		switch c.Args[i] {
		case "--debug-dir":
			opts = append(opts, corewalk.WithDebugDir(dir))
		case "--search":
			opts = append(opts, corewalk.WithSearch(dir))
		}
	}
	return opts
}

// connect starts a server that opens a fixture.
func connect(t testing.TB, c fixture.Case) *client {
	t.Helper()
	return connectTo(t, c.Core(t), options(t, c)...)
}

// connectTo starts a server that opens a core, whatever it is called.
func connectTo(t testing.TB, core string, opts ...corewalk.Option) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	cl := &client{t: t, in: bufio.NewReader(outR), out: inW, done: make(chan error, 1), core: core}
	go func() {
		err := serve.Serve(context.Background(), inR, outW, func(ctx context.Context, r faces.Request) (*session.Session, func(), error) {
			if r.Core != "core" {
				return nil, nil, fmt.Errorf("%s: no such file", r.Core)
			}
			target, err := corewalk.Open(context.Background(), core, opts...)
			if err != nil {
				return nil, nil, err
			}
			cl.target = target
			s := session.New(target, session.Options{})
			return s, func() { s.Close(); target.Close() }, nil
		})
		outW.Close()
		cl.done <- err
	}()
	t.Cleanup(func() { inW.Close() })
	return cl
}

// raw sends a request with arguments as JSON, and returns its response.
func (c *client) raw(command, arguments string) dap.Message {
	c.t.Helper()
	c.seq++
	content := fmt.Sprintf(`{"seq": %d, "type": "request", "command": %q, "arguments": %s}`, c.seq, command, arguments)
	if err := dap.WriteBaseMessage(c.out, []byte(content)); err != nil {
		c.t.Fatal(err)
	}
	for {
		data, err := dap.ReadBaseMessage(c.in)
		if err != nil {
			c.t.Fatalf("%s: %v", command, err)
		}
		m, err := dap.DecodeProtocolMessage(data)
		if err != nil { // the response to a command that is not known
			var r dap.ErrorResponse
			if json.Unmarshal(data, &r.Response) == nil && r.RequestSeq == c.seq {
				c.body = data
				return &r
			}
			c.t.Fatalf("%s: %v", data, err)
		}
		switch m := m.(type) {
		case dap.EventMessage:
			c.events = append(c.events, m)
		case dap.ResponseMessage:
			if m.GetResponse().RequestSeq != c.seq {
				c.t.Fatalf("%s: a response to request %d", command, m.GetResponse().RequestSeq)
			}
			return m
		}
	}
}

// ask sends a request that has a response of type R.
func ask[R dap.Message](c *client, command string, arguments any) R {
	c.t.Helper()
	data, err := json.Marshal(arguments)
	if err != nil {
		c.t.Fatal(err)
	}
	m := c.raw(command, string(data))
	r, ok := m.(R)
	if !ok {
		c.t.Fatalf("%s %s: %+v", command, data, m)
	}
	return r
}

// fails sends a request that is refused, and returns why.
func (c *client) fails(command, arguments string) string {
	c.t.Helper()
	m := c.raw(command, arguments)
	r, ok := m.(dap.ResponseMessage)
	if !ok || r.GetResponse().Success {
		c.t.Fatalf("%s %s: not refused: %+v", command, arguments, m)
	}
	return r.GetResponse().Message
}

type object map[string]any

// begin opens the dump as editors do, and returns the event that says where it stopped.
func (c *client) begin() *dap.StoppedEvent {
	c.t.Helper()
	init := ask[*dap.InitializeResponse](c, "initialize", object{"adapterID": "corewalk", "linesStartAt1": true})
	if !init.Body.SupportsConfigurationDoneRequest || !init.Body.SupportsDisassembleRequest || init.Body.SupportsSetVariable {
		c.t.Errorf("%+v", init.Body)
	}
	ask[*dap.LaunchResponse](c, "launch", object{"core": "core"})
	ask[*dap.SetBreakpointsResponse](c, "setBreakpoints", object{"source": object{"path": "/a.c"}, "breakpoints": []object{{"line": 3}}})
	ask[*dap.ConfigurationDoneResponse](c, "configurationDone", object{})
	threads := ask[*dap.ThreadsResponse](c, "threads", object{}) // events of the request before have come now
	if len(threads.Body.Threads) == 0 {
		c.t.Fatal("no threads")
	}
	if len(c.events) != 2 || c.events[0].GetEvent().Event != "initialized" {
		c.t.Fatalf("events %+v", c.events)
	}
	stopped, ok := c.events[1].(*dap.StoppedEvent)
	if !ok || stopped.Body.ThreadId != threads.Body.Threads[0].Id {
		c.t.Fatalf("%+v", c.events[1])
	}
	return stopped
}

func TestEditor(t *testing.T) {
	c := connect(t, fixture.Get(t, "amd64-vars-c-O0"))
	if why := c.fails("threads", "{}"); !strings.Contains(why, "no dump is open yet") {
		t.Error(why)
	}
	if why := c.fails("launch", `{"core": "nowhere"}`); !strings.Contains(why, "nowhere: no such file") {
		t.Error(why)
	}
	if why := c.fails("launch", `{}`); !strings.Contains(why, `"core" is missing`) {
		t.Error(why)
	}
	c.events = nil
	stopped := c.begin()
	if b := stopped.Body; b.Reason != "exception" || b.Description != "SIGSEGV" || !strings.Contains(b.Text, "write of 4 bytes at null") || !b.AllThreadsStopped {
		t.Errorf("%+v", b)
	}
	info := ask[*dap.ExceptionInfoResponse](c, "exceptionInfo", object{"threadId": stopped.Body.ThreadId})
	if info.Body.ExceptionId != "SIGSEGV" || !strings.Contains(info.Body.Description, "cause: *p where p = 0x0") {
		t.Errorf("%+v", info.Body)
	}
	if why := c.fails("exceptionInfo", `{"threadId": 99}`); !strings.Contains(why, "stack 99 is not known") {
		t.Error(why)
	}
	if why := c.fails("noSuchRequest", `{}`); !strings.Contains(why, `"noSuchRequest" is no request`) {
		t.Error(why)
	}
	all := ask[*dap.StackTraceResponse](c, "stackTrace", object{"threadId": stopped.Body.ThreadId})
	page := ask[*dap.StackTraceResponse](c, "stackTrace", object{"threadId": stopped.Body.ThreadId, "startFrame": 2, "levels": 1})
	if len(all.Body.StackFrames) != 8 || all.Body.TotalFrames != 8 || len(page.Body.StackFrames) != 1 || page.Body.TotalFrames <= 3 {
		t.Fatalf("%+v\n%+v", all.Body, page.Body)
	}
	f := page.Body.StackFrames[0]
	if f.Name != "records" || f.Line != 107 || f.Source == nil || f.Source.Name != "vars.c" || f.Id != all.Body.StackFrames[2].Id || f.PresentationHint != "" {
		t.Errorf("%+v", f)
	}
	if last := all.Body.StackFrames[7]; last.PresentationHint != "subtle" || last.Source != nil {
		t.Errorf("%+v", last)
	}
	scopes := ask[*dap.ScopesResponse](c, "scopes", object{"frameId": f.Id})
	names := map[string]dap.Scope{}
	for _, s := range scopes.Body.Scopes {
		names[s.Name] = s
	}
	if len(names) != 3 || names["Arguments"].NamedVariables != 4 || names["Arguments"].PresentationHint != "arguments" || !names["Registers"].Expensive {
		t.Errorf("%+v", scopes.Body)
	}
	locals := ask[*dap.VariablesResponse](c, "variables", object{"variablesReference": names["Locals"].VariablesReference})
	var here dap.Variable
	for _, v := range locals.Body.Variables {
		if v.Name == "here" {
			here = v
		}
	}
	if here.Type != "struct node" || here.EvaluateName != "here" || here.VariablesReference == 0 || here.MemoryReference == "" {
		t.Fatalf("%+v", here)
	}
	parts := ask[*dap.VariablesResponse](c, "variables", object{"variablesReference": here.VariablesReference})
	if p := parts.Body.Variables; len(p) != 6 || p[0].Name != "next" || p[0].EvaluateName != "here.next" || p[0].VariablesReference == 0 {
		t.Fatalf("%+v", parts.Body)
	}
	next := ask[*dap.VariablesResponse](c, "variables", object{"variablesReference": parts.Body.Variables[0].VariablesReference})
	if v := next.Body.Variables[0]; v.EvaluateName != "here.next->next" || v.Value != "0x0" || v.VariablesReference != 0 {
		t.Errorf("%+v", v)
	}
	for expr, want := range map[string]string{"here.next->weight.whole": "9", "*at": "{x = 3, y = 4}", "sum + 1": "8"} {
		if r := ask[*dap.EvaluateResponse](c, "evaluate", object{"expression": expr, "frameId": f.Id, "context": "watch"}); r.Body.Result != want {
			t.Errorf("%s: %+v", expr, r.Body)
		}
	}
	if why := c.fails("evaluate", fmt.Sprintf(`{"expression": "sum = 3", "frameId": %d, "context": "repl"}`, f.Id)); !strings.Contains(why, "would change the process") {
		t.Error(why)
	}
	// The console knows the shell's commands, too; a variable comes before a command of its name.
	for typed, want := range map[string]string{
		"bt 1": "  #0  stop(p=0x0, why=", "-exec bt 1": "  #0  stop(p=0x0, why=", "`whatis list": "type = struct node *", "output/x sum": "0x7", "ptype struct point": "type = struct point {\n    int x;\n    int y;\n}",
		"list": "(struct node *) 0x", "sum": "7",
	} {
		r := ask[*dap.EvaluateResponse](c, "evaluate", object{"expression": typed, "frameId": f.Id, "context": "repl"})
		if got := strings.TrimPrefix(r.Body.Result, "(struct node *) "); !strings.HasPrefix(got, strings.TrimPrefix(want, "(struct node *) ")) {
			t.Errorf("%s: %+v", typed, r.Body)
		}
	}
	for typed, want := range map[string]string{"run": "the process is only read", "frame 99": "no frame 99", "nonsense": "no variable is called nonsense", "-exec nonsense": "no command is called"} {
		if why := c.fails("evaluate", fmt.Sprintf(`{"expression": %q, "frameId": %d, "context": "repl"}`, typed, f.Id)); !strings.Contains(why, want) {
			t.Errorf("%s: %s", typed, why)
		}
	}
	if why := c.fails("evaluate", fmt.Sprintf(`{"expression": "bt 1", "frameId": %d, "context": "watch"}`, f.Id)); why == "" {
		t.Error("a watched expression is a command")
	}
	for typed, want := range map[string]string{"dis": "disassemble disas display 0 3", "he": "help here 0 2", "p here.ne": "next 7 2", "-exec info thr": "threads 11 3", "-exec p here.wei": "weight 13 3", "é": " "} {
		r := ask[*dap.CompletionsResponse](c, "completions", object{"text": typed, "column": len([]rune(typed)) + 1, "frameId": f.Id})
		got := ""
		for i, item := range r.Body.Targets {
			got += item.Label + " "
			if i == len(r.Body.Targets)-1 {
				got += fmt.Sprint(item.Start, " ", item.Length)
			}
		}
		words := strings.Fields(want)
		slices.Sort(words)
		have := strings.Fields(got)
		slices.Sort(have)
		if !slices.Equal(words, have) {
			t.Errorf("%s: %s, want %s", typed, got, want)
		}
	}
	mem := ask[*dap.ReadMemoryResponse](c, "readMemory", object{"memoryReference": here.MemoryReference, "offset": 0, "count": 48})
	if b, err := base64.StdEncoding.DecodeString(mem.Body.Data); err != nil || len(b) != 48 || mem.Body.UnreadableBytes != 0 {
		t.Errorf("%+v", mem.Body)
	}
	if mem := ask[*dap.ReadMemoryResponse](c, "readMemory", object{"memoryReference": "0x10", "count": 8}); mem.Body.UnreadableBytes != 8 {
		t.Errorf("%+v", mem.Body)
	}
	code := ask[*dap.DisassembleResponse](c, "disassemble", object{"memoryReference": f.InstructionPointerReference, "instructionOffset": -3, "instructionCount": 7})
	if list := code.Body.Instructions; len(list) != 7 || list[3].Address != f.InstructionPointerReference || !strings.HasPrefix(list[3].Symbol, "records+") {
		t.Errorf("%+v", list)
	}
	if code := ask[*dap.DisassembleResponse](c, "disassemble", object{"memoryReference": "0x10", "instructionOffset": -3, "instructionCount": 7}); len(code.Body.Instructions) != 7 {
		t.Errorf("%+v", code.Body)
	}
	if m := ask[*dap.ModulesResponse](c, "modules", object{}); m.Body.TotalModules != 4 || m.Body.Modules[0].SymbolStatus == "" {
		t.Errorf("%+v", m.Body)
	}
	if m := ask[*dap.ModulesResponse](c, "modules", object{"startModule": 3, "moduleCount": 5}); len(m.Body.Modules) != 1 {
		t.Errorf("%+v", m.Body)
	}
	for _, command := range []string{"continue", "next", "stepIn", "stepOut", "pause", "setVariable", "writeMemory"} {
		if why := c.fails(command, `{"threadId": 1, "variablesReference": 1, "name": "x", "value": "1", "memoryReference": "0x1", "data": ""}`); why != "the process is only read: it is not run and not changed" {
			t.Errorf("%s: %s", command, why)
		}
	}
	ask[*dap.DisconnectResponse](c, "disconnect", object{})
	select {
	case err := <-c.done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the server does not end")
	}
}

// Sources are those that frames name, and no other file of this machine is given out.
func TestSources(t *testing.T) {
	c := connect(t, fixture.Get(t, "amd64-vars-c-O0"))
	stopped := c.begin()
	for _, path := range []string{"/etc/passwd", "", "../../etc/passwd"} {
		if why := c.fails("source", fmt.Sprintf(`{"source": {"path": %q}, "sourceReference": 0}`, path)); why != "no frame is in this file" {
			t.Errorf("%s: %s", path, why)
		}
	}
	frames := ask[*dap.StackTraceResponse](c, "stackTrace", object{"threadId": stopped.Body.ThreadId, "levels": 1})
	src := frames.Body.StackFrames[0].Source
	if _, err := os.Stat(src.Path); err != nil {
		t.Skipf("the source of the fixture is not here: %s", src.Path)
	}
	text := ask[*dap.SourceResponse](c, "source", object{"source": object{"path": src.Path}, "sourceReference": 0})
	if !strings.Contains(text.Body.Content, "stop(") {
		t.Errorf("%.100s", text.Body.Content)
	}
	loaded := ask[*dap.LoadedSourcesResponse](c, "loadedSources", object{})
	if len(loaded.Body.Sources) != 1 || loaded.Body.Sources[0].Path != src.Path {
		t.Errorf("%+v", loaded.Body)
	}
}

// Values in the editor are those of a report: all variables of the frames of all fixtures.
func TestSameAsReport(t *testing.T) {
	compared := 0
	some := []string{"amd64-vars-c-O2", "amd64-vars-cxx-O0", "amd64-vars-rust-O0", "amd64-vars-go-O0", "aarch64-threads"}
	for i, fc := range fixture.Cases(t) {
		if !fixture.IsLong(t) && !slices.Contains(some, fc.Name) && (i%16 > 0 || strings.HasPrefix(fc.Name, "amd64-recursion")) {
			continue
		}
		t.Run(fc.Name, func(t *testing.T) {
			target, err := corewalk.Open(t.Context(), fc.Core(t), options(t, fc)...)
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			r, err := target.Analyze(t.Context(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, NoTasks: true})
			if err != nil || len(r.Threads) == 0 {
				t.Skip("no stacks: ", err)
			}
			c := connect(t, fc)
			c.begin()
			threads := ask[*dap.ThreadsResponse](c, "threads", object{})
			for i := range r.Threads {
				compared += compareStack(c, threads.Body.Threads[i].Id, &r.Threads[i])
			}
		})
	}
	if compared < 200 {
		t.Errorf("only %d variables", compared)
	}
}

// comparedFrames is how many frames of a stack are compared, from each end.
const comparedFrames = 24

func compareStack(c *client, id int, want *report.Thread) (vars int) {
	c.t.Helper()
	var frames []dap.StackFrame
	for {
		page := ask[*dap.StackTraceResponse](c, "stackTrace", object{"threadId": id, "startFrame": len(frames), "levels": 1000}).Body.StackFrames
		frames = append(frames, page...)
		if len(page) < 1000 {
			break
		}
	}
	if len(frames) != len(want.Frames) {
		c.t.Fatalf("thread %d: %d frames, the report has %d", want.ID, len(frames), len(want.Frames))
	}
	for k, f := range frames {
		w := &want.Frames[k]
		if f.PresentationHint == "label" {
			if !strings.HasPrefix(f.Name, "signal ") {
				c.t.Errorf("#%d: %+v is a label", k, f)
			}
		} else if w.Source.Line > 0 && f.Line != int(w.Source.Line) || w.Function != "" && !strings.Contains(f.Name, report.Clean(w.Function)) {
			c.t.Errorf("#%d: %+v, the report has %s at line %d", k, f, w.Function, w.Source.Line)
		}
		if k >= comparedFrames && k < len(frames)-comparedFrames {
			continue
		}
		for _, sc := range ask[*dap.ScopesResponse](c, "scopes", object{"frameId": f.Id}).Body.Scopes {
			list := map[string][]report.Variable{"Arguments": w.Args, "Locals": w.Locals}[sc.Name]
			if sc.Name == "Registers" || len(list) > 200 {
				continue
			}
			got := ask[*dap.VariablesResponse](c, "variables", object{"variablesReference": sc.VariablesReference}).Body.Variables
			if len(got) != len(list) {
				c.t.Fatalf("#%d: %d %s, the report has %d", k, len(got), sc.Name, len(list))
			}
			for j := range list {
				value := report.Clean(list[j].Value)
				if list[j].Status != report.StatusSuccess {
					value = "<" + report.Clean(list[j].Reason) + ">"
				}
				if list[j].Entry != "" {
					value += " (on entry " + report.Clean(list[j].Entry) + ")"
				}
				if list[j].Doubtful {
					value += "   (doubtful)"
				}
				if got[j].Name != report.Clean(list[j].Name) || got[j].Value != value || got[j].Type != report.Clean(list[j].Type) {
					c.t.Errorf("#%d: %+v, the report has %+v", k, got[j], list[j])
				}
				if ref := got[j].MemoryReference; ref != "" {
					if _, err := strconv.ParseUint(ref, 0, 64); err != nil {
						c.t.Errorf("#%d: %+v: %v", k, got[j], err)
					}
				}
				vars++
			}
		}
	}
	return vars
}

// What is no message of the protocol ends the connection with an error, without a panic and without a wait.
func TestBroken(t *testing.T) {
	for _, in := range []string{"", "nonsense\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Length: 99999999999\r\n\r\n", "Content-Length: 5\r\n\r\nabc", strings.Repeat("a", 1<<16), strings.Repeat("a: b\r\n", 1000)} {
		if err := serve.Serve(context.Background(), strings.NewReader(in), io.Discard, nil); err == nil && in != "" {
			t.Errorf("%.40q: no error", in)
		}
	}
}

// A request with arguments of other types, without them, or with numbers beyond all others has an answer, and so have those after it.
func TestWrongArguments(t *testing.T) {
	c := connect(t, fixture.Get(t, "amd64-vars-c-O0"))
	c.begin()
	commands := map[string][]string{
		"stackTrace": {"threadId", "startFrame", "levels"}, "scopes": {"frameId"}, "variables": {"variablesReference", "start", "count"},
		"evaluate": {"expression", "frameId", "context"}, "modules": {"startModule", "moduleCount"}, "source": {"source", "sourceReference"},
		"disassemble": {"memoryReference", "offset", "instructionOffset", "instructionCount"}, "readMemory": {"memoryReference", "offset", "count"},
		"exceptionInfo": {"threadId"}, "setBreakpoints": {"source", "breakpoints"}, "setFunctionBreakpoints": {"breakpoints"}, "launch": {"core", "search", "sourceMap"},
		"attach": {"core"}, "cancel": {"requestId"}, "threads": {"x"}, "loadedSources": {"x"}, "configurationDone": {"x"}, "initialize": {"adapterID", "linesStartAt1"},
		"nonsense": {"x"}, "": {"x"}, "setVariable": {"variablesReference"}, "completions": {"text", "column", "frameId"}, "terminate": {"restart"},
	}
	values := []string{`"abc"`, `""`, `null`, `true`, `[]`, `{}`, `[1, "a"]`, `{"path": 5}`, `0`, `1`, `-1`, `1.5`, `1e300`, `9223372036854775807`, `-9223372036854775808`, `2147483647`, `"0x1"`}
	good := map[string]string{"stackTrace": `"threadId": 1`, "variables": `"variablesReference": 1`, "modules": `"startModule": 1`, "disassemble": `"memoryReference": "0x10", "instructionCount": 5`,
		"readMemory": `"memoryReference": "0x10"`, "evaluate": `"expression": "1", "context": "repl"`, "completions": `"text": "p x", "column": 4`}
	for command, names := range commands {
		for _, arguments := range values {
			c.raw(command, arguments)
		}
		for _, name := range names {
			for _, v := range values {
				c.raw(command, fmt.Sprintf(`{%q: %s}`, name, v))
				if g := good[command]; g != "" {
					c.raw(command, fmt.Sprintf(`{%s, %q: %s}`, g, name, v))
				}
			}
		}
	}
	if why := c.fails("stackTrace", `{"threadId": "abc"}`); why != "a message that is not the protocol's: arguments.threadId: string is not its type in the protocol" {
		t.Error(why)
	}
	f := ask[*dap.StackTraceResponse](c, "stackTrace", object{"threadId": 1}).Body.StackFrames[0]
	for _, offset := range []int{-maxOffset - 1, maxOffset + 1, math.MinInt, math.MaxInt} { // what is too far away is not told, and nothing else instead
		code := ask[*dap.DisassembleResponse](c, "disassemble", object{"memoryReference": f.InstructionPointerReference, "instructionOffset": offset, "instructionCount": 3})
		for _, in := range code.Body.Instructions {
			if in.Instruction != "(no code)" {
				t.Errorf("%d: %+v", offset, in)
			}
		}
	}
	for _, body := range []string{"", "{", "[]", "null", "5", `"text"`, "\x00\xff", `{"seq": "a", "type": "request", "command": "threads"}`, `{"seq": 0, "type": "request", "command": ["threads"]}`,
		`{"seq": 0, "type": 7}`, `{"seq": 0}`, strings.Repeat("[", 20000), `{"seq": 0, "type": "request", "command": "scopes", "arguments": ` + strings.Repeat(`{"a":`, 20000)} {
		if err := dap.WriteBaseMessage(c.out, []byte(body)); err != nil {
			t.Fatal(err)
		}
		data, err := dap.ReadBaseMessage(c.in)
		var r dap.ErrorResponse
		if err != nil || json.Unmarshal(data, &r) != nil || r.Success || r.RequestSeq != 0 || !strings.HasPrefix(r.Message, "a message that is not the protocol's: ") {
			t.Errorf("%.60q: %v, %s", body, err, data)
		}
	}
	// What a client answers, or tells, means nothing.
	for _, body := range []string{`{"seq": 1, "type": "response", "command": "nonsense", "success": true}`, `{"seq": 1, "type": "event", "event": 5}`, `{"seq": 1, "type": "event", "event": "nonsense"}`} {
		if err := dap.WriteBaseMessage(c.out, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if threads := ask[*dap.ThreadsResponse](c, "threads", object{}); len(threads.Body.Threads) != 1 {
		t.Errorf("%+v", threads.Body)
	}
}

// maxOffset is the number of instructions from an address up to which they are told.
const maxOffset = 4096

// framed is a message with its header.
func framed(content string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(content), content)
}

// Of any message about an open dump: each request has one response, also when it is not the protocol's.
func FuzzServe(f *testing.F) {
	f.Add(`{"seq": 1, "type": "request", "command": "initialize", "arguments": {}}`)
	f.Add(`{"seq": 1, "type": "request", "command": "launch", "arguments": {"core": "x", "search": "a", "sourceMap": {"a": "b"}}}`)
	f.Add(`{"seq": 1, "type": "request", "command": "variables", "arguments": {"variablesReference": 1073741824}}`)
	f.Add(`{"seq": 1, "type": "request", "command": "stackTrace", "arguments": {"threadId": "abc"}}`)
	f.Add(`{"seq": 1, "type": "request", "command": "modules", "arguments": {"startModule": 1, "moduleCount": 9223372036854775807}}`)
	f.Add(`{"seq": 1, "type": "request", "command": "disassemble", "arguments": {"memoryReference": "0x10", "instructionOffset": -9223372036854775808, "instructionCount": 5}}`)
	f.Add(`{"seq": 1, "type": "request", "command": "source", "arguments": {"source": {"sourceReference": -9223372036854775808}, "sourceReference": 5}}`)
	f.Add(`{"seq": 1, "type": "request", "command": "moreThreads"}`)
	f.Add(`{"seq": 1, "type": "request", "command": "summary"}`)
	f.Add(`{"seq": {}, "type": [], "command": 5}`)
	serves := fuzzed(f)
	f.Fuzz(func(t *testing.T, content string) {
		responses := serves(content)
		var head struct{ Type json.RawMessage }
		if json.Unmarshal([]byte(content), &head) == nil {
			var kind string
			if _ = json.Unmarshal(head.Type, &kind); kind == "response" || kind == "event" {
				return
			}
		}
		if responses != 1 {
			t.Errorf("%d responses", responses)
		}
	})
}

// Of any arguments of any request.
func FuzzArguments(f *testing.F) {
	for i, arguments := range []string{`{"threadId": 1}`, `{"frameId": 1}`, `{"variablesReference": 1, "start": 1, "count": 2, "filter": "named"}`, `{"expression": "*here", "frameId": 3, "context": "repl"}`,
		`{"text": "p he", "column": 5}`, `{"memoryReference": "0x400000", "offset": -5, "count": 100}`, `{"breakpoints": [{"line": 1}]}`, `{"core": "core"}`, `[]`, `null`, `{"source": {"path": "a"}}`} {
		f.Add(uint(i), arguments)
	}
	commands := []string{"threads", "stackTrace", "scopes", "variables", "evaluate", "completions", "modules", "loadedSources", "source", "disassemble", "readMemory", "exceptionInfo", "launch", "attach",
		"configurationDone", "cancel", "terminate", "initialize", "setBreakpoints", "setFunctionBreakpoints", "setExceptionBreakpoints", "setInstructionBreakpoints", "setDataBreakpoints", "dataBreakpointInfo",
		"breakpointLocations", "stepInTargets", "gotoTargets", "continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "restart", "restartFrame", "goto", "pause", "setVariable", "setExpression", "writeMemory",
		"terminateThreads", "runInTerminal", "startDebugging", "moreThreads", "summary", "cause"}
	serves := fuzzed(f)
	f.Fuzz(func(t *testing.T, command uint, arguments string) {
		if !json.Valid([]byte(arguments)) {
			return
		}
		if n := serves(fmt.Sprintf(`{"seq": 2, "type": "request", "command": %q, "arguments": %s}`, commands[command%uint(len(commands))], arguments)); n != 1 {
			t.Errorf("%d responses", n)
		}
	})
}

// fuzzed opens a dump, and returns what counts the responses to one message about it.
func fuzzed(f *testing.F) func(content string) (responses int) {
	c := fixture.Get(f, "amd64-vars-c-O0")
	target, err := corewalk.Open(context.Background(), c.Core(f), options(f, c)...)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { target.Close() })
	open := func(context.Context, faces.Request) (*session.Session, func(), error) {
		s := session.New(target, session.Options{})
		return s, s.Close, nil
	}
	launch := framed(`{"seq": 1, "type": "request", "command": "launch", "arguments": {"core": "core"}}`)
	return func(content string) int {
		var out bytes.Buffer
		if err := serve.Serve(context.Background(), strings.NewReader(launch+framed(content)), &out, open); err != nil {
			return -1
		}
		n := -1 // that of launch
		for in := bufio.NewReader(&out); ; {
			data, err := dap.ReadBaseMessage(in)
			if err != nil {
				return n
			}
			var head struct{ Type string }
			if json.Unmarshal(data, &head) == nil && head.Type == "response" {
				n++
			}
		}
	}
}

// Of anything that comes instead of messages.
func FuzzMessages(f *testing.F) {
	f.Add("Content-Length: 2\r\n\r\n{}Content-Length: 1\n\n5")
	f.Add("Content-Length: 99999999999999999999\r\n\r\n")
	f.Add("content-length: 1\r\nContent-Type: x\r\n\r\n")
	open := func(context.Context, faces.Request) (*session.Session, func(), error) {
		return nil, nil, os.ErrNotExist
	}
	f.Fuzz(func(_ *testing.T, in string) {
		_ = serve.Serve(context.Background(), strings.NewReader(in), io.Discard, open)
	})
}

// Why the process died is told of the thread that did, and of no other one.
func TestExceptionOfThread(t *testing.T) {
	c := connect(t, fixture.Get(t, "amd64-thread-crash"))
	stopped := c.begin()
	threads := ask[*dap.ThreadsResponse](c, "threads", object{})
	if len(threads.Body.Threads) < 2 {
		t.Fatal("one thread")
	}
	for _, th := range threads.Body.Threads {
		if th.Id == stopped.Body.ThreadId {
			ask[*dap.ExceptionInfoResponse](c, "exceptionInfo", object{"threadId": th.Id})
		} else if why := c.fails("exceptionInfo", fmt.Sprintf(`{"threadId": %d}`, th.Id)); !strings.Contains(why, "this one did not die: it is thread ") {
			t.Error(why)
		}
	}
}
