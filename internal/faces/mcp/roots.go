package mcp

import (
	"fmt"
	"path/filepath"
	"strings"
)

// inside resolves a path that an agent gave, and refuses it if it is not below a root: links and ".." lead nowhere else. A relative path is
// looked for in each root.
func (sv *server) inside(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	var tries []string
	if filepath.IsAbs(path) {
		tries = []string{path}
	} else {
		for _, r := range sv.Roots {
			tries = append(tries, filepath.Join(r, path))
		}
	}
	for _, try := range tries {
		if at, err := filepath.EvalSymlinks(try); err == nil && sv.below(at) {
			return at, nil
		}
	}
	// Whether there is such a file elsewhere is not told.
	return "", fmt.Errorf("%s: no such file below the directories that may be read: %s", path, strings.Join(sv.Roots, ", "))
}

// below reports whether a path without links is below a root.
func (sv *server) below(path string) bool {
	for _, r := range sv.Roots {
		root, err := filepath.EvalSymlinks(r)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// insideAll resolves several paths.
func (sv *server) insideAll(list []string) (out []string, err error) {
	for _, p := range list {
		at, err := sv.inside(p)
		if err != nil {
			return nil, err
		}
		out = append(out, at)
	}
	return out, nil
}
