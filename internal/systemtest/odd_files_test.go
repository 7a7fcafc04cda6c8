package systemtest

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// odd is a real process that loaded a library in an odd way, and builds of the library.
type odd struct {
	core, host   string
	right, wrong string // directories with the library that the process had, and with another build of it
	path         string // what the library is called in the report
	linked       string // where the dynamic linker found it, if that is not path; no file is there
}

// build compiles testdata/src/files.
func build(t *testing.T, source, out string, flags ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(out), 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(fixture.Compile(t, "gcc", filepath.Join("files", source), append([]string{"-g", "-O1"}, flags...)...))
	if err == nil {
		err = os.WriteFile(out, data, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// apk writes an archive in which a library is not compressed and begins with a page, and returns where.
func apk(t *testing.T, to, lib string) (base int) {
	t.Helper()
	data, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for pad := 0; ; pad = -base & 4095 {
		b.Reset()
		z := zip.NewWriter(&b)
		first, err := z.Create("lib/x86_64/libother.so")
		if err != nil {
			t.Fatal(err)
		}
		first.Write(data[:5000])
		// An extra field of Android's zipalign fills up the space.
		extra := append([]byte{0x35, 0xd9, byte(pad), byte(pad >> 8)}, make([]byte, pad)...)
		w, err := z.CreateHeader(&zip.FileHeader{Name: "lib/x86_64/libodd.so", Method: zip.Store, Extra: extra})
		if err != nil {
			t.Fatal(err)
		}
		w.Write(data)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if base = bytes.Index(b.Bytes(), data[:64]); base%4096 == 0 {
			break
		}
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return base
}

// TestOddFiles: libraries whose files are not simply at the path in the core are found by what they are, other builds are
// refused, and without any file the stack still reaches main.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the loader of this test is for x86-64")
	}
	dir := t.TempDir()
	host := filepath.Join(dir, "host")
	build(t, "host.c", host, "-ldl")
	lib := func(name string, flags ...string) string {
		path := filepath.Join(dir, name)
		build(t, "lib.c", path, append([]string{"-shared", "-fPIC", "-Wl,--hash-style=both"}, flags...)...)
		return path
	}
	copyTo := func(from, to string) string {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o700)
		}
		if err == nil {
			err = os.WriteFile(to, data, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		return to
	}
	run := func(how, path string, more ...string) string {
		return fixture.Crash(t, nil, host, append([]string{how, path}, more...)...)
	}
	lib("right/libodd.so", "-Wl,--build-id")
	lib("wrong/libodd.so", "-Wl,--build-id", "-DFACTOR=50")
	lib("rightnone/libodd.so", "-Wl,--build-id=none")
	lib("wrongnone/libodd.so", "-Wl,--build-id=none", "-DFACTOR=50")
	right, wrong := filepath.Join(dir, "right"), filepath.Join(dir, "wrong")
	of := func(core, path string) odd {
		return odd{core: core, host: host, right: right, wrong: wrong, path: path}
	}
	cases := map[string]func(*testing.T) odd{
		"memfd": func(t *testing.T) odd { return of(run("memfd", filepath.Join(right, "libodd.so")), "/memfd:a library") },
		"deleted": func(t *testing.T) odd {
			path := copyTo(filepath.Join(right, "libodd.so"), filepath.Join(t.TempDir(), "libgone.so"))
			return of(run("deleted", path), path)
		},
		"bytes": func(t *testing.T) odd {
			path := copyTo(filepath.Join(right, "libodd.so"), filepath.Join(t.TempDir(), "new\nline and \xff", "lib \xfe.so"))
			core := run("plain", path)
			os.Remove(path)
			return of(core, path)
		},
		"no build-id": func(t *testing.T) odd {
			path := copyTo(filepath.Join(dir, "rightnone", "libodd.so"), filepath.Join(t.TempDir(), "libodd.so"))
			core := run("plain", path)
			os.Remove(path)
			return odd{core: core, host: host, right: filepath.Join(dir, "rightnone"), wrong: filepath.Join(dir, "wrongnone"), path: path}
		},
		"archive": func(t *testing.T) odd {
			at := filepath.Join(t.TempDir(), "base.apk")
			apk(t, filepath.Join(dir, "wrongapk", "base.apk"), filepath.Join(wrong, "libodd.so"))
			apk(t, filepath.Join(dir, "rightapk", "other.apk"), filepath.Join(right, "libodd.so"))
			base := apk(t, at, filepath.Join(right, "libodd.so"))
			core := run("archive", at, fmt.Sprint(base))
			os.Remove(at)
			return odd{core: core, host: host, right: filepath.Join(dir, "rightapk"), wrong: filepath.Join(dir, "wrongapk"), path: at + "!libodd.so"}
		},
		"overlay": func(t *testing.T) odd {
			script := `mount -t tmpfs none "$1" && cd "$1" && mkdir low up work all && cp "$2" low/ && mount -t overlay overlay -o lowerdir=low,upperdir=up,workdir=work all && cd "$4" && ulimit -c unlimited && exec "$3" plain "$1/all/libodd.so"`
			mnt, out := t.TempDir(), t.TempDir()
			cmd := exec.Command("unshare", "-m", "sh", "-c", script, "sh", mnt, filepath.Join(right, "libodd.so"), host, out)
			if text, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState == nil || strings.Contains(string(text), "mount") || strings.Contains(string(text), "unshare") {
				t.Skipf("no overlay can be mounted here: %v: %s", err, text)
			}
			o := of(fixture.CoreIn(t, out), "/libodd.so") // where it is on the layer below
			o.linked = filepath.Join(mnt, "all", "libodd.so")
			return o
		},
	}
	for name, process := range cases {
		t.Run(name, func(t *testing.T) {
			o := process(t)
			check := func(where, search string, want bool) {
				t.Helper()
				opts := []corewalk.Option{corewalk.WithExecutable(o.host)}
				if search != "" {
					opts = append(opts, corewalk.WithSearch(search))
				}
				target, err := corewalk.Open(context.Background(), o.core, opts...)
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, f := range r.Threads[0].Frames {
					names = append(names, f.Function)
				}
				stack := strings.Join(names, " ")
				if got := strings.HasPrefix(stack, "lib_bottom lib_top main "); got != want || !strings.Contains(stack, " main ") {
					t.Errorf("%s: %s", where, stack)
				}
				if want && !hasModule(r, o.path) && (o.linked == "" || !hasModule(r, o.linked)) {
					t.Errorf("%s: no module %q in %v", where, o.path, r.Modules)
				}
			}
			check("the right file", o.right, true)
			check("another build", o.wrong, false)
			check("no file", "", false)
			if o.linked != "" {
				copyTo(filepath.Join(o.right, "libodd.so"), o.linked)
				check("the file where it was opened", "", true)
			}
		})
	}
}

// hasModule reports whether a report has a module with exactly a path.
func hasModule(r *report.Report, path string) bool {
	for _, m := range r.Modules {
		exact := m.Path
		if b, err := base64.StdEncoding.DecodeString(m.PathBytes); err == nil && len(b) > 0 {
			exact = string(b)
		}
		if exact == path {
			return true
		}
	}
	return false
}
