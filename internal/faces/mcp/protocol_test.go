package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/corewalk/corewalk/internal/faces"
	"github.com/corewalk/corewalk/internal/faces/mcp"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/session"
)

// TestClient: the client of the protocol's own package understands the server, by each version of the protocol that it can ask for.
func TestClient(t *testing.T) {
	c := fixture.Get(t, "amd64-vars-c-O0")
	for _, version := range []string{"", "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		cl := connect(t, []string{filepath.Dir(c.Core(t))}, options(t, c)...)
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		s, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: io.NopCloser(cl.from), Writer: unclosed{cl.to}}, &sdk.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		got := s.InitializeResult()
		if version != "" && got.ProtocolVersion != version || got.ServerInfo.Name != "corewalk" || got.ServerInfo.Version != "test" || !strings.Contains(got.Instructions, "open_dump") || got.Capabilities.Tools == nil {
			t.Errorf("%s: %+v", version, got)
		}
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 11 {
			t.Fatalf("%s: %v, %+v", version, err, tools)
		}
		for _, x := range tools.Tools {
			schema, _ := json.Marshal(x.InputSchema)
			if x.Description == "" || !x.Annotations.ReadOnlyHint || x.Name == "open_dump" && string(schema) != `{"additionalProperties":false,"properties":{`+
				`"binary":{"description":"path of the program, if it is not where the dump names it","type":"string"},"path":{"description":"path of the core file, minidump or pack","type":"string"},`+
				`"search":{"description":"directories with binaries and debug files","items":{"type":"string"},"type":"array"},`+
				`"sysroot":{"description":"directories, archives or images with the system's files","items":{"type":"string"},"type":"array"}},"required":["path"],"type":"object"}` {
				t.Errorf("%s: %+v %s", version, x, schema)
			}
		}
		if err := s.Ping(t.Context(), nil); err != nil {
			t.Error(err)
		}
		r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "open_dump", Arguments: map[string]any{"path": c.Core(t)}})
		if err != nil || r.IsError || len(r.Content) != 1 || !strings.Contains(r.Content[0].(*sdk.TextContent).Text, "dump 1 is open") {
			t.Errorf("%s: %v, %+v", version, err, r)
		}
		if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "nothing"}); err == nil || !strings.Contains(err.Error(), "no such tool") {
			t.Errorf("%s: %v", version, err)
		}
	}
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// TestVersions: a version that is not known is answered with one that is, or refused where each request names its own.
func TestVersions(t *testing.T) {
	cl := connect(t, nil)
	if r, _ := cl.rpc("initialize", map[string]any{"protocolVersion": "1999-01-01"}); r["protocolVersion"] != "2025-11-25" {
		t.Error(r)
	}
	meta := map[string]any{"io.modelcontextprotocol/protocolVersion": "2999-01-01"}
	r, _ := cl.rpc("ping", map[string]any{"_meta": meta})
	if e, _ := r["error"].(map[string]any); e["code"] != -32022.0 || !strings.Contains(fmt.Sprint(e["data"]), "2026-07-28") {
		t.Error(r)
	}
	if r, _ := cl.rpc("nothing", nil); r["error"].(map[string]any)["code"] != -32601.0 {
		t.Error(r)
	}
}

// TestArguments: what is wrong with an argument is said; null is as if it was not given, and 1.0 is 1.
func TestArguments(t *testing.T) {
	c := fixture.Get(t, "amd64-vars-c-O0")
	cl := connect(t, []string{filepath.Dir(c.Core(t))}, options(t, c)...)
	cl.must("open_dump", map[string]any{"path": c.Core(t), "binary": nil, "search": nil, "sysroot": []string{}})
	cl.must("threads", map[string]any{"dump": json.Number("1.0"), "from": nil})
	for want, args := range map[string]map[string]any{
		"the argument dump is missing: number of the dump":  {"from": 1},
		"the argument dump is missing: number of the dump,": {"dump": nil},
		"the argument dump must be an integer":              {"dump": 1.5},
		"the argument from must be an integer":              {"dump": 1, "from": "1"},
		`there is no argument "form"`:                       {"dump": 1, "form": 1},
	} {
		if text, failed := cl.call("threads", args); !failed || !strings.Contains(text, want) {
			t.Errorf("%v: %s", args, text)
		}
	}
	if text, failed := cl.call("open_dump", map[string]any{"path": 5}); !failed || !strings.Contains(text, "the argument path must be a text") {
		t.Error(text)
	}
	if text, failed := cl.call("open_dump", map[string]any{"path": "x", "search": []any{1}}); !failed || !strings.Contains(text, "the argument search must be a list of texts") {
		t.Error(text)
	}
}

// TestCancelled: a call that is cancelled is not answered, those beside it are, and the identifier is free again. What was asked before the
// input ended is answered.
func TestCancelled(t *testing.T) {
	in, to := io.Pipe()
	from, out := io.Pipe()
	opening, release, ended := make(chan bool), make(chan bool), make(chan error, 1)
	open := func(ctx context.Context, _ faces.Request) (*session.Session, func(), error) {
		opening <- true
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-release:
			return nil, nil, io.ErrUnexpectedEOF
		}
	}
	c := fixture.Get(t, "amd64-vars-c-O0")
	go func() {
		ended <- mcp.Serve(t.Context(), in, out, mcp.Config{Open: open, Roots: []string{filepath.Dir(c.Core(t))}})
		out.Close()
	}()
	answers := bufio.NewScanner(from)
	send := func(s string) { io.WriteString(to, s+"\n") }
	next := func() string {
		answers.Scan()
		return answers.Text()
	}
	call := func(id string) {
		path, _ := json.Marshal(c.Core(t))
		send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"open_dump","arguments":{"path":` + string(path) + `}}}`)
	}
	call(`"a"`)
	<-opening
	call(`"a"`)
	if got := next(); !strings.Contains(got, `"id":"a","error"`) || !strings.Contains(got, "not answered yet") {
		t.Error(got)
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if got := next(); !strings.Contains(got, `"id":1,"result"`) {
		t.Error(got)
	}
	send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
	for range 100 { // until it has ended
		call(`"a"`)
		select {
		case <-opening:
		case <-time.After(50 * time.Millisecond):
			if got := next(); !strings.Contains(got, "not answered yet") {
				t.Fatal(got)
			}
			continue
		}
		break
	}
	to.Close()
	close(release)
	if got := next(); !strings.Contains(got, `"id":"a","result"`) || !strings.Contains(got, io.ErrUnexpectedEOF.Error()) {
		t.Error(got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if answers.Scan() {
		t.Error(answers.Text())
	}
}
