package service

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"path"

	"github.com/corewalk/corewalk/internal/service/objects"
)

// LocalSymbols serves the symbols of all projects to processes that this one starts, until ctx is done: on the loopback interface, below
// a path that only they are told. url is a project's server, in both layouts.
func LocalSymbols(ctx context.Context, from objects.Store) (url func(project string) string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	secret := "/" + rand.Text()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+secret+"/{project}/{path...}", func(w http.ResponseWriter, r *http.Request) {
		key, err := symbolKey(r.PathValue("project"), r.PathValue("path"))
		if err != nil || CheckProject(r.PathValue("project")) != nil {
			http.NotFound(w, r)
			return
		}
		serveSymbols(w, r, from, key, func(error) { http.NotFound(w, r) })
	})
	h := &http.Server{Handler: mux, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime}
	go func() { _ = h.Serve(l) }() // it ends with Close
	context.AfterFunc(ctx, func() { _ = h.Close() })
	return func(project string) string { return "http://" + path.Join(l.Addr().String(), secret, project) }, nil
}

// serveSymbols answers with a file of symbols, or has failed answer.
func serveSymbols(w http.ResponseWriter, r *http.Request, from objects.Store, key string, failed func(error)) {
	file, release, err := from.Local(r.Context(), key)
	if err != nil {
		failed(err)
		return
	}
	defer release()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Del("Cache-Control")
	http.ServeFile(&sized{ResponseWriter: w}, r, file)
}
