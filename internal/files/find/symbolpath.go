package find

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// A SymbolPath is a symbol path taken apart.
type SymbolPath struct {
	Dirs    []string       // of this machine, the first to be looked in first
	Stores  []string       // those of Dirs that are made when they are not there
	Servers []SymbolServer // the first to be asked first
	Cache   SymbolCache    // for what is expanded; the zero one when the path names none
	Notes   []string       // what of the path is not heeded, and why
}

// A SymbolServer is a server of a symbol path.
type SymbolServer struct {
	URL   string
	Cache SymbolCache // keeps what it answers; the zero one is DefaultSymbolCache
}

// ParseSymbolPath takes a symbol path apart, in the syntax of Microsoft's debuggers
// ("Symbol path for Windows debuggers"): elements separated by semicolons,
//
//	DIR                 a directory with files, or a store
//	srv*STORE*...*URL   stores, the nearest first, and perhaps a server at the end
//	cache*DIR           keeps what the servers behind it answer
//	URL                 a server
//
// An empty STORE or DIR is the default cache. What a server answers is kept in the
// nearest store of its element. Anything else is passed over with a note.
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
			_, rest, _ = strings.Cut(rest, "*") // the library that Windows asks
			p.stores(strings.Split(rest, "*"))
		default:
			p.note("%s*: not known", kind)
		}
	}
	return p.SymbolPath
}

type pathParser struct {
	SymbolPath
	cache SymbolCache // of the elements that follow
}

func (p *pathParser) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// stores takes what follows srv* apart.
func (p *pathParser) stores(parts []string) {
	cache, named := p.cache, false
	for i, part := range parts {
		part = strings.TrimSpace(part)
		switch {
		case isURL(part) && i < len(parts)-1:
			p.note("%s: not asked, for it is not the last of its element", redacted(part))
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
		p.note("srv*: names no server, and none is asked that is not named")
	}
}

// store adds a directory that is made when it is not there.
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

// dir adds a directory of this machine.
func (p *pathParser) dir(dir string) bool {
	if strings.ContainsRune(dir, 0) || isForeign(dir) {
		p.note("%q: no directory of this machine", dir)
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

// isForeign reports whether a path is one of Windows, where this is not Windows.
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

// redacted is a URL without its password.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a server" // a password may be anywhere in it
	}
	return u.Redacted()
}
