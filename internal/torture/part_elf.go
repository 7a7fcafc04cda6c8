package main

import (
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/exidx"
	"github.com/corewalk/corewalk/internal/format/gopclntab"
	"github.com/corewalk/corewalk/unwind/arch"
)

// What one input of a part looks at, at most. Reports look at less.
const (
	someEntries = 500
	somePlaces  = 12
)

// places are addresses in the executable segments of a file, and outside.
func places(f *elffile.File, rng *rand.Rand) []uint64 {
	list := []uint64{f.Entry, 0, ^uint64(0)}
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == elffile.PT_LOAD && p.Flags&elffile.PF_X != 0 && p.Memsz > 0 {
			for range somePlaces {
				list = append(list, p.Vaddr+rng.Uint64N(min(p.Memsz, 1<<20)))
			}
		}
		if len(list) > 4*somePlaces {
			break
		}
	}
	return list
}

func useELF(data []byte, rng *rand.Rand) {
	for _, parse := range []func([]byte) (*elffile.File, error){elffile.Parse, elffile.ParsePlaced,
		func(b []byte) (*elffile.File, error) { return elffile.ParseMemory(b, 0x7f0000040000) }} {
		f, err := parse(data)
		if err != nil {
			_ = err.Error()
			continue
		}
		f.Arch()
		f.BuildID()
		f.DebugLink()
		f.DebugAltLink()
		f.Interp()
		f.Relro()
		f.SONAME()
		f.Needed()
		f.RunPath()
		f.DebugOnly()
		for i := range f.Progs {
			b := f.SegmentData(&f.Progs[i])
			if f.Progs[i].Type == elffile.PT_NOTE {
				for n := range elffile.Notes(b, f.Order, 4) {
					_ = n.Desc
				}
			}
		}
		secs := f.Sections()
		for i := range secs[:min(len(secs), 200)] {
			secs[i].Name()
			f.SectionData(&secs[i])
		}
		n := 0
		for range f.Relocs() {
			if n++; n > someEntries {
				break
			}
		}
		f.PLTReloc(1)
		f.SymByName("main")
		for _, get := range []func() (*elffile.SymTab, error){f.SymTab, f.DynSym} {
			tab, err := get()
			if err != nil || tab == nil {
				continue
			}
			tab.ByName("main")
			n := 0
			for s := range tab.All() {
				if n++; n > someEntries {
					break
				}
				s.Name()
				s.IsFunc()
			}
			for range tab.WithPrefix("_Z") {
				break
			}
		}
		loaded := f.Loaded(0x10000)
		for _, pc := range places(f, rng) {
			f.LookupSym(pc)
			f.SectionAt(pc)
			f.VaddrToOff(pc)
			f.DataAt(pc, 16)
			f.RelocOf(pc)
			if loaded != nil { // a debug file
				loaded(pc + 0x10000)
			}
		}
	}
	im, err := image.New(data)
	if err != nil {
		return
	}
	defer im.Close()
	a := im.ELF().Arch()
	for i, pc := range places(im.ELF(), rng) {
		s, ok := im.SymbolAt(pc)
		im.PLTStub(pc)
		im.GoFuncAt(pc)
		if ok && a != nil && i < 6 {
			if fn, _ := im.Flow(a, s.Value, s.Value+min(s.Size, 4096)); fn != nil {
				fn.Rows(nil, pc)
			}
		}
	}
	im.Warnings()
}

func useDWARF(data []byte, rng *rand.Rand) {
	im, err := image.New(data)
	if err != nil {
		return
	}
	defer im.Close()
	d := im.DWARF()
	if d == nil {
		return
	}
	left := someEntries
	var buf []dwarf.Call
	m := new(op.Machine)
	limit := budget.Of(1 << 20)
	d.Units(func(u *dwarf.Unit) bool {
		u.Name()
		u.CompDir()
		u.LineErr()
		u.Split()
		for i := range uint64(4) {
			u.File(i)
			u.AddressAt(i)
		}
		walkEntries(u, &left, m, limit)
		return left > 0
	})
	for _, pc := range places(im.ELF(), rng) {
		buf, _ = d.Frames(pc, buf[:0])
		for _, c := range buf {
			if c.Func.Valid() {
				c.Func.FuncInfo()
			}
		}
		if f, ok := d.FuncAt(pc); ok {
			f.FuncInfo()
			f.Unit.PrologueEnd(f.Low, f.High)
			f.Unit.CallSiteAt(f.Off, pc)
			im.TailsBack(f)
		}
		if u, err := d.UnitForPC(pc); err == nil {
			u.Line(pc)
		}
		d.TailChain(pc, dwarf.Callee{PC: im.ELF().Entry}, nil, nil)
	}
	d.TypeUnit(1)
}

// walkEntries reads all attributes, evaluates what are expressions, and follows what are references.
func walkEntries(u *dwarf.Unit, left *int, m *op.Machine, limit *budget.Budget) {
	c := u.Cursor(u.Root())
	var e dwarf.Entry
	var v dwarf.Value
	env := op.Env{Big: false, AddrSize: 8, Regs: registers{}, Mem: memory{a: arch.AMD64}, Resolver: resolver{u}}
	for *left > 0 && c.Next(&e) {
		*left--
		for c.Attr(&v) {
			u.Text(&v)
			u.Address(&v)
			if b, ok := u.Bytes(&v); ok && len(b) < 4096 {
				m.Eval(env, b)
				op.Format(b, op.Style{AddrSize: 8})
			}
			if v.Form.Class() == dwarf.ClassReference {
				if to, err := u.Ref(&v); err == nil {
					to.Unit.Entry(to.Off)
				}
			}
			if v.Attr == dwarf.AttrLocation || v.Attr == dwarf.AttrFrameBase {
				if expr, ok, err := u.Location(&v, 0x1010, limit); err == nil && ok {
					m.Eval(env, expr)
				}
			}
		}
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			dwarf.DIE{Unit: u, Off: e.Off}.FuncInfo()
			u.CallSites(e.Off, nil)
			left := 1 << 16
			u.Ranges(e.Off, &left)
		case dwarf.TagLexicalBlock:
			left := 1 << 16
			u.Ranges(e.Off, &left)
		}
	}
}

// registers have a value each but for some.
type registers struct{}

func (registers) DWARFReg(n uint64) (uint64, error) {
	if n%7 == 6 {
		return 0, errNothing
	}
	return 0x1000 + n*0x18, nil
}

// resolver answers from a unit, where there is one.
type resolver struct{ u *dwarf.Unit }

func (r resolver) Value(o op.Op, arg uint64, block []byte) (op.Value, error) {
	return op.Value{Bits: arg + 0x1000}, nil
}

func (r resolver) Expr(o op.Op, arg uint64) ([]byte, op.Resolver, error) {
	if r.u == nil {
		return []byte{byte(op.Call2), byte(arg), byte(arg >> 8)}, nil, nil
	}
	v := r.u.Value(r.u.Off+arg, dwarf.AttrLocation)
	b, _ := r.u.Bytes(&v)
	return b, nil, nil
}

func (r resolver) BaseType(die uint64) (op.Type, error) {
	t, ok := op.BaseType(uint8(die%9), die%17)
	if !ok {
		return t, errors.New("no type")
	}
	return t, nil
}

func useCFI(data []byte, rng *rand.Rand) {
	im, err := image.New(data)
	if err != nil {
		return
	}
	defer im.Close()
	var row cfi.Row
	m := new(op.Machine)
	mem := memory{a: arch.AMD64}
	apply := func() {
		cfa, _ := row.CFAValue(m, registers{}, mem)
		for reg := range row.Rules() {
			row.Recover(reg, cfa, m, registers{}, mem)
		}
		row.Format(nil)
	}
	for _, t := range []*cfi.Table{im.EHFrame(), im.DebugFrame()} {
		if t == nil {
			continue
		}
		t.HeaderErr()
		n := 0
		for d := range t.FDEs() {
			if n++; n > 60 {
				break
			}
			rows := 0
			for range t.Rows(d, &row) {
				if rows++; rows > 60 {
					break
				}
				apply()
			}
			if t.Row(d.Start+1, &row) == nil {
				apply()
			}
		}
		for _, pc := range places(im.ELF(), rng) {
			if t.Row(pc, &row) == nil {
				apply()
			}
		}
		t.Skipped()
	}
	if t := im.Exidx(); t != nil {
		var e exidx.Entry
		for _, pc := range places(im.ELF(), rng) {
			if t.Find(pc, &e) == nil {
				f := exidx.Frame{Known: 0xffff}
				exidx.Run(e.Ops(), &f, func(addr uint32) (uint32, error) { return addr * 3, nil })
			}
		}
	}
}

// inGo reports whether the program of a case is written in Go.
func inGo(c fixture.Case) bool { return strings.Contains(c.Name, "-go-") }

// goShape is that of the pc-line table in a file: its header, some of the index and of the functions.
func goShape(data []byte) *shape {
	at, size := goTableIn(data)
	if size == 0 {
		return &shape{}
	}
	f, _ := elffile.Parse(data)
	s := &shape{big: f.Big(), word: wordSize(f)}
	part := func(off, n int) {
		n = min(n, size-off)
		if off < 0 || n <= 0 {
			return
		}
		s.regions = append(s.regions, region{at + off, n})
		s.fields = append(s.fields, words(at+off, n, 4, roleNumber, nil)...)
		s.fields = append(s.fields, words(at+off, n, 1, roleCode, nil)...)
	}
	part(0, 8+9*s.word)
	rd := mutator{data: data, shape: s}
	for i := range 8 { // where the parts of the table are
		if v := rd.read(at+8+i*s.word, s.word); v < uint64(size) {
			part(int(v), 600)
			part(int(v)+size/7, 200)
		}
	}
	s.regions = append(s.regions, region{at, size})
	return s
}

// goTableIn returns where the table is.
func goTableIn(data []byte) (at, size int) {
	f, err := elffile.Parse(data)
	if err != nil {
		return 0, 0
	}
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if sec := f.Section(name); sec != nil && sec.Off+sec.Size <= uint64(len(data)) {
			return int(sec.Off), int(sec.Size)
		}
	}
	return 0, 0
}

func useGo(data []byte, rng *rand.Rand) {
	at, size := goTableIn(data)
	if size == 0 {
		return
	}
	table := data[at : at+size]
	t, err := gopclntab.Parse(table)
	if err != nil {
		return
	}
	words := make([]uint64, gopclntab.ModuleWords)
	for i := range words {
		words[i] = rng.Uint64N(1 << 24)
	}
	t.Module(words, words[0])
	text := t.HeaderText
	t = t.Loaded(text, func(off uint64) []byte {
		if off > uint64(len(data)) {
			return nil
		}
		return data[off:]
	})
	start, end := t.Text()
	t.ByName("runtime.main")
	pcs := []uint64{start, end, end - 1, 0, ^uint64(0)}
	for range somePlaces {
		pcs = append(pcs, start+rng.Uint64N(max(1, min(end-start, 1<<22))), start+rng.Uint64N(4096))
	}
	for _, pc := range pcs {
		f, ok := t.Find(pc)
		if !ok {
			continue
		}
		f.Name()
		f.Asm()
		f.TopFrame()
		f.FrameAt(pc)
		f.Calls(pc)
	}
}
