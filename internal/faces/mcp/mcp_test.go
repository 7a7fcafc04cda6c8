package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/faces"
	"github.com/corewalk/corewalk/internal/faces/mcp"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// A client speaks the protocol over pipes, and looks at each byte that is sent to it.
type client struct {
	t     testing.TB
	to    io.Writer
	from  *bufio.Reader
	calls int
	ended chan error
}

// connect starts a server that reads below roots and opens dumps with options.
func connect(t testing.TB, roots []string, opts ...corewalk.Option) *client {
	t.Helper()
	open := func(ctx context.Context, r faces.Request) (*session.Session, func(), error) {
		if r.Binary != "" {
			opts = append(opts, corewalk.WithExecutable(r.Binary))
		}
		target, err := corewalk.Open(context.WithoutCancel(ctx), r.Core, opts...)
		if err != nil {
			return nil, nil, err
		}
		s := session.New(target, session.Options{})
		return s, func() { s.Close(); target.Close() }, nil
	}
	in, to := io.Pipe()
	from, out := io.Pipe()
	c := &client{t: t, to: to, from: bufio.NewReader(from), ended: make(chan error, 1)}
	go func() {
		c.ended <- mcp.Serve(context.Background(), in, out, mcp.Config{Open: open, Roots: roots, Version: "test"})
		out.Close()
	}()
	t.Cleanup(func() {
		to.Close()
		go io.Copy(io.Discard, from)
		<-c.ended
	})
	c.rpc("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized", "params": map[string]any{}})
	return c
}

func (c *client) send(m map[string]any) {
	c.t.Helper()
	b, err := json.Marshal(m)
	if err == nil {
		_, err = c.to.Write(append(b, '\n'))
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// rpc returns the answer to a request, and how many bytes it had.
func (c *client) rpc(method string, params any) (result map[string]any, size int) {
	c.t.Helper()
	c.calls++
	c.send(map[string]any{"jsonrpc": "2.0", "id": c.calls, "method": method, "params": params})
	line, err := c.from.ReadBytes('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	var m struct {
		ID     int
		Result map[string]any
		Error  any
	}
	if err := json.Unmarshal(line, &m); err != nil || m.ID != c.calls {
		c.t.Fatalf("%s: %v", line, err)
	}
	if m.Error != nil {
		return map[string]any{"error": m.Error}, len(line)
	}
	return m.Result, len(line)
}

// call calls a tool. An answer is never larger than it may be.
func (c *client) call(tool string, args map[string]any) (text string, failed bool) {
	c.t.Helper()
	r, n := c.rpc("tools/call", map[string]any{"name": tool, "arguments": args})
	if n > mcp.MaxAnswer {
		c.t.Errorf("%s %v: %d bytes", tool, args, n)
	}
	if r["error"] != nil {
		return fmt.Sprint(r["error"]), true
	}
	if _, twice := r["structuredContent"]; twice {
		c.t.Errorf("%s is answered twice", tool)
	}
	list, _ := r["content"].([]any)
	if len(list) != 1 {
		c.t.Fatalf("%s: %v", tool, r)
	}
	text, _ = list[0].(map[string]any)["text"].(string)
	failed, _ = r["isError"].(bool)
	return text, failed
}

func (c *client) must(tool string, args map[string]any) string {
	c.t.Helper()
	text, failed := c.call(tool, args)
	if failed {
		c.t.Fatalf("%s %v: %s", tool, args, text)
	}
	return text
}

// options are those that a fixture is opened with.
func options(t testing.TB, c fixture.Case) []corewalk.Option {
	opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithSearch(c.Dir)}
	if exe := c.Binary(t); exe != "" {
		opts = append(opts, corewalk.WithExecutable(exe))
	}
	return opts
}

var frameLine = regexp.MustCompile(`(?m)^frame (\d+): #(\d+) `)

// Frames and values are those of the report, of all fixtures, and every answer has its size.
func TestSameAsReport(t *testing.T) {
	values := 0
	for i, c := range fixture.Cases(t) {
		if (strings.HasPrefix(c.Name, "amd64-recursion") || i%6 > 0) && !fixture.IsLong(t) {
			continue
		}
		opts := options(t, c)
		target, err := corewalk.Open(t.Context(), c.Core(t), opts...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := target.Analyze(t.Context(), corewalk.AnalyzeOptions{})
		target.Close()
		if err != nil || len(r.Threads) == 0 {
			continue
		}
		cl := connect(t, []string{filepath.Dir(c.Core(t))}, opts...)
		cl.must("open_dump", map[string]any{"path": c.Core(t)})
		summary := cl.must("summary", map[string]any{"dump": 1})
		th := &r.Threads[0]
		if i := crashedThread(r); i >= 0 {
			th = &r.Threads[i]
		}
		list := cl.must("frame", map[string]any{"dump": 1})
		found := frameLine.FindAllStringSubmatch(list, -1)
		if len(found) == 0 && len(th.Frames) > 0 {
			t.Errorf("%s: no frames in %s", c.Name, list)
			continue
		}
		for i, m := range found[:min(len(found), 6)] {
			f := &th.Frames[i]
			if m[2] != fmt.Sprint(f.Index) || f.Function != "" && !strings.Contains(list, report.Clean(f.Function)) {
				t.Errorf("%s: frame %d is not %s:\n%s", c.Name, i, f.Function, list)
			}
			var id int
			fmt.Sscan(m[1], &id)
			vars := cl.must("variables", map[string]any{"dump": 1, "frame": id})
			if strings.Contains(vars, "\nmore: ") {
				continue
			}
			for _, v := range append(f.Args[:len(f.Args):len(f.Args)], f.Locals...) {
				want := report.Clean(v.Value)
				if v.Status != report.StatusSuccess {
					want = "<" + report.Clean(v.Reason) + ">"
				}
				if !strings.Contains(vars, " = "+want) || !strings.Contains(vars, " "+report.Clean(v.Name)+" ") {
					t.Errorf("%s: frame %d: no %s = %s in\n%s", c.Name, i, v.Name, want, vars)
				}
				values++
			}
		}
		if r.Crash != nil && r.Crash.Reason != "" && !strings.Contains(strings.Join(strings.Fields(summary), " "), strings.Fields(r.Crash.Reason)[0]) {
			t.Errorf("%s: %s is not in\n%s", c.Name, r.Crash.Reason, summary)
		}
	}
	t.Logf("%d values", values)
	if values < 200 {
		t.Error("too few")
	}
}

func crashedThread(r *report.Report) int {
	for i := range r.Threads {
		if r.Threads[i].Crashed {
			return i
		}
	}
	return -1
}

// Nothing outside of the roots is opened: not by an absolute path, by "..", or by a link.
func TestRoots(t *testing.T) {
	c := fixture.Get(t, "amd64-vars-c-O0")
	root, outside := t.TempDir(), t.TempDir()
	core, err := os.ReadFile(c.Core(t))
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(outside, "core")
	err = errors.Join(os.WriteFile(secret, core, 0o600), os.WriteFile(filepath.Join(root, "core"), core, 0o600),
		os.Symlink(secret, filepath.Join(root, "link")), os.Symlink(outside, filepath.Join(root, "dir")), os.Symlink("core", filepath.Join(root, "own")))
	if err != nil {
		t.Fatal(err)
	}
	cl := connect(t, []string{root}, options(t, c)...)
	rel, _ := filepath.Rel(root, secret)
	for _, args := range []map[string]any{
		{"path": secret}, {"path": rel}, {"path": "link"}, {"path": "dir/core"}, {"path": filepath.Join(root, "..", filepath.Base(outside), "core")}, {"path": ""},
		{"path": "core", "binary": secret}, {"path": "core", "search": []string{outside}}, {"path": "core", "sysroot": []string{"/"}}, {"path": "core", "search": []string{"dir"}},
		{"path": root + "x"}, {"path": "nothing"},
	} {
		text, failed := cl.call("open_dump", args)
		if !failed {
			t.Errorf("%v: %s", args, text)
		}
		if strings.Contains(text, "permission") || strings.Contains(text, "not a directory") {
			t.Errorf("%v tells of files elsewhere: %s", args, text)
		}
	}
	for _, path := range []string{"core", "own", filepath.Join(root, "core")} {
		cl.must("open_dump", map[string]any{"path": path})
	}
}

// The source of a frame is shown only if it is below a root.
func TestSourceRoots(t *testing.T) {
	c := fixture.Get(t, "amd64-vars-c-O0")
	src := filepath.Join(fixture.Root(t), "testdata", "src")
	opts := append(options(t, c), corewalk.WithSourceMap("/", "/"))
	target, err := corewalk.Open(t.Context(), c.Core(t), opts...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := target.Analyze(t.Context(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	target.Close()
	if err != nil {
		t.Fatal(err)
	}
	named := filepath.Dir(r.Threads[0].Frames[0].Source.File)
	found, _ := filepath.Glob(filepath.Join(src, "*", "vars.c"))
	if len(found) == 0 {
		found, _ = filepath.Glob(filepath.Join(src, "vars.c"))
	}
	if len(found) == 0 {
		t.Skip("the source of the fixture is elsewhere")
	}
	opts = append(options(t, c), corewalk.WithSourceMap(named, filepath.Dir(found[0])))
	for _, with := range []bool{false, true} {
		roots := []string{filepath.Dir(c.Core(t))}
		if with {
			roots = append(roots, src)
		}
		cl := connect(t, roots, opts...)
		cl.must("open_dump", map[string]any{"path": c.Core(t)})
		cl.must("frame", map[string]any{"dump": 1})
		text := cl.must("frame", map[string]any{"dump": 1, "frame": 1})
		if got := strings.Contains(text, "*p = why[0]") || regexp.MustCompile(`(?m)^-> 66  `).MatchString(text); got != with {
			t.Errorf("roots %v:\n%s", roots, text)
		}
	}
}

// What a dump says cannot end the quotation: the marks differ in each answer.
func TestMarks(t *testing.T) {
	c := fixture.Get(t, "amd64-vars-c-O0")
	cl := connect(t, []string{filepath.Dir(c.Core(t))}, options(t, c)...)
	cl.must("open_dump", map[string]any{"path": c.Core(t)})
	marks := regexp.MustCompile(`(?m)^--- (data|end) ([0-9a-f]{12})$`)
	seen := map[string]bool{}
	for _, call := range []struct {
		tool string
		args map[string]any
	}{{"summary", nil}, {"threads", nil}, {"frame", nil}, {"variables", nil}, {"print", map[string]any{"expression": "why"}}, {"memory", nil}, {"memory_at", map[string]any{"address": "0x10"}}, {"frame", map[string]any{"frame": 1}}} {
		args := map[string]any{"dump": 1}
		for k, v := range call.args {
			args[k] = v
		}
		text, _ := cl.call(call.tool, args)
		m := marks.FindAllStringSubmatch(text, -1)
		if len(m) != 2 || m[0][1] != "data" || m[1][1] != "end" || m[0][2] != m[1][2] || seen[m[0][2]] {
			t.Errorf("%s: %q in\n%s", call.tool, m, text)
			continue
		}
		seen[m[0][2]] = true
	}
}

// Few dumps are open at the same time; of one that was closed it is said how to go on.
func TestClosed(t *testing.T) {
	c := fixture.Get(t, "amd64-vars-c-O0")
	cl := connect(t, []string{filepath.Dir(c.Core(t))}, options(t, c)...)
	if text, failed := cl.call("summary", map[string]any{"dump": 0}); !failed || !strings.Contains(text, "open_dump comes first") {
		t.Error(text)
	}
	for range 6 {
		cl.must("open_dump", map[string]any{"path": c.Core(t)})
	}
	for n, want := range map[int]string{1: "was closed", 2: "was closed", 7: "there is no dump 7", -1: "there is no dump -1"} {
		if text, failed := cl.call("threads", map[string]any{"dump": n}); !failed || !strings.Contains(text, want) {
			t.Errorf("dump %d: %s", n, text)
		}
	}
	for n := 3; n <= 6; n++ {
		cl.must("threads", map[string]any{"dump": n})
	}
}

// Pages go on where the answer before ended, and have each line once.
func TestPages(t *testing.T) {
	c := fixture.Get(t, "amd64-recursion-4000")
	cl := connect(t, []string{filepath.Dir(c.Core(t))}, options(t, c)...)
	cl.must("open_dump", map[string]any{"path": c.Core(t)})
	next := regexp.MustCompile(`(?m)^more: ask again with from = (\d+)$`)
	want := 0
	for from := 0; want < 600; {
		text := cl.must("frame", map[string]any{"dump": 1, "from": from})
		for _, m := range frameLine.FindAllStringSubmatch(text, -1) {
			if m[2] != fmt.Sprint(want) {
				t.Fatalf("frame #%s after #%d", m[2], want-1)
			}
			want++
		}
		m := next.FindStringSubmatch(text)
		if m == nil {
			break
		}
		fmt.Sscan(m[1], &from)
		if from != want {
			t.Fatalf("from = %d after #%d", from, want-1)
		}
	}
	if want < 300 {
		t.Errorf("%d frames", want)
	}
}

// FuzzCall calls tools with any arguments.
func FuzzCall(f *testing.F) {
	c := fixture.Get(f, "amd64-vars-c-O0")
	cl := connect(f, []string{filepath.Dir(c.Core(f))}, options(f, c)...)
	cl.must("open_dump", map[string]any{"path": c.Core(f)})
	tools := []string{"summary", "threads", "frame", "variables", "print", "memory_at", "memory", "waits", "triage_groups", "similar", "open_dump", "nothing"}
	f.Add(uint8(2), 1, 0, 1, "why", "0x10")
	f.Add(uint8(4), 1, 3, -1, "*p", "")
	f.Add(uint8(5), 1, 1<<40, -1<<40, "", "0xffffffffffffffff")
	f.Fuzz(func(t *testing.T, tool uint8, a, b, from int, expr, addr string) {
		cl.t = t
		name := tools[int(tool)%len(tools)]
		args := map[string]any{"dump": 1}
		switch name {
		case "frame":
			args["stack"], args["frame"], args["from"] = a, b, from
		case "variables":
			args["frame"], args["ref"], args["from"] = a, b, from
		case "print":
			args["frame"], args["expression"] = b, expr
		case "memory_at":
			args["address"], args["length"] = addr, b
		case "threads", "waits":
			args["from"] = from
		case "open_dump":
			args = map[string]any{"path": expr, "binary": addr}
		case "triage_groups":
			args = map[string]any{"text": expr, "from": from}
		}
		cl.call(name, args)
	})
}

// Arguments of other types, none, or numbers beyond all others have an answer, and so has what comes after them.
func TestWrongArguments(t *testing.T) {
	c := fixture.Get(t, "amd64-vars-c-O0")
	cl := connect(t, []string{filepath.Dir(c.Core(t))}, options(t, c)...)
	cl.must("open_dump", map[string]any{"path": c.Core(t)})
	for tool, names := range map[string][]string{
		"open_dump": {"path", "binary", "search", "sysroot"}, "summary": {"dump"}, "threads": {"from"}, "frame": {"stack", "frame", "from"}, "variables": {"frame", "ref", "from"},
		"print": {"frame", "expression"}, "memory_at": {"address", "length"}, "memory": {"from"}, "waits": {"from"}, "triage_groups": {"text", "build", "from"}, "similar": {"dump", "group"}, "nothing": {"x"}, "": {"x"},
	} {
		for _, v := range []any{"abc", "", nil, true, []any{}, map[string]any{}, []any{1, "a"}, 0, 1, -1, 1.5, 1e300, json.Number("9223372036854775807"), json.Number("-9223372036854775808"), json.Number("18446744073709551616")} {
			for _, name := range names {
				args := map[string]any{"dump": 1, name: v}
				if tool == "open_dump" || tool == "triage_groups" {
					delete(args, "dump")
				}
				cl.call(tool, args)
			}
			cl.rpc("tools/call", map[string]any{"name": tool, "arguments": v})
			cl.rpc("tools/call", map[string]any{"name": v, "arguments": map[string]any{}})
			cl.rpc("tools/call", v)
			cl.rpc("tools/list", v)
			cl.rpc("nonsense", v)
		}
	}
	if text, failed := cl.call("frame", map[string]any{"dump": 1, "stack": "abc"}); !failed || !strings.Contains(text, "stack") {
		t.Error(text)
	}
	cl.must("threads", map[string]any{"dump": 1})
}

// What is no message is answered with an error, and those after it are answered.
func TestNoMessages(t *testing.T) {
	cl := connect(t, nil)
	for line, id := range map[string]any{
		"{": nil, "[]": nil, "null": nil, "5": nil, `"x"`: nil, "{}": nil, "\x00\xff": nil, `{"jsonrpc":"2.0"}`: nil, `{"jsonrpc":"1.0","id":2,"method":"ping"}`: 2.0, `{"jsonrpc":2,"id":"a","method":"ping"}`: "a",
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`: nil, `{"jsonrpc":"2.0","id":2,"method":5}`: 2.0, `{"jsonrpc":"2.0","id":3,"method":["ping"]} x`: nil, `{"jsonrpc":"2.0","id":3,"method":"ping"} x`: nil, `[5]`: nil,
		strings.Repeat("[", 5000): nil, `{"jsonrpc":"2.0","id":3,"method":"ping","params":` + strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20001): nil,
	} {
		if _, err := io.WriteString(cl.to, line+"\n\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := cl.from.ReadBytes('\n')
		var m struct {
			ID    any
			Error struct{ Message string }
		}
		if err != nil || json.Unmarshal(answer, &m) != nil || m.ID != id || !strings.HasPrefix(m.Error.Message, "not a message of the protocol: ") {
			t.Fatalf("%.60q: %v, %s", line, err, answer)
		}
	}
	// Each message of a batch has an answer.
	io.WriteString(cl.to, `[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":6,"method":"ping"}]`+"\n")
	var answers string
	for range 2 {
		answer, err := cl.from.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		answers += string(answer)
	}
	if !strings.Contains(answers, `"id":5,"result"`) || !strings.Contains(answers, `"id":6,"result"`) {
		t.Error(answers)
	}
	cl.rpc("ping", map[string]any{})
}

// FuzzMessages sends anything instead of messages.
func FuzzMessages(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	f.Add("{\n[]\n[{}]\nnull")
	f.Fuzz(func(t *testing.T, in string) {
		_, out := io.Pipe()
		_ = mcp.Serve(context.Background(), io.NopCloser(strings.NewReader(in)), discarded{out}, mcp.Config{Version: "test"})
	})
}

// discarded is an output that nobody reads.
type discarded struct{ io.Closer }

func (discarded) Write(p []byte) (int, error) { return len(p), nil }

// TestFrameCode: in a frame that made a call, the call is marked, and what is decoded begins where an instruction does.
func TestFrameCode(t *testing.T) {
	for _, tt := range []struct {
		fixture, want string
		known         bool // where the function begins
	}{
		{"amd64-vars-c-O0", `(?m)^-> 0x[0-9a-f]+  call `, true},
		{"amd64-jit-map", `(?m)^-> 0x[0-9a-f]+4f  call rax\n   0x[0-9a-f]+51  add rsp, 0x20$`, true},
		{"amd64-jit-map", `pc 0x[0-9a-f]+51, .*\n   0x[0-9a-f]+51  add rsp, 0x20\n`, false},
	} {
		c := fixture.Get(t, tt.fixture)
		var opts []corewalk.Option
		if tt.known {
			opts = options(t, c)
		}
		cl := connect(t, []string{filepath.Dir(c.Core(t))}, opts...)
		cl.must("open_dump", map[string]any{"path": c.Core(t)})
		cl.must("frame", map[string]any{"dump": 1})
		if text := cl.must("frame", map[string]any{"dump": 1, "frame": 2}); !regexp.MustCompile(tt.want).MatchString(text) {
			t.Errorf("%s, %t:\n%s", tt.fixture, tt.known, text)
		}
	}
}
