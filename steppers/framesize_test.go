package steppers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// withoutImages is a source that has only the PDBs of modules that have one.
type withoutImages struct {
	modules.Source
	pdbs map[string]*modules.Image // by the module's name
}

func (s withoutImages) Image(lib *libstate.Library) *modules.Image {
	if im := s.pdbs[find.BaseName(lib.Path)]; im != nil {
		return im
	}
	return s.Source.Image(lib)
}

// readPDBs reads the PDBs in directories, by the names of their modules.
func readPDBs(t *testing.T, dirs []string) map[string]*modules.Image {
	t.Helper()
	list := map[string]*modules.Image{}
	for _, dir := range dirs {
		paths, _ := filepath.Glob(filepath.Join(dir, "*.pdb"))
		for _, path := range paths {
			f := must(pdb.Open(must(os.ReadFile(path))))
			for _, ext := range []string{".exe", ".dll"} {
				list[strings.TrimSuffix(filepath.Base(path), ".pdb")+ext] = (*modules.Image)(image.FromParts(image.Parts{PDB: f}))
			}
		}
	}
	return list
}

// described reports whether a PDB has the size of the frame.
func described(p unwind.ProcessState, pdbs map[string]*modules.Image, f *unwind.Frame) bool {
	lib, _ := p.LibraryTracker().LibraryAt(f.LookupAddr())
	im := pdbs[find.BaseName(lib.Path)]
	if im == nil {
		return true
	}
	w := must((*image.Image)(im).FrameSizes().FrameSize(uint32(f.LookupAddr() - lib.Start)))
	return w != nil
}

// TestFramesWithoutImages walks real stacks with the images, and then with nothing but the
// PDBs of those modules that have one: the frames are the same.
func TestFramesWithoutImages(t *testing.T) {
	bySize, registers := 0, 0
	for _, c := range fixture.Minidumps(t) {
		dirs := c.Search(t)
		pdbs := readPDBs(t, dirs)
		if c.Arch() != "amd64" || len(pdbs) == 0 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			d := must(corestate.OpenMinidump(context.Background(), c.Core(t)))
			defer d.Close()
			var opts []modules.Option
			for _, dir := range dirs {
				opts = append(opts, modules.WithSearch(dir))
			}
			full := must(modules.New(context.Background(), d, opts...))
			defer full.Close()
			d.BuildLibraries(nil)
			walk := func(files modules.Source, thread unwind.ThreadID) []*unwind.Frame {
				w := must(unwind.NewWalker(d, unwind.WithGroup(must(steppers.DefaultGroup(d.Arch(), files))), unwind.WithExplain()))
				s, _ := w.WalkStack(thread)
				return s.Frames
			}
			for _, thread := range must(d.ThreadIDs()) {
				want, got := walk(full, thread), walk(withoutImages{full, pdbs}, thread)
				for i, f := range want {
					if i > 0 && i < len(got) && got[i].Trust() == unwind.TrustScan && !described(d, pdbs, got[i-1]) {
						break // of MinGW's start code, of which the PDB has names only
					}
					if i == len(got) || got[i].RA() != f.RA() || got[i].SP() != f.SP() {
						t.Errorf("thread %d: frame %d differs: %v, want %v by %v; %q", thread, i, got[min(i, len(got)-1)], f, f.Trust(), notes(got[i-1]))
						break
					}
					for m := winunwind.Nonvolatile(arch.AMD64); m != 0; m &= m - 1 {
						v, _, ok := f.Reg(m.First())
						v2, _, ok2 := got[i].Reg(m.First())
						if ok && ok2 && v != v2 {
							t.Errorf("thread %d: frame %d: %s is %#x, want %#x", thread, i, arch.AMD64.RegName(m.First()), v2, v)
						}
						if ok2 && got[i].Trust() == unwind.TrustFrameSize {
							registers++
						}
					}
					if got[i].Trust() == unwind.TrustFrameSize {
						bySize++
					}
				}
			}
		})
	}
	if bySize < 40 || registers < 40 {
		t.Errorf("only %d frames were found by their sizes, with %d registers", bySize, registers)
	}
}

// frameSizes knows one function.
type frameSizes unwindrules.FrameSize

func (s *frameSizes) FrameSize(rva uint32) (*unwindrules.FrameSize, error) {
	if rva >= 0x1800 {
		return nil, errors.New("damaged PDB")
	}
	if rva-s.Start >= s.Size {
		return nil, nil
	}
	return (*unwindrules.FrameSize)(s), nil
}

// newX64Proc is a process of Windows with a module at bias. Without code only the module's
// range is known.
func newX64Proc(code []byte) mapper {
	p := &proc{}
	m := libstate.Mapping{Start: bias + 0x1000, End: bias + 0x2000, Perm: libstate.Read | libstate.Exec}
	head := libstate.Mapping{Start: bias, End: bias + 0x1000, Perm: libstate.Read | libstate.Exec}
	p.segs = append(p.segs, seg{m, code}, seg{m: head})
	p.add(stack, libstate.Read|libstate.Write, make([]byte, stackLen))
	p.libs = libstate.NewTable([]*libstate.Library{{Path: `C:\a.exe`, Kind: libstate.Executable, Start: bias, End: bias + 0x2000, LoadBias: bias,
		Mappings: []libstate.Mapping{head, m}, Module: &libstate.ModuleID{Format: libstate.FormatPE}}}, 0)
	return mapper{p}
}

// Frames by their size. The function is at 0x1000; the stack has words at distances from SP.
func TestFrameSizes(t *testing.T) {
	const sp, ra, stale = stack + 0x100, bias + 0x1205, bias + 0x1305
	fixed := frameSizes{Start: 0x1000, Size: 0x100, Bytes: 0x28, Saved: 8}
	with := func(change func(*frameSizes)) frameSizes {
		w := fixed
		change(&w)
		return w
	}
	llvm := with(func(w *frameSizes) { w.LLVM, w.Saved, w.Bytes = true, 0, 0x30 })
	pushes := with(func(w *frameSizes) { w.LLVM, w.PushesRBP = true, true })
	prologue := with(func(w *frameSizes) { w.Body, w.Epilog = 0x10, 0xf0 })
	lines := with(func(w *frameSizes) { w.Body, w.ByLines = 0x10, true })
	alloca := with(func(w *frameSizes) { w.ByRBP, w.PushesRBP = true, true })
	llvmAlloca := with(func(w *frameSizes) { w.ByRBP, w.PushesRBP, w.LLVM = true, true, true })
	large := with(func(w *frameSizes) { w.Bytes, w.Body = 0x1000, 0x10 })
	below := ^uint64(7)
	leaf := with(func(w *frameSizes) { w.Bytes, w.Saved, w.Body = 0, 0, 0x10 })
	for _, tc := range []struct {
		name  string
		w     frameSizes
		off   uint64 // of the pc
		top   bool
		rbp   uint64 // 0 for not known
		stack map[uint64]uint64
		at    uint64 // of the return address, from SP
		want  string // "" for none
		says  string
	}{
		{name: "body", says: "frame of 40 bytes and 8 of saved registers", w: fixed, off: 0x20, stack: map[uint64]uint64{8: stale, 0x30: ra}, at: 0x30, want: "frame-size, rbx lost, rsi lost, rbp lost"},
		{name: "top", w: fixed, off: 0x20, top: true, stack: map[uint64]uint64{8: stale, 0x30: ra}, at: 0x30, want: "frame-size, rbx lost, rsi lost, rbp lost"},
		{name: "nothing saved", w: llvm, off: 0x20, rbp: 7, stack: map[uint64]uint64{0x30: ra}, at: 0x30, want: "frame-size, rbx 0xb, rsi 0xc, rbp 0x7"},
		{name: "rbp is saved first", w: pushes, off: 0x20, rbp: 7, stack: map[uint64]uint64{0x28: 0x99, 0x30: ra}, at: 0x30, want: "frame-size, rbx lost, rsi lost, rbp 0x99"},
		{name: "entry", w: fixed, top: true, rbp: 7, stack: map[uint64]uint64{0: ra, 0x30: stale}, want: "frame-size, rbx 0xb, rsi 0xc, rbp 0x7"},
		{name: "prologue", says: "the place in the frame does not tell its size; a return address is at 0x7ffe00000108", w: prologue, off: 8, top: true, stack: map[uint64]uint64{8: ra, 0x30: stale}, at: 8, want: "scan, rbx lost, rsi lost, rbp lost"},
		{name: "call in the prologue", w: prologue, off: 8, stack: map[uint64]uint64{8: ra, 0x30: stale}, at: 8, want: "scan, rbx lost, rsi lost, rbp lost"},
		{name: "prologue's end", w: prologue, off: 0x10, top: true, stack: map[uint64]uint64{8: stale, 0x30: ra}, at: 0x30, want: "frame-size, rbx lost, rsi lost, rbp lost"},
		{name: "epilogue", w: prologue, off: 0xf0, top: true, stack: map[uint64]uint64{0: ra, 0x30: stale}, at: 0, want: "scan, rbx lost, rsi lost, rbp lost"},
		{name: "call where an epilogue begins", w: prologue, off: 0xf1, stack: map[uint64]uint64{0: stale, 0x30: ra}, at: 0x30, want: "frame-size, rbx lost, rsi lost, rbp lost"},
		{name: "none in the prologue", says: "no return address where the frame may end", w: prologue, off: 8, top: true, stack: map[uint64]uint64{0x38: ra}},
		{name: "first line", w: lines, off: 8, top: true, stack: map[uint64]uint64{8: stale, 0x30: ra}, at: 0x30, want: "scan, rbx lost, rsi lost, rbp lost"},
		{name: "call in the first line", w: lines, off: 8, stack: map[uint64]uint64{0x30: ra}, at: 0x30, want: "frame-size, rbx lost, rsi lost, rbp lost"},
		{name: "leaf", w: leaf, off: 8, top: true, stack: map[uint64]uint64{0: ra}, want: "frame-size, rbx lost, rsi lost, rbp lost"},
		{name: "alloca", w: llvmAlloca, off: 0x20, rbp: sp + 0x80, stack: map[uint64]uint64{0x30: stale, 0x88: 0x99, 0x90: ra, 0xb0: stale}, at: 0x90, want: "frame-size, rbx lost, rsi lost, rbp 0x99"},
		{name: "alloca of another compiler", w: alloca, off: 0x20, rbp: sp + 0x80, stack: map[uint64]uint64{0x30: stale, 0xa0: ra, 0xc0: stale}, at: 0xa0, want: "frame-size, rbx lost, rsi lost, rbp lost"},
		{name: "two places", says: "2 places near rbp", w: alloca, off: 0x20, rbp: sp + 0x80, stack: map[uint64]uint64{0x28: stale, 0x60: ra, 0xa0: ra, 0xb0: stale}, at: 0x60, want: "scan, rbx lost, rsi lost, rbp lost"},
		{name: "alloca without rbp", w: alloca, off: 0x20, stack: map[uint64]uint64{0x28: stale, 0x60: ra}, at: 0x60, want: "scan, rbx lost, rsi lost, rbp lost"},
		{name: "rbp is another's", w: llvmAlloca, off: 0x20, rbp: sp - 0x40, stack: map[uint64]uint64{0x60: ra}, at: 0x60, want: "scan, rbx lost, rsi lost, rbp lost"},
		{name: "rbp is no frame's", w: llvmAlloca, off: 0x20, rbp: sp + 0x84, stack: map[uint64]uint64{0x60: ra, 0x94: ra}, at: 0x60, want: "scan, rbx lost, rsi lost, rbp lost"},
		{name: "rbp points to the end of the stack", w: alloca, off: 0x20, rbp: sp, stack: map[uint64]uint64{0x20: stale, 0x30: ra}, at: 0x30, want: "frame-size, rbx lost, rsi lost, rbp lost"},
		{name: "beyond what is searched", w: alloca, off: 0x20, stack: map[uint64]uint64{0x30 + 160*8: ra}},
		{name: "as far as is searched", w: alloca, off: 0x20, stack: map[uint64]uint64{0x30 + 159*8: ra}, at: 0x30 + 159*8, want: "scan, rbx lost, rsi lost, rbp lost"},
		{name: "no code", says: "is not a return address", w: fixed, off: 0x20, stack: map[uint64]uint64{0x30: bias + 0x2005}},
		{name: "bottom", says: "the return address is zero", w: fixed, off: 0x20, stack: map[uint64]uint64{0x30: 0}, want: "bottom"},
		{name: "no bottom", w: fixed, off: 0x20, top: true, stack: map[uint64]uint64{0x30: 0}},
		{name: "too large", says: "return address at 0x7ffe40", w: with(func(w *frameSizes) { w.Bytes = 1 << 30 }), off: 0x20},
		{name: "too large to search", says: "no return address where the frame may end", w: with(func(w *frameSizes) { w.Bytes, w.ByRBP = 1<<30, true }), off: 0x20},
		{name: "as far as is searched in a prologue", w: large, off: 8, top: true, stack: map[uint64]uint64{159 * 8: ra}, at: 159 * 8, want: "scan, rbx lost, rsi lost, rbp lost"},
		{name: "beyond it", w: large, off: 8, top: true, stack: map[uint64]uint64{160 * 8: ra}},
		{name: "no frame in the first line", w: with(func(w *frameSizes) { w.Bytes, w.Saved, w.Body, w.ByLines = 0, 0, 0x10, true }), off: 8, top: true, stack: map[uint64]uint64{0: ra}, want: "frame-size, rbx lost, rsi lost, rbp lost"},
		{name: "nothing saved, in the first line", w: with(func(w *frameSizes) { w.Saved, w.LLVM, w.Body, w.ByLines = 0, true, 0x10, true }), off: 8, top: true, rbp: 7, stack: map[uint64]uint64{0x28: ra}, at: 0x28, want: "scan, rbx lost, rsi lost, rbp lost"},
		{name: "rbp would be below the stack", w: with(func(w *frameSizes) { w.LLVM, w.PushesRBP, w.Bytes, w.Saved = true, true, 0, 0 }), off: 0x20, rbp: 7, stack: map[uint64]uint64{below: 0x98, 0: ra}, want: "frame-size, rbx 0xb, rsi 0xc, rbp lost"},
		{name: "the module's headers", says: "is not a return address", w: fixed, off: 0x20, stack: map[uint64]uint64{0x30: bias + 0x80}},
		{name: "another function", w: fixed, off: 0x400, stack: map[uint64]uint64{0x30: ra}},
		{name: "an error", says: "damaged PDB", w: fixed, off: 0x900, stack: map[uint64]uint64{0x30: ra}},
	} {
		p := newX64Proc(nil)
		for at, v := range tc.stack {
			p.put(sp+at, v)
		}
		pc := bias + 0x1000 + tc.off
		regs := map[string]uint64{"rip": pc, "rsp": sp, "rbx": 11, "rsi": 12}
		if tc.rbp != 0 {
			regs["rbp"] = tc.rbp
		}
		p.setRegs(regs)
		w := walker(t, p, nil, must(steppers.NewFrameSizeStepper(partsOf(image.Parts{Sizes: &tc.w}))))
		in := must(w.InitialFrame(1))
		if !tc.top {
			in = called(t, w, pc, sp, tc.rbp)
			in.SetReg(arch.RBX, 11, unwind.InRegister(arch.RBX))
			in.SetReg(arch.RSI, 12, unwind.InRegister(arch.RSI))
			if tc.rbp == 0 {
				in.ForgetReg(arch.RBP)
			}
		}
		f, err := w.WalkSingleFrame(in)
		got := ""
		switch {
		case errors.Is(err, unwind.ErrStackBottom):
			got = "bottom"
		case err != nil && !errors.Is(err, unwind.ErrNoStepper):
			got = err.Error()
		case err == nil:
			got = f.Trust().String()
			for _, r := range []arch.Reg{arch.RBX, arch.RSI, arch.RBP} {
				if v, _, ok := f.Reg(r); ok {
					got += fmt.Sprintf(", %s %#x", arch.AMD64.RegName(r), v)
				} else {
					got += fmt.Sprintf(", %s lost", arch.AMD64.RegName(r))
				}
			}
		}
		if text := strings.Join(notes(in), "\n"); !strings.Contains(text, tc.says) {
			t.Errorf("%s: %q does not say %q", tc.name, text, tc.says)
		}
		if err == nil && strings.HasSuffix(tc.want, "rbp 0x99") {
			if _, loc, _ := f.Reg(arch.RBP); loc != unwind.AtAddress(sp+tc.at-8) {
				t.Errorf("%s: rbp is %s", tc.name, loc.Describe(arch.AMD64))
			}
		}
		if cfa, ok := in.CFA(); err == nil && (!ok || cfa != sp+tc.at+8) {
			t.Errorf("%s: the frame's CFA is %#x, %v", tc.name, cfa, ok)
		}
		if got != tc.want || err == nil && (f.RA() != ra || f.SP() != sp+tc.at+8) {
			t.Errorf("%s: %s, %v, want %s at SP+%#x; %q", tc.name, got, f, tc.want, tc.at, notes(in))
		}
	}
}

func TestFrameSizesNeedFiles(t *testing.T) {
	if _, err := steppers.NewFrameSizeStepper(nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Error(err)
	}
}

// The function's code, where the dump has it, shows more than its size: push rbx; sub
// rsp,0x28; a call; and its end.
func TestFrameSizeFollowsCode(t *testing.T) {
	const sp, ra = stack + 0x100, bias + 0x1805
	text := bytes.Repeat([]byte{0xcc}, 0x1000)
	copy(text, "\x53\x48\x83\xec\x28\xe8\xf6\x00\x00\x00\x48\x83\xc4\x28\x5b\xc3")
	text[0x100] = 0xc3
	whole := elffile.View(elffile.Layout{Data: text, Class: 64, Machine: elffile.EM_X86_64,
		Sections: []elffile.LayoutSection{{Name: ".text", Flags: elffile.SHF_ALLOC | elffile.SHF_EXECINSTR, Addr: 0x1000, Size: 0x1000}}})
	copy(text[0x800:], "\xe8\xfb\xf7\xff\xff\x90")
	for off, at := range map[uint64]uint64{0: 0, 1: 8, 5: 0x30, 14: 8, 15: 0} {
		p := newX64Proc(text)
		p.put(sp+at, ra)
		p.setRegs(map[string]uint64{"rip": bias + 0x1000 + off, "rsp": sp})
		sizes := frameSizes{Start: 0x1000, Size: 16, Bytes: 0x28, Saved: 8}
		for _, parts := range []image.Parts{{Sizes: &sizes}, {Sizes: &sizes, ELF: whole}} {
			w := walker(t, p, nil, must(steppers.NewFrameSizeStepper(partsOf(parts))))
			in := must(w.InitialFrame(1))
			f, err := w.WalkSingleFrame(in)
			if parts.ELF != nil {
				if err == nil {
					t.Errorf("%d: the image is at hand, and was not asked", off)
				}
				continue
			}
			if err != nil || f.RA() != ra || f.SP() != sp+at+8 || off != 0 && f.Trust() != unwind.TrustAnalysis {
				t.Errorf("%d: %v, %v; %q", off, f, err, notes(in))
			}
		}
	}
}

// What the code does not show for certain is found by the size.
func TestFrameSizeWithoutSureCode(t *testing.T) {
	const sp, ra = stack + 0x100, bias + 0x1805
	for _, c := range []struct {
		name, code string
		off        uint64
		stack      map[uint64]uint64
		want       uint64 // where the return address is, from SP
		trust      unwind.Trust
	}{
		{"sure", "\x53\x90\x5b\xc3", 1, map[uint64]uint64{8: ra, 0x30: ra}, 8, unwind.TrustAnalysis},
		{"no return address where the code has it", "\x53\x90\x5b\xc3", 1, map[uint64]uint64{8: 0x1234, 0x30: ra}, 0x30, unwind.TrustFrameSize},
		{"the headers where the code has it", "\x53\x90\x5b\xc3", 1, map[uint64]uint64{8: bias + 0x80, 0x30: ra}, 0x30, unwind.TrustFrameSize},
		{"two ways, one with rbx saved", "\x74\x01\x53\x90\xc3", 3, map[uint64]uint64{0: ra, 8: ra, 0x30: ra}, 0x30, unwind.TrustFrameSize},
		{"behind a call that may not return, in a loop", "\x53\xe8\xfa\x06\x00\x00\x90\xeb\xfd", 6, map[uint64]uint64{8: ra, 0x30: ra}, 0x30, unwind.TrustFrameSize},
	} {
		text := bytes.Repeat([]byte{0xcc}, 0x1000)
		copy(text, c.code)
		copy(text[0x800:], "\xe8\xfb\xf7\xff\xff\x90")
		p := newX64Proc(text)
		for at, v := range c.stack {
			p.put(sp+at, v)
		}
		p.setRegs(map[string]uint64{"rip": bias + 0x1000 + c.off, "rsp": sp})
		sizes := frameSizes{Start: 0x1000, Size: 16, Bytes: 0x28, Saved: 8}
		w := walker(t, p, nil, must(steppers.NewFrameSizeStepper(partsOf(image.Parts{Sizes: &sizes}))))
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if err != nil || f.RA() != ra || f.SP() != sp+c.want+8 || f.Trust() != c.trust {
			t.Errorf("%s: %v, %v, want SP+%#x; %q", c.name, f, err, c.want, notes(in))
		}
	}
}

// A return address is read up to the end of the thread's stack, and no further.
func TestFrameSizesOnStack(t *testing.T) {
	const sp, ra = winStack + 0x1000 - 0x20, bias + 0x1205
	sizes := frameSizes{Start: 0x1000, Size: 0x100}
	for size, want := range map[uint32]bool{0x10: true, 0x14: true, 0x18: true, 0x1c: false, 0x20: false, 0x28: false} {
		p := newX64Proc(nil)
		p.add(winStack, libstate.Read|libstate.Write, make([]byte, 0x2000))
		p.put(sp+uint64(size), ra)
		p.setRegs(map[string]uint64{"rip": bias + 0x1020, "rsp": sp})
		sizes.Bytes = size
		w := walker(t, onWinStack{p}, nil, must(steppers.NewFrameSizeStepper(partsOf(image.Parts{Sizes: &sizes}))))
		if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); (err == nil) != want {
			t.Errorf("a frame of %#x bytes: %v, %v", size, f, err)
		}
	}
}

// onWinStack is a process whose thread's stack ends within a mapping, as bounded is.
type onWinStack struct{ mapper }

func (onWinStack) StackBounds(t unwind.ThreadID) (low, high arch.Address, ok bool) {
	return bounded{}.StackBounds(t)
}

// Addresses of a module of more than 4 GiB, which is damaged, are not cut off.
func TestFrameSizesOfLargeModules(t *testing.T) {
	const sp, ra = stack + 0x100, bias + 0x1205
	for off, says := range map[uint64]string{0xffffffff: "FrameSize: damaged PDB", 1 << 32: "", 1<<32 + 0x20: ""} {
		p := newX64Proc(nil)
		lib, _ := p.libs.LibraryAt(bias + 0x1000)
		lib.End = bias + 1<<33
		lib.Mappings[1].End = lib.End
		p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
		p.put(sp, ra)
		p.setRegs(map[string]uint64{"rip": bias + off, "rsp": sp})
		w := walker(t, p, nil, must(steppers.NewFrameSizeStepper(partsOf(image.Parts{Sizes: &frameSizes{Size: 0x100}}))))
		in := must(w.InitialFrame(1))
		if f, err := w.WalkSingleFrame(in); !errors.Is(err, unwind.ErrNoStepper) || strings.Join(notes(in), "\n") != says {
			t.Errorf("%#x: %v, %v, %q", off, f, err, notes(in))
		}
	}
}

// Code that is too long to be followed shows nothing.
func TestFrameSizeOfLongCode(t *testing.T) {
	const sp, ra = stack + 0x100, bias + 0x1105
	text := bytes.Repeat([]byte{0x90}, 1<<16+0x1000)
	copy(text[0x100:], "\xe8\xfb\xfe\xff\xff")
	p := newX64Proc(nil)
	p.segs[0] = seg{libstate.Mapping{Start: bias + 0x1000, End: bias + 0x1000 + uint64(len(text)), Perm: libstate.Read | libstate.Exec}, text}
	p.put(sp+0x30, ra)
	p.setRegs(map[string]uint64{"rip": bias + 0x1020, "rsp": sp})
	sizes := frameSizes{Start: 0x1000, Size: uint32(len(text)), Bytes: 0x30}
	w := walker(t, p, nil, must(steppers.NewFrameSizeStepper(partsOf(image.Parts{Sizes: &sizes}))))
	in := must(w.InitialFrame(1))
	if f, err := w.WalkSingleFrame(in); err != nil || f.RA() != ra || f.Trust() != unwind.TrustFrameSize {
		t.Errorf("%v, %v; %q", f, err, notes(in))
	}
}
