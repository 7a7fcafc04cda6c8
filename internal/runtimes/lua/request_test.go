package lua

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind"
)

// Where a request of nginx is, and the main request that it belongs to, with what a client sent.
const atRequest, atMainRequest, atSent, atSentMain, requestLineAt = 0x20000, 0x22000, 0x24000, 0x25000, 0x3e0

// request puts a request; line is what the client sent, and main where the main one is.
func (m jitFake) request(at, texts uint64, line string, main uint64) {
	m.Zero(at, maxRequest)
	m.Put32(at, requestSignature)
	m.Put(texts, []byte(line+strings.Repeat("\x00", 8))...)
	method := uint64(strings.Index(line, " "))
	last := uint64(strings.LastIndex(line, " "))
	field := func(off, n, from uint64) {
		m.Words[at+requestLineAt+off], m.Words[at+requestLineAt+off+8] = n, texts+from
	}
	field(0, uint64(len(line)), 0)
	field(sentAt, last-method-1, method+1)
	field(protocolAt, uint64(len(line))-last-1, last+1)
	m.Words[at+requestLineAt+mainAt] = main
}

// TestRequest: of the youngest thread of Lua that has one, and of the client, with a layout of both widths.
func TestRequest(t *testing.T) {
	const line = "GET /shop?token=a HTTP/1.1"
	for name, tt := range map[string]struct {
		change func(m jitFake)
		want   string
	}{
		"a request":            {func(jitFake) {}, "GET /shop?token=a"},
		"one of the server":    {func(m jitFake) { m.request(atRequest, atSent, "GET /inner HTTP/1.1", atMainRequest) }, "POST /main"},
		"main is none":         {func(m jitFake) { m.Words[atRequest+requestLineAt+mainAt] = atSent }, "GET /shop?token=a"},
		"another signature":    {func(m jitFake) { m.Put32(atRequest, requestSignature+1) }, ""},
		"no method":            {func(m jitFake) { m.request(atRequest, atSent, "g3t /shop HTTP/1.1", 0) }, ""},
		"nothing for a method": {func(m jitFake) { m.request(atRequest, atSent, " /shop HTTP/1.1", 0) }, ""},
		"a part of the URI":    {func(m jitFake) { m.Words[atRequest+requestLineAt+sentAt] = 3 }, ""},
		"a long method":        {func(m jitFake) { m.request(atRequest, atSent, strings.Repeat("A", maxMethod+1)+" /shop HTTP/1.1", 0) }, ""},
		"another protocol":     {func(m jitFake) { m.request(atRequest, atSent, "GET /shop SIP/2.0", 0) }, ""},
		"a URI of another":     {func(m jitFake) { m.Words[atRequest+requestLineAt+sentAt+8]-- }, ""},
		"no URI":               {func(m jitFake) { m.Words[atRequest+requestLineAt+sentAt] = 0 }, ""},
		"no request":           {func(m jitFake) { m.Words[atState+requestAt] = 0 }, ""},
		"a long URI is cut":    {func(m jitFake) { m.request(atRequest, atSent, "GET /"+strings.Repeat("x", 3000)+" HTTP/1.1", 0) }, "GET /" + strings.Repeat("x", maxURI-1)},
		"a long one of another": {func(m jitFake) {
			m.request(atRequest, atSent, "GET /"+strings.Repeat("x", 3000)+" HTTP/1.1", 0)
			m.Words[atRequest+requestLineAt+sentAt+8]--
		}, ""},
		"its line is not text": {func(m jitFake) { m.Words[atRequest+requestLineAt+8] = 8 }, ""},
	} {
		r, m := smallJIT(0)
		r.threads = map[unwind.ThreadID][]uint64{1: {atState}}
		m.request(atMainRequest, atSentMain, "POST /main HTTP/1.1", atMainRequest)
		m.request(atRequest, atSent, line, atRequest)
		m.Words[atState+requestAt] = atRequest
		tt.change(m)
		q, ok := r.Request(1)
		if got := strings.TrimSpace(q.Method + " " + q.URI); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	r, m := smallJIT(1)
	if !r.narrow("state.global") {
		t.Fatal("the second layout has references of 4 bytes")
	}
	r.threads = map[unwind.ThreadID][]uint64{1: {atState}}
	m.request(atRequest, atSent, line, atRequest)
	m.Words[atState+requestAtNarrow] = atRequest
	if q, ok := r.Request(1); !ok || q.URI != "/shop?token=a" {
		t.Errorf("%+v", q)
	}
	r.jit = false
	if q, ok := r.Request(1); ok {
		t.Errorf("only LuaJIT has it: %+v", q)
	}
}
