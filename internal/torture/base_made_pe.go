package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

// A peMade is an image of x64 being made. It is in the file as it is in memory: the offset of each part is its RVA.
type peMade struct {
	data     []byte // from peData on
	sections []peSection
	dirs     [16][2]uint32
	symbols  [2]uint32 // offset and number of COFF symbols
	base     uint64
}

type peSection struct {
	name        string
	rva, size   uint32
	flags       uint32
	off, stored uint32
}

const (
	peText    = 0x1000            // one function, whose frames have 16 bytes
	peEnd     = peText + scanCode // its end
	peData    = peEnd
	peHeaders = 0x400
	winStack  = 8 << 10 // of each thread
	peCode    = 0x60000020
	peRead    = 0x40000040

	dirExport, dirImport, dirException, dirReloc, dirDebug, dirTLS, dirLoadConfig = 0, 1, 3, 5, 6, 9, 10
)

func newPE() *peMade {
	p := &peMade{base: scanBase}
	info := p.add(unwindAlloc8)
	p.directory(dirException, le32(peText, peEnd, info))
	record := append(append(append([]byte("RSDS"), madeGUID...), 5, 0, 0, 0), "m.pdb\x00"...)
	p.directory(dirDebug, le32(0, 7, 0, 2, uint32(len(record)), p.add(record), 0))
	return p
}

// madeGUID is that of the module's program database.
var madeGUID = []byte{1, 0, 0, 0, 2, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0}

// unwindAlloc8 is the unwind information of a function that takes 8 bytes of the stack in its first instruction.
var unwindAlloc8 = []byte{1, 4, 1, 0, 4, 0x02, 0, 0}

func le32(v ...uint32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// add returns the RVA of bytes.
func (p *peMade) add(b []byte) uint32 {
	at := p.next()
	p.data = append(append(p.data, b...), make([]byte, -len(b)&7)...)
	return at
}

func (p *peMade) next() uint32 { return peData + uint32(len(p.data)) }

func (p *peMade) directory(n int, b []byte) { p.dirs[n] = [2]uint32{p.add(b), uint32(len(b))} }

func (p *peMade) section(s peSection) { p.sections = append(p.sections, s) }

func (p *peMade) bytes() []byte {
	le := binary.LittleEndian
	all := append([]peSection{{name: ".text", rva: peText, size: scanCode, flags: peCode}, {name: ".rdata", rva: peData, size: uint32(len(p.data)), flags: peRead}}, p.sections...)
	out := make([]byte, peData, peData+len(p.data))
	for i := peText; i < peData; i++ {
		out[i] = 0x90
	}
	out = append(out, p.data...)
	head := []byte("PE\x00\x00\x64\x86")
	head = le.AppendUint16(head, uint16(len(all)))
	head = append(head, le32(7, p.symbols[0], p.symbols[1])...)
	head = le.AppendUint16(le.AppendUint16(head, 112+128), 0x2022)
	opt := make([]byte, 112)
	le.PutUint16(opt, 0x20b)
	le.PutUint32(opt[16:], peText)
	le.PutUint64(opt[24:], p.base)
	le.PutUint32(opt[32:], 0x1000)
	le.PutUint32(opt[36:], 0x200)
	le.PutUint32(opt[60:], peHeaders)
	le.PutUint16(opt[68:], 3)
	le.PutUint32(opt[108:], 16)
	head = append(head, opt...)
	for _, d := range p.dirs {
		head = append(head, le32(d[:]...)...)
	}
	for _, s := range all {
		name := make([]byte, 8)
		copy(name, s.name)
		if s.off == 0 {
			s.off, s.stored = s.rva, s.size
		}
		head = append(append(head, name...), le32(s.size, s.rva, s.stored, s.off, 0, 0, 0, s.flags)...)
	}
	const sizeAt = 24 + 56 // of the size of the image
	at := 0x40
	if at+len(head) > peText { // more sections than there is room for
		at = len(out)
		out = append(out, make([]byte, len(head))...)
	}
	le.PutUint32(head[sizeAt:], uint32(len(out)+0xfff)&^0xfff)
	copy(out, "MZ")
	le.PutUint32(out[0x3c:], uint32(at))
	copy(out[at:], head)
	return out
}

// exported adds a table of n functions and n names of one text.
func (p *peMade) exported(n int, name string, lie uint32) {
	text := p.add(str(name))
	var functions, names, ordinals []byte
	for i := range n {
		functions = append(functions, le32(peText+uint32(i)%scanCode)...)
		names = append(names, le32(text)...)
		ordinals = binary.LittleEndian.AppendUint16(ordinals, uint16(i))
	}
	count := uint32(n) | lie
	f, t, o := p.add(functions), p.add(names), p.add(ordinals)
	p.directory(dirExport, le32(0, 7, 0, text, 1, count, count, f, t, o))
}

// madePEs are images for the module of winDump.
var madePEs = map[string]func(p *peMade){
	"exports of one long name": func(p *peMade) { p.exported(1<<20, strings.Repeat("n", 1<<16-1), 0) },
	"exports of two billion":   func(p *peMade) { p.exported(1000, "n", 1<<31) },
	"exports of every byte":    func(p *peMade) { p.exported(1<<20, "n", 0) },
	"imports of one table": func(p *peMade) {
		thunks := p.add(bytes.Repeat([]byte{1}, 8<<20))
		p.directory(dirImport, bytes.Repeat(le32(thunks, 0, 0, thunks, thunks), 400_000))
	},
	"imports of empty tables": func(p *peMade) {
		none := p.add(make([]byte, 8))
		p.directory(dirImport, bytes.Repeat(le32(none, 0, 0, none, none), 2_000_000))
	},
	"function table of millions": func(p *peMade) {
		p.directory(dirException, bytes.Repeat(le32(peText, peEnd, p.add(unwindAlloc8)), 4_000_000))
	},
	"function table without order": func(p *peMade) {
		info, rng := p.add(unwindAlloc8), rand.New(rand.NewPCG(1, 2))
		var b []byte
		for range 2_000_000 {
			b = append(b, le32(peText+uint32(rng.IntN(scanCode)), peText+uint32(rng.IntN(scanCode)), info)...)
		}
		p.directory(dirException, b)
	},
	"unwind information that leads to itself": func(p *peMade) {
		const chained = 4 << 3
		at := p.next()
		info := p.add(append([]byte{1 | chained, 0, 0, 0}, le32(peText, peEnd, at)...))
		p.directory(dirException, le32(peText, peEnd, info))
	},
	"unwind information that leads on": func(p *peMade) {
		const chained = 4 << 3
		first := p.next()
		for range 1_000_000 {
			p.add(append([]byte{1 | chained, 0, 0, 0}, le32(peText, peEnd, p.next()+16)...))
		}
		p.add(unwindAlloc8)
		p.directory(dirException, le32(peText, peEnd, first))
	},
	"unwind information of 255 codes": func(p *peMade) {
		info := append([]byte{1, 255, 255, 0}, bytes.Repeat([]byte{0, 0x30}, 255)...) // push rbx
		p.directory(dirException, le32(peText, peEnd, p.add(info)))
	},
	"sections over one another": func(p *peMade) {
		p.symbols = [2]uint32{p.next(), 0}
		p.add(append(le32(1<<20), bytes.Repeat([]byte("s"), 1<<20)...))
		for range 65_000 {
			p.section(peSection{name: "/4", rva: peText, size: 1 << 31, flags: peCode})
		}
	},
	"debug directory of one long path": func(p *peMade) {
		path := append([]byte("RSDS"), bytes.Repeat([]byte("p"), 16<<20)...)
		at := p.add(path)
		p.directory(dirDebug, bytes.Repeat(le32(0, 7, 0, 2, uint32(len(path)), at, at), 1_000_000))
	},
	"debug directory of other records": func(p *peMade) {
		p.directory(dirDebug, bytes.Repeat(le32(0, 7, 0, 9, 1<<31, 1<<31, 1<<31), 1_000_000))
	},
	"relocations of one page": func(p *peMade) {
		p.base = 0x180000000 // it was moved
		p.directory(dirReloc, bytes.Repeat(append(le32(peText, 12), 0, 0xa0, 8, 0xa0), 1_000_000))
	},
	"relocations without an end": func(p *peMade) {
		p.base = 0x180000000
		p.directory(dirReloc, bytes.Repeat(append(le32(peText, 1<<24), bytes.Repeat([]byte{8, 0xa0}, 60)...), 100_000))
	},
	"COFF symbols of one long name": func(p *peMade) {
		const n = 500_000
		var b []byte
		for i := range n {
			b = append(b, le32(0, 4, uint32(i%scanCode))...)
			b = append(b, 1, 0, 0x20, 0, 2, 0)
		}
		p.symbols = [2]uint32{p.next(), n}
		p.add(append(append(b, le32(1<<20)...), bytes.Repeat([]byte("n"), 1<<20)...))
	},
	"load configuration of relocations": func(p *peMade) {
		const dynamic = 0xe0
		config := make([]byte, 0x140)
		table := append(le32(1, 1<<30), bytes.Repeat(le32(3, 0, 0), 2_000_000)...)
		off := uint32(len(p.data))
		p.add(table)
		copy(config, le32(0x140))
		copy(config[dynamic:], append(le32(off), 2, 0))
		p.directory(dirLoadConfig, config)
	},
}

// winDump is a minidump of the module, which has size bytes, with stacks of frames of 16 bytes. memory is the module's own.
func winDump(size uint32, memory []byte) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	d := dumpbuild.New(false)
	d.System(9, 2, 10, 0, 19041, "")
	var threads []dumpbuild.Thread
	for i := range scanThreads {
		start := uint64(scanAt + i<<20)
		var stack []byte
		for len(stack) < winStack {
			stack = append(append(stack, u64(start+uint64(len(stack)+16))...), u64(scanBase+peText+0x10+uint64(rng.IntN(scanCode-0x20)))...)
		}
		threads = append(threads, dumpbuild.Thread{ID: uint32(7 + i), StackStart: start, Stack: d.Blob(stack), Context: d.Blob(d.AMD64(0x10001f, scanBase+peText+0x40, start, start))})
	}
	d.Threads(false, threads...)
	d.Modules(dumpbuild.Module{Base: scanBase, Size: size, Stamp: 7, Name: "m.dll", CodeView: d.PDB70(1, 2, 3, [8]byte{4}, 5, "m.pdb")})
	if memory != nil {
		d.Memory64(dumpbuild.Memory{Start: scanBase, Data: memory})
	}
	return d.Bytes()
}

// madePEReady damages the image, which is a file or in the memory of the dump.
func madePEReady(name string, inMemory bool, dir string) (*ready, error) {
	p := newPE()
	madePEs[name](p)
	image := p.bytes()
	size := uint32(len(image)+0xfff) &^ 0xfff
	if inMemory {
		return aloneReady(winDump(size, image), dir, foreignShape)
	}
	return searchedReady(winDump(size, nil), map[string][]byte{"m.dll": image}, "m.dll", peShape, dir)
}

// searchedReady damages one of the files that are found for a dump.
func searchedReady(dump []byte, files map[string][]byte, which string, find func([]byte) *shape, dir string) (*ready, error) {
	search, path, empty := filepath.Join(dir, "search"), filepath.Join(dir, "dump"), filepath.Join(dir, "none")
	if err := os.Mkdir(search, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, dump, 0o644); err != nil {
		return nil, err
	}
	var target *staged
	for name, data := range files {
		s, err := stage(filepath.Join(search, name), data)
		if err != nil {
			return nil, err
		}
		if name == which {
			target = s
		}
	}
	if target == nil {
		return nil, fmt.Errorf("no file %s", which)
	}
	r := &ready{data: target.data, shape: find(target.data), repair: target.mend, close: target.close}
	r.run = func(edits []edit, rng *rand.Rand) error {
		return target.with(edits, func() {
			r.last = service(func(opts ...corewalk.Option) (*corewalk.Target, error) {
				return corewalk.Open(context.Background(), path, append(opts, corewalk.WithSearch(search), corewalk.WithSysroot(empty), corewalk.WithDebugDir(empty))...)
			}, rng)
		})
	}
	return r, nil
}
