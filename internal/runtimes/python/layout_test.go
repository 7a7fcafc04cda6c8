package python

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// InSample reports whether tests ask a version at every change: one of each way to keep frames, thread states and locks. In the long run they ask all.
func InSample(tb testing.TB, version string) bool {
	parts := strings.Split(version, ".")
	if fixture.IsLong(tb) || len(parts) < 2 {
		return true
	}
	minor, err := strconv.Atoi(strings.TrimRight(parts[1], "mt"))
	return err != nil || minor == 6 || minor == 9 || minor == 11 || minor >= 13
}

// TestTable makes columns of layouts.txt anew from the headers of releases that are on this machine. COREWALK_PYTHON_HEADERS
// lists further ones: directories with Python.h.
func TestTable(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles with the headers of all CPythons of this machine")
	}
	home, _ := os.UserHomeDir()
	headers, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/include/python3*"))
	headers = slices.DeleteFunc(headers, func(dir string) bool { return !InSample(t, strings.TrimPrefix(filepath.Base(dir), "python")) })
	if headers = append(headers, filepath.SplitList(os.Getenv("COREWALK_PYTHON_HEADERS"))...); len(headers) == 0 {
		t.Skip("no headers of CPython, or none of the sample, are in ~/.pyenv/versions: pyenv installs them there")
	}
	for _, tool := range []string{"gcc", "gdb"} {
		fixture.Tools(t)
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed: Debian's gcc and gdb")
		}
	}
	tasks, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/lib/python3*/lib-dynload/_asyncio.*.so"))
	sources := append(slices.Clip(tasks), "testdata/layouts.sh", "testdata/layout.c")
	for _, dir := range headers {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				sources = append(sources, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := os.ReadFile(filepath.Join(fixture.Made(t, headers, sources, func(dir string) {
		cmd := exec.Command("sh", append([]string{"testdata/layouts.sh"}, headers...)...)
		cmd.Env = append(os.Environ(), "TASKS="+strings.Join(tasks, " "))
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "layouts"), out, 0o644); err != nil {
			t.Fatal(err)
		}
	}), "layouts"))
	if err != nil {
		t.Fatal(err)
	}
	columns := func(text string) map[string]bool {
		of := map[string]bool{}
		for line := range strings.Lines(text) {
			if f := strings.Fields(line); f[0] == "field" {
				for _, v := range f[1:] {
					of[v] = true
				}
			}
		}
		return of
	}
	compared, recorded := 0, columns(layoutsText)
	for v := range columns(string(out)) {
		if !recorded[v] {
			continue // another release
		}
		minor, _ := strconv.Atoi(strings.Split(v, ".")[1])
		kind := strings.TrimLeft(v[strings.LastIndexByte(v, '.')+1:], "0123456789")
		got, want := tableLayout(string(out), minor, kind), tableLayout(layoutsText, minor, kind)
		for field, at := range want.offsets {
			// Tasks need debug information, which is not with all headers.
			if o, ok := got.offsets[field]; o != at && (ok || !strings.HasPrefix(field, "task.")) {
				t.Errorf("%s of %s is at %d, layouts.txt has %d", field, v, o, at)
			}
		}
		compared++
	}
	if compared == 0 {
		t.Skip("no headers are of a release that layouts.txt has")
	}
	t.Logf("%d columns", compared)
}

// TestPublished reads offsets that a process publishes, and refuses absurd ones.
func TestPublished(t *testing.T) {
	l := tableLayout(layoutsText, 13, "")
	words := make([]uint64, 96)
	for i := range words {
		words[i] = uint64(i) * 8
	}
	if !l.published(words) || l.at("runtime.interpreters_head") != 16 || l.at("thread.prev") != 17*8 {
		t.Errorf("interpreters_head at %d, thread.prev at %d", l.at("runtime.interpreters_head"), l.at("thread.prev"))
	}
	words[3] = 1 << 40
	if tableLayout(layoutsText, 13, "").published(words) {
		t.Error("an absurd offset is believed")
	}
	if tableLayout(layoutsText, 5, "") != nil {
		t.Error("a version that the table does not have has a layout")
	}
}

// TestShows: which functions and files are reasons to look for the interpreter in a module.
func TestShows(t *testing.T) {
	for _, c := range []struct {
		function, module string
		want             bool
	}{
		{"_PyEval_EvalFrameDefault", "/opt/blender", true}, {"PyObject_Vectorcall", "", true}, {"", "/usr/bin/python3.14", true},
		{"", "/usr/lib/libpython3.8.so.1.0", true}, {"", `C:\Python\python314.dll`, true},
		{"", "/usr/lib/python3/_asyncio.cpython-314-x86_64-linux-gnu.so", false}, {"main", "/home/python/server", false}, {"Python", "", false},
	} {
		if got := Shows(c.function, c.module); got != c.want {
			t.Errorf("%q of %q: %v", c.function, c.module, got)
		}
	}
}

// TestWindows: what an unsigned long of 4 bytes changes, and what is not known there.
func TestWindows(t *testing.T) {
	l := tableLayout(layoutsText, 12, "")
	before := tableLayout(layoutsText, 12, "")
	l.windows()
	if l.at("thread.root_cframe") != before.at("thread.root_cframe")-8 || l.at("thread.native_thread_id") != before.at("thread.thread_id") || !l.short {
		t.Errorf("root_cframe at %d, native_thread_id at %d", l.at("thread.root_cframe"), l.at("thread.native_thread_id"))
	}
	for _, field := range []string{"gil.holder", "interp.ceval_gil", "interp.generations", "interp.modules", "task.coro"} {
		if l.has(field) || !before.has(field) {
			t.Errorf("%s is believed", field)
		}
	}
	if l = tableLayout(layoutsText, 9, ""); !l.has("runtime.gil_holder") {
		t.Error("the table of 3.9 has no runtime.gil_holder")
	}
	if l.windows(); l.has("runtime.gil_holder") || l.has("thread.root_cframe") {
		t.Error("of 3.9 the lock is believed, or what it has not")
	}
}
