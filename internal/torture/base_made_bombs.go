package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"math"

	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

// bomb repeats a stream of zeros after the head of a core, whose stack has them all: size bytes.
func bomb(pack func([]byte) []byte, size uint64) []byte {
	head := newCore(10).bytes()
	le := binary.LittleEndian
	last := head[64+56*(int(le.Uint16(head[56:]))-1):]
	le.PutUint64(last[32:], size)
	le.PutUint64(last[40:], size)
	const piece = 64 << 20
	return append(pack(head), bytes.Repeat(pack(make([]byte, piece)), int(size/piece))...)
}

func zipOf(data []byte) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, _ := w.Create("core")
	f.Write(data)
	w.Close()
	return b.Bytes()
}

func init() {
	for kind, pack := range map[string]func([]byte) []byte{"gz": gz, "zst": zs, "xz": xzip, "lz4": lz, "bz2": bz} {
		size := uint64(2 << 30)
		if kind == "xz" || kind == "bz2" { // they take much longer for each byte, whatever it is
			size = 256 << 20
		}
		madeDumps["bomb of "+kind] = func() []byte { return bomb(pack, size) }
		madeDumps["bomb of "+kind+" in tar"] = func() []byte { return tarOf(bomb(pack, size)) }
		madeDumps["bomb of "+kind+" in zip"] = func() []byte { return zipOf(bomb(pack, size)) }
	}
	madeDumps["archive whose file has 2^50 bytes"] = func() []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		w.WriteHeader(&tar.Header{Name: "core", Size: 1 << 50, Mode: 0o600, Format: tar.FormatGNU})
		w.Write(newCore(10).bytes())
		return gz(b.Bytes())
	}
	// Counts of 2^32 in the streams of lists, all of them at one place.
	madeDumps["minidump of one stream for all"] = func() []byte {
		d := smallDump()
		at := d.Blob(bytes.Repeat([]byte{0xff, 0xff, 0xff, 0xff, 16, 0, 0, 0}, 1<<20))
		for kind := range uint32(32) {
			d.StreamAt(kind, at)
		}
		for kind := uint32(0x47670000); kind < 0x47670020; kind++ {
			d.StreamAt(kind, at)
		}
		d.StreamAt(0x43500001, at)
		return d.Bytes()
	}
	// A report repeats each argument and variable, and looks for secrets in it.
	madeDumps["minidump arguments and variables"] = func() []byte {
		d := smallDump()
		for _, kind := range []uint32{0x47670006, 0x47670007} {
			d.Stream(kind, bytes.Repeat([]byte{16, 0, 0, 0, 48, 0, 0, 0}, 1<<20))
		}
		return d.Bytes()
	}
	madeDumps["minidump memory of 2^63 bytes"] = func() []byte {
		d := smallDump()
		w := d.W().U64(math.MaxUint32, 0)
		for i := range uint64(500_000) {
			w.U64(i<<12, 1<<63-i)
		}
		d.Stream(9, w.B)
		return d.Bytes()
	}
	madeDumps["minidump names of 4 GiB"] = func() []byte {
		d := smallDump()
		name := d.Blob(binary.LittleEndian.AppendUint32(nil, math.MaxUint32-1)).Off
		var list []dumpbuild.Module
		for i := range 100_000 {
			list = append(list, dumpbuild.Module{Base: 0x7ff600000000 + uint64(i)<<16, Size: 0x10000, NameAt: name})
		}
		d.Modules(list...)
		d.Blob(bytes.Repeat([]byte("n\x00"), 4<<20))
		return d.Bytes()
	}
	madeDumps["minidump exception in a circle"] = func() []byte {
		d := smallDump()
		c := d.Blob(d.AMD64(0x10001f, 0x7ff600001000, 0x10100, 0x10200))
		e := dumpbuild.Exception{Thread: 7, Code: 0xc0000005, Nested: 0x10000, Address: 0x7ff600001000, Count: math.MaxUint32, Context: c}
		w := d.W().U32(e.Code, e.Flags).U64(0x10000, e.Address).U32(math.MaxUint32, 0)
		d.MemoryList(dumpbuild.Memory{Start: 0x10000, Data: w.Pad(0x1000).B})
		d.Exception(e)
		return d.Bytes()
	}
	// Every module has the same annotations, which are empty, or are the list of modules itself.
	madeDumps["minidump annotations of all modules"] = func() []byte { return annotations(2_000_000, 1_000_000) }
	madeDumps["minidump annotations that are their list"] = func() []byte { return annotations(1_000_000, 0) }
}

func annotations(modules, pairs int) []byte {
	d := smallDump()
	empty := d.Blob(make([]byte, 8)).Off
	var list dumpbuild.Loc
	w := d.W().U32(uint32(pairs))
	for range 2 * pairs {
		w.U32(empty)
	}
	dict := d.Blob(w.B)
	of := d.Blob(d.W().U32(1).Loc(dict).Loc(dict).Loc(dict).B)
	w = d.W().U32(uint32(modules))
	for i := range uint32(modules) {
		w.U32(i).Loc(of)
	}
	list = d.Blob(w.B)
	if pairs == 0 { // what each module has is a list of modules
		at := d.Blob(d.W().U32(1).Loc(list).Loc(list).Loc(list).B)
		w = d.W().U32(uint32(modules))
		for i := range uint32(modules) {
			w.U32(i).Loc(at)
		}
		list = d.Blob(w.B)
		dict = list
	}
	d.Stream(0x43500001, d.W().U32(1).Zeros(32).Loc(dict).Loc(list).U32(0).U64(0).B)
	return d.Bytes()
}
