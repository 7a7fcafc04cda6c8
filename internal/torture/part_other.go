package main

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/dyninst"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/archive"
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/format/jitmap"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// packedParts are small files in every container.
func packedParts(t tb) []base {
	plain := append([]byte("\x7fELF"), bytes.Repeat([]byte("memory of a process\x00\x00\x00\x00"), 300)...)
	p := part{"packed", func() (map[string][]byte, error) {
		files := map[string][]byte{}
		for name, pack := range containers {
			files[name] = pack(plain)
		}
		return files, nil
	}, bytesShape(1), func(data []byte, _ *rand.Rand) { usePacked(data, t.dir) }}
	return p.bases(namesOf(containers)...)
}

func usePacked(data []byte, dir string) {
	const limit = 1 << 20
	archive.Sniff(data)
	decompress.SniffZlib(data)
	if k := decompress.Sniff(data); k != decompress.None {
		if r, err := decompress.NewReader(bytes.NewReader(data), k); err == nil {
			io.Copy(io.Discard, io.LimitReader(r, limit))
			r.Close()
		}
	}
	for _, m := range []decompress.Method{decompress.MethodZlib, 2} {
		decompress.Section(m, data, 6904, limit)
		if l, err := decompress.NewLazy(m, data, 6904, limit); err == nil {
			l.Need(100)
			l.Need(6904)
		}
	}
	decompress.XZ(data, limit)
	if archive.Sniff(data) != archive.None {
		d, err := archive.Extract(context.Background(), bytes.NewReader(data), decompress.Options{Dir: dir, MaxSize: limit, MaxDisk: limit})
		if err != nil {
			_ = err.Error()
		}
		if d.File != nil {
			d.File.Close()
		}
	}
}

// textParts are symbol files of Breakpad, and microdumps.
func textParts(t tb) (list []base) {
	for _, name := range symCases {
		list = append(list, part{"sym", func() (files map[string][]byte, err error) {
			err = caught(func() error {
				text, err := symbolFile(t, fixture.Get(t, name))
				files = map[string][]byte{name: text}
				return err
			})
			return files, err
		}, textShape, useSymbols}.bases(name)...)
	}
	made := "MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 program\nFILE 0 a.c\nFUNC m 1000 40 0 f(int)\n1000 10 1 0\n1010 30 2 0\nFUNC 1040 20 4 g\nPUBLIC m 2000 0 p\nPUBLIC 2010 8 q\n" +
		"STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI 1004 .cfa: $rsp 16 + $rbp: .cfa 16 - ^\n" +
		"STACK WIN 4 1040 20 1 0 8 c 10 20 1 $T0 $ebp = $eip $T0 4 + ^ =\nSTACK WIN 0 2000 10 0 0 4 0 0 0 0 1\n"
	list = append(list, part{"sym", fixed(func() map[string][]byte { return map[string][]byte{"made": []byte(made)} }), textShape, useSymbols}.bases("made")...)
	maps := "7f0000001000 100 old\n7f0000001040 10 JS:*f /srv/a.js:1:2\n0x7f0000002000 0x20 void A.b(int)\n7f0000002010 ffffffff g\nffffffffffffff00 fe end\n"
	list = append(list, part{"perfmap", fixed(func() map[string][]byte { return map[string][]byte{"made": []byte(maps)} }), textShape, func(data []byte, rng *rand.Rand) { useJITMap(jitmap.ParsePerfMap, data, rng) }}.bases("made")...)
	list = append(list, part{"jitdump", func() (map[string][]byte, error) {
		c := fixture.Get(t, "amd64-jit-dump")
		names, err := filepath.Glob(filepath.Join(c.Dir, "jit-*.dump"))
		if err != nil || len(names) == 0 {
			return nil, err
		}
		data, err := os.ReadFile(names[0])
		return map[string][]byte{"file": data}, err
	}, bytesShape(8), func(data []byte, rng *rand.Rand) { useJITMap(jitmap.ParseJitdump, data, rng) }}.bases("file")...)
	micro := "-----BEGIN BREAKPAD MICRODUMP-----\nV Chrome:1\nP product\nO A arm64 8 aarch64 x\nR 0000000B SIGSEGV 00000045\nG x\nS 0 7FFD00000000 7FFD00000000 00001000\nS 7FFD00000000 0102030405060708\nC 0000000000000001\nM 0000000000400000 00000000 00001000 000102030405060708090A0B0C0D0E0F0 lib.so\n-----END BREAKPAD MICRODUMP-----\n"
	return append(list, part{"minidump", fixed(func() map[string][]byte { return map[string][]byte{"microdump": []byte(micro)} }), textShape, useMinidump}.bases("microdump")...)
}

// useJITMap asks for the functions at, before and behind each record.
func useJITMap(parse func([]byte) (*jitmap.Map, error), data []byte, rng *rand.Rand) {
	m, err := parse(data)
	if err != nil {
		_ = err.Error()
		return
	}
	for i := range min(m.Len(), someEntries) {
		r := m.At(i)
		for _, addr := range []uint64{r.Start - 1, r.Start, r.Start + r.Size - 1, r.Start + r.Size, rng.Uint64()} {
			f, _ := m.Find(addr)
			f.Line(addr)
		}
	}
}

func useSymbols(data []byte, rng *rand.Rand) {
	f, err := breakpad.Parse(data)
	if err != nil {
		_ = err.Error()
		return
	}
	f.Counts()
	addrs := []uint64{0, 0x1000, 0x1004, 0x1018, 0x1044, 0x2001, 0x2011, ^uint64(0)}
	for range somePlaces {
		addrs = append(addrs, 0x1000+rng.Uint64N(0x1000))
	}
	for _, a := range addrs {
		f.Lookup(a)
		m := &unwindrules.Machine{WordSize: 8, Reg: func(string) (uint64, bool) { return a, true }, Read: func(x uint64) (uint64, error) { return x, nil }}
		if r, err := f.CFI(a); err == nil && r != nil {
			var c breakpad.Caller
			r.Apply(&c, m)
			_ = r.String()
		}
		if w, err := f.Win(a); err == nil && w != nil {
			w.Caller(unwindrules.WinCall{ESP: 0x1000}, &unwindrules.Machine{WordSize: 4, Read: m.Read})
		}
	}
}

// arches are all architectures whose code is decoded.
var arches = []*arch.Arch{arch.AMD64, arch.X86, arch.ARM64, arch.ARM, arch.PPC64LE, arch.PPC64, arch.PPC, arch.RISCV64, arch.S390X, arch.MIPS, arch.MIPS64, arch.Loong64,
	arch.SPARC64, arch.M68K, arch.Alpha, arch.HPPA}

// codeParts are code, and expressions of DWARF.
func codeParts() (list []base) {
	rng := rand.New(rand.NewPCG(3, 4))
	code := make([]byte, 300)
	for i := range code {
		code[i] = byte(rng.Uint32())
	}
	copy(code, []byte{0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x18, 0x85, 0xff, 0x74, 0x05, 0xe8, 0, 1, 0, 0, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0xc3,
		0xff, 0x24, 0xc5, 0, 0x10, 0, 0, 0x0f, 0x1f, 0x44, 0, 0, 0xc5, 0xf8, 0x77, 0x62, 0xf1, 0x7c, 0x48, 0x10, 0x07, 0xf3, 0xa4, 0xeb, 0xd0})
	for _, a := range arches {
		list = append(list, part{"code", fixed(func() map[string][]byte { return map[string][]byte{a.Name: code} }), bytesShape(max(1, a.PCAlign)),
			func(data []byte, rng *rand.Rand) { useCode(a, data, rng) }}.bases(a.Name)...)
	}
	var exprs []byte
	for _, o := range opcodes {
		exprs = append(exprs, byte(o), byte(rng.Uint32()), byte(rng.Uint32())&0x7f)
	}
	exprs = append(exprs, 0x31, 0x30, 0x12, 0x28, 0xfa, 0xff, 0x2f, 0xfd, 0xff, 0x75, 0, 0x23, 8, 0x06, 0x93, 8, 0x9d, 1, 2)
	return append(list, part{"op", fixed(func() map[string][]byte { return map[string][]byte{"all": exprs} }), func(data []byte) *shape {
		return &shape{regions: []region{{0, len(data)}}, fields: words(0, len(data), 1, roleCode, opcodes)}
	}, useOp}.bases("all")...)
}

func useOp(data []byte, rng *rand.Rand) {
	m := new(op.Machine)
	env := op.Env{AddrSize: 8, Regs: registers{}, Mem: memory{a: arch.AMD64}, Resolver: resolver{}}
	odd := op.Env{Big: true, AddrSize: 4, RefSize: 8, Regs: registers{}, Mem: memory{a: arch.PPC}}
	for range 5 {
		at := rng.IntN(len(data) + 1)
		expr := data[at:min(len(data), at+rng.IntN(60))]
		m.Eval(env, expr)
		m.Eval(odd, expr)
		m.EvalValue(env, expr, rng.IntN(2) == 0, 0x1000)
		op.Format(expr, op.Style{AddrSize: 8})
	}
}

// codeBytes is code, and data, at an address.
type codeBytes []byte

const codeAt = 0x1000

func (c codeBytes) CodeAt(addr uint64) []byte {
	if off := addr - codeAt; off < uint64(len(c)) {
		return c[off:]
	}
	return nil
}
func (c codeBytes) DataAt(addr uint64) []byte { return c.CodeAt(addr) }
func (c codeBytes) FuncAt(addr uint64) bool   { return addr%64 == 3 }
func (c codeBytes) NoReturn(addr uint64) bool { return addr%64 == 5 }

func useCode(a *arch.Arch, data []byte, rng *rand.Rand) {
	data = data[:min(len(data), 1<<13)]
	end := codeAt + uint64(len(data))
	var regs arch.RegSet
	for r := range a.NumRegs() {
		regs.Set(arch.Reg(r), codeAt+uint64(r)*16)
	}
	for pc := uint64(codeAt); pc < end; {
		in, err := disasm.Decode(a, data[pc-codeAt:], pc)
		if err != nil {
			pc += uint64(max(1, a.PCAlign))
			continue
		}
		in.Text(disasm.TextOptions{Symbol: func(addr uint64) (string, uint64) { return "f", addr &^ 15 }})
		in.ALU()
		if c, ok := in.Compare(); ok {
			in.JumpsAfter(&c, 4, 1, 2)
		}
		in.KeepsFlags()
		in.KeepsMemory()
		in.StackDelta()
		in.EffectiveAddress(&regs)
		disasm.FaultAccess(nil, &in, &regs)
		pc = max(pc+1, in.Next())
	}
	fn := stackflow.Analyze(a, codeBytes(data), codeAt, end)
	for range 8 {
		pc := codeAt + rng.Uint64N(max(1, uint64(len(data))))
		if fn != nil {
			rows, _ := fn.Rows(nil, pc)
			for _, r := range rows {
				r.Loc(a.FP)
			}
		}
		disasm.CallBefore(a, data, pc)
		disasm.FrameState(a, data, codeAt, pc)
		disasm.FrameStateNear(a, data, codeAt, pc)
	}
	stackflow.Follow(a, codeBytes(data), codeAt, end, 1<<14)
	stackflow.CallTargets(a, data, codeAt)
	stackflow.StartsByPadding(a, data, codeAt, end-8, 16)
	dyninst.ReadTrapMap(memory{a, codeAt, data}, a, codeAt, 0)
}
