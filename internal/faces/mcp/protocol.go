package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/corewalk/corewalk/report"
)

// versions of the protocol, the newest first. From stateless on, each request names its version, and there is no handshake.
var versions = [...]string{stateless, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

const stateless = "2026-07-28"

// What requests and results of the stateless protocol say of themselves in _meta.
const (
	metaVersion = "io.modelcontextprotocol/protocolVersion"
	metaServer  = "io.modelcontextprotocol/serverInfo"
)

// Codes of errors.
const (
	codeParse      = -32700
	codeRequest    = -32600
	codeMethod     = -32601
	codeParams     = -32602
	codeVersion    = -32022
	notProtocol    = "not a message of the protocol: "
	maxConcurrency = 16 // calls of tools that are answered at the same time; the next message is read when one has ended
)

// A message is a request, a notification, which has no identifier, or an answer.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// A failure is what an answer says instead of a result.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// A conn talks to one client: a message a line.
type conn struct {
	sv    *server
	tools []tool
	in    *bufio.Reader

	calls chan struct{} // has a place for each call
	busy  sync.WaitGroup

	mu      sync.Mutex // guards what follows
	out     io.Writer
	failed  error                         // of writing
	running map[string]context.CancelFunc // by the identifiers of calls
}

func newConn(sv *server, in io.Reader, out io.Writer) *conn {
	return &conn{sv: sv, tools: sv.tools(), in: bufio.NewReaderSize(in, 64<<10), out: out, calls: make(chan struct{}, maxConcurrency), running: map[string]context.CancelFunc{}}
}

// errLong: a line is longer than maxMessage.
var errLong = errors.New("a message of more than 1 MiB")

// serve answers until in ends or ctx is done, and returns why it ended. What was asked until then is answered, if ctx is not done.
func (c *conn) serve(ctx context.Context) error {
	defer c.busy.Wait()
	type read struct {
		line []byte
		err  error
	}
	lines := make(chan read)
	go func() { // it may wait for in when all else has ended
		for {
			line, err := c.line()
			select {
			case lines <- read{line, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		var r read
		select {
		case r = <-lines:
		case <-ctx.Done():
			return ctx.Err()
		}
		if line := bytes.TrimSpace(r.line); len(line) > 0 {
			c.receive(ctx, line)
		}
		c.mu.Lock()
		failed := c.failed
		c.mu.Unlock()
		if err := cmp.Or(failed, r.err); err != nil {
			return err
		}
	}
}

// line reads a line, or the rest if the input ends.
func (c *conn) line() (line []byte, err error) {
	for {
		part, err := c.in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxMessage {
			return nil, errLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// receive answers a message, or each of a batch.
func (c *conn) receive(ctx context.Context, line []byte) {
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil || batch == nil {
		batch = []json.RawMessage{line}
	}
	if len(batch) == 0 {
		c.fail(nil, codeRequest, notProtocol+"a batch without messages")
	}
	for _, raw := range batch {
		m, err := parse(raw)
		switch {
		case err != nil && !json.Valid(raw):
			c.fail(m.ID, codeParse, notProtocol+err.Error())
		case err != nil:
			c.fail(m.ID, codeRequest, notProtocol+err.Error())
		case m.Method == nil: // an answer: nothing was asked
		case m.ID == nil:
			c.notified(m)
		default:
			c.request(ctx, m)
		}
	}
}

// parse returns a message. With an error it has the identifier to answer to, if there is one.
func parse(raw []byte) (m message, err error) {
	err = json.Unmarshal(raw, &m)
	var id any
	_ = json.Unmarshal(m.ID, &id)
	switch id.(type) {
	case string, float64:
	default:
		if m.ID != nil && err == nil {
			err = errors.New("its identifier is neither a text nor a number")
		}
		m.ID = nil
	}
	switch {
	case err != nil:
	case m.Version != "2.0":
		err = errors.New(`jsonrpc is not "2.0"`)
	case m.Method == nil && m.Result == nil && m.Error == nil:
		err = errors.New("it has no method")
	}
	return m, err
}

// notified takes notice that a call is not waited for any more. Other notifications change nothing.
func (c *conn) notified(m message) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if *m.Method != "notifications/cancelled" || json.Unmarshal(m.Params, &p) != nil {
		return
	}
	c.mu.Lock()
	cancel := c.running[string(p.ID)]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// params are those of all requests.
type params struct {
	Version   string          `json:"protocolVersion"` // of initialize
	Name      string          `json:"name"`            // of tools/call, as well as Arguments
	Arguments json.RawMessage `json:"arguments"`
	Meta      map[string]any  `json:"_meta"`
}

// request answers a request: a call of a tool later, others at once.
func (c *conn) request(ctx context.Context, m message) {
	var p params
	if len(m.Params) > 0 {
		if err := json.Unmarshal(m.Params, &p); err != nil {
			c.fail(m.ID, codeParams, "params: "+err.Error())
			return
		}
	}
	version, _ := p.Meta[metaVersion].(string)
	if version != "" && !slices.Contains(versions[:], version) {
		c.send(m.ID, nil, &failure{codeVersion, "unsupported protocol version", map[string]any{"supported": versions, "requested": version}})
		return
	}
	answer := func(result map[string]any) {
		if version >= stateless {
			result["resultType"] = "complete"
			result["_meta"] = map[string]any{metaServer: c.sv.info()}
		}
		c.send(m.ID, result, nil)
	}
	able := map[string]any{"tools": map[string]any{}}
	switch *m.Method {
	case "ping":
		answer(map[string]any{})
	case "initialize":
		version := versions[1]
		if p.Version != stateless && slices.Contains(versions[:], p.Version) {
			version = p.Version
		}
		answer(map[string]any{"protocolVersion": version, "capabilities": able, "serverInfo": c.sv.info(), "instructions": instructions})
	case "server/discover":
		answer(map[string]any{"supportedVersions": versions, "capabilities": able, "instructions": instructions, "ttlMs": 0, "cacheScope": "public"})
	case "tools/list":
		answer(map[string]any{"tools": c.tools, "ttlMs": 0, "cacheScope": "public"})
	case "tools/call":
		c.call(ctx, m.ID, p, answer)
	default:
		c.fail(m.ID, codeMethod, fmt.Sprintf("no such method: %.100q", *m.Method))
	}
}

// call calls a tool. A call that the client has cancelled is not answered.
func (c *conn) call(ctx context.Context, id json.RawMessage, p params, answer func(map[string]any)) {
	i := slices.IndexFunc(c.tools, func(t tool) bool { return t.Name == p.Name })
	if i < 0 {
		c.fail(id, codeParams, fmt.Sprintf("no such tool: %.100q", p.Name))
		return
	}
	select {
	case c.calls <- struct{}{}:
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	_, twice := c.running[string(id)]
	if !twice {
		c.running[string(id)] = cancel
	}
	c.mu.Unlock()
	if twice {
		cancel()
		<-c.calls
		c.fail(id, codeRequest, "another call has this identifier, and is not answered yet")
		return
	}
	c.busy.Go(func() {
		defer func() { <-c.calls }()
		text, failed := c.tools[i].text(ctx, p.Arguments)
		c.mu.Lock()
		delete(c.running, string(id))
		c.mu.Unlock()
		cancelled := ctx.Err() != nil
		cancel()
		if cancelled {
			return
		}
		result := map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
		if failed {
			result["isError"] = true
		}
		answer(result)
	})
}

// fail answers with an error. What it says may be text of the client's.
func (c *conn) fail(id json.RawMessage, code int, why string) {
	c.send(id, nil, &failure{Code: code, Message: report.Clean(why)})
}

// send writes an answer: a result, or what failed.
func (c *conn) send(id json.RawMessage, result any, failed *failure) {
	if id == nil {
		id = json.RawMessage("null")
	}
	b, err := report.JSON(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result,omitempty"`
		Error   *failure        `json:"error,omitempty"`
	}{"2.0", id, result, failed}, "")
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		_, err = c.out.Write(append(b, '\n'))
	}
	if c.failed == nil {
		c.failed = err
	}
}
