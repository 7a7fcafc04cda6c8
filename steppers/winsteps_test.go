package steppers_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/format/pefile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// proc32 is a proc of 32-bit x86, whose mappings are known.
type proc32 struct{ mapper }

func newProc32() proc32 { return proc32{mapper{&proc{}}} }

func (p proc32) Arch() *arch.Arch { return arch.X86 }

func (p proc32) ReadWord(addr arch.Address) (uint64, error) {
	s := p.at(addr)
	if s == nil || addr-s.m.Start+4 > uint64(len(s.data)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrNotInDump}
	}
	return uint64(binary.LittleEndian.Uint32(s.data[addr-s.m.Start:])), nil
}

func (p proc32) put32(addr arch.Address, words ...uint32) {
	s := p.at(addr)
	for i, w := range words {
		binary.LittleEndian.PutUint32(s.data[addr-s.m.Start+uint64(4*i):], w)
	}
}

func (p proc32) setRegs32(regs map[string]uint64) {
	for name, v := range regs {
		r, ok := arch.X86.RegByName(name)
		if !ok {
			panic(name)
		}
		p.regs.Set(r, v)
	}
}

// addModule adds the mapping of a module of Windows' code; without code only its range is
// known.
func (p proc32) addModule(start, size arch.Address, code []byte) *libstate.Library {
	m := libstate.Mapping{Start: start, End: start + size, Perm: libstate.Read | libstate.Exec}
	p.segs = append(p.segs, seg{m, code})
	lib := &libstate.Library{Path: `C:\a.exe`, Kind: libstate.Executable, Start: start, End: start + size, LoadBias: start,
		Mappings: []libstate.Mapping{m}, Module: &libstate.ModuleID{Format: libstate.FormatPE}}
	p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
	return lib
}

// An openCall is a call that has not returned: where it does, the stack pointer after that,
// and the caller's registers.
type openCall struct {
	ret, cfa uint64
	regs     arch.RegSet
}

// A recording32 plays a record of testdata/src/windows/stepper32.c.
type recording32 struct {
	proc32
	calls []openCall
}

// play takes one line in, and reports whether an instruction is about to be executed.
func (r *recording32) play(t *testing.T, line string) bool {
	t.Helper()
	f := strings.Fields(line)
	n := make([]uint64, len(f))
	for i := range f[1:] {
		n[i+1], _ = strconv.ParseUint(f[i+1], 16, 64)
	}
	switch f[0] {
	case "r":
		r.setRegs32(map[string]uint64{f[1]: n[2]})
	case "m":
		if r.at(n[1]) == nil { // the first line about the stack
			const size = 1 << 16
			top := (n[1] + 0x200) &^ 0xff
			r.add(top-size, libstate.Read|libstate.Write, make([]byte, size))
		}
		r.put32(n[1], uint32(n[2]))
	case "c":
		r.calls = append(r.calls, openCall{ret: n[1], cfa: n[2], regs: r.regs})
	case "t":
		r.calls = r.calls[:len(r.calls)-1]
	case "i":
		r.regs.Set(arch.EIP, n[1])
		return true
	}
	return false
}

// check compares the walked stack with the calls, but for the first, whose caller was no
// code of Windows.
func (r *recording32) check(w *unwind.Walker) error {
	f, err := w.InitialFrame(1)
	if err != nil {
		return err
	}
	for depth := range r.calls[1:] {
		call := &r.calls[len(r.calls)-1-depth]
		if f, err = w.WalkSingleFrame(f); err != nil {
			return fmt.Errorf("frame %d: %w", depth+1, err)
		}
		if f.RA() != call.ret || f.SP() != call.cfa {
			return fmt.Errorf("frame %d at %#x with stack pointer %#x, want %#x with %#x", depth+1, f.RA(), f.SP(), call.ret, call.cfa)
		}
		for m := arch.X86.CalleeSaved; m != 0; m &= m - 1 {
			want, _ := call.regs.Get(m.First())
			if got, _, ok := f.Reg(m.First()); ok && got != want || !ok && m.First() == arch.EBP {
				return fmt.Errorf("frame %d: %s is %#x %t, want %#x", depth+1, arch.X86.RegName(m.First()), got, ok, want)
			}
		}
	}
	return nil
}

// stepped32 is a program that was stepped through, with its PDB and the record.
type stepped32 struct {
	image  *pefile.File
	frames *pdb.File
	lines  []string
}

func openStepped32(t *testing.T, name string) *stepped32 {
	t.Helper()
	dir := fixture.Images(t, "steps32")
	read := func(ext string) []byte { return must(os.ReadFile(filepath.Join(dir, name+ext))) }
	return &stepped32{must(pefile.Parse(read(".exe"))), must(pdb.Open(read(".pdb"))), strings.Split(strings.TrimSpace(string(read(".steps"))), "\n")}
}

// process begins to play the record. Without its code the program is a range of addresses.
func (p *stepped32) process(withCode bool) *recording32 {
	r := &recording32{proc32: newProc32()}
	for i := range p.image.Sections {
		s := &p.image.Sections[i]
		if s.Name != ".text" {
			continue
		}
		code := must(p.image.SectionData(s))
		if !withCode {
			code = nil
		}
		r.addModule(p.image.ImageBase+uint64(s.RVA), uint64(s.VirtualSize), code).Start = p.image.ImageBase
	}
	return r
}

func (p *stepped32) walker(r *recording32) *unwind.Walker {
	g := must(steppers.DefaultGroup(arch.X86, partsOf(image.Parts{PDB: p.frames})))
	return must(unwind.NewWalker(r, unwind.WithGroup(g)))
}

// takesDown reports whether the instruction at pc takes the frame down.
func (p *stepped32) takesDown(pc uint64) bool {
	in, err := disasm.Decode(arch.X86, p.image.At(uint32(pc-p.image.ImageBase)), pc)
	return err == nil && (in.Kind == disasm.Ret || in.Kind == disasm.Pop || in.Kind == disasm.AddSP || in.Kind == disasm.LeaSP)
}

// At every instruction of programs that were stepped through, prologues and epilogues
// included, the stack is what the calls made it. Where the code is not at hand nothing
// tells of epilogues.
func TestWinFrameAtEveryInstruction(t *testing.T) {
	for _, name := range []string{"clang-O0", "clang-O2", "clang-Os"} {
		p := openStepped32(t, name)
		for _, withCode := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/code=%t", name, withCode), func(t *testing.T) {
				r := p.process(withCode)
				w := p.walker(r)
				steps, failed, left := 0, 0, 0
				for i, line := range p.lines {
					if !r.play(t, line) {
						continue
					}
					pc, _ := r.regs.Get(arch.EIP)
					if must(p.frames.WinFrame(uint32(pc-p.image.ImageBase))) == nil {
						continue // assembly that probes the stack
					}
					steps++
					err := r.check(w)
					if err != nil && !withCode && p.takesDown(pc) {
						left++
					} else if err != nil {
						t.Errorf("line %d: %s: %v", i+1, line, err)
						if failed++; failed == 10 {
							t.FailNow()
						}
					}
				}
				if steps < 1000 || left > steps/10 {
					t.Errorf("%d instructions, %d in epilogues failed", steps, left)
				}
			})
		}
	}
}
