package service

import (
	"embed"
	"io/fs"
	"net/http"
)

// The page is plain files: it asks the interface that everybody may ask.
//
//go:embed web
var web embed.FS

func (s *Service) page() error {
	files, err := fs.Sub(web, "web")
	if err != nil {
		return err
	}
	serve := http.FileServerFS(files)
	for _, path := range []string{"GET /{$}", "GET /app.js", "GET /app.css"} {
		s.mux.Handle(path, serve)
	}
	return nil
}
