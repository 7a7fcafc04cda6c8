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
	list, err := fs.ReadDir(files, ".")
	if err != nil {
		return err
	}
	s.mux.Handle("GET /{$}", serve)
	for _, f := range list {
		if f.Name() != "index.html" {
			s.mux.Handle("GET /"+f.Name(), serve)
		}
	}
	return nil
}
