package dwarfvars

import (
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestProgramStorage: where a program's own thread-local storage is.
func TestProgramStorage(t *testing.T) {
	const tp = 0x70000
	exe, lib := &libstate.Library{Kind: libstate.Executable}, &libstate.Library{Kind: libstate.SharedLibrary}
	segment := func(align uint64) *image.Image {
		return (&handFile{progs: []elffile.Prog{text, {Type: elffile.PT_TLS, Vaddr: 0x4000, Memsz: 0x1c, Align: align}}}).image(t)
	}
	odd := (&handFile{progs: []elffile.Prog{text, {Type: elffile.PT_TLS, Vaddr: 0x4000, Memsz: 0x1b}}}).image(t)
	low := (&handFile{progs: []elffile.Prog{text, {Type: elffile.PT_TLS, Vaddr: 0x10, Memsz: 0x1c, Align: 8}}}).image(t)
	set := func(names ...string) func(*handProcess) {
		return func(p *handProcess) {
			for _, name := range names {
				r, _ := p.arch.RegByName(name)
				p.regs.Set(r, tp)
			}
		}
	}
	note := func(p *handProcess) { p.notes[noteARMTLS] = bytesOf(p.arch.ByteOrder, tp, 8) }
	const missing = "thread-local storage not found: "
	for _, c := range []struct {
		name string
		arch *arch.Arch
		set  func(*handProcess)
		lib  *libstate.Library
		file *image.Image
		off  uint64
		want string
	}{
		{"below", arch.AMD64, set("fs_base"), exe, segment(8), 4, "6ffe4"},
		{"below, aligned", arch.AMD64, set("fs_base"), exe, segment(64), 4, "6ffc4"},
		{"below, without an alignment", arch.AMD64, set("fs_base"), exe, segment(0), 4, "6ffe8"},
		{"the last byte", arch.AMD64, set("fs_base"), exe, segment(0), 0x1b, "6ffff"},
		{"an address instead of an offset", arch.AMD64, set("fs_base"), exe, segment(0), 0x4004, "6ffe8"},
		{"the first address", arch.AMD64, set("fs_base"), exe, segment(0), 0x4000, "6ffe4"},
		{"the last address", arch.AMD64, set("fs_base"), exe, segment(0), 0x401b, "6ffff"},
		{"behind the last address", arch.AMD64, set("fs_base"), exe, segment(0), 0x401c, "74000"},
		{"above", arch.ARM64, note, exe, segment(8), 4, "70014"},
		{"above, aligned", arch.ARM64, note, exe, segment(64), 4, "70044"},
		{"above", arch.ARM, note, exe, segment(8), 4, "7000c"},
		{"above, aligned", arch.ARM, note, exe, segment(64), 4, "70044"},
		{"of an odd size, without an alignment", arch.AMD64, set("fs_base"), exe, odd, 4, "6ffe9"},
		{"an offset that is an address, too", arch.AMD64, set("fs_base"), exe, low, 0x14, "6fff4"},
		{"the first address that is no offset", arch.AMD64, set("fs_base"), exe, low, 0x1c, "6ffec"},
		{"above", arch.RISCV64, set("tp"), exe, segment(8), 4, "70004"},
		{"above", arch.Loong64, set("tp"), exe, segment(8), 4, "70004"},
		{"with a bias", arch.PPC64LE, set("r13"), exe, segment(8), 4, "69004"},
		{"with a bias", arch.PPC64, set("r13"), exe, segment(8), 4, "69004"},
		{"with a bias", arch.PPC, set("r2"), exe, segment(8), 4, "69004"},
		{"no thread pointer", arch.AMD64, func(*handProcess) {}, exe, segment(8), 4, missing + "the thread has no thread pointer"},
		{"a thread pointer of 0", arch.AMD64, func(p *handProcess) {
			r, _ := p.arch.RegByName("fs_base")
			p.regs.Set(r, 0)
		}, exe, segment(8), 4, missing + "the thread has no thread pointer"},
		{"no layout", arch.MIPS64, func(*handProcess) {}, exe, segment(8), 4, missing + "its layout is not known for mips64"},
		{"no segment", arch.AMD64, set("fs_base"), exe, (&handFile{progs: []elffile.Prog{text}}).image(t), 4, missing + "the file has no thread-local segment"},
		{"no file", arch.AMD64, set("fs_base"), exe, nil, 4, missing + "the file has no thread-local segment"},
		{"a library", arch.AMD64, set("fs_base"), lib, segment(8), 0, missing + "no known C library"},
	} {
		p := newHand(c.arch, 8)
		p.libs = &handLibraries{}
		c.set(p)
		r := New(p, handFiles{})
		if got := result(r.tlsAddress(1, c.lib, c.file, c.off)); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.arch.Name, c.name, got, c.want)
		}
	}
	if a, b, n, ok := tlsSegment(nil); a != 0 || b != 0 || n != 0 || ok {
		t.Error("a segment of no file")
	}
	if a, b, n, ok := tlsSegment((&handFile{}).image(t)); a != 0 || b != 0 || n != 0 || ok {
		t.Error("a segment of a file without any")
	}
}

// TestLibraryNumbers finds the numbers of libraries in the dynamic linker's list.
func TestLibraryNumbers(t *testing.T) {
	const (
		dynamic, debug, descriptor = handBase + 0x100, handBase + 0x200, handBase + 0x300
		maps                       = handBase + 0x400 // 0x100 apart, the number of each in its byte 0x40
		biasA, biasB, biasC        = 0x100000, 0x200000, 0x300000
		vector, tp                 = handBase + 0xb00, handBase + 0xa00
	)
	type scene struct {
		*handProcess
		libs  []*libstate.Library // the program, the C library, a, b, c
		files handFiles
	}
	tls := elffile.Prog{Type: elffile.PT_TLS, Vaddr: 0x4000, Memsz: 0x1c, Align: 8}
	storage, plain := (&handFile{progs: []elffile.Prog{text, tls}}).image(t), (&handFile{progs: []elffile.Prog{text}}).image(t)
	program := func(size uint64) *image.Image {
		return (&handFile{progs: []elffile.Prog{text, {Type: elffile.PT_DYNAMIC, Vaddr: dynamic - 0x1000, Memsz: size}}}).image(t)
	}
	glibc := (&handFile{progs: []elffile.Prog{text}, symbols: map[string]uint64{"_thread_db_link_map_l_tls_modid": descriptor - 0x2000}}).image(t)
	musl := (&handFile{progs: []elffile.Prog{text}, symbols: map[string]uint64{"_dlstart": 0x1000}}).image(t)
	build := func(libc *image.Image) *scene {
		s := &scene{handProcess: newHand(arch.AMD64, 0x1000), files: handFiles{}}
		for _, l := range []struct {
			kind  libstate.Kind
			bias  uint64
			start uint64
			file  *image.Image
		}{{libstate.Executable, 0x1000, 0x900000, program(0x40)}, {libstate.SharedLibrary, 0x2000, 0xa00000, libc}, {libstate.SharedLibrary, biasA, biasA, storage}, {libstate.SharedLibrary, biasB, biasB, plain}, {libstate.SharedLibrary, biasC, biasC, storage}} {
			lib := &libstate.Library{Kind: l.kind, LoadBias: l.bias, Start: l.start, End: l.start + 0x10000}
			s.libs = append(s.libs, lib)
			s.files[lib] = l.file
		}
		s.handProcess.libs = &handLibraries{list: s.libs}
		s.put(dynamic, 8, 1)
		s.put(dynamic+16, 8, elffile.DT_DEBUG)
		s.put(dynamic+24, 8, debug)
		s.put(debug+8, 8, maps)
		s.put(descriptor, 4, 64)
		s.put(descriptor+4, 4, 1)
		s.put(descriptor+8, 4, 0x40)
		s.put(descriptor+12, 4, 0xffffffff)
		for i, bias := range []uint64{0x1000, biasA, biasB, biasC} {
			m := uint64(maps + 0x100*i)
			s.put(m, 8, bias)
			if bias >= biasA {
				s.put(m+16, 8, bias+0x100)
			} else {
				s.put(m+16, 8, s.libs[0].Start+0x100)
			}
			s.put(m+24, 8, m+0x100)
			s.put(m+0x40, 8, uint64(i))
		}
		s.put(maps+0x300+24, 8, 0)
		s.put(maps+0x240, 8, 0) // b has no storage
		return s
	}
	const none = "no known C library"
	for _, c := range []struct {
		name   string
		libc   *image.Image
		change func(*scene)
		want   string // the numbers of a, b and c; why there are none
	}{
		{"glibc", glibc, func(*scene) {}, "1 - 3 "},
		{"musl", musl, func(*scene) {}, "1 - 2 "},
		{"neither", plain, func(*scene) {}, "- - - the C library does not say where it keeps the library's number"},
		{"no C library", glibc, func(s *scene) { s.libs[1] = nil }, "- - - " + none},
		{"no libraries", glibc, func(s *scene) { s.handProcess.libs = nil }, "- - - "},
		{"no program", glibc, func(s *scene) { s.libs[0] = nil }, "- - - "},
		{"no file of the program", glibc, func(s *scene) { delete(s.files, s.libs[0]) }, "- - - "},
		{"no dynamic section", glibc, func(s *scene) { s.files[s.libs[0]] = plain }, "- - - "},
		{"a dynamic section that ends before", glibc, func(s *scene) { s.files[s.libs[0]] = program(0x1f) }, "- - - "},
		{"a dynamic section that ends behind", glibc, func(s *scene) { s.files[s.libs[0]] = program(0x20) }, "1 - 3 "},
		{"a dynamic section of nothing", glibc, func(s *scene) { s.put(dynamic, 8, 0) }, "- - - "},
		{"a dynamic section that is lost", glibc, func(s *scene) {
			s.files[s.libs[0]] = (&handFile{progs: []elffile.Prog{{Type: elffile.PT_DYNAMIC, Vaddr: 8, Memsz: 64}}}).image(t)
		}, "- - - "},
		{"the descriptor is lost", glibc, func(s *scene) { s.libs[1].LoadBias = 0x800000 }, fmt.Sprintf("- - - no memory at %#x", descriptor-0x2000+0x800008)},
		{"the number is lost", glibc, func(s *scene) { s.put(descriptor+8, 4, 0x80000000) }, "- - - "},
		{"the list ends", glibc, func(s *scene) { s.put(maps+0x118, 8, 0) }, "1 - - "},
		{"the list leads nowhere", glibc, func(s *scene) { s.put(maps+0x118, 8, 8) }, "1 - - "},
		{"the next one is lost", glibc, func(s *scene) { s.put(maps+0x118, 8, handBase+0xff0) }, "1 - - "},
		{"the number of one is lost", glibc, func(s *scene) {
			s.put(maps+0x18, 8, handBase+0xfc8)
			s.put(handBase+0xfc8+24, 8, maps+0x300)
		}, "- - - "},
		{"all but the number of one is lost", glibc, func(s *scene) {
			s.put(descriptor+8, 4, 8)
			s.put(maps+0x18, 8, handBase+0xff0)
			s.put(handBase+0xff0, 8, biasB)
			s.put(handBase+0xff8, 8, 7)
		}, "- - - "},
		{"a circle", glibc, func(s *scene) { s.put(maps+0x318, 8, maps) }, "1 - 3 "},
		{"a library that is not known", musl, func(s *scene) { s.put(maps+0x110, 8, 0x700000) }, "- - - "},
		{"a library without a file", musl, func(s *scene) { delete(s.files, s.libs[3]) }, "1 - - "},
		{"the vDSO", musl, func(s *scene) { s.libs[2].Kind = libstate.VDSO }, "- - 1 "},
		{"the last word is lost", musl, func(s *scene) { s.put(maps+0x18, 8, handBase+0xff0) }, "- - - "},
	} {
		s := build(c.libc)
		c.change(s)
		r := New(s.handProcess, s.files)
		r.findTLS()
		got := ""
		for _, bias := range []uint64{biasA, biasB, biasC} {
			if id, ok := r.tls.index[bias]; ok {
				got += fmt.Sprint(id, " ")
			} else {
				got += "- "
			}
		}
		if got += r.tls.why; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	// What code passes to __tls_get_addr.
	s := build(glibc)
	r := New(s.handProcess, s.files)
	check := func(what, want string) {
		t.Helper()
		if got := result((*readerWhere)(r).ThreadLocal(1, 3, 0x10)); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	fs, _ := arch.AMD64.RegByName("fs_base")
	check("no thread pointer", "thread-local storage not found: the thread has no thread pointer")
	s.regs.Set(fs, 0)
	check("a thread pointer of 0", "thread-local storage not found: the thread has no thread pointer")
	s.regs.Set(fs, tp)
	s.put(tp+8, 8, vector)
	s.put(vector+48, 8, 0x5000)
	check("glibc", "5010")
	s = build(musl)
	s.regs.Set(fs, tp)
	s.put(tp+8, 8, vector)
	s.put(vector, 8, 3)
	s.put(vector+24, 8, 0x6000)
	r = New(s.handProcess, s.files)
	check("musl", "6010")
	p := newHand(arch.MIPS64, 8)
	r = New(p, nil)
	check("no layout", "thread-local storage not found: its layout is not known for mips64")
}
