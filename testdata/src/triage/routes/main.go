// set: held-out
// A router of requests with middleware.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

type request struct {
	path   string
	params map[string]string
	user   *user
	body   []byte
}

type user struct {
	name  string
	roles []string
}

type handler interface{ serve(*request) string }

type handlerFunc func(*request) string

func (f handlerFunc) serve(r *request) string { return f(r) }

type router struct {
	routes map[string]handler
	sub    map[string]*router
	before []func(handler) handler
}

// bug: no-handler 2 (a path may have none)
func (rt *router) dispatch(r *request) string {
	h := rt.routes[r.path]
	for _, m := range rt.before {
		h = m(h)
	}
	return h.serve(r)
}

func (rt *router) serve(r *request) string {
	first, rest, ok := strings.Cut(r.path, "/")
	if ok {
		if s := rt.sub[first]; s != nil {
			r.path = rest
			return s.serve(r)
		}
	}
	return rt.dispatch(r)
}

func logged(h handler) handler {
	return handlerFunc(func(r *request) string {
		fmt.Fprintln(os.Stderr, r.path)
		return h.serve(r)
	})
}

// bug: no-user 2
func (r *request) greeting() string { return "hello " + r.user.name }

func home(r *request) string { return r.greeting() + "!" }

// bug: no-roles 2
func (u *user) role() string { return u.roles[0] }

func admin(r *request) string {
	return strings.Repeat(r.user.role(), 2)
}

// bug: short-body 2
func header(b []byte) (int, []byte) {
	n := int(b[0])
	return n, b[1 : n+1]
}

func upload(r *request) string {
	n, rest := header(r.body)
	return fmt.Sprint(n, rest)
}

func unreachable(what string) {
	panic("unreachable: " + what)
}

// bug: bad-method 1
func method(s string) int {
	switch s {
	case "GET":
		return 1
	case "PUT":
		return 2
	}
	unreachable("method")
	return 0
}

// bug: bad-status 1
func status(n int) string {
	if n < 100 || n > 599 {
		unreachable("status")
	}
	return fmt.Sprint(n)
}

// bug: redirect-loop 2
func follow(to map[string]string, path string) int {
	return step(to, to[path]) + 1
}

func step(to map[string]string, path string) int {
	if path == "" {
		return 0
	}
	return follow(to, path) + len(path)
}

func main() {
	debug.SetMaxStack(1 << 17)
	bug, second := os.Args[1], os.Args[2] == "b"
	rt := &router{routes: map[string]handler{"home": handlerFunc(home), "admin": handlerFunc(admin), "upload": handlerFunc(upload)}}
	top := &router{sub: map[string]*router{"api": rt}, before: []func(handler) handler{logged}}
	top.routes = rt.routes
	switch bug {
	case "no-handler":
		if second {
			top.serve(&request{path: "api/nothing"})
		}
		rt.serve(&request{path: "none"})
	case "no-user":
		if second {
			rt.serve(&request{path: "home"})
		}
		top.serve(&request{path: "home"})
	case "no-roles":
		if second {
			fmt.Println((&user{}).role())
		}
		top.serve(&request{path: "admin", user: &user{}})
	case "short-body":
		if second {
			header([]byte{9, 1})
		}
		rt.serve(&request{path: "upload", body: []byte{5}})
	case "bad-method":
		method(bug)
	case "bad-status":
		status(len(os.Args))
	case "redirect-loop":
		to := map[string]string{"a": "b", "b": "a"}
		if second {
			step(to, "b")
		}
		follow(to, "a")
	}
}
