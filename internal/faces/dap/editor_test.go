package dap_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
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

// What would change the process is refused in the form that each request has for that.
func TestRefusals(t *testing.T) {
	c := connect(t, fixture.Get(t, "amd64-vars-c-O0"))
	thread := c.begin().Body.ThreadId
	const why = "the process is only read: it is not run and not changed"
	for command, arguments := range map[string]object{
		"setVariable": {"variablesReference": 1, "name": "x", "value": "1"}, "setExpression": {"expression": "x", "value": "1"}, "writeMemory": {"memoryReference": "0x1", "data": ""},
		"continue": {"threadId": thread}, "pause": {"threadId": thread}, "next": {"threadId": thread, "granularity": "instruction"}, "stepIn": {"threadId": thread, "granularity": "line", "targetId": 1},
		"stepOut": {"threadId": thread, "granularity": "statement"}, "stepBack": {"threadId": thread, "granularity": "instruction"}, "reverseContinue": {"threadId": thread},
		"restartFrame": {"frameId": 1}, "goto": {"threadId": thread, "targetId": 1}, "terminateThreads": {"threadIds": []int{thread}}, "restart": {},
	} {
		data, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.fails(command, string(data)); got != why {
			t.Errorf("%s: %s", command, got)
		}
	}
	if info := ask[*dap.DataBreakpointInfoResponse](c, "dataBreakpointInfo", object{"name": "x", "variablesReference": 1}); info.Body.DataId != nil || info.Body.Description != why {
		t.Errorf("%+v", info.Body)
	}
	one := object{"breakpoints": []object{{"dataId": "x", "instructionReference": "0x1", "name": "f"}}}
	data := ask[*dap.SetDataBreakpointsResponse](c, "setDataBreakpoints", one).Body.Breakpoints
	code := ask[*dap.SetInstructionBreakpointsResponse](c, "setInstructionBreakpoints", one).Body.Breakpoints
	functions := ask[*dap.SetFunctionBreakpointsResponse](c, "setFunctionBreakpoints", one).Body.Breakpoints
	lines := ask[*dap.SetBreakpointsResponse](c, "setBreakpoints", object{"source": object{"path": "a.c"}, "breakpoints": []object{{"line": 1}}}).Body.Breakpoints
	for _, list := range [][]dap.Breakpoint{data, code, functions, lines} {
		if len(list) != 1 || list[0].Verified || list[0].Message != why {
			t.Errorf("%+v", list)
		}
	}
	if r := ask[*dap.BreakpointLocationsResponse](c, "breakpointLocations", object{"source": object{"path": "a.c"}, "line": 1}); len(r.Body.Breakpoints) != 0 {
		t.Errorf("%+v", r.Body)
	}
	ask[*dap.SetExceptionBreakpointsResponse](c, "setExceptionBreakpoints", object{"filters": []string{}})
	ask[*dap.StepInTargetsResponse](c, "stepInTargets", object{"frameId": 1})
	ask[*dap.GotoTargetsResponse](c, "gotoTargets", object{"source": object{"path": "a.c"}, "line": 1})
	if v := ask[*dap.InitializeResponse](c, "initialize", object{}).Body; v.SupportsSetVariable || v.SupportsSetExpression || v.SupportsDataBreakpoints || v.SupportsSteppingGranularity || v.SupportsWriteMemoryRequest {
		t.Errorf("%+v", v)
	}
}

// Frames of libraries are subtle, and editors go to the first that is not; what is shown of a variable is data that is only read.
func TestHints(t *testing.T) {
	fc := fixture.Get(t, "amd64-vars-rust-O0")
	c := connectTo(t, fc.Core(t), append(options(t, fc), corewalk.WithFetcher(fetched{t.TempDir()}))...) // that has the library's sources
	thread := c.begin().Body.ThreadId
	library, own := 0, 0
	for _, f := range ask[*dap.StackTraceResponse](c, "stackTrace", object{"threadId": thread}).Body.StackFrames {
		switch {
		case f.Source == nil:
		case f.Source.Name == "vars.rs":
			if own++; f.PresentationHint != "" || f.Source.PresentationHint != "" {
				t.Errorf("%+v %+v is not the program's own", f, f.Source)
			}
		default:
			if library++; f.PresentationHint != "subtle" || f.Source.PresentationHint != "deemphasize" {
				t.Errorf("%+v %+v is the program's own", f, f.Source)
			}
		}
	}
	if library == 0 || own == 0 {
		t.Errorf("%d frames of libraries, %d of the program", library, own)
	}
	f := ask[*dap.StackTraceResponse](c, "stackTrace", object{"threadId": thread}).Body.StackFrames
	for _, sc := range ask[*dap.ScopesResponse](c, "scopes", object{"frameId": f[0].Id}).Body.Scopes {
		for _, v := range ask[*dap.VariablesResponse](c, "variables", object{"variablesReference": sc.VariablesReference}).Body.Variables {
			if h := v.PresentationHint; h == nil || h.Kind != "data" || h.Attributes[0] != "readOnly" {
				t.Errorf("%+v", v)
			}
		}
		if list := ask[*dap.VariablesResponse](c, "variables", object{"variablesReference": sc.VariablesReference, "filter": "indexed"}).Body.Variables; len(list) > 0 {
			t.Errorf("%s: indexed %+v", sc.Name, list)
		}
	}
}

// fetched has the sources of a program, by names of its own.
type fetched struct{ dir string }

func (f fetched) Fetch(context.Context, []byte, string) (string, error) { return "", fs.ErrNotExist }

func (f fetched) FetchSource(_ context.Context, _ []byte, path string) (string, error) {
	kept := filepath.Join(f.dir, "source-"+filepath.Base(path))
	return kept, os.WriteFile(kept, []byte("fetched "+path+"\n"), 0o600)
}

// A source file that was fetched has the name that the program knows, and a number to ask for its text.
func TestFetchedSource(t *testing.T) {
	fc := fixture.Get(t, "amd64-vars-c-O0")
	c := connectTo(t, fc.Core(t), corewalk.WithExecutable(fc.Binary(t)), corewalk.WithSysroot(fc.Sysroot(t)), corewalk.WithFetcher(fetched{t.TempDir()}))
	thread := c.begin().Body.ThreadId
	src := ask[*dap.StackTraceResponse](c, "stackTrace", object{"threadId": thread, "levels": 1}).Body.StackFrames[0].Source
	if src == nil || src.Path != "/src/vars.c" || src.Name != "vars.c" || src.SourceReference != 1 || src.Origin != "fetched" {
		t.Fatalf("%+v", src)
	}
	for _, arguments := range []object{{"sourceReference": 1}, {"source": src, "sourceReference": 1}, {"source": src}} {
		if text := ask[*dap.SourceResponse](c, "source", arguments); text.Body.Content != "fetched /src/vars.c\n" {
			t.Errorf("%q", text.Body.Content)
		}
	}
	for _, n := range []int{-1, 0, 2, 1 << 40} {
		if why := c.fails("source", fmt.Sprintf(`{"sourceReference": %d}`, n)); why != "no frame is in this file" {
			t.Errorf("%d: %s", n, why)
		}
	}
}

// Goroutines are listed by pages: the client is told to ask again when one was added.
func TestMoreThreads(t *testing.T) {
	fixture.Tools(t)
	c := connectTo(t, manyGoroutines(t, 2500))
	c.begin()
	threads := func() []dap.Thread {
		return ask[*dap.ThreadsResponse](c, "threads", object{}).Body.Threads
	}
	first := threads()
	if last := first[len(first)-1].Name; len(first) < 1001 || len(first) > 1100 || !strings.HasSuffix(last, "(more follow: goroutine N at the console shows any)") {
		t.Fatalf("%d threads, the last is %q", len(first), last)
	}
	for page, more := range []bool{true, false, false} {
		c.events = nil
		r := c.raw("moreThreads", "{}")
		if is := strings.Contains(string(c.body), `"more":true`); is != more {
			t.Errorf("page %d: %s, %T", page, c.body, r)
		}
		list := threads()
		if page < 2 && (len(c.events) != 1 || c.events[0].GetEvent().Event != "thread") || page == 2 && len(c.events) > 0 {
			t.Errorf("page %d: events %+v", page, c.events)
		}
		if want := min(len(first)+1000*(page+1), len(first)+1600); len(list) < want-200 || len(list) > want {
			t.Errorf("page %d: %d threads", page, len(list))
		}
	}
	c.raw("summary", "{}")
	var r struct{ Body report.Report }
	if err := json.Unmarshal(c.body, &r); err != nil || len(r.Body.Tasks) != 1000 {
		t.Errorf("%v, %d tasks", err, len(r.Body.Tasks))
	}
	c = connectTo(t, c.core) // a client that says what it takes is told more
	ask[*dap.InitializeResponse](c, "initialize", object{"supportsInvalidatedEvent": true})
	ask[*dap.LaunchResponse](c, "launch", object{"core": "core"})
	c.raw("moreThreads", "null")
	if more := threads(); len(more) != len(first)+1000 || len(c.events) != 2 || c.events[1].GetEvent().Event != "invalidated" {
		t.Errorf("%d threads, then %d: %+v", len(first), len(more), c.events)
	}
}

// Threads are listed by pages, too, the one that died first; it takes no longer than a person notices.
func TestManyThreads(t *testing.T) {
	fixture.Tools(t)
	const n = 1200
	core := fixture.MayCrash(t, nil, fixture.Compile(t, "gcc", "many_threads.c", "-g", "-O1", "-pthread"), fmt.Sprint(n))
	c := connectTo(t, core)
	c.begin()
	threads := func() []dap.Thread {
		start := time.Now()
		list := ask[*dap.ThreadsResponse](c, "threads", object{}).Body.Threads
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("the list of threads took %v", d)
		}
		return list
	}
	first := threads()
	if len(first) != 1000 || !strings.HasSuffix(first[0].Name, "[crashed]") || !strings.HasSuffix(first[999].Name, " (more follow: thread N at the console shows any)") {
		t.Fatalf("%d threads: %v to %v", len(first), first[0], first[len(first)-1])
	}
	c.events = nil
	c.raw("moreThreads", "{}")
	if !strings.Contains(string(c.body), `"added":201`) || !strings.Contains(string(c.body), `"more":false`) {
		t.Errorf("%s", c.body)
	}
	all := threads() // the event comes behind the response
	if len(c.events) != 1 || len(all) != n+1 || strings.Contains(all[999].Name, "more follow") || strings.Contains(all[n].Name, "more follow") {
		t.Errorf("%d threads, the last is %q", len(all), all[len(all)-1].Name)
	}
	if frames := ask[*dap.StackTraceResponse](c, "stackTrace", object{"threadId": all[n].Id}).Body.StackFrames; len(frames) < 2 {
		t.Errorf("frames of the last thread: %v", frames)
	}
}

// manyGoroutines returns the core of a program with so many goroutines.
func manyGoroutines(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	cmd := fixture.Dies(dir, fixture.Compile(t, "go", "go-many/main.go"), fmt.Sprint(n))
	cmd.Env = append(os.Environ(), "GOTRACEBACK=crash")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	_ = cmd.Wait() // fails: the program dies
	return fixture.CoreIn(t, dir)
}

// The summary is a report with paths of this machine, for views of editors.
func TestSummary(t *testing.T) {
	c := connect(t, fixture.Get(t, "amd64-vars-c-O0"))
	c.begin()
	c.raw("summary", "{}")
	var r struct{ Body report.Report }
	if err := json.Unmarshal(c.body, &r); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(fixture.Root(t), "testdata", "src", "vars.c")
	if b := r.Body; b.Schema != report.Schema || b.Crash == nil || len(b.Crash.Causes) == 0 || len(b.Threads) != 1 || len(b.Threads[0].Frames) != 8 || b.Threads[0].Frames[0].Source.File != path ||
		b.Threads[0].Frames[2].Locals != nil || len(b.Modules) > 0 {
		t.Errorf("%s", c.body)
	}
	var alone struct{ Body report.Report }
	c.raw("cause", "{}")
	if err := json.Unmarshal(c.body, &alone); err != nil || !reflect.DeepEqual(alone.Body.Crash, r.Body.Crash) || len(alone.Body.Threads) != 1 || len(alone.Body.Threads[0].Frames) != 8 ||
		alone.Body.Threads[0].ID != r.Body.Crash.Thread || alone.Body.Threads[0].Frames[0].Source.File != path {
		t.Errorf("%v: %s", err, c.body)
	}
	deep := connect(t, fixture.Get(t, "amd64-recursion-4000"))
	deep.begin()
	for _, request := range []string{"cause", "summary"} {
		deep.raw(request, "{}")
		if err := json.Unmarshal(deep.body, &r); err != nil || len(r.Body.Threads[0].Frames) != 200 {
			t.Errorf("%s: %v, %d frames", request, err, len(r.Body.Threads[0].Frames))
		}
	}
	c.raw("memory", "{}")
	var m struct{ Body report.Memory }
	if err := json.Unmarshal(c.body, &m); err != nil || m.Body.Schema != report.MemorySchema || len(m.Body.Areas) == 0 {
		t.Errorf("%v: %s", err, c.body)
	}
}

// A request is cancelled while it is answered, or waits for that, also when others were sent before the message that cancels it.
func TestCancel(t *testing.T) {
	in, client := io.Pipe()
	var out bytes.Buffer
	done := make(chan error, 1)
	opened := make(chan bool)
	go func() {
		done <- serve.Serve(context.Background(), in, &out, func(ctx context.Context, _ faces.Request) (*session.Session, func(), error) {
			opened <- true
			<-ctx.Done()
			return nil, nil, context.Cause(ctx)
		})
	}()
	send := func(seq int, command, arguments string) {
		if _, err := io.WriteString(client, framed(fmt.Sprintf(`{"seq": %d, "type": "request", "command": %q, "arguments": %s}`, seq, command, arguments))); err != nil {
			t.Error(err)
		}
	}
	go func() {
		send(1, "launch", `{"core": "core"}`)
		<-opened
		send(2, "threads", "{}")
		send(3, "initialize", "{}")
		send(4, "cancel", `{"requestId": 3}`)
		send(5, "cancel", `{"requestId": 99}`)
		send(6, "cancel", `{"requestId": 1}`)
		send(7, "disconnect", "{}")
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the request is not cancelled")
	}
	want := []string{"cancelled", "no dump is open yet: launch or attach comes first", "cancelled", "", "", "", ""}
	for r := bufio.NewReader(&out); ; {
		data, err := dap.ReadBaseMessage(r)
		if err != nil {
			break
		}
		var m dap.Response
		if json.Unmarshal(data, &m) != nil || m.RequestSeq < 1 || m.RequestSeq > len(want) || m.Message != want[m.RequestSeq-1] {
			t.Fatalf("%s", data)
		}
		want[m.RequestSeq-1] = "answered"
	}
	if strings.Join(want, "") != strings.Repeat("answered", len(want)) {
		t.Errorf("%q", want)
	}
}
