package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/codeview"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/decompress/cabtest"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/format/pefile"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// fixed returns files that are made, not read.
func fixed(files func() map[string][]byte) func() (map[string][]byte, error) {
	return func() (map[string][]byte, error) { return files(), nil }
}

func namesOf[V any](files map[string]V) []string { return slices.Sorted(maps.Keys(files)) }

func windowsParts() (list []base) {
	dumps := dumpbuild.Samples()
	dumps["overlapping streams"] = overlapping()
	add := func(kind string, files map[string][]byte, shape func([]byte) *shape, use func([]byte, *rand.Rand)) {
		list = append(list, part{kind, fixed(func() map[string][]byte { return files }), shape, use}.bases(namesOf(files)...)...)
	}
	add("minidump", dumps, minidumpShape, useMinidump)
	text := bytes.Repeat([]byte("public symbols of a module, again and again; "), 2000)
	var noise []byte
	rng := rand.New(rand.NewPCG(1, 2))
	for range 40_000 {
		noise = append(noise, byte(rng.Uint32()))
	}
	add("cabinet", map[string][]byte{"mszip": cabtest.MSZIP("a.pdb", text), "short": cabtest.MSZIP("a", text[:100]), "stored": cabtest.Stored("a.pdb", text[:5000]),
		"noise": cabtest.MSZIP("n", noise), "two blocks": cabtest.Stored("n", noise), "lzx": cabtest.Method(cabtest.MSZIP("a.pdb", text), 0x1503),
		"quantum": cabtest.Method(cabtest.Stored("a.pdb", text[:100]), 2)}, bytesShape(2), useCabinet)
	add("xdata", unwindSamples(), bytesShape(1), useUnwind)
	add("codeview", map[string][]byte{"rsds": append([]byte("RSDS0123456789abcdef\x01\x00\x00\x00"), `C:\a.pdb`+"\x00"...), "nb10": append([]byte("NB10\x00\x00\x00\x00abcd\x01\x00\x00\x00"), "a.pdb\x00"...),
		"elf": append([]byte("LEpB"), make([]byte, 20)...)}, bytesShape(1), func(data []byte, _ *rand.Rand) {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			if r, err := codeview.Parse(data, order); err == nil {
				r.DebugID()
			}
		}
		codeview.OfBuildID(data)
	})
	add("rules", map[string][]byte{"a": []byte("$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + = $L $T0 .cbSavedRegs - ="),
		"b": []byte("$T2 $esp .cbLocals + .cbSavedRegs + = $T0 .raSearchStart 8 @ = $eip $T0 ^ = $esp $T0 4 + = $ebx $T0 28 - ^ ="),
		"c": []byte("$rbp 16 + 8 - ^ $T1 $T0 % 5 0 / -3 * $x y z .ra .cfa")}, textShape, useRules)
	return list
}

func useMinidump(data []byte, _ *rand.Rand) {
	minidump.Sniff(data)
	minidump.SniffMicrodump(data)
	parse := minidump.Parse
	if minidump.SniffMicrodump(data) {
		parse = minidump.ParseMicrodump
	}
	d, err := parse(data)
	if err != nil {
		_ = err.Error()
		return
	}
	d.Arch()
	d.ProcessID()
	d.Uptime()
	d.WOW64()
	d.CrashedThread()
	d.PCBits()
	for i := range d.Threads[:min(len(d.Threads), 200)] {
		if c, err := d.DecodeContext(d.Threads[i].Context); err == nil {
			c.XState.ShadowStack()
			c.XState.Feature(2)
		}
		d.WOW64Registers(&d.Threads[i])
	}
	if d.Exception != nil {
		d.DecodeContext(d.Exception.Context)
	}
	for i := range d.Modules[:min(len(d.Modules), 200)] {
		m := &d.Modules[i]
		m.Name()
		m.DebugID()
		m.CodeID()
		d.UnloadedAt(m.Base)
	}
	for i := range d.Unloaded[:min(len(d.Unloaded), 200)] {
		d.Unloaded[i].CodeID()
	}
	buf := make([]byte, 64)
	for _, s := range d.Memory.Spans() {
		d.Memory.Read(s.Start, buf)
		d.Memory.At(s.Start + 1)
		d.Memory.Next(s.Start + uint64(len(s.Data)))
		d.Memory.Lost(s.Start)
	}
	for i := range d.Regions[:min(len(d.Regions), 200)] {
		r := &d.Regions[i]
		r.Protection()
		r.StateName()
		r.TypeName()
		r.Executable()
	}
	functions := d.FunctionIndex()
	for i := range d.Functions[:min(len(d.Functions), 200)] {
		functions.At(d.Functions[i].MinAddress)
		functions.At(d.Functions[i].MaxAddress - 1)
	}
	d.System.Version()
	d.System.Processor()
	l := &d.Linux
	l.Args()
	l.Env()
	l.Release()
	l.ParseLimits()
	l.Microcode()
	l.StatusField("Uid")
	if d.Crashpad != nil {
		d.Crashpad.Annotation("key")
	}
}

func usePE(data []byte, rng *rand.Rand) {
	for _, parse := range []func([]byte) (*pefile.File, error){pefile.Parse, pefile.ParseMemory} {
		f, err := parse(data)
		if err != nil {
			_ = err.Error()
			continue
		}
		f.CodeView()
		f.CodeID()
		f.ExportName()
		n := 0
		for e := range f.Exports() {
			if n++; n > someEntries {
				break
			}
			_ = e.Name
		}
		for s := range f.Symbols() {
			if n++; n > 2*someEntries {
				break
			}
			_ = s.Name
		}
		loaded := f.LoadedAt(0x7ff600000000)
		for i := range f.Sections {
			s := &f.Sections[i]
			f.SectionData(s)
			f.Placed(s)
			for range 6 {
				rva := s.RVA + rng.Uint32N(max(1, min(s.VirtualSize, 1<<20)))
				f.SectionAt(rva)
				f.ExportAt(rva)
				f.SymbolAt(rva)
				f.At(rva)
				loaded.At(rva)
			}
		}
		for _, a := range []*arch.Arch{arch.AMD64, arch.ARM64} {
			if t, err := winunwind.New(a, f.Pdata(), f); err == nil {
				stepAll(t, a, f.Pdata(), rng)
			}
		}
	}
	im, err := image.New(data)
	if err != nil {
		return
	}
	defer im.Close()
	for _, pc := range places(im.ELF(), rng) {
		im.SymbolAt(pc)
		im.PLTStub(pc)
	}
	im.DWARF()
	im.PEUnwind()
}

// stepAll unwinds from places in the functions of a table, and from others.
func stepAll(t *winunwind.Table, a *arch.Arch, pdata []byte, rng *rand.Rand) {
	rvas := []uint32{0, 0x10, ^uint32(0)}
	for i := 0; i+4 <= len(pdata) && len(rvas) < 40; i += 4 {
		rvas = append(rvas, binary.LittleEndian.Uint32(pdata[i:])+rng.Uint32N(40))
	}
	const start = 0x7ff600000000
	for _, rva := range rvas {
		t.Find(rva)
		f := winunwind.Frame{}
		for r := range a.NumRegs() {
			f.Regs.Set(arch.Reg(r), 0x10000+uint64(r)*0x40)
		}
		f.Regs.Set(a.PC, start+uint64(rva))
		t.Step(&f, memory{a: a}, start, rng.IntN(2) == 0)
	}
}

// unwindSamples are .pdata and .xdata of x64 and arm64: two bytes say how long the first is.
func unwindSamples() map[string][]byte {
	w := func(v ...uint32) (b []byte) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	pack := func(pdata, xdata []byte) []byte {
		return append(append(binary.LittleEndian.AppendUint16(nil, uint16(len(pdata))), pdata...), xdata...)
	}
	pad := make([]byte, 0x20)
	return map[string][]byte{
		"x64": pack(w(0x100, 0x200, 0x20, 0x300, 0x400, 0x40), append(pad, 1, 4, 5, 0, 4, 0x22, 2, 0x30, 1, 0x50, 0, 0, 0x21, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0x20, 0, 0, 0,
			0x22, 8, 3, 5, 8, 0x06, 6, 0x16, 4, 0x43, 3, 0x0a, 2, 0x34, 8, 0)),
		"x64 chained":  pack(w(0x10, 0x40, 0x20, 0x40, 0x80, 0x30), append(append(pad, 0x21, 0, 0, 0), append(w(0x10, 0x40, 0x20), append(w(0), 0x21, 0, 0, 0, 0x10, 0, 0, 0)...)...)),
		"x64 large":    pack(w(0x10, 0x4000, 0x20), append(pad, 1, 0x20, 9, 0x55, 0x20, 1, 0, 0x10, 0x19, 0x78, 0x20, 0, 0x14, 0x64, 5, 0, 0x10, 0x15, 0, 0, 1, 0, 8, 0x2a)),
		"arm64":        pack(w(0, 0x1000, 0x10, 0x20), append(w(0, 0, 0, 0, 0, 0, 0, 0, 0x10|1<<21|2<<27), 0xe1, 0x42, 0x24, 0xe6, 0xe7, 0x53, 1, 0xe4)),
		"arm64 packed": pack(w(0x10, 1|0x10<<2|3<<13|1<<16|1<<20|1<<21|20<<23, 0x100, 2|0x20<<2|7<<13|3<<16|0<<20|3<<21|40<<23), nil),
		"arm64 scopes": pack(w(0, 0x20, 0x400, 0x40), append(append(pad, w(0x100|2<<22|3<<27, 0x10|1<<22, 0x20|5<<22)...), 0xd1, 0xc8, 0x82, 0xe4, 0xe5, 0xc0, 4, 0xe0, 1, 2, 3, 0xe3, 0xec, 0xfc, 0xe4, 0)),
	}
}

// atRVA is an image of which all is known.
type atRVA []byte

func (b atRVA) At(rva uint32) []byte {
	if rva > uint32(len(b)) {
		return nil
	}
	return b[rva:]
}

func useUnwind(data []byte, rng *rand.Rand) {
	if len(data) < 2 {
		return
	}
	n := min(int(binary.LittleEndian.Uint16(data)), len(data)-2)
	pdata, xdata := data[2:2+n], data[2+n:]
	for _, a := range []*arch.Arch{arch.AMD64, arch.ARM64} {
		if t, err := winunwind.New(a, pdata, atRVA(xdata)); err == nil {
			stepAll(t, a, pdata, rng)
		}
	}
}

func usePDB(data []byte, rng *rand.Rand) {
	f, err := pdb.Open(data)
	if err != nil {
		_ = err.Error()
		return
	}
	f.DebugID()
	start := uint32(0x1000)
	for i := range uint32(12) {
		rva := start + 11*i
		if i >= 6 {
			rva = start + rng.Uint32N(0x2000)
		}
		f.Lookup(rva)
		f.IsCode(rva)
		f.WinFrame(rva)
		f.FrameSize(rva)
		f.VirtualFrame(rva, 0x8000, func(string) (uint32, bool) { return 0x9000, true }, func(uint64) (uint64, error) { return 4, nil })
		if fn, ok, err := f.FuncAt(rva); ok && err == nil {
			useScope(f, fn.Scope, 0)
		}
	}
	first := pdb.TypeID(0x1000)
	for i := range pdb.TypeID(24) {
		id := first + i
		if i >= 8 {
			id = first + pdb.TypeID(rng.Uint32N(1200))
		}
		followType(f, id, 0)
	}
	pdata, xdata := f.UnwindTables()
	for _, a := range []*arch.Arch{arch.AMD64, arch.ARM64} {
		if t, err := winunwind.New(a, pdata, xdata); err == nil {
			stepAll(t, a, pdata, rng)
		}
	}
}

func useScope(f *pdb.File, s *pdb.Scope, depth int) {
	if s == nil || depth > 50 {
		return
	}
	for i := range s.Vars[:min(len(s.Vars), 60)] {
		followType(f, s.Vars[i].Type, 0)
		for j := range s.Vars[i].Places {
			s.Vars[i].Places[j].Holds(0x1010)
		}
	}
	for _, in := range s.Inner[:min(len(s.Inner), 20)] {
		useScope(f, in, depth+1)
	}
}

// followType goes where a type leads, not far: whoever reads types bounds that.
func followType(f *pdb.File, id pdb.TypeID, depth int) {
	t, ok := f.Type(id)
	if !ok || depth > 6 {
		return
	}
	f.Args(t.Args)
	list, _ := f.Members(t.Fields)
	for _, m := range list[:min(len(list), 3)] {
		followType(f, m.Type, depth+3)
	}
	if def, ok := f.Definition(id); ok && def != id {
		followType(f, def, depth+1)
	}
	if depth == 0 {
		f.Global(t.Name)
	}
	followType(f, t.Elem, depth+1)
}

func useCabinet(data []byte, _ *rand.Rand) {
	decompress.IsCabinet(data)
	f, err := decompress.OpenCabinet(data)
	if err != nil {
		_ = err.Error()
		return
	}
	f.Head(512)
	if f.Expand(io.Discard, 1<<20) != nil {
		return
	}
}

func useRules(data []byte, _ *rand.Rand) {
	program := string(data)
	w := unwindrules.WinFrame{Program: program, Locals: 8}
	read := func(a uint64) (uint64, error) { return a * 3, nil }
	w.Caller(unwindrules.WinCall{ESP: 0x1000}, &unwindrules.Machine{WordSize: 4, Read: read})
	w.RaSearch(unwindrules.WinCall{ESP: 0x1000})
	w.Searches()
	m := unwindrules.Machine{WordSize: 8, Read: read, Reg: func(string) (uint64, bool) { return 0x2000, true }}
	m.Value(program)
	m.Reset()
	m.Exec(program)
}
