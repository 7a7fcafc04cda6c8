package python

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/libstate"
)

// TestDescribed compares what the debug information of installed interpreters says with layouts.txt.
func TestDescribed(t *testing.T) {
	home, _ := os.UserHomeDir()
	libs, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/lib/libpython3.*.so.1.0"))
	programs, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3.*"))
	compared := 0
	for _, path := range append(libs, append(programs, "/usr/bin/python3.11d")...) {
		m := pathVersion.Get().FindStringSubmatch(path)
		if m == nil {
			continue
		}
		full := filepath.Base(filepath.Dir(filepath.Dir(path)))
		minor, _ := strconv.Atoi(m[2])
		if f, err := os.Stat(path); err != nil || minor > 12 || f.Size() < 1<<20 {
			continue // later ones say it in their memory, and small files load a library
		}
		kind := strings.Trim(m[3], "m")
		im, err := image.OpenAlone(path, find.New(t.Context(), find.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		d := im.DWARF()
		if d == nil {
			continue
		}
		r, meter := over(make([]byte, 64), minor)
		meter.left = 1 << 30
		r.p.Symbols, r.lib = noSymbols{}, &libstate.Library{Path: path}
		got, want := r.layoutOf(minor, im, d), tableLayout(layoutsText, minor, kind)
		if got == nil || want == nil {
			t.Errorf("%s: its debug information has no layout", path)
			continue
		}
		compared++
		for field, at := range want.offsets {
			if o, ok := got.offsets[field]; ok && o != at && want.source == tableOf+full {
				t.Errorf("%s: %s is at %d, layouts.txt has %d", path, field, o, at)
			} else if !ok && needed[field] {
				t.Errorf("%s: %s is not known", path, field)
			}
		}
		for field, at := range got.offsets {
			record, _, _ := strings.Cut(field, ".")
			if !want.has(field) && record != "gil" && record != "module" && field != "interp.modules" {
				t.Errorf("%s: %s is at %d, the version has none", path, field, at)
			}
		}
	}
	if compared == 0 {
		t.Skip("no interpreter before 3.13 has debug information: pyenv's have it with CFLAGS=-g; Debian's python3.11-dbg")
	}
	t.Logf("%d interpreters", compared)
}

// needed are the fields that the package reads, and its own source names; asyncio's tasks are another module's.
var needed = func() map[string]bool {
	fields := map[string]bool{}
	name := regexp.MustCompile(`"([a-z]+\.[a-z_0-9]+)"`)
	files, _ := filepath.Glob("*.go")
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, _ := os.ReadFile(path)
		for _, m := range name.FindAllSubmatch(text, -1) {
			fields[string(m[1])] = true
		}
	}
	return fields
}()
