package systemtest

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// findCore notes where the core's headers and notes end, and where its stack is.
func (d *damaged) findCore() {
	data, err := os.ReadFile(d.c.Core(d.t))
	if err != nil {
		d.t.Fatal(err)
	}
	f, err := elffile.Parse(data)
	if err != nil {
		d.t.Fatal(err)
	}
	t, err := d.open()
	if t == nil {
		d.t.Fatal(err)
	}
	defer t.Close()
	w, err := t.NewWalker()
	if err != nil {
		d.t.Fatal(err)
	}
	defer w.Close()
	tid, err := t.Core().DefaultThread()
	if err != nil {
		d.t.Fatal(err)
	}
	top, err := w.InitialFrame(tid)
	if err != nil {
		d.t.Fatal(err)
	}
	size := int64(len(data))
	for i := range f.Progs {
		p := &f.Progs[i]
		switch end := int64(p.Off + p.Filesz); {
		case p.Type == elffile.PT_NOTE:
			d.head.size = min(end, size)
		case p.Type == elffile.PT_LOAD && top.SP() >= p.Vaddr && top.SP() < p.Vaddr+p.Filesz:
			at := int64(p.Off + top.SP() - p.Vaddr)
			d.stack = span{min(at, size), max(0, min(2048, end-at, size-at))}
		}
	}
}

// findModules lists what may be damaged in the files of the modules.
func (d *damaged) findModules() {
	t, err := d.open()
	if err != nil {
		d.t.Fatal(err)
	}
	defer t.Close()
	seen := map[string]bool{}
	for _, m := range t.Info().Modules {
		for _, path := range []string{m.File, m.DebugFile} {
			if path != "" && !seen[path] {
				seen[path] = true
				d.spots = append(d.spots, spotsOf(d.t, path)...)
			}
		}
	}
	// Split and shared debug information.
	filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !seen[path] && path != d.corePth {
			d.spots = append(d.spots, spotsOf(d.t, path)...)
		}
		return nil
	})
	if len(d.spots) == 0 {
		d.t.Fatal("no file to damage")
	}
	for _, s := range d.spots {
		if !strings.HasPrefix(s.path, d.dir) && !strings.HasPrefix(s.path, d.sysroot) {
			d.t.Fatalf("%s is not ours to damage", s.path)
		}
	}
}

// spotsOf lists the headers of an ELF file and those of its sections that a walk
// or a lookup reads.
func spotsOf(t *testing.T, path string) []spot {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Parse(data)
	if err != nil {
		return nil
	}
	shoff := int64(binary.LittleEndian.Uint64(data[40:]))
	spots := []spot{{path, "ELF header", span{0, 64}}, {path, "program headers", span{64, int64(56 * len(f.Progs))}},
		{path, "section headers", span{shoff, int64(len(data)) - shoff}}}
	for _, s := range f.Sections() {
		name := s.Name()
		for _, prefix := range []string{".eh_frame", ".debug_", ".zdebug_", ".symtab", ".strtab", ".dyn", ".gnu", ".note", ".text", ".shstrtab"} {
			if strings.HasPrefix(name, prefix) && s.Size > 0 && s.Type != elffile.SHT_NOBITS {
				// Often more than the rest: tables near their start are read by all.
				spots = append(spots, spot{path, name, span{int64(s.Off), int64(s.Size)}})
				if s.Size > 512 {
					spots = append(spots, spot{path, name, span{int64(s.Off), 256}})
				}
			}
		}
	}
	return spots
}

// cuts shortens the core to n lengths.
func (d *damaged) cuts(n int) {
	whole, err := os.ReadFile(d.c.Core(d.t))
	if err != nil {
		d.t.Fatal(err)
	}
	size := int64(len(whole))
	for i := range n {
		at := d.rng.Int64N(size)
		if i%2 == 0 {
			at = d.rng.Int64N(d.head.size + 4096)
		}
		at = min(at, size)
		if err := os.Truncate(d.corePth, at); err != nil {
			d.t.Fatal(err)
		}
		d.survive(fmt.Sprintf("core cut to %d bytes", at))
	}
	os.Remove(d.corePth)
	copySparse(d.t, d.c.Core(d.t), d.corePth)
}

// core damages headers, notes and the stack.
func (d *damaged) core(n int) {
	for i := range n {
		at := d.head
		if i%2 == 1 && d.stack.size > 0 {
			at = d.stack
		}
		d.damage("core", []spot{{d.corePth, "core", at}})
	}
}

// files damages a file of a module, in one to four places.
func (d *damaged) files(n int) {
	for range n {
		first := d.spots[d.rng.IntN(len(d.spots))]
		some := []spot{first}
		for d.rng.IntN(2) == 0 && len(some) < 4 {
			if s := d.spots[d.rng.IntN(len(d.spots))]; s.path == first.path {
				some = append(some, s)
			}
		}
		d.damage(filepath.Base(first.path), some)
	}
}

// damage overwrites something in each spot, runs, and mends.
func (d *damaged) damage(name string, spots []spot) {
	f, err := os.OpenFile(spots[0].path, os.O_RDWR, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	type patch struct {
		off int64
		was []byte
	}
	var patches []patch
	var what []string
	for _, s := range spots {
		for range 1 + d.rng.IntN(3) {
			with := d.hostile()
			off := s.off + d.rng.Int64N(max(1, s.size))
			if d.rng.IntN(4) == 0 { // a word from elsewhere: an address that means something
				off &^= 7
				with = make([]byte, 8)
				f.ReadAt(with, (s.off+d.rng.Int64N(max(1, s.size)))&^7)
			}
			was := make([]byte, len(with))
			n, _ := f.ReadAt(was, off)
			if n == 0 {
				continue
			}
			patches = append(patches, patch{off, was[:n]})
			what = append(what, fmt.Sprintf("%s %s at %#x: % x", name, s.what, off, with[:min(n, 16)]))
			f.WriteAt(with[:n], off)
		}
	}
	d.survive(strings.Join(what, ", "))
	for i := len(patches) - 1; i >= 0; i-- {
		if _, err := f.WriteAt(patches[i].was, patches[i].off); err != nil {
			d.t.Fatal(err)
		}
	}
}

// hostile makes bytes that parsers stumble over.
func (d *damaged) hostile() []byte {
	words := []uint64{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff,
		1 << 32, 1 << 47, 1<<63 - 1, 1 << 63, ^uint64(0) - 7, ^uint64(0)}
	var b [8]byte
	switch d.rng.IntN(5) {
	case 0: // one bit, or a byte
		return []byte{byte(1) << d.rng.IntN(8)}
	case 1, 2:
		binary.LittleEndian.PutUint64(b[:], words[d.rng.IntN(len(words))])
		return b[:1<<d.rng.IntN(4)]
	case 3: // a small number: another offset, count, form, opcode
		binary.LittleEndian.PutUint64(b[:], d.rng.Uint64N(1<<d.rng.IntN(24)))
		return b[:1<<d.rng.IntN(4)]
	}
	noise := make([]byte, 1+d.rng.IntN(64))
	fill := byte(d.rng.Uint32())
	for i := range noise {
		noise[i] = fill
		if fill&1 == 1 {
			noise[i] = byte(d.rng.Uint32())
		}
	}
	return noise
}
