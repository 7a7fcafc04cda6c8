package find

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// links makes files and, where the value is not "", symbolic links.
func links(t *testing.T, root string, list map[string]string) {
	t.Helper()
	for name, target := range list {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target == "" {
			err = os.WriteFile(path, []byte(name), 0o644)
		} else {
			err = os.Symlink(target, path)
		}
		if err != nil {
			t.Skip(err)
		}
	}
}

// paths leaves out what else is said of source files.
func paths(seq iter.Seq2[string, bool]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for p := range seq {
			if !yield(p) {
				return
			}
		}
	}
}

// Links and .. in a sysroot lead to files of the sysroot, as they did on the machine that
// it is from.
func TestWithin(t *testing.T) {
	root := t.TempDir()
	links(t, root, map[string]string{
		"usr/lib/libx.so.1.2": "", "etc/passwd": "", "opt/app/lib/liba.so": "",
		"usr/lib/libx.so.1": "libx.so.1.2", "usr/lib/abs.so": "/usr/lib/libx.so.1", "lib": "usr/lib", "lib64": "/usr/lib",
		"usr/lib/up.so": "../../../../../../../../../etc/passwd", "usr/lib/out.so": "/etc/passwd", "usr/lib/proc": "/proc/self/root/etc/passwd",
		"at39": "usr/lib/libx.so.1.2", "loop": "loop", "a/b": "c", "a/c": "b", "usr/up": "..", "current": "opt/app",
	})
	for i := range maxLinks - 1 {
		links(t, root, map[string]string{fmt.Sprint("at", i): fmt.Sprint("at", i+1)})
	}
	links(t, root, map[string]string{"from": "at0"})
	for path, want := range map[string]string{
		"/usr/lib/libx.so.1":                    "usr/lib/libx.so.1", // what the system finds keeps its name
		"/lib/libx.so.1":                        "lib/libx.so.1",
		"/lib64/libx.so.1":                      "usr/lib/libx.so.1.2",
		"/usr/lib/abs.so":                       "usr/lib/libx.so.1.2",
		"/usr/lib/up.so":                        "etc/passwd",
		"/usr/lib/out.so":                       "etc/passwd",
		"/usr/lib/proc":                         "proc/self/root/etc/passwd",
		"/usr/up/etc/passwd":                    "usr/up/etc/passwd",
		"/../../etc/passwd":                     "etc/passwd",
		"/usr/lib/../../../etc/passwd":          "etc/passwd",
		"/current/../app/lib/liba.so":           "opt/app/lib/liba.so", // not current/../app, which is not there
		"/none/../etc/passwd":                   "etc/passwd",
		"/none/x/y":                             "none/x/y",
		"/loop":                                 "",
		"/loop/x":                               "",
		"/a/b":                                  "",
		strings.Repeat("/..", 9):                "",
		"/" + strings.Repeat("x/", 2000) + "..": "",
		"/at0":                                  "at0", // over as many links as a path may lead
		"/from":                                 "",
	} {
		if got := within(root, path); got != filepath.Join(root, want) {
			t.Errorf("%.80s: %s, want %s", path, got, want)
		}
	}
}

// A finder proposes no file outside of a sysroot for a path that a dump or a file in the
// sysroot records, unless a build-id tells.
func TestNothingLeavesSysroot(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	outside := filepath.Join(dir, "secret")
	links(t, dir, map[string]string{"secret/x.so": "", "secret/x.c": "", "root/lib/x.so": outside + "/x.so", "root/src": outside,
		"root/usr/lib/debug/.build-id/01/0203.debug": outside + "/x.so", "root/lib/x.debug": outside + "/x.so", "root/lib/.debug": outside,
		"root/lib/up": "../../secret", "root/etc/ld.so.conf": outside + "/x.so"})
	f := New(context.Background(), Options{Sysroots: []string{root}, DebugDirs: []string{}})
	from := filepath.Join(root, "lib/x.so")
	f.AddLoadPath(from, "$ORIGIN/up:$ORIGIN/../../secret:/lib/up")
	for name, list := range map[string][]string{
		"binary":         slices.Collect(f.Binaries(Module{Path: "/lib/x.so"})),
		"binary, ..":     slices.Collect(f.Binaries(Module{Path: "/../secret/x.so"})),
		"binary, linked": slices.Collect(f.Binaries(Module{Path: "/lib/up/x.so"})),
		"bare name":      slices.Collect(f.Loaded(Module{Path: "x.so", BuildID: []byte{1, 2, 3}})),
		"build-id":       slices.Collect(f.DebugFiles(DebugQuery{BuildID: []byte{1, 2, 3}})),
		"part of it":     slices.Collect(f.DebugFiles(DebugQuery{BuildID: []byte{1, 2, 3}, PartialID: true})),
		"debug link":     slices.Collect(f.DebugFiles(DebugQuery{File: from, Link: "x.debug"})),
		"alternative":    slices.Collect(f.AltFiles("../../secret/x.so", []byte{1, 2, 3}, from)),
		"split":          slices.Collect(f.SplitFiles("up/x.so", "", from)),
		"split, ..":      slices.Collect(f.SplitFiles("../../secret/x.so", "", from)),
		"package":        slices.Collect(f.PackageFiles(filepath.Join(root, "lib/.debug/x"))),
		"source":         slices.Collect(paths(f.Sources("/src/x.c"))),
		"source, ..":     slices.Collect(paths(f.Sources("/../secret/x.c"))),
	} {
		for _, p := range list {
			if where, err := filepath.EvalSymlinks(p); err == nil && strings.HasPrefix(where, outside) {
				t.Errorf("%s: %s leads to %s", name, p, where)
			}
		}
		if len(list) == 0 {
			t.Errorf("%s: nothing is proposed", name)
		}
	}
}

// A name that is none of a file names nothing beside another file.
func TestBesideNamesFiles(t *testing.T) {
	f := New(context.Background(), Options{})
	for name, want := range map[string]string{"x.debug": "/opt/x.debug", "": "", ".": "", "..": ""} {
		if got := f.beside("/opt/prog", name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// Asking for some paths is already too much.
func TestMayAsk(t *testing.T) {
	for path, want := range map[string]bool{
		"/usr/bin/x": true, "/home/u/build/x": true, "/process/x": true, "/network/x": true, "//server/share/x": true,
		"x": false, "": false, "../x": false, "/proc/kcore": false, "/proc/self/root/x": false, "/usr/../proc/1/exe": false, "/proc": false,
		"/net/server/share": false, "//net/server": false, "/a\x00b": false,
	} {
		if mayAskOn("linux", path) != want {
			t.Errorf("Linux: %q: %v", path, !want)
		}
	}
	for path, want := range map[string]bool{
		`C:\Users\u\x.exe`: true, `c:/build/x.pdb`: true, `C:\a\..\x.dll`: true,
		`\\server\share\x.dll`: false, `//server/share/x.dll`: false, `\\?\UNC\server\x`: false, `\\.\pipe\x`: false, `\??\C:\x`: false, `\x.dll`: false,
		`\\\server\share\x.dll`: false, `//\server/x.dll`: false, `ab\x.dll`: false, `C:x.dll`: false, `C:\nul`: false, `C:\a\COM1.txt`: false, `C:\x.dll:stream`: false, `/usr/lib/x`: false, "": false, "C:\\a\x00b": false,
	} {
		if mayAskOn("windows", path) != want {
			t.Errorf("Windows: %q: %v", path, !want)
		}
	}
}

// No candidate is a path that this machine may not be asked for.
func TestNotAsked(t *testing.T) {
	f := New(context.Background(), Options{DebugDirs: []string{}})
	const bad, from = "/net/server/x", "/opt/prog"
	f.AddLoadPath(from, bad+":$ORIGIN/.."+bad)
	for name, list := range map[string][]string{
		"binary":      slices.Collect(f.Binaries(Module{Path: bad, BuildID: []byte{1, 2, 3}})),
		"alternative": slices.Collect(f.AltFiles(bad, []byte{1, 2, 3}, from)),
		"relative":    slices.Collect(f.AltFiles("../net/server/x", []byte{1, 2, 3}, from)),
		"split":       slices.Collect(f.SplitFiles(bad, "", from)),
		"compiled":    slices.Collect(f.SplitFiles("x", "/net/server", from)),
		"PDB":         f.symbolsBeside(Module{DebugID: "1", DebugFile: bad + ".pdb"}),
		"source":      slices.Collect(paths(f.Sources(bad + ".c"))),
		"bare name":   slices.Collect(f.Loaded(Module{Path: "x", BuildID: []byte{1, 2, 3}})),
	} {
		for _, p := range list {
			if strings.HasPrefix(p, "/net/") {
				t.Errorf("%s: %s", name, p)
			}
		}
	}
}
