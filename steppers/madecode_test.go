package steppers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Code that the process made: two functions of 32 bytes, and what is around them.
const made, madeOther, madeSize = 0x7f00_0000_0000, 0x7f00_0000_0100, 0x20

// tabled are functions with their unwind tables.
type tabled struct {
	symbols
	list []unwind.MadeTable
}

func (t tabled) MadeCodeAt(unwind.Address) (unwind.Symbol, bool) { return unwind.Symbol{}, false }

func (t tabled) MadeTableAt(addr unwind.Address) (unwind.MadeTable, bool) {
	for _, m := range t.list {
		if addr >= m.Start && addr < m.End {
			return m, true
		}
	}
	return unwind.MadeTable{}, false
}

// madeTable is a table of a function with one row.
func madeTable(start uint64, cie cfitest.CIE, row *cfitest.Program) unwind.MadeTable {
	s := &cfitest.Section{Addr: made + 0x800}
	cie.Insns = new(cfitest.Program).DefCFA(7, 8).Offset(16, 1)
	s.AddFDE(s.AddCIE(cie), start, madeSize, row)
	return unwind.MadeTable{Start: made, End: made + madeSize, EHFrame: s.Bytes(), Addr: s.Addr}
}

// byRBX is the row of a frame that rbx leads to.
func byRBX() *cfitest.Program { return new(cfitest.Program).DefCFA(3, 16).Offset(3, 2) }

// madeProc is stopped in code that it made. Behind the call is made+0x108.
func madeProc(code string) *proc {
	p := newProc(map[string]uint64{"rip": made + 8, "rsp": stack + 0x100, "rbx": stack + 0x200})
	b := []byte(strings.Repeat("\x90", 0x1000))
	copy(b, code)
	copy(b[0x103:], "\xe8\xf8\xfe\xff\xff") // call made
	p.add(made, libstate.Read|libstate.Exec, b)
	p.put(stack+0x200, 0x77, made+0x108)
	return p
}

func TestMadeCode(t *testing.T) {
	const found = "0x7f0000000108 sp 0x7ffe00000210 cfi, rbx 0x77 saved at 0x7ffe00000200"
	const shape = "the recorded unwind table is not one of a function in which the CFA is the caller's stack pointer"
	other := func(ra uint64) func(*proc) { return func(p *proc) { p.put(stack+0x208, ra) } }
	for _, tt := range []struct {
		name   string
		change func(*proc)
		table  unwind.MadeTable
		want   string
	}{
		{"a frame", nil, madeTable(made, cfitest.CIE{}, byRBX()), found},
		{"of another function", nil, madeTable(made+8, cfitest.CIE{}, byRBX()), "none; the recorded unwind table is of other code"},
		{"of what is before it too", nil, madeTable(made-8, cfitest.CIE{}, byRBX()), "none; the recorded unwind table is of other code"},
		{"of elsewhere", nil, madeTable(made+0x100, cfitest.CIE{}, byRBX()), "none; recorded unwind table: "},
		{"no table", nil, unwind.MadeTable{}, "none; no compiler recorded an unwind table of the code"},
		{"no call before it", other(made + 0x109), madeTable(made, cfitest.CIE{}, byRBX()), "none; the return address is not behind a call"},
		{"no code", other(stack), madeTable(made, cfitest.CIE{}, byRBX()), "none; the return address is not behind a call"},
		{"code that is not in the dump", func(p *proc) {
			p.segs = append(p.segs, seg{m: libstate.Mapping{Start: 0x7f00_1000_0000, End: 0x7f00_1000_1000, Perm: libstate.Read | libstate.Exec}})
			p.put(stack+0x208, 0x7f00_1000_0100)
		}, madeTable(made, cfitest.CIE{}, byRBX()), "0x7f0010000100 sp 0x7ffe00000210"},
		{"a return address of zero", other(0), madeTable(made, cfitest.CIE{}, byRBX()), "none; the return address is zero"},
		{"an undefined return address", nil, madeTable(made, cfitest.CIE{}, byRBX().Undefined(16)), "none; the return address is undefined"},
		{"a signal frame", nil, madeTable(made, cfitest.CIE{Aug: "zRS"}, byRBX()), "none; " + shape},
		{"rbx is not saved", nil, madeTable(made, cfitest.CIE{}, new(cfitest.Program).DefCFA(3, 16)), "none; " + shape},
		{"saved above", nil, madeTable(made, cfitest.CIE{}, byRBX().OffsetSF(12, 0)), "none; " + shape},
		{"an expression", nil, madeTable(made, cfitest.CIE{}, byRBX().DefCFAExpression(0x73, 0x10).Offset(0, 3)), "none; " + shape},
		{"down the stack", func(p *proc) {
			p.setRegs(map[string]uint64{"rbx": stack + 0x40})
			p.put(stack+0x40, 0x77, made+0x108)
		}, madeTable(made, cfitest.CIE{}, byRBX()), "none; the caller's stack pointer would be lower"},
	} {
		p := madeProc("")
		if tt.change != nil {
			tt.change(p)
		}
		w := walker(t, mapper{p}, tabled{list: []unwind.MadeTable{tt.table}}, must(steppers.NewMadeCodeStepper(arch.AMD64)))
		got := outcome(w, must(w.InitialFrame(1)), "rbx")
		notes := strings.Split(got, "; ")
		if got = notes[0]; got == "none" {
			got += "; " + notes[len(notes)-1]
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
	}
	if s, err := steppers.NewMadeCodeStepper(nil); err == nil {
		t.Error("for no architecture:", s)
	}
}

// TestMadeCodeAgainstCode: where a function is interrupted, its code counts, if it is known where the frame is. Where it has made a call, the table counts, and what
// the code denies is in doubt.
func TestMadeCodeAgainstCode(t *testing.T) {
	const code = "\x53\x48\x89\xe3\x48\x83\xec\x40" // push rbx; mov rbx, rsp; sub rsp, 0x40
	for _, tt := range []struct {
		name, want string
		row        *cfitest.Program
		call       bool
		doubt      bool
	}{
		{"as the code says", "0x7f0000000108 sp 0x7ffe00000210", byRBX(), false, false},
		{"ahead of the code", "none; ", new(cfitest.Program).DefCFA(7, 8), false, false},
		{"at a call", "0x7f0000000108 sp 0x7ffe000001d0", new(cfitest.Program).DefCFA(7, 16), true, true},
		{"at a call, as the code says", "0x7f0000000108 sp 0x7ffe00000210", byRBX(), true, false},
	} {
		p := madeProc(code)
		p.setRegs(map[string]uint64{"rsp": stack + 0x1c0})
		p.put(stack+0x1c0, made+0x108, made+0x108)
		m := madeTable(made, cfitest.CIE{}, tt.row)
		w := walker(t, mapper{p}, madeSymbols{tabled{list: []unwind.MadeTable{m}}}, must(steppers.NewMadeCodeStepper(arch.AMD64)))
		in := must(w.InitialFrame(1))
		if tt.call {
			in = called(t, w, made+9, stack+0x1c0, 0)
			in.SetReg(arch.RBX, stack+0x200, unwind.AtAddress(stack))
		}
		if got := outcome(w, in); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
		if out, err := w.WalkSingleFrame(in); err == nil && out.RALocation().Doubtful != tt.doubt {
			t.Errorf("%s: in doubt: %t", tt.name, out.RALocation().Doubtful)
		}
	}
}

// madeSymbols also say where the functions begin.
type madeSymbols struct{ tabled }

func (s madeSymbols) MadeCodeAt(addr unwind.Address) (unwind.Symbol, bool) {
	m, ok := s.MadeTableAt(addr)
	return unwind.Symbol{Name: "made", Addr: m.Start, Size: m.End - m.Start}, ok
}

// TestMadeCodeInLibraries: what a library has is walked by its own tables.
func TestMadeCodeInLibraries(t *testing.T) {
	m := madeTable(made, cfitest.CIE{}, byRBX())
	p := madeProc("")
	p.libs = libstate.NewTable([]*libstate.Library{{Path: "/bin/prog", Kind: libstate.SharedLibrary, Start: made, End: made + 0x1000, Mappings: []libstate.Mapping{p.at(made).m}}}, 0)
	w := walker(t, mapper{p}, tabled{list: []unwind.MadeTable{m}}, must(steppers.NewMadeCodeStepper(arch.AMD64)))
	if got := outcome(w, must(w.InitialFrame(1))); got != "none" {
		t.Error(got)
	}
}

// TestMadeCodeV8OnARM64: V8's tables have the frame pointer for the CFA there, from which the caller's stack pointer does not follow.
func TestMadeCodeV8OnARM64(t *testing.T) {
	for name, row := range map[string]*cfitest.Program{
		"before the frame is made": new(cfitest.Program).DefCFA(29, 0).SameValue(30),
		"with a frame":             new(cfitest.Program).DefCFA(29, 0).OffsetSF(30, -1).Offset(29, 0),
	} {
		s := &cfitest.Section{Addr: foreignCode + 0x800}
		s.AddFDE(s.AddCIE(cfitest.CIE{RA: 30, Insns: new(cfitest.Program)}), foreignCode+0x200, madeSize, row)
		p := newForeign(arch.ARM64, map[int][]uint32{0x100: {bl(0x100, 0x200)}})
		p.libs = nil
		p.set(map[arch.Reg]uint64{arch.ARM64.PC: foreignCode + 0x208, arch.ARM64SP: foreignStack + 0x100, arch.ARM64.FP: foreignStack + 0x120, arch.ARM64.RA: foreignCode + 0x104})
		p.put(foreignStack+0x120, 0x77, foreignCode+0x104)
		m := unwind.MadeTable{Start: foreignCode + 0x200, End: foreignCode + 0x200 + madeSize, EHFrame: s.Bytes(), Addr: s.Addr}
		w := walker(t, p, tabled{list: []unwind.MadeTable{m}}, must(steppers.NewMadeCodeStepper(arch.ARM64)))
		if got := outcome(w, must(w.InitialFrame(1)), "pc"); !strings.HasPrefix(got, "none") || !strings.Contains(got, "not one of a function") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// FuzzMadeCode steps by a table of arbitrary bytes: the caller has made a call, and is up the stack.
func FuzzMadeCode(f *testing.F) {
	f.Add(madeTable(made, cfitest.CIE{}, byRBX()).EHFrame, []byte{0x77, 0, 0, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0x7f})
	f.Add(madeTable(made, cfitest.CIE{Aug: "zRS"}, byRBX().DefCFAExpression(0x73, 0x10)).EHFrame, []byte{})
	f.Fuzz(func(t *testing.T, table, mem []byte) {
		p := madeProc("")
		copy(p.at(stack).data[0x200:], mem)
		w := walker(t, mapper{p}, tabled{list: []unwind.MadeTable{{Start: made, End: made + madeSize, EHFrame: table, Addr: made + 0x800}}}, must(steppers.NewMadeCodeStepper(arch.AMD64)))
		in := must(w.InitialFrame(1))
		out, err := w.WalkSingleFrame(in)
		if err == nil && (out.SP() <= in.SP() || out.NonCall() || out.RA() != made+0x108) {
			t.Errorf("%#x, sp %#x", out.RA(), out.SP())
		}
	})
}

// changing has one table at first, and then another one.
type changing struct {
	symbols
	list *[]unwind.MadeTable
}

func (c changing) MadeCodeAt(unwind.Address) (unwind.Symbol, bool) { return unwind.Symbol{}, false }
func (c changing) MadeTableAt(unwind.Address) (unwind.MadeTable, bool) {
	return (*c.list)[0], true
}

// TestMadeTablesAreKept: a table is read once, as long as the function is the same: of another one that begins there, its own counts.
func TestMadeTablesAreKept(t *testing.T) {
	first, second := madeTable(made, cfitest.CIE{}, byRBX()), madeTable(made, cfitest.CIE{}, new(cfitest.Program).DefCFA(7, 16))
	first.EHFrame = append(first.EHFrame, make([]byte, 0x1000)...) // behind its end
	p := madeProc("")
	p.setRegs(map[string]uint64{"rsp": stack + 0x1c0})
	p.put(stack+0x1c0, 0x77, made+0x108)
	list, money := []unwind.MadeTable{first}, &purse{left: 1000}
	w := must(unwind.NewWalker(mapper{p}, unwind.WithSymbolReader(changing{list: &list}), unwind.WithBudget(money)))
	if err := w.AddStepper(must(steppers.NewMadeCodeStepper(arch.AMD64))); err != nil {
		t.Fatal(err)
	}
	in := must(w.InitialFrame(1))
	spent := func(want string) int {
		before := money.spent
		if got := outcome(w, in); !strings.HasPrefix(got, want) {
			t.Errorf("%s; want %s", got, want)
		}
		return money.spent - before
	}
	const atRBX, atRSP = "0x7f0000000108 sp 0x7ffe00000210", "0x7f0000000108 sp 0x7ffe000001d0"
	if once, again := spent(atRBX), spent(atRBX); once <= again {
		t.Errorf("%d, then %d were spent", once, again)
	}
	list[0] = second
	spent(atRSP)
	list[0] = first
	spent(atRBX)
	list[0].EHFrame = nil
	spent("none")
	list[0].EHFrame = slices.Clone(first.EHFrame)
	money.left = 0x20
	spent("none")
}

// TestMadeCodeHasNoBottom: where a function of no library begins is known by records, which prove no end of a stack.
func TestMadeCodeHasNoBottom(t *testing.T) {
	for ra, want := range map[uint64]string{
		0:            "none; the return address is zero, but nothing proves where the function begins",
		made + 0x108: "0x7f0000000108 sp 0x7ffe00000108",
	} {
		p := madeProc("")
		p.put(stack+0x100, ra)
		m := madeTable(made, cfitest.CIE{}, byRBX())
		w := walker(t, mapper{p}, madeSymbols{tabled{list: []unwind.MadeTable{m}}}, analysis())
		if got := outcome(w, must(w.InitialFrame(1))); !strings.HasPrefix(got, want) {
			t.Errorf("%#x: %s; want %s", ra, got, want)
		}
	}
}
