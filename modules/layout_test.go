package modules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

const rx = elffile.PF_R | elffile.PF_X

// fileOf is a file with a header and zeros.
func fileOf(h corebuild.Header) []byte {
	head := h.Bytes()
	return append(head, make([]byte, 0x40000-len(head))...)
}

// first has a file's first segment; processes have it in memory.
var first = elffile.Prog{Type: elffile.PT_LOAD, Flags: elffile.PF_R, Filesz: 0x1000, Memsz: 0x1000}

// A mapping with code needs a loaded, executable segment that covers its offset, to the
// largest page size on either side.
func TestLayoutBounds(t *testing.T) {
	load := elffile.Prog{Type: elffile.PT_LOAD, Flags: rx, Off: 0x2a000, Vaddr: 0x2a000, Filesz: 0x1800, Memsz: 0x1800}
	dir := t.TempDir()
	for i, c := range []struct {
		change func(*elffile.Prog)
		offset uint64
		match  modules.Match
	}{
		{nil, 0x2a000, modules.NoID},
		{nil, 0x20000, modules.NoID},
		{nil, 0x1ffff, modules.Mismatched},
		{nil, 0x2a000 + 0x1800 + 0xfffe, modules.NoID},
		{nil, 0x2a000 + 0x1800 + 0xffff, modules.Mismatched},
		{func(p *elffile.Prog) { p.Type = elffile.PT_NOTE }, 0x2a000, modules.Mismatched},
		{func(p *elffile.Prog) { p.Flags = elffile.PF_R | elffile.PF_W }, 0x2a000, modules.Mismatched},
		{func(p *elffile.Prog) { p.Flags = elffile.PF_X }, 0x2a000, modules.NoID},
	} {
		p := load
		if c.change != nil {
			c.change(&p)
		}
		other := elffile.Prog{Type: elffile.PT_NOTE, Flags: rx, Off: 0, Filesz: 0x10}
		file := fileOf(corebuild.Lib(first, other, p, other))
		path := put(t, file, dir, fmt.Sprint(i))
		m := libstate.Mapping{Start: base, End: base + 0x1000, Offset: c.offset, Perm: libstate.Exec, Path: path}
		data := libstate.Mapping{Start: base + 0x1000, End: base + 0x2000, Offset: 0x3f000, Perm: libstate.Read | libstate.Write, Path: path}
		for _, maps := range [][]libstate.Mapping{{m}, {data, m}, {m, data}} {
			r := newSet(t, regions{base: file[:0x1000]}).Resolve(&libstate.Library{Path: path, LoadBias: base, Mappings: maps})
			if r.Match != c.match {
				t.Errorf("%d: offset %#x, %d mappings: %+v, want %v", i, c.offset, len(maps), r, c.match)
			}
		}
	}
}

// Every mapping with code must be in the file, not only one.
func TestLayoutOfAll(t *testing.T) {
	load := elffile.Prog{Type: elffile.PT_LOAD, Flags: rx, Filesz: 0x1000, Memsz: 0x1000}
	path := put(t, fileOf(corebuild.Lib(load)), t.TempDir(), "libx.so")
	in := libstate.Mapping{Start: base, End: base + 0x1000, Perm: libstate.Exec, Path: path}
	out := in
	out.Offset = 0x100000
	for _, maps := range [][]libstate.Mapping{{in, out}, {out, in}} {
		if r := newSet(t, regions{}).Resolve(&libstate.Library{Path: path, Mappings: maps}); r.Match != modules.Mismatched {
			t.Errorf("%+v", r)
		}
	}
}

// The header in memory decides about class and about what is loaded.
func TestHeaderInMemory(t *testing.T) {
	load := elffile.Prog{Type: elffile.PT_LOAD, Flags: rx, Filesz: 0x1000, Memsz: 0x1000}
	note := elffile.Prog{Type: elffile.PT_NOTE, Off: 0x300, Vaddr: 0x300, Filesz: 0x10, Memsz: 0x10}
	for _, c := range []struct {
		name      string
		file, mem corebuild.Header
		at        uint64 // where the library's header is
		match     modules.Match
	}{
		{"the same", corebuild.Lib(load, note), corebuild.Lib(load, note), base, modules.NoID},
		{"loaded in memory", corebuild.Lib(note, note), corebuild.Lib(note, elffile.Prog{Type: elffile.PT_LOAD, Off: 0x300, Vaddr: 0x300, Filesz: 0x10, Memsz: 0x10}), base, modules.Mismatched},
		{"loaded in the file", corebuild.Lib(note, elffile.Prog{Type: elffile.PT_LOAD, Off: 0x300, Vaddr: 0x300, Filesz: 0x10, Memsz: 0x10}), corebuild.Lib(note, note), base, modules.Mismatched},
		{"last segment", corebuild.Lib(load, note, load), corebuild.Lib(load, note, elffile.Prog{Type: elffile.PT_LOAD, Off: 0x1000, Memsz: 0x1000}), base, modules.Mismatched},
		{"one segment of two", corebuild.Lib(load, note), corebuild.Lib(load), base, modules.Mismatched},
		{"class", class32(corebuild.Lib()), corebuild.Lib(), base, modules.Mismatched},
		{"at an address that is not known", corebuild.Lib(load), corebuild.Lib(note), 0, modules.Missing},
	} {
		path := put(t, fileOf(c.file), t.TempDir(), "libx.so")
		r := newSet(t, regions{c.at: fileOf(c.mem)}).Resolve(&libstate.Library{Path: path, HeaderAddr: c.at})
		if r.Match != c.match {
			t.Errorf("%s: %+v, want %v", c.name, r, c.match)
		}
	}
}

func class32(h corebuild.Header) corebuild.Header {
	h.Class = 32
	return h
}

// The first file that was refused is told of, and used if the user insists; a file that
// cannot be read hides no other.
func TestOrderOfRefusals(t *testing.T) {
	dir := t.TempDir()
	at := put(t, elfWith(idB, code), dir, "at", "libx.so")
	put(t, elfWith([]byte{9, 9}, code), dir, "beside", "libx.so")
	put(t, []byte("text"), dir, "text", "libx.so")
	debug := put(t, elfWith(idA, noCode), dir, "debug", "libx.so")
	beside, text, only := modules.WithBeside(dir+"/beside"), modules.WithBeside(dir+"/text"), modules.WithBeside(dir+"/debug")
	const other, noELF, debugOnly = "file has build-id 01020305, the process had 01020304", "text/libx.so: ", "has debug information only, not the code"
	for _, c := range []struct {
		name  string
		path  string
		opts  []modules.Option
		match modules.Match
		why   string
	}{
		{"two of other builds", at, []modules.Option{beside}, modules.Mismatched, other},
		{"another build, then text", at, []modules.Option{text}, modules.Mismatched, other},
		{"text, then debug information", "/none/libx.so", []modules.Option{text, only}, modules.Missing, noELF},
		{"debug information, then text", "/none/libx.so", []modules.Option{only, text}, modules.Missing, debug + " " + debugOnly},
	} {
		for _, force := range []bool{false, true} {
			opts := append([]modules.Option{someOption}, c.opts...)
			if force {
				opts = append(opts, modules.WithForceMismatched())
			}
			r := newSet(t, regions{}, opts...).Resolve(&libstate.Library{Path: c.path, BuildID: idA})
			if r.Match != c.match || !strings.Contains(r.Why, c.why) || c.match == modules.Mismatched && r.Path != at || (r.Image != nil) != (force && c.match == modules.Mismatched) {
				t.Errorf("%s: %+v, want %v, %q", c.name, r, c.match, c.why)
			}
		}
	}
}
