package steppers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// chainText is the frames' addresses and how they were found, and "end" at a bottom.
func chainText(s *unwind.Stack) string {
	text := ""
	for _, f := range s.Frames[1:] {
		text += fmt.Sprintf("%x %v ", f.RA(), f.Trust())
	}
	if s.End == unwind.EndBottom {
		text += "end"
	}
	return text
}

// Modules of Windows without code at hand: frame pointers lead through, up to a return
// address of zero.
func TestFramePointersWithoutCode(t *testing.T) {
	const sp = winStack + 0x100
	for _, tc := range []struct {
		name  string
		stack []uint32 // from sp on; ebp is sp+8
		want  string
	}{
		{"chain", []uint32{0, 0, sp + 0x10, winBase + 0x2005, 0, 0, winBase + 0x3005}, "402005 frame-pointer "},
		{"chain with an end", []uint32{0, 0, sp + 0x10, winBase + 0x2005, 0, 0}, "402005 frame-pointer end"},
		{"broken chain", []uint32{0, 0, sp + 0x10, 0x1234, winBase + 0x2005}, "402005 scan "},
		{"a header", []uint32{winBase + 0x80, winBase, winBase + 0x40, 0, winBase + 0x2005}, "402005 scan "},
		{"saved below", []uint32{0, 0, 1, 0, sp + 0x18, winBase + 0x2005, 0, 0}, "402005 scan end"},
	} {
		p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": sp, "ebp": sp + 8})
		p.put32(sp, tc.stack...)
		g := must(steppers.DefaultGroup(arch.X86, noFile))
		s, _ := must(unwind.NewWalker(p, unwind.WithGroup(g), unwind.WithMaxFrames(3))).WalkStack(1)
		if got := chainText(s); got != tc.want && tc.name != "chain" || s.Frames[1].RA() != winBase+0x2005 {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// A word below a return address that was guessed is the caller's frame pointer only if it leads to a record.
func TestScanSavedBelow(t *testing.T) {
	const sp = winStack + 0x100
	for _, tc := range []struct {
		name  string
		above [2]uint32 // at the address in the word
		want  bool
	}{
		{"a record", [2]uint32{sp + 0x40, winBase + 0x3005}, true},
		{"the last record", [2]uint32{0, 0}, true},
		{"data", [2]uint32{7, 9}, false},
		{"a list of one argument", [2]uint32{sp + 0x40, 0}, false},
	} {
		p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": sp, "ebp": 1})
		p.put32(sp, 0, 0, sp+0x18, winBase+0x2005, 0, 0, tc.above[0], tc.above[1])
		w := must(unwind.NewWalker(p, unwind.WithGroup(must(steppers.DefaultGroup(arch.X86, noFile)))))
		out, err := w.WalkSingleFrame(must(w.InitialFrame(1)))
		if err != nil || out.RA() != winBase+0x2005 {
			t.Fatal(out, err)
		}
		if _, _, ok := out.Reg(arch.EBP); ok != tc.want {
			t.Errorf("%s: %v", tc.name, ok)
		}
	}
}

// Symbol files tell where no call can return to: outside of functions, and at their
// beginnings.
func TestScanWithoutCodeAsksSymbolFiles(t *testing.T) {
	const sp = winStack + 0x100
	f := must(breakpad.Parse([]byte("MODULE windows x86 000000000000000000000000000000000 a.pdb\nFUNC 0 2000 0 none\nFUNC 2000 100 0 f\nFUNC 2f00 100 0 e\nFUNC 3000 100 0 g\n")))
	p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x2010, "esp": sp})
	p.put32(sp, winBase+0x1500, winBase+0x3000, winBase+0x4005, winBase+0x3005)
	g := must(steppers.DefaultGroup(arch.X86, resolveTo(f)))
	s, _ := must(unwind.NewWalker(p, unwind.WithGroup(g))).WalkStack(1)
	if got := chainText(s); got != "403005 scan " {
		t.Error(got)
	}
}

// A call through a bad pointer, from code that nobody has: a function of a symbol file around the return address is
// proof, and what the callee did not touch is kept. What is no function with an extent proves nothing.
func TestWildPCWithoutCode(t *testing.T) {
	const sp = winStack + 0x100
	f := must(breakpad.Parse([]byte("MODULE windows x86 000000000000000000000000000000000 a.pdb\nFUNC 0 1000 0 left_out\nFUNC 2000 100 0 f\nFUNC 2f00 100 0 e\nPUBLIC 4000 0 data\n")))
	for _, tc := range []struct {
		name   string
		pc, ra uint64
		symbol *breakpad.File
		want   bool
		code   map[uint32]string
	}{
		{"null", 0, winBase + 0x2005, f, true, nil},
		{"wild", 0xdead0000, winBase + 0x20ff, f, true, nil},
		{"a call of two bytes", 0, winBase + 0x2002, f, true, nil},
		{"too near to the beginning", 0, winBase + 0x2001, f, false, nil},
		{"the first byte of a function", 0, winBase + 0x2000, f, false, nil},
		{"the end of a function", 0, winBase + 0x2100, f, false, nil},
		{"a name without an extent", 0, winBase + 0x4005, f, false, nil},
		{"between functions", 0, winBase + 0x2505, f, false, nil},
		{"what the linker left out", 0, winBase + 0x805, f, false, nil},
		{"outside of the module", 0, winBase + winSize + 0x2005, f, false, nil},
		{"nobody knows", 0, winBase + 0x2005, nil, false, nil},
		{"the pc is code", winBase + 0x2f10, winBase + 0x2005, f, false, nil},
		{"the code has no call there", 0, winBase + 0x2005, f, false, map[uint32]string{0x2000: "\x90\x90\x90\x90\x90\x90"}},
	} {
		p := newWinProc(tc.code, map[string]uint64{"eip": tc.pc, "esp": sp, "ebp": 0x77, "ebx": 0x99})
		p.put32(sp, uint32(tc.ra))
		files := noFile
		if tc.symbol != nil {
			files = resolveTo(tc.symbol)
		}
		w := must(unwind.NewWalker(p, unwind.WithGroup(must(steppers.DefaultGroup(arch.X86, files)))))
		out, err := w.WalkSingleFrame(must(w.InitialFrame(1)))
		if got := err == nil && out.Trust() == unwind.TrustWildPC; got != tc.want {
			t.Errorf("%s: %v, %v", tc.name, out, err)
		} else if got && frameText(out, "ebx", "ebp") != fmt.Sprintf("%#x sp %#x wild-pc, ebx 0x99 in ebx, ebp 0x77 in ebp", tc.ra, sp+4) {
			t.Errorf("%s: %s", tc.name, frameText(out, "ebx", "ebp"))
		}
	}
}

// Of a PDB it takes procedures, not the names that only the linker knew: nobody says where their code ends.
func TestWildPCAsksPDBs(t *testing.T) {
	const sp = winStack + 0x100
	prog := openStepped32(t, "clang-O2")
	var proc, public pdb.Symbol
	for i := range prog.image.Sections {
		s := &prog.image.Sections[i]
		for rva := s.RVA; rva < s.RVA+s.VirtualSize && (proc.Name == "" || public.Name == ""); rva += 4 {
			if sym, ok, _ := prog.frames.Lookup(rva); ok && sym.Start >= s.RVA {
				if sym.Public {
					public = sym
				} else if sym.Size > 8 {
					proc = sym
				}
			}
		}
	}
	if proc.Name == "" || public.Name == "" {
		t.Fatalf("the program should have both: %+v, %+v", proc, public)
	}
	for rva, want := range map[uint32]bool{proc.Start + 5: true, proc.Start + proc.Size - 1: true, proc.Start: false, public.Start + 5: false} {
		p := newWinProc(nil, map[string]uint64{"eip": 0, "esp": sp})
		p.put32(sp, winBase+rva)
		w := must(unwind.NewWalker(p, unwind.WithGroup(must(steppers.DefaultGroup(arch.X86, partsOf(image.Parts{PDB: prog.frames}))))))
		out, err := w.WalkSingleFrame(must(w.InitialFrame(1)))
		if got := err == nil && out.Trust() == unwind.TrustWildPC; got != want {
			t.Errorf("%#x of %+v, %+v: %v, %v", rva, proc, public, out, err)
		}
	}
}

// started knows the program's entry point by the auxiliary vector.
type started struct{ mapper }

func (started) Auxv() libstate.Auxv {
	return libstate.Auxv{{Key: libstate.ATEntry, Value: bias + 0x1100}}
}

// A pointer to the program's entry point is not a return address; the entry code is the bottom.
func TestEntryPointOfAuxiliaryVector(t *testing.T) {
	p := &proc{}
	m := libstate.Mapping{Start: bias + 0x1000, End: bias + 0x2000, Perm: libstate.Read | libstate.Exec}
	p.segs = append(p.segs, seg{m: m})
	p.add(stack, libstate.Read|libstate.Write, make([]byte, stackLen))
	p.libs = libstate.NewTable([]*libstate.Library{{Path: "/bin/prog", Kind: libstate.Executable, Start: bias, End: bias + 0x2000, LoadBias: bias,
		Mappings: []libstate.Mapping{m}, Module: &libstate.ModuleID{Format: libstate.FormatELF}}}, 0)
	p.setRegs(map[string]uint64{"rip": bias + 0x1010, "rsp": stack + 0x100, "rbp": 1})
	p.put(stack+0x108, bias+0x1100, bias+0x1129, bias+0x1300)
	g := must(steppers.DefaultGroup(arch.AMD64, noFile))
	s, _ := must(unwind.NewWalker(started{mapper{p}}, unwind.WithGroup(g))).WalkStack(1)
	if got := chainText(s); got != fmt.Sprintf("%x scan end", uint64(bias+0x1129)) {
		t.Error(got)
	}
}

// On x64 Windows the frame pointer register is seldom one: it has to lead on.
func TestFramePointersOfX64Windows(t *testing.T) {
	const sp = stack + 0x100
	for _, tc := range []struct {
		second, ra uint64
		want       unwind.Trust
	}{{sp + 0x40, bias + 0x1300, unwind.TrustFramePointer}, {0, 0, unwind.TrustFramePointer}, {sp + 0x40, 3, unwind.TrustScan}, {sp - 0x40, bias + 0x1300, unwind.TrustScan}} {
		p := &proc{}
		m := libstate.Mapping{Start: bias + 0x1000, End: bias + 0x2000, Perm: libstate.Read | libstate.Exec}
		p.segs = append(p.segs, seg{m: m})
		p.add(stack, libstate.Read|libstate.Write, make([]byte, stackLen))
		p.libs = libstate.NewTable([]*libstate.Library{{Path: `C:\a.exe`, Kind: libstate.Executable, Start: bias, End: bias + 0x2000, LoadBias: bias,
			Mappings: []libstate.Mapping{m}, Module: &libstate.ModuleID{Format: libstate.FormatPE}}}, 0)
		p.setRegs(map[string]uint64{"rip": bias + 0x1010, "rsp": sp, "rbp": sp + 0x20})
		p.put(sp+0x20, tc.second, bias+0x1200)
		p.put(sp+0x40, 0, tc.ra)
		g := must(steppers.DefaultGroup(arch.AMD64, noFile))
		s, _ := must(unwind.NewWalker(mapper{p}, unwind.WithGroup(g))).WalkStack(1)
		if len(s.Frames) < 2 || s.Frames[1].RA() != bias+0x1200 || s.Frames[1].Trust() != tc.want {
			t.Errorf("%+v: %s", tc, chainText(s))
		}
	}
}

// Functions that threads of Windows begin in.
func TestBottomsOfWindows(t *testing.T) {
	for name, want := range map[string]bool{"RtlUserThreadStart": true, "_RtlUserThreadStart": true, "__RtlUserThreadStart@8": true,
		"__RtlUserThreadStart": false, "_BaseProcessStart@4": true, "BaseThreadStart": true, "BaseThreadInitThunk": false, "main": false} {
		for path, system := range map[string]bool{`C:\Windows\System32\ntdll.dll`: true, `KERNEL32.DLL`: true, `C:\a.exe`: false} {
			p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": winStack})
			lib, _ := p.libs.LibraryAt(winBase)
			lib.Path = path
			w := walker(t, p, symbols{{Name: name, Addr: 0x1000, Size: 0x100}}, must(steppers.NewBottomOfStackStepper(arch.X86)))
			s, _ := w.WalkStack(1)
			if (s.End == unwind.EndBottom) != (want && system) {
				t.Errorf("%s in %s: %v", name, path, s.End)
			}
		}
	}
}

// partial is a process that does not know all mappings.
type partial struct{ proc32 }

func (partial) KnowsMappings() bool { return false }

// Frames of code that nobody knows, which a JIT compiler may have made, are walked through;
// what is known to be no code is not.
func TestUnknownCode(t *testing.T) {
	const sp = winStack + 0x100
	p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": sp})
	p.put32(sp+0x20, sp+0x40, winBase+0x2005)
	for proc, want := range map[unwind.ProcessState]int{p: 1, partial{p}: 2} {
		w := must(unwind.NewWalker(proc, unwind.WithGroup(must(steppers.DefaultGroup(arch.X86, noFile)))))
		s, _ := w.WalkStackFromFrame(called(t, w, 0x7000010, sp, sp+0x20))
		if len(s.Frames) < want || want == 1 && len(s.Frames) != 1 {
			t.Errorf("%d frames, want %d", len(s.Frames), want)
		}
	}
}

// Nothing is read as a frame beyond the base of the thread's stack.
func TestStackBase(t *testing.T) {
	const base = winStack + 0x1000
	p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": base - 0x20, "ebp": base + 0x10})
	p.put32(base+0x10, base+0x20, winBase+0x2005, winBase+0x3005)
	for proc, want := range map[unwind.ProcessState]int{p: 2, bounded{p}: 1} {
		s, _ := must(unwind.NewWalker(proc, unwind.WithGroup(must(steppers.DefaultGroup(arch.X86, noFile))))).WalkStack(1)
		if min(len(s.Frames), 2) != want {
			t.Errorf("%s", chainText(s))
		}
	}
}

// A scan that finds nothing up to the base of the thread's stack has found the bottom.
func TestScanUpToTheBase(t *testing.T) {
	const base = winStack + 0x1000
	for off, want := range map[uint64]string{0x40: "402005 scan end", 0x200: "402005 scan "} {
		p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": base - off})
		p.put32(base-off+8, winBase+0x2005)
		s, _ := must(unwind.NewWalker(bounded{p}, unwind.WithGroup(must(steppers.DefaultGroup(arch.X86, noFile))))).WalkStack(1)
		if got := chainText(s); got != want {
			t.Errorf("%#x bytes from the base: %s, want %s", off, got, want)
		}
	}
}

// Unwind tables tell it too: functions that call others are in them.
func TestScanWithoutCodeAsksUnwindTables(t *testing.T) {
	const sp = stack + 0x100
	p := &proc{}
	m := libstate.Mapping{Start: bias + 0x1000, End: bias + 0x2000, Perm: libstate.Read | libstate.Exec}
	p.segs = append(p.segs, seg{m: m})
	p.add(stack, libstate.Read|libstate.Write, make([]byte, stackLen))
	p.libs = libstate.NewTable([]*libstate.Library{{Path: `C:\a.dll`, Kind: libstate.SharedLibrary, Start: bias, End: bias + 0x2000, LoadBias: bias,
		Mappings: []libstate.Mapping{m}, Module: &libstate.ModuleID{Format: libstate.FormatPE}}}, 0)
	p.put(sp, bias+0x1700, bias+0x1020, bias+0x1010)
	tab := peTable(t)
	g := must(steppers.DefaultGroup(arch.AMD64, partsOf(image.Parts{PEUnwind: tab})))
	w := must(unwind.NewWalker(mapper{p}, unwind.WithGroup(g)))
	out, err := w.WalkSingleFrame(called(t, w, bias+0x1500, sp, 0))
	if err != nil || out.RA() != bias+0x1010 || out.SP() != sp+24 || out.Trust() != unwind.TrustScan {
		t.Errorf("%v, %v", out, err)
	}
}

// PDBs have a copy of the section headers, which tell code from data, and know where functions
// begin.
func TestScanWithoutCodeAsksPDBs(t *testing.T) {
	const sp, ra = winStack + 0x100, winBase + 0x1105
	f := must(pdb.Open(must(os.ReadFile(filepath.Join(fixture.Images(t, "i386-O2"), "chain.pdb")))))
	many, ok, err := f.Lookup(0x1100)
	if !ok || err != nil || many.Name != "many" {
		t.Fatal(many, ok, err)
	}
	for name, word := range map[string]uint32{"data": winBase + 0x2010, "behind the sections": winBase + 0x6000, "the headers": winBase + 0x210,
		"a function's beginning": winBase + many.Start} {
		p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x12f0, "esp": sp})
		p.put32(sp, word, ra)
		g := must(steppers.DefaultGroup(arch.X86, partsOf(image.Parts{PDB: f})))
		w := must(unwind.NewWalker(p, unwind.WithGroup(g)))
		out, err := w.WalkSingleFrame(called(t, w, winBase+0x12f0, sp, 0))
		if err != nil || out.RA() != ra || out.Trust() != unwind.TrustScan {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
}
