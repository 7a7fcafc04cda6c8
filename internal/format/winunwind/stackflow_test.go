package winunwind_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/pefile"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", filepath.Base(name), args, err, out)
	}
	return string(out)
}

// link makes a DLL of source files.
func link(t testing.TB, machine string, flags []string, sources ...string) (*pefile.File, string) {
	t.Helper()
	clang, linker := fixture.LLVM(t, "clang"), fixture.LLVM(t, "lld-link")
	dir := t.TempDir()
	out := filepath.Join(dir, "a.dll")
	args := []string{"-nodefaultlib", "-dll", "-noentry", "-out:" + out}
	for i, src := range sources {
		obj := filepath.Join(dir, fmt.Sprintf("%d.obj", i))
		run(t, clang, append(slices.Clone(flags), "--target="+machine+"-pc-windows-msvc", "-c", src, "-o", obj)...)
		args = append(args, obj)
	}
	run(t, linker, args...)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	f, err := pefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f, out
}

// code is an image for stackflow, at address base.
type code struct{ *pefile.File }

const base = 0x180000000

func (c code) CodeAt(addr uint64) []byte {
	if addr-base > 0xffffffff {
		return nil
	}
	return c.At(uint32(addr - base))
}
func (c code) DataAt(addr uint64) []byte { return c.CodeAt(addr) }
func (c code) FuncAt(uint64) bool        { return false }
func (c code) NoReturn(uint64) bool      { return false }

// memory contains, in each word, a value derived from its address.
type memory struct{}

func word(addr uint64) uint64                                         { return addr*3 + 1 }
func (memory) ReadWord(addr arch.Address) (uint64, error)             { return word(addr), nil }
func (memory) ReadMem(addr arch.Address, buf []byte) (n int, _ error) { return 0, arch.ErrUnmapped }

// functions lists the entries of a function table.
func functions(tab *winunwind.Table, a *arch.Arch, pdata []byte) (all []winunwind.Function) {
	size := 12
	if a == arch.ARM64 {
		size = 8
	}
	for ; len(pdata) >= size; pdata = pdata[size:] {
		begin := uint32(pdata[0]) | uint32(pdata[1])<<8 | uint32(pdata[2])<<16 | uint32(pdata[3])<<24
		if fn, ok := tab.Find(begin); ok {
			all = append(all, fn)
		}
	}
	return all
}

// TestEveryInstruction unwinds at every instruction of compiled functions and at every
// return address, and compares the result with an analysis of the code.
func TestEveryInstruction(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.ARM64} {
		machine := map[*arch.Arch]string{arch.AMD64: "x86_64", arch.ARM64: "aarch64"}[a]
		for _, flags := range []string{"-O0", "-O1", "-O2", "-Os", "-Oz", "-O2 -fno-omit-frame-pointer", "-O2 -fno-optimize-sibling-calls -fno-inline"} {
			t.Run(machine+flags, func(t *testing.T) {
				if !slices.Contains([]string{"-O0", "-O2", "-Oz"}, flags) {
					fixture.Long(t)
				}
				pe, _ := link(t, machine, strings.Fields(flags), "testdata/frames.c")
				tab, err := winunwind.New(a, pe.Pdata(), pe)
				if err != nil {
					t.Fatal(err)
				}
				c := comparison{T: t, a: a, pe: pe, tab: tab}
				all := functions(tab, a, pe.Pdata())
				for _, fn := range all {
					c.function(fn)
				}
				t.Logf("%d functions, %d instructions: %d compared, %d unknown to the analysis, %d registers compared", len(all), c.total, c.compared, c.unknown, c.registers)
				if a == arch.AMD64 && c.windows == 0 && flags != "-O0" {
					t.Error("no function pushes rsi or rdi")
				}
				if len(all) < 11 || c.compared < c.total*9/10 || c.registers < c.total {
					t.Error("too little is compared")
				}
			})
		}
	}
}

type comparison struct {
	*testing.T
	a                                   *arch.Arch
	pe                                  *pefile.File
	tab                                 *winunwind.Table
	total, compared, unknown, registers int
	windows                             int          // of rsi and rdi
	reloaded                            arch.RegMask // registers not changed yet, or loaded again
	pushed                              []arch.Reg   // by the function's first instructions
}

func (c *comparison) function(fn winunwind.Function) {
	f := stackflow.Analyze(c.a, code{c.pe}, base+uint64(fn.Begin), base+uint64(fn.End))
	if f == nil {
		c.Errorf("%#x: cannot be followed", fn.Begin)
		return
	}
	c.reloaded, c.pushed = ^arch.RegMask(0), c.pushes(fn)
	for at := fn.Begin; at < fn.End; {
		in, err := disasm.Decode(c.a, c.pe.At(at), base+uint64(at))
		if err != nil {
			c.Errorf("%#x: %v", at, err)
			return
		}
		c.instruction(f, at, at, true, in.Text(disasm.TextOptions{}))
		if in.Kind.IsCall() {
			c.instruction(f, at, at+uint32(in.Len), false, "after "+in.Text(disasm.TextOptions{}))
		}
		c.follow(f, &in)
		at += uint32(in.Len)
	}
}

// pushes lists the registers pushed by the first instructions of an x64 function. The
// analysis does not track rsi and rdi, which calls preserve only on Windows.
func (c *comparison) pushes(fn winunwind.Function) (regs []arch.Reg) {
	for at := fn.Begin; c.a == arch.AMD64; {
		in, err := disasm.Decode(c.a, c.pe.At(at), base+uint64(at))
		if err != nil || in.Kind != disasm.Push {
			break
		}
		regs = append(regs, in.Src)
		at += uint32(in.Len)
	}
	return regs
}

// checkPushed compares where the pushed registers of the caller are found from a frame that
// is at a call.
func (c *comparison) checkPushed(f *winunwind.Frame, pc uint32) {
	for i, r := range c.pushed {
		if want := f.CFA - 16 - 8*uint64(i); !f.Saved.Has(r) || f.At[r] != want {
			c.Errorf("%#x: %s is saved at %#x (%t), want %#x", pc, c.a.RegName(r), f.At[r], f.Saved.Has(r), want)
		}
		if r == arch.RSI || r == arch.RDI {
			c.windows++
		}
	}
}

// follow updates c.reloaded.
func (c *comparison) follow(f *stackflow.Func, in *disasm.Inst) {
	rows, _ := f.Rows(nil, in.PC)
	c.reloaded &^= in.Writes
	m := in.Mem()
	if in.Kind.EndsBlock() || len(rows) != 1 || in.Kind != disasm.Load || m == nil || m.Index != arch.NoReg || m.Base == arch.NoReg {
		if in.Kind.EndsBlock() {
			c.reloaded = 0
		}
		return
	}
	frame, cfa := c.frame(rows[0])
	addr, _ := frame.Regs.Get(m.Base)
	addr += uint64(m.Disp)
	saved := append([]stackflow.SavedReg{{Reg: c.a.RA, Loc: rows[0].RA}}, rows[0].Saved...)
	for i, r := range []arch.Reg{in.Dst, in.Dst2} {
		for _, s := range saved {
			if s.Reg == r && r != arch.NoReg && s.Loc.Kind == stackflow.AtCFA && cfa+uint64(s.Loc.Off) == addr+8*uint64(i) {
				c.reloaded |= arch.Mask(r)
			}
		}
	}
}

// home is the space above the return address that callers reserve for four arguments, where
// compilers also save registers.
const home = 32

// instruction compares unwinding at pc with the row of the instruction at rva.
func (c *comparison) instruction(f *stackflow.Func, rva, pc uint32, exact bool, text string) {
	c.total++
	rows, _ := f.Rows(nil, base+uint64(rva))
	if len(rows) != 1 || rows[0].CFA.Reg == arch.NoReg || rows[0].CFA.Deref {
		c.unknown++
		return
	}
	row := rows[0]
	frame, cfa := c.frame(row)
	if delta, ok := c.toReturn(rva); ok && row.CFA.Reg != c.a.SP && row.BySP.Reg != c.a.SP {
		frame.Regs.Set(c.a.SP, cfa+uint64(row.CallerSP)-uint64(delta))
	}
	frame.Regs.Set(c.a.PC, base+uint64(pc))
	before := frame.Regs
	if err := c.tab.Step(&frame, memory{}, base, exact); err != nil {
		c.Errorf("%#x %s: %v", pc, text, err)
		return
	}
	c.compared++
	if want := cfa + uint64(row.CallerSP); frame.CFA != want {
		c.Errorf("%#x %s: CFA %#x, want %#x (%+v)", pc, text, frame.CFA, want, *row)
		return
	}
	if !exact {
		c.checkPushed(&frame, pc)
	}
	ra := c.a.RA
	if ra == arch.NoReg {
		ra = c.a.PC
	}
	c.register(&frame, &before, c.a.PC, ra, row.RA, cfa, pc, text)
	for _, s := range row.Saved {
		c.register(&frame, &before, s.Reg, s.Reg, s.Loc, cfa, pc, text)
	}
	for m := frame.Saved; m != 0; m &= m - 1 {
		if at := frame.At[m.First()]; at >= frame.CFA+home {
			c.Errorf("%#x %s: %s saved at %#x, above the frame", pc, text, c.a.RegName(m.First()), at)
		}
	}
}

// toReturn returns by how much the instructions from rva on move the stack pointer until
// they have returned, or false if they do anything else before. The analysis does not know
// the stack pointer after calls of __chkstk.
func (c *comparison) toReturn(rva uint32) (delta int64, ok bool) {
	for {
		in, err := disasm.Decode(c.a, c.pe.At(rva), base+uint64(rva))
		if err != nil || in.Kind.EndsBlock() && in.Kind != disasm.Ret {
			return 0, false
		}
		d, ok := in.StackDelta()
		if in.Kind.IsCall() {
			d = 0
		}
		if !ok {
			return 0, false
		}
		if delta += d; in.Kind == disasm.Ret {
			return delta, true
		}
		rva += uint32(in.Len)
	}
}

// frame makes a frame with registers that match row.
func (c *comparison) frame(row *stackflow.Row) (f winunwind.Frame, cfa uint64) {
	for r := range arch.Reg(c.a.NumRegs()) {
		f.Regs.Set(r, 0x1000000+0x10000*uint64(r))
	}
	v, _ := f.Regs.Get(row.CFA.Reg)
	cfa = v + uint64(row.CFA.Off)
	if row.CFA.Reg != c.a.SP {
		f.Regs.Set(c.a.SP, cfa-0x8000)
		if row.BySP.Reg == c.a.SP {
			f.Regs.Set(c.a.SP, cfa-uint64(row.BySP.Off))
		}
	}
	return f, cfa
}

// register compares where the caller's value of r is.
func (c *comparison) register(f *winunwind.Frame, before *arch.RegSet, r, from arch.Reg, l stackflow.Loc, cfa uint64, pc uint32, text string) {
	got, _ := f.Regs.Get(r)
	var want uint64
	switch l.Kind {
	case stackflow.AtCFA:
		if old, _ := before.Get(from); c.reloaded.Has(from) && got == c.a.CodeAddress(old) {
			return // it still is on the stack, too
		}
		want = word(cfa + uint64(l.Off))
	case stackflow.InReg:
		want, _ = before.Get(l.Reg)
		want += uint64(l.Off)
	default:
		return
	}
	c.registers++
	if r == c.a.PC {
		want = c.a.CodeAddress(want)
	}
	if got != want {
		c.Errorf("%#x %s: %s is %#x (saved %t at CFA%+d), want %#x (%+v)", pc, text, c.a.RegName(from), got, f.Saved.Has(r), int64(f.At[r]-cfa), want, l)
	}
}
