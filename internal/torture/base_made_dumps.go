package main

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

// madeDumps are those that need no program.
var madeDumps = map[string]func() []byte{
	"segments of the same bytes":              func() []byte { return sharedSegments(60_000, 8<<20) },
	"segments of the same program":            func() []byte { return sharedSegments(60_000, 0) },
	"minidump to scan, no code":               func() []byte { return scannedMinidump(false, false) },
	"minidump to scan":                        func() []byte { return scannedMinidump(false, true) },
	"minidump to scan, pointers":              func() []byte { return scannedMinidump(true, true) },
	"core to scan, no code":                   func() []byte { return scannedCore(false, false) },
	"core to scan":                            func() []byte { return scannedCore(false, true) },
	"core to scan, pointers":                  func() []byte { return scannedCore(true, true) },
	"minidump modules with one name":          func() []byte { return manyModules(100_000) },
	"minidump modules with one record":        func() []byte { return manyRecords(100_000) },
	"minidump threads of one stack":           func() []byte { return manyThreads(100_000, 4096) },
	"minidump threads of one long stack":      func() []byte { return manyThreads(50_000, 1<<20) },
	"minidump threads of one name":            oneThreadName,
	"minidump unloaded modules with one name": oneUnloadedName,
	"minidump handles of one name":            oneHandleName,
	"minidump memory of the same bytes": func() []byte {
		d := smallDump()
		loc := d.Blob(make([]byte, 4<<20))
		var list []dumpbuild.Memory
		for i := range 200_000 {
			list = append(list, dumpbuild.Memory{Start: uint64(i) << 24, Loc: &loc})
		}
		d.MemoryList(list...)
		return d.Bytes()
	},
	"minidump of streams": func() []byte {
		d := smallDump()
		loc := d.Blob(make([]byte, 1<<20))
		for i := range 100_000 {
			d.StreamAt(uint32(i%40), loc)
		}
		return d.Bytes()
	},
	"minidump of streams that overlap": overlapping,
	"archive of empty files": func() []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for range 100_000 {
			w.WriteHeader(&tar.Header{Name: "empty", Mode: 0o600})
		}
		w.Close()
		return gz(b.Bytes())
	},
	"archive of long names": func() []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for range 200 {
			w.WriteHeader(&tar.Header{Name: strings.Repeat("n", 500_000), Mode: 0o600})
		}
		w.Close()
		return gz(b.Bytes())
	},
	"apport report of fields": func() []byte {
		return gz(bytes.Repeat([]byte("Field: value\n continued\n"), 4_000_000))
	},
	"apport report of one line": func() []byte {
		return gz(append([]byte("ProblemType: Crash\nField: "), bytes.Repeat([]byte("v"), 200<<20)...))
	},
	"microdump of modules": func() []byte {
		var b bytes.Buffer
		b.WriteString("-----BEGIN BREAKPAD MICRODUMP-----\nV Chrome:1\nO A arm64 8 aarch64 x\nS 0 7FFD00000000 7FFD00000000 00001000\n")
		for i := range 200_000 {
			fmt.Fprintf(&b, "M %016X 00000000 00001000 %032X%X lib%d.so\n", uint64(i)<<16, i, 0, i)
		}
		b.WriteString("-----END BREAKPAD MICRODUMP-----\n")
		return b.Bytes()
	},
	"files mapped many times": func() []byte {
		c := newCore(10)
		var list []corebuild.Mapping
		for i := range uint64(200_000) {
			list = append(list, corebuild.Mapping{Start: 0x10000000 + i<<13, End: 0x10001000 + i<<13, Path: "/lib/x.so"})
		}
		c.Files(list...)
		return c.bytes()
	},
	"auxiliary vector without end": func() []byte {
		c := newCore(10)
		var kv []uint64
		for i := range uint64(2_000_000) {
			kv = append(kv, 3+i%40, i)
		}
		c.AuxVector(kv...)
		return c.bytes()
	},
	"stack of return addresses": func() []byte {
		c := newCore(10)
		c.data = bytes.Repeat(u64(madePC), 4<<20)
		return c.bytes()
	},
	// An honest stack of 8 MB has up to 524,288 frames, so that the limit on work allows as many. They take more
	// time and memory than an input may here.
	"list of return addresses": func() []byte { return newCore(250_000).bytes() },
}

// sharedSegments makes a core in which n segments have the same bytes of the file. Without a size, these bytes are a
// small ELF file.
func sharedSegments(n, size int) []byte {
	c := newCore(10)
	head := c.bytes()
	le := binary.LittleEndian
	count := int(le.Uint16(head[56:]))
	shared := make([]byte, size)
	if size == 0 {
		shared = newELF().bytes()
	}
	off := 64 + 56*(count+n)
	delta := uint64(off - 64 - 56*count)
	out := bytes.Clone(head[:64])
	for i := range count { // what was there moves back
		p := bytes.Clone(head[64+56*i:][:56])
		le.PutUint64(p[8:], le.Uint64(p[8:])+delta)
		out = append(out, p...)
	}
	at := uint64(off + len(head) - 64 - 56*count)
	for i := range n {
		p := le.AppendUint32(nil, elffile.PT_LOAD)
		p = le.AppendUint32(p, elffile.PF_R|elffile.PF_W|elffile.PF_X)
		for _, v := range []uint64{at, 0x100000000 + uint64(i)<<24, 0, uint64(len(shared)), uint64(len(shared)), 4096} {
			p = le.AppendUint64(p, v)
		}
		out = append(out, p...)
	}
	le.PutUint16(out[56:], uint16(count+n))
	return append(append(out, head[64+56*count:]...), shared...)
}

// smallDump begins a minidump of x86-64 Windows with one thread.
func smallDump() *dumpbuild.Dump {
	d := dumpbuild.New(false)
	d.System(9, 2, 10, 0, 19041, "")
	stack := d.Blob(make([]byte, 4096))
	d.Threads(false, dumpbuild.Thread{ID: 7, StackStart: 0x10000, Stack: stack, Context: d.Blob(d.AMD64(0x10001f, 0x7ff600001000, 0x10100, 0x10200))})
	return d
}

// manyThreads are threads that share a stack of words that lead into it and into a module, and their registers.
func manyThreads(n, size int) []byte {
	d := dumpbuild.New(false)
	d.System(9, 2, 10, 0, 19041, "")
	stack := d.W()
	for i := range uint64(size / 16) {
		stack.U64(0x10000 + 16*(i+1)).U64(0x7ff600001000 + i%512)
	}
	loc, regs := d.Blob(stack.B), d.Blob(d.AMD64(0x10001f, 0x7ff600001000, 0x10000, 0x10000))
	var list []dumpbuild.Thread
	for i := range n {
		list = append(list, dumpbuild.Thread{ID: uint32(i + 1), StackStart: 0x10000, Stack: loc, Context: regs})
	}
	d.Threads(false, list...)
	d.Modules(dumpbuild.Module{Base: 0x7ff600000000, Size: 0x10000, Stamp: 7, Name: "m.exe"})
	return d.Bytes()
}

const longName = 60_000 // characters

func oneThreadName() []byte {
	d := smallDump()
	name, list := d.String(strings.Repeat("n", longName)), d.W().U32(200_000)
	for i := range uint32(200_000) {
		list.U32(i + 1).U64(uint64(name))
	}
	d.Stream(24, list.B)
	return d.Bytes()
}

func oneUnloadedName() []byte {
	d := smallDump()
	name, list := d.String(strings.Repeat("n", longName)), d.W().U32(12).U32(24).U32(200_000)
	for i := range uint64(200_000) {
		list.U64(0x7ff700000000 + i<<16).U32(0x10000).U32(0).U32(7).U32(name)
	}
	d.Stream(14, list.B)
	return d.Bytes()
}

func oneHandleName() []byte {
	d := smallDump()
	name, list := d.String(strings.Repeat("n", longName)), d.W().U32(16).U32(32).U32(200_000).U32(0)
	for i := range uint64(200_000) {
		list.U64(4*i + 4).U32(name).U32(name).U32(0).U32(0).U32(1).U32(1)
	}
	d.Stream(12, list.B)
	return d.Bytes()
}

func manyModules(n int) []byte {
	d := smallDump()
	name := d.String(strings.Repeat("n", 60_000))
	var list []dumpbuild.Module
	for i := range n {
		list = append(list, dumpbuild.Module{Base: 0x7ff600000000 + uint64(i)<<16, Size: 0x10000, Stamp: 7, NameAt: name})
	}
	d.Modules(list...)
	return d.Bytes()
}

func manyRecords(n int) []byte {
	d := smallDump()
	var list []dumpbuild.Module
	for i := range n {
		m := dumpbuild.Module{Base: 0x7ff600000000 + uint64(i)<<16, Size: 0x10000, Stamp: 7, Name: "m.dll"}
		if i == 0 {
			m.CodeView = d.PDB70(1, 2, 3, [8]byte{4}, 5, strings.Repeat("p", 100_000))
		}
		list = append(list, m)
	}
	d.Modules(list...)
	b := d.Bytes()
	// All modules have the record of the first one.
	le := binary.LittleEndian
	for i := range int(le.Uint32(b[8:])) {
		entry := b[int(le.Uint32(b[12:]))+12*i:]
		if le.Uint32(entry) != 4 {
			continue
		}
		first := b[le.Uint32(entry[8:])+4:]
		for j := 1; j < n; j++ {
			copy(first[108*j+76:], first[76:84])
		}
	}
	return b
}

// overlapping makes a minidump whose streams share their bytes, and lead into one another.
func overlapping() []byte {
	d := smallDump()
	mods := d.Blob(d.W().U32(3).Zeros(3 * 108).B)
	for _, kind := range []uint32{4, 5, 6, 9, 12, 13, 14, 15, 16, 21, 24, 0x43500001, 0x47670003, 0x47670009, 0x4767000a} {
		d.StreamAt(kind, dumpbuild.Loc{Size: mods.Size, Off: mods.Off + 4*(kind%3)})
	}
	d.StreamAt(14, dumpbuild.Loc{Size: 400, Off: 0}) // the header and the directory themselves
	d.StreamAt(16, dumpbuild.Loc{Size: 1 << 30, Off: 32})
	return d.Bytes()
}
