package render

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A chromium is a headless browser that a test controls with the DevTools protocol over pipes: JSON messages,
// each ended by a zero byte.
type chromium struct {
	t       *testing.T
	ctx     context.Context
	orders  io.Writer
	session string

	mu      sync.Mutex
	n       int
	answers map[int]chan message
	events  []message
	gone    error
}

type message struct {
	ID        int                       `json:"id,omitempty"`
	SessionID string                    `json:"sessionId,omitempty"`
	Method    string                    `json:"method,omitempty"`
	Params    json.RawMessage           `json:"params,omitempty"`
	Result    json.RawMessage           `json:"result,omitempty"`
	Error     *struct{ Message string } `json:"error,omitempty"`
}

// patience limits everything that is done in the browser. It ends a test that hangs; it measures nothing.
const patience = 3 * time.Minute

// startChromium starts a browser with an empty profile, or skips the test if no browser is installed.
func startChromium(t *testing.T) *chromium {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("chromium is not installed (Debian: chromium): the page is not looked at in a browser")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	toRead, orders, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, toWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--window-size=1280,900", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, toWrite} // descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toRead.Close()
	toWrite.Close()
	c := &chromium{t: t, ctx: ctx, orders: orders, answers: map[int]chan message{}}
	go c.listen(answers)
	t.Cleanup(func() {
		c.send("", "Browser.close", nil)
		orders.Close()
		cmd.Wait()
		cancel()
		answers.Close()
		os.RemoveAll(profile)
	})
	return c
}

func (c *chromium) listen(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		b, err := in.ReadBytes(0)
		if err != nil {
			c.mu.Lock()
			c.gone = fmt.Errorf("the browser is gone: %w", err)
			for _, a := range c.answers {
				close(a)
			}
			c.answers = nil
			c.mu.Unlock()
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(b, []byte{0}), &m) != nil {
			continue
		}
		c.mu.Lock()
		if a := c.answers[m.ID]; m.ID != 0 && a != nil {
			delete(c.answers, m.ID)
			a <- m
		} else if m.Method != "" {
			c.events = append(c.events, m)
		}
		c.mu.Unlock()
	}
}

func (c *chromium) send(session, method string, params any) (json.RawMessage, error) {
	b, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.gone != nil {
		c.mu.Unlock()
		return nil, c.gone
	}
	c.n++
	m := message{ID: c.n, SessionID: session, Method: method}
	if params != nil {
		m.Params = b
	}
	answer := make(chan message, 1)
	c.answers[m.ID] = answer
	line, err := json.Marshal(m)
	if err == nil {
		_, err = c.orders.Write(append(line, 0))
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return nil, errors.New("the browser is gone")
		case m.Error != nil:
			return nil, errors.New(m.Error.Message)
		}
		return m.Result, nil
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
}

// do sends a command to the page.
func (c *chromium) do(method string, params any) json.RawMessage {
	c.t.Helper()
	b, err := c.send(c.session, method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return b
}

type object = map[string]any

// open loads a file in a new page and waits for it. It calls before once the page exists and is empty.
func (c *chromium) open(url string, before func()) {
	c.t.Helper()
	var target struct{ TargetID, SessionID string }
	c.session = ""
	json.Unmarshal(c.do("Target.createTarget", object{"url": "about:blank"}), &target)
	json.Unmarshal(c.do("Target.attachToTarget", object{"targetId": target.TargetID, "flatten": true}), &target)
	c.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		c.do(domain+".enable", nil)
	}
	if before != nil {
		before()
	}
	c.mu.Lock()
	c.events = nil
	c.mu.Unlock()
	c.do("Page.navigate", object{"url": url})
	for !c.happened("Page.loadEventFired") {
		c.pause("the page to load")
	}
}

func (c *chromium) happened(method string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.Method == method && e.SessionID == c.session {
			return true
		}
	}
	return false
}

func (c *chromium) pause(what string) {
	c.t.Helper()
	select {
	case <-c.ctx.Done():
		c.t.Fatalf("waited in vain for %s", what)
	case <-time.After(5 * time.Millisecond):
	}
}

// eval returns the value of an expression as JSON.
func (c *chromium) eval(expr string) string {
	c.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	json.Unmarshal(c.do("Runtime.evaluate", object{"expression": expr, "returnByValue": true}), &r)
	if r.ExceptionDetails != nil {
		c.t.Fatalf("%s: %s", expr, r.ExceptionDetails)
	}
	return string(r.Result.Value)
}

// run runs a part of a test.
func (c *chromium) run(name string, do func(t *testing.T)) {
	whole := c.t
	defer func() { c.t = whole }()
	whole.Run(name, func(t *testing.T) {
		c.t = t
		do(t)
	})
}

// want waits until an expression is true.
func (c *chromium) want(expr string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, 20*time.Second)
	defer cancel()
	for c.eval(expr) != "true" {
		select {
		case <-ctx.Done():
			c.t.Fatalf("never true: %s", expr)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// key presses a key.
func (c *chromium) key(name string) {
	c.t.Helper()
	down := object{"type": "keyDown", "key": name}
	switch {
	case len(name) == 1:
		down["text"] = name
	case name == "Enter":
		down["text"], down["windowsVirtualKeyCode"] = "\r", 13
	}
	c.do("Input.dispatchKeyEvent", down)
	c.do("Input.dispatchKeyEvent", object{"type": "keyUp", "key": name})
}

// complaints returns the browser's errors, and the page's requests for anything but itself.
func (c *chromium) complaints() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, e := range c.events {
		switch e.Method {
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening":
			list = append(list, e.Method+" "+string(e.Params))
		case "Network.requestWillBeSent":
			var p struct {
				Type    string
				Request struct{ URL string }
			}
			if json.Unmarshal(e.Params, &p); p.Type != "Document" || !strings.HasPrefix(p.Request.URL, "file:") {
				list = append(list, "asks for "+p.Request.URL)
			}
		}
	}
	return list
}
