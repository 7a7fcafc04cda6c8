package systemtest

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/pefile"
	"github.com/corewalk/corewalk/report"
)

// A windowsDump is a minidump that wine wrote, and that is to become one as others
// write them.
type windowsDump struct {
	t testing.TB
	b []byte
}

var le = binary.LittleEndian

func readWindowsDump(t testing.TB, c fixture.Case) *windowsDump {
	t.Helper()
	b, err := os.ReadFile(c.Core(t))
	if err != nil {
		t.Fatal(err)
	}
	return &windowsDump{t, b}
}

// stream answers the directory's entry of a stream: kind, size, offset.
func (d *windowsDump) stream(kind uint32) []byte {
	dir := d.b[le.Uint32(d.b[12:]):]
	for range le.Uint32(d.b[8:]) {
		if le.Uint32(dir) == kind {
			return dir[:12]
		}
		dir = dir[12:]
	}
	d.t.Fatalf("no stream %d", kind)
	return nil
}

// list answers where the entries of a list stream begin, and how many there are.
func (d *windowsDump) list(kind uint32) (at, n uint32) {
	at = le.Uint32(d.stream(kind)[8:])
	return at + 4, le.Uint32(d.b[at:])
}

// images answers the modules' images among the case's, by where their entry is.
func (d *windowsDump) images(c fixture.Case) map[uint32]*pefile.File {
	found := map[uint32]*pefile.File{}
	at, n := d.list(4)
	for i := range n {
		name := d.b[le.Uint32(d.b[at+108*i+20:]):]
		units := make([]uint16, le.Uint32(name)/2)
		for k := range units {
			units[k] = le.Uint16(name[4+2*k:])
		}
		for _, dir := range c.Search(d.t) {
			path := filepath.Join(dir, moduleBase(strings.TrimRight(string(utf16.Decode(units)), "\x00")))
			if data, err := os.ReadFile(path); err == nil {
				f, err := pefile.Parse(data)
				if err != nil {
					d.t.Fatal(err)
				}
				found[at+108*i] = f
			}
		}
	}
	return found
}

// addCodeView gives modules the records of their PDBs, which wine leaves out.
func (d *windowsDump) addCodeView(c fixture.Case) {
	added := 0
	for at, f := range d.images(c) {
		cv, err := f.CodeView()
		if err != nil {
			continue
		}
		record := append([]byte("RSDS"), cv.GUID[:]...)
		record = le.AppendUint32(record, cv.Age)
		record = append(append(record, cv.Path...), 0)
		le.PutUint32(d.b[at+76:], uint32(len(record)))
		le.PutUint32(d.b[at+80:], uint32(len(d.b)))
		d.b = append(d.b, record...)
		added++
	}
	if added == 0 {
		d.t.Fatal("no module has a PDB")
	}
}

// makeFull makes of the list of memory what full dumps have: one without offsets, and
// threads that have their stacks there only. With images, those are in memory too, in
// one piece each, but for what the dump says itself.
func (d *windowsDump) makeFull(images map[uint32]*pefile.File) {
	type piece struct {
		start uint64
		data  []byte
	}
	var pieces []piece
	at, n := d.list(5)
	for i := range n {
		e := d.b[at+16*i:]
		size, off := le.Uint32(e[8:]), le.Uint32(e[12:])
		pieces = append(pieces, piece{le.Uint64(e), d.b[off : off+size]})
	}
	for at, f := range images {
		base := le.Uint64(d.b[at:])
		memory := make([]byte, f.SizeOfImage)
		copy(memory, f.Data[:min(4096, len(f.Data))])
		for i := range f.Sections {
			if b, err := f.SectionData(&f.Sections[i]); err == nil {
				copy(memory[f.Sections[i].RVA:], b)
			}
		}
		pieces = append(pieces, piece{base, memory})
	}
	pieces = append(pieces, piece{0x20000, make([]byte, 1000)}) // behind all that a walk needs
	list := le.AppendUint64(nil, uint64(len(pieces)))
	var data []byte
	list = le.AppendUint64(list, uint64(len(d.b)+16+16*len(pieces)))
	for _, p := range pieces {
		list = le.AppendUint64(le.AppendUint64(list, p.start), uint64(len(p.data)))
		data = append(data, p.data...)
	}
	e := d.stream(5)
	le.PutUint32(e, 9)
	le.PutUint32(e[4:], uint32(len(list)))
	le.PutUint32(e[8:], uint32(len(d.b)))
	at, n = d.list(3)
	for i := range n {
		clear(d.b[at+48*i+32 : at+48*i+40])
	}
	d.b = append(append(d.b, list...), data...)
}

// addThreadName puts a list of one thread's name in place of the entry of the directory
// that wine leaves unused.
func (d *windowsDump) addThreadName(thread uint32, name string) {
	units := utf16.Encode([]rune(name))
	at := uint64(len(d.b))
	d.b = le.AppendUint32(d.b, uint32(2*len(units)))
	for _, u := range append(units, 0) {
		d.b = le.AppendUint16(d.b, u)
	}
	list := uint32(len(d.b))
	d.b = le.AppendUint32(le.AppendUint32(d.b, 1), thread)
	d.b = le.AppendUint64(d.b, at)
	e := d.stream(0)
	le.PutUint32(e, 24)
	le.PutUint32(e[4:], 16)
	le.PutUint32(e[8:], list)
}

func (d *windowsDump) analyze(search ...string) *report.Report {
	d.t.Helper()
	path := filepath.Join(d.t.TempDir(), "dump.dmp")
	if err := os.WriteFile(path, d.b, 0o600); err != nil {
		d.t.Fatal(err)
	}
	opts := []corewalk.Option{corewalk.WithDebugDir(d.t.TempDir()), corewalk.WithSysroot(d.t.TempDir())}
	for _, dir := range search {
		opts = append(opts, corewalk.WithSearch(dir))
	}
	target, err := corewalk.Open(context.Background(), path, opts...)
	if err != nil {
		d.t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// pdbs answers a directory with the case's PDBs, and without its images.
func pdbs(t testing.TB, set string) string {
	t.Helper()
	dir := t.TempDir()
	files, _ := filepath.Glob(filepath.Join(fixture.Images(t, set), "*.pdb"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Dumps of Windows' own name their PDBs, which wine's do not: those are found without
// the images, and one of another build is not taken.
func TestWindowsCodeView(t *testing.T) {
	c := fixture.Get(t, "amd64-clang-O2-deep")
	for set, want := range map[string]string{"clang-O2": "leaf", "clang-O0": ""} {
		d := readWindowsDump(t, c)
		d.addCodeView(c)
		f := d.analyze(pdbs(t, set)).Threads[0].Frames[0]
		if f.Function != want || want != "" && (filepath.Base(f.Source.File) != "crash.c" || f.Source.Line == 0) {
			t.Errorf("with PDBs of %s: %q at %s:%d, want %q", set, f.Function, f.Source.File, f.Source.Line, want)
		}
		if r := d.analyze(c.Search(t)...); matchChain(c.Frames(t), r.Threads[0].Frames) != nil {
			t.Errorf("with all files:\n%s", stackText(&r.Threads[0]))
		}
	}
}

// Threads that SetThreadDescription named.
func TestWindowsThreadName(t *testing.T) {
	c := fixture.Get(t, "amd64-mingw-deep")
	d := readWindowsDump(t, c)
	at, _ := d.list(3)
	second := le.Uint32(d.b[at+48:])
	d.addThreadName(second, "first worker")
	for _, th := range d.analyze(c.Search(t)...).Threads {
		if want := map[bool]string{true: "first worker"}[th.ID == int(second)]; th.Name != want {
			t.Errorf("thread %d is called %q, want %q", th.ID, th.Name, want)
		}
	}
}

// Full dumps have stacks in their other list of memory, also one that was cut off
// behind them.
func TestWindowsFullDump(t *testing.T) {
	t.Parallel()
	for _, c := range fixture.Sample(t, fixture.Minidumps(t)) {
		d := readWindowsDump(t, c)
		d.makeFull(nil)
		for _, cut := range []int{0, 500} {
			d.b = d.b[:len(d.b)-cut]
			r := d.analyze(c.Search(t)...)
			if err := matchChain(c.Frames(t), r.Threads[0].Frames); err != nil {
				t.Errorf("%s, %d bytes cut off: %v\n%s", c.Name, cut, err, stackText(&r.Threads[0]))
			}
		}
	}
}

// Images in the memory of a full dump unwind without any file, and tell which PDB
// names their functions.
func TestWindowsImagesInMemory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"amd64-clang-O2-deep", "amd64-clang-O2-probe", "amd64-mingw-deep", "aarch64-clang-O0", "aarch64-clang-O2", "i386-clang-O2"} {
		c := fixture.Get(t, name)
		d := readWindowsDump(t, c)
		d.makeFull(d.images(c))
		want := readWindowsDump(t, c).analyze(c.Search(t)...).Threads[0].Frames
		var dirs []string
		if !strings.Contains(name, "mingw") {
			dirs = append(dirs, pdbs(t, c.Images[0]))
		}
		got := d.analyze(dirs...).Threads[0]
		if len(dirs) > 0 {
			if err := matchChain(c.Frames(t), got.Frames); err != nil {
				t.Errorf("%s: %v\n%s", name, err, stackText(&got))
			}
		}
		for i := range min(len(want), len(got.Frames)) {
			if w, g := want[i], got.Frames[i]; g.PC != w.PC || g.Trust == "scan" {
				t.Errorf("%s: frame %d at %v by %s, with files at %v", name, i, g.PC, g.Trust, w.PC)
			}
		}
		if len(got.Frames) != len(want) {
			t.Errorf("%s: %d frames, %d with files\n%s", name, len(got.Frames), len(want), stackText(&got))
		}
	}
}
