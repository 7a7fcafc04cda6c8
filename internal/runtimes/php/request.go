package php

import (
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Limits of what a request has, in bytes.
const (
	maxMethod = 32
	maxURI    = 2048
)

// Request implements tasks.Server. A program of the command line has no method.
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
	if query := read("request.query", maxURI); query != "" && !strings.Contains(q.URI, "?") {
		q.URI += "?" + query
	}
	for i := range len(q.Method) {
		if c := q.Method[i]; c < 'A' || c > 'Z' {
			return tasks.Request{}, false
		}
	}
	return q, q.Method != ""
}
