package php

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Limits of what a request has, in bytes.
const (
	maxMethod = 32
	maxURI    = 2048
)

// Request implements tasks.Server. A program of the command line has no method. What FPM keeps as the URI is the name of the script, to which a server may
// have rewritten what the client asked for: that is in $_SERVER, if the program uses it.
func (r *runtime) Request(id unwind.ThreadID) (tasks.Request, bool) {
	s, ok := r.stateOf(id)
	if !ok || s.request == 0 {
		return tasks.Request{}, false
	}
	read := func(field string, limit int) string {
		b, ended := r.CString(r.Word(s.request+r.at(field)), limit)
		if !ended && len(b) == limit {
			b = append(b, "..."...)
		}
		return strings.ToValidUTF8(string(b), "?")
	}
	q := tasks.Request{Method: read("request.method", maxMethod), URI: read("request.uri", maxURI), Script: read("request.script", maxName)}
	if uri := r.asked(s.executor); uri != "" {
		q.URI = uri
	} else if query := read("request.query", maxURI); query != "" && !strings.Contains(q.URI, "?") {
		q.URI += "?" + query
	}
	for i := range len(q.Method) {
		if c := q.Method[i]; c < 'A' || c > 'Z' {
			return tasks.Request{}, false
		}
	}
	return q, q.Method != ""
}

// asked is the URI that a client asked for, as $_SERVER has it; "" if it is not there.
func (r *runtime) asked(executor uint64) string {
	at := executor + r.at("globals.symbols")
	for _, name := range [...]string{"_SERVER", "REQUEST_URI"} {
		list, _ := r.array(at, maxNamed)
		i := slices.IndexFunc(list, func(e element) bool { return e.text && e.key == name })
		switch {
		case i < 0:
			return ""
		case name == "_SERVER":
			if at = list[i].value.value; list[i].value.kind != typeArray || !r.counted(at, typeArray) {
				return ""
			}
		default:
			if list[i].value.kind != typeString {
				return ""
			}
			at = list[i].value.value
		}
	}
	s, n, ok := r.text(at, maxURI)
	if !ok {
		return ""
	}
	if n > maxURI {
		s += "..."
	}
	return strings.ToValidUTF8(s, "?")
}
