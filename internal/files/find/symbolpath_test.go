package find

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

func TestSymbolPath(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/xdg")
	const own = "/xdg/corewalk/symbols"
	for _, tt := range []struct{ path, dirs, stores, servers, cache, notes string }{
		{path: ""},
		{path: " ; ;;"},
		{path: "/a;b/c", dirs: "/a b/c"},
		{path: "/a;/a", dirs: "/a"},
		{path: "srv*/c*https://h/s", dirs: "/c", stores: "/c", servers: "https://h/s@/c", cache: "/c"},
		{path: "SRV*/c*/d*https://h/s;/x", dirs: "/c /d /x", stores: "/c /d", servers: "https://h/s@/c", cache: "/c"},
		{path: "srv*https://h", servers: "https://h@"},
		{path: "srv**https://h", dirs: own, stores: own, servers: "https://h@" + own, cache: own},
		{path: "https://h;http://localhost:1/x", servers: "https://h@ http://localhost:1/x@"},
		{path: "cache*/c;srv*https://h;srv*/d*https://i", dirs: "/c /d", stores: "/c /d", servers: "https://h@/c https://i@/d", cache: "/c"},
		{path: "cache*;srv*https://h", dirs: own, stores: own, servers: "https://h@" + own, cache: own},
		{path: "srv*https://h;cache*/c", dirs: "/c", stores: "/c", servers: "https://h@", cache: "/c"},
		{path: "symsrv*symsrv.dll*/c*https://h", dirs: "/c", stores: "/c", servers: "https://h@/c", cache: "/c"},
		{path: "srv*/c", dirs: "/c", stores: "/c", cache: "/c"},
		{path: "srv*", notes: "no server given"},
		{path: "srv*https://h*/c", notes: "must be the last", dirs: "/c", stores: "/c", cache: "/c"},
		{path: `srv*c:\symbols*https://h`, servers: "https://h@", notes: "not a directory path on this system"},
		{path: `\\server\share;c:/x`, notes: "not a directory path on this system|not a directory path on this system"},
		{path: "debuginfod*https://h", notes: "debuginfod*: unknown kind"},
		{path: "srv*https://u:secret@h*x", dirs: "x", stores: "x", cache: "x", notes: "u:xxxxx@h"},
	} {
		p := ParseSymbolPath(tt.path)
		var servers []string
		for _, s := range p.Servers {
			servers = append(servers, s.URL+"@"+s.Cache.Dir)
		}
		got := fmt.Sprintf("%s, %s, %s, %s", strings.Join(p.Dirs, " "), strings.Join(p.Stores, " "), strings.Join(servers, " "), p.Cache.Dir)
		if want := fmt.Sprintf("%s, %s, %s, %s", tt.dirs, tt.stores, tt.servers, tt.cache); got != want {
			t.Errorf("%q: %s, want %s", tt.path, got, want)
		}
		wanted := strings.Split(tt.notes, "|")
		if tt.notes == "" {
			wanted = nil
		}
		for i, n := range p.Notes {
			if i >= len(wanted) || !strings.Contains(n, wanted[i]) || strings.Contains(n, "secret") {
				t.Errorf("%q: note %q, want %q", tt.path, n, tt.notes)
			}
		}
		if len(p.Notes) != len(wanted) {
			t.Errorf("%q: notes %q, want %q", tt.path, p.Notes, tt.notes)
		}
	}
}

func FuzzSymbolPath(f *testing.F) {
	f.Add("dir;srv*cache*https://h;cache*dir;srv*url")
	f.Add(`srv**;symsrv*;cache*c:\x`)
	f.Fuzz(func(t *testing.T, text string) {
		p := ParseSymbolPath(text)
		for _, s := range p.Servers {
			if !strings.Contains(text, s.URL) || !isURL(s.URL) {
				t.Errorf("server %q of %q", s.URL, text)
			}
		}
		for _, d := range p.Dirs {
			if d == "" || strings.ContainsRune(d, 0) || !filepath.IsAbs(d) && !strings.Contains(text, d) {
				t.Errorf("directory %q of %q", d, text)
			}
		}
	})
}

func FuzzIdentify(f *testing.F) {
	f.Add(pdbWith(f, testDebugID))
	f.Add(peWith(f, testCodeID, testDebugID, "app.pdb"))
	f.Add(symWith(testDebugID, testCodeID, "app.pdb"))
	f.Add(elftest.WithID(3, []byte{1, 2, 3}, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := write(t, filepath.Join(t.TempDir(), "f"), data)
		got := identify(path, make([]byte, headSize))
		for kind := KindPDB; kind <= KindPE; kind++ {
			k := StoreKey{Kind: kind, ID: got.debugID}
			k.Check(path)
			k.verify(path)
		}
	})
}
