package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// licences collects the licences of Go and of the modules that corewalk is linked with.
func licences() ([]byte, error) {
	// What is linked differs little between systems; all that any of them may need is listed.
	modules := map[string]string{}
	for _, t := range targets {
		system, processor, _ := strings.Cut(t, "/")
		cmd := exec.Command("go", "list", "-deps", "-tags", "nethttpomithttp2", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/...")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				modules[name] = dir
			}
		}
	}
	modules["Go"] = goroot()
	var names []string
	for name := range modules {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	for _, name := range names {
		found := false
		for _, pattern := range []string{"LICEN[CS]E*", "UNLICENSE*", "COPYING*", "NOTICE*"} {
			files, _ := filepath.Glob(filepath.Join(modules[name], pattern))
			for _, path := range files {
				text, err := os.ReadFile(path)
				if err != nil {
					continue // a directory
				}
				found = true
				fmt.Fprintf(&b, "==== %s: %s\n\n%s\n", name, filepath.Base(path), bytes.TrimSpace(text))
			}
		}
		if !found {
			return nil, fmt.Errorf("%s has no licence in %s", name, modules[name])
		}
	}
	return b.Bytes(), nil
}

// goroot is where Go is.
func goroot() string {
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return runtime.Version()
}
