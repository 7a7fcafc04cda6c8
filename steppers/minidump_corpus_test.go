package steppers_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/breakpad"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
)

// A miniCase is a minidump or microdump of other projects' tests, and the stack of one
// thread as Breakpad's minidump_stackwalk or lldb has it.
type miniCase struct {
	name, want string
	data       []byte
}

// minidumps reads the corpus of foreign dumps that may lie beside the repository, and
// the symbol files in it by debug identifier.
func minidumps(t *testing.T) ([]miniCase, map[string]*breakpad.File) {
	t.Helper()
	dir := filepath.Join(fixture.Root(t), "..", "shared", "corpus")
	manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Skip("no corpus beside the repository: ", err)
	}
	file, err := os.Open(filepath.Join(dir, "dumps.tar.gz"))
	if err != nil {
		t.Skip(err)
	}
	defer file.Close()
	gz, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	files, syms := map[string][]byte{}, map[string]*breakpad.File{}
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		data, err2 := io.ReadAll(tr)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		files[h.Name] = data
		if strings.HasSuffix(h.Name, ".sym") || strings.HasSuffix(h.Name, ".syms") {
			if f, err := breakpad.Parse(data); err == nil {
				syms[f.ID] = f
			}
		}
	}
	var list []miniCase
	for _, line := range strings.Split(strings.TrimSpace(string(manifest)), "\n")[1:] {
		if f := strings.Split(line, "\t"); f[3] == "minidump" || f[3] == "microdump" {
			list = append(list, miniCase{f[0], f[11], files[f[0]]})
		}
	}
	return list, syms
}

// walkMini walks a thread of a minidump by its index.
func walkMini(t *testing.T, d *corestate.Minidump, syms map[string]*breakpad.File, thread int) (*unwind.Stack, error) {
	t.Helper()
	symbols := func(lib *libstate.Library) *breakpad.File {
		if lib.Module == nil {
			return nil
		}
		return syms[lib.Module.DebugID]
	}
	g, err := steppers.DefaultGroup(d.Arch(), noFile, steppers.WithSymbolCFI(symbols), steppers.WithWinFrames(func(lib *libstate.Library) steppers.WinFrames {
		if f := symbols(lib); f != nil {
			return steppers.SymbolWinFrames(f)
		}
		return nil
	}))
	if err != nil {
		return nil, err
	}
	w, err := unwind.NewWalker(d, unwind.WithGroup(g), unwind.WithExplain())
	if err != nil {
		return nil, err
	}
	return w.WalkStack(unwind.ThreadID(d.File().Threads[thread].ID))
}

func TestCorpusMinidumps(t *testing.T) {
	list, syms := minidumps(t)
	for _, c := range list {
		if c.name == "" || len(c.want) < 2 || c.want[0] != 't' {
			continue
		}
		if x := os.Getenv("CASE"); x != "" && !strings.Contains(c.name, x) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			d, err := corestate.OpenMinidumpBytes(c.name, c.data)
			if err != nil {
				t.Skip(err)
			}
			d.BuildLibraries(nil)
			n, _ := strconv.Atoi(c.want[1:strings.IndexByte(c.want, ':')])
			s, err := walkMini(t, d, syms, n)
			if err != nil && s == nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for i, f := range s.Frames {
				if i > 60 {
					break
				}
				fmt.Fprintf(&b, "\n%3d %x sp %x %-12v %s", i, f.RA(), f.SP(), f.Trust(), miniPlace(d, syms, f))
				if os.Getenv("EXPL") != "" {
					for _, n := range notes(f) {
						b.WriteString("\n\t\t" + n)
					}
				}
			}
			t.Logf("%s\n%s\n%v %v", c.want, b.String(), s.End, s.Err)
		})
	}
}

func miniPlace(d *corestate.Minidump, syms map[string]*breakpad.File, f *unwind.Frame) string {
	lib, ok := d.LibraryTracker().LibraryAt(f.LookupAddr())
	if !ok {
		return fmt.Sprintf("%#x", f.RA())
	}
	text := fmt.Sprintf("%s+%#x", lib.Path[strings.LastIndexAny(lib.Path, `/\`)+1:], f.RA()-lib.Start)
	if lib.Module != nil && syms[lib.Module.DebugID] != nil {
		if s, ok := syms[lib.Module.DebugID].Lookup(f.LookupAddr() - lib.Start); ok {
			return text + " " + s.Name
		}
	}
	return text
}
