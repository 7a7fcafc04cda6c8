package find

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// A SymbolPath is a parsed symbol path.
type SymbolPath struct {
	Dirs    []string       // directories on this machine, in search order
	Stores  []string       // those of Dirs to create if missing
	Servers []SymbolServer // in the order in which to ask them
	Cache   SymbolCache    // for expanded files; zero if the path names none
	Notes   []string       // which elements are ignored, and why
}

// A SymbolServer is a server in a symbol path.
type SymbolServer struct {
	URL   string
	Cache SymbolCache // where to keep its files; zero means DefaultSymbolCache
}

// ParseSymbolPath parses a symbol path in the syntax of Microsoft's debuggers ("Symbol path
// for Windows debuggers"): elements separated by semicolons,
//
//	DIR                 a directory with files, or a store
//	srv*STORE*...*URL   stores, the nearest first, optionally with a server at the end
//	cache*DIR           caches files from the servers in later elements
//	URL                 a server
//
// An empty STORE or DIR is the default cache. Files from a server are kept in the nearest
// store of its element. Other elements are ignored with a note.
func ParseSymbolPath(text string) SymbolPath {
	p := pathParser{}
	for _, element := range strings.Split(text, ";") {
		element = strings.TrimSpace(element)
		kind, rest, starred := strings.Cut(element, "*")
		switch kind = strings.ToLower(kind); {
		case element == "":
		case !starred && isURL(element):
			p.server(element, p.cache)
		case !starred:
			p.dir(element)
		case kind == "cache":
			p.cache = p.store(rest)
		case kind == "srv":
			p.stores(strings.Split(rest, "*"))
		case kind == "symsrv":
			_, rest, _ = strings.Cut(rest, "*") // the DLL that Windows loads
			p.stores(strings.Split(rest, "*"))
		default:
			p.note("%s*: unknown kind of element", kind)
		}
	}
	return p.SymbolPath
}

type pathParser struct {
	SymbolPath
	cache SymbolCache // for the servers in later elements
}

func (p *pathParser) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// stores parses what follows srv*.
func (p *pathParser) stores(parts []string) {
	cache, named := p.cache, false
	for i, part := range parts {
		part = strings.TrimSpace(part)
		switch {
		case isURL(part) && i < len(parts)-1:
			p.note("%s: ignored, because a server must be the last part of its element", redacted(part))
		case isURL(part):
			p.server(part, cache)
			return
		case part == "" && i == len(parts)-1:
		default:
			if c := p.store(part); !named && c.Dir != "" {
				cache, named = c, true
			}
		}
	}
	if !named {
		p.note("srv*: no server given, and there is no default server")
	}
}

// store adds a directory that is created if missing.
func (p *pathParser) store(dir string) SymbolCache {
	if dir = strings.TrimSpace(dir); dir == "" {
		c, err := DefaultSymbolCache()
		if err != nil {
			p.note("%v", err)
			return SymbolCache{}
		}
		dir = c.Dir
	}
	if !p.dir(dir) {
		return SymbolCache{}
	}
	if !slices.Contains(p.Stores, dir) {
		p.Stores = append(p.Stores, dir)
	}
	if p.Cache.Dir == "" {
		p.Cache.Dir = dir
	}
	return SymbolCache{dir}
}

// dir adds a directory on this machine.
func (p *pathParser) dir(dir string) bool {
	if strings.ContainsRune(dir, 0) || isForeign(dir) {
		p.note("%q: not a directory path on this system", dir)
		return false
	}
	if !slices.Contains(p.Dirs, dir) {
		p.Dirs = append(p.Dirs, dir)
	}
	return true
}

func (p *pathParser) server(text string, cache SymbolCache) {
	if !slices.ContainsFunc(p.Servers, func(s SymbolServer) bool { return s.URL == text }) {
		p.Servers = append(p.Servers, SymbolServer{text, cache})
	}
}

// isForeign reports whether a path is a Windows path and this system is not Windows.
func isForeign(path string) bool {
	if filepath.Separator == '\\' {
		return false
	}
	drive := len(path) >= 3 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	return drive || strings.HasPrefix(path, `\\`)
}

func isURL(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && len(scheme) > 1 && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == ""
}

// redacted returns a URL without its password.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a server" // the password could be anywhere in it
	}
	return u.Redacted()
}
