package lua

import (
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Where OpenResty's LuaJIT has the request of a thread of Lua, behind all that LuaJIT has: lua_setexdata.
const (
	requestAt       = 96
	requestAtNarrow = 64 // where references have 4 bytes
)

// What nginx has of requests, ngx_http_request_t: signature, "HTTP"; and somewhere one after another, as in all versions, lengths and addresses of texts: the
// request line, URI, arguments, extension, URI as it was sent, method, protocol, scheme; then what is sent, and the main request.
const (
	requestSignature = 0x50545448
	maxRequest       = 4096 // bytes that are searched for the request line

	sentAt, protocolAt, mainAt, requestTexts = 64, 96, 136, 144

	maxMethod, maxURI = 32, 2048
)

// Request implements tasks.Server: the request of nginx for which the youngest thread of Lua on the stack runs.
func (r *runtime) Request(id unwind.ThreadID) (tasks.Request, bool) {
	if !r.jit {
		return tasks.Request{}, false
	}
	r.mu.Lock()
	states := r.threads[id]
	r.mu.Unlock()
	at := uint64(requestAt)
	if r.layout.narrow("state.global") {
		at = requestAtNarrow
	}
	for _, s := range states {
		request := r.Word(s + at)
		q, main, ok := r.requestOf(request)
		if !ok {
			continue
		}
		if outer, _, ok := r.requestOf(main); ok { // the request is one that the server made for itself
			q = outer
		}
		return q, true
	}
	return tasks.Request{}, false
}

// requestOf reads what a client asked for, by the request line, and where the main request is that it belongs to.
func (r *runtime) requestOf(at uint64) (q tasks.Request, main uint64, ok bool) {
	if sign, ok := r.U32(at); !ok || sign != requestSignature {
		return q, 0, false
	}
	b := r.Some(at, maxRequest)
	word := func(i int) uint64 { return r.Arch.Word(b[i:]) }
	for i := 0; i+requestTexts <= len(b); i += 8 {
		text := func(field, limit int) string { return r.sized(word(i+field), word(i+field+8), limit) }
		method, rest, found := strings.Cut(text(0, maxMethod+maxURI), " ")
		uri := text(sentAt, maxURI)
		after, same := strings.CutPrefix(rest, uri)
		ends := strings.HasPrefix(after, " ") || word(i+sentAt) > maxURI // else its length is another's
		if found && isMethod(method) && uri != "" && same && ends && strings.HasPrefix(text(protocolAt, maxMethod), "HTTP/") {
			return tasks.Request{Method: method, URI: uri}, word(i + mainAt), true
		}
	}
	return q, 0, false
}

// sized reads at most limit bytes of a text with a length.
func (r *runtime) sized(n, at uint64, limit int) string {
	b := r.Bytes(at, int(min(n, uint64(limit))))
	return strings.ToValidUTF8(string(b), "?")
}

func isMethod(s string) bool {
	return s != "" && len(s) <= maxMethod && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-") == ""
}
