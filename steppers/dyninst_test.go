package steppers_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestDyninstRegisters: of what instrumentation saved and of what relocated code
// saved, the registers come back as rewritten.S computes them: work is called with
// 3, keeps that in rbx, and calls tiny with three times that.
func TestDyninstRegisters(t *testing.T) {
	tests := []struct {
		name   string
		chain  string // function/stepper of each frame as far as main
		frames map[string]map[string]uint64
	}{
		{"amd64-rewritten-probe", "probe/registers inner_dyninst/Debug inner/DyninstInstFrame tiny/Debug work/DyninstInstr main/DyninstInstr",
			map[string]map[string]uint64{"inner": {"rdi": 9, "rbx": 3}, "tiny": {"rbx": 3}, "work": {"rbx": 3}}},
		{"amd64-rewritten-nopoint", "probe/registers work_dyninst/Debug work/DyninstInstFrame main/Debug",
			map[string]map[string]uint64{"work": {"rdi": 9, "rbx": 3}}},
		{"amd64-rewritten-copy", "inner/registers tiny/DyninstInstr work/DyninstInstr main/DyninstInstr",
			map[string]map[string]uint64{"inner": {"rdi": 9, "rbx": 9}, "tiny": {"rbx": 3}, "work": {"rbx": 3}}},
		{"amd64-rewritten-tramp", "work_dyninst/registers work/DyninstInstr main/Debug",
			map[string]map[string]uint64{"work_dyninst": {"rdi": 3, "rbx": 0}, "work": {"rdi": 3}}},
	}
	for _, tc := range tests {
		t.Run(strings.TrimPrefix(tc.name, "amd64-"), func(t *testing.T) {
			_, s := walkCase(t, tc.name)
			var got []string
			byName := map[string]*unwind.Frame{}
			for _, f := range s.Frames {
				name, _ := f.Name()
				by := "registers"
				if f.Stepper() != nil {
					by = f.Stepper().Name()
				}
				got = append(got, name+"/"+by)
				byName[name] = f
				if name == "main" {
					break
				}
			}
			if strings.Join(got, " ") != tc.chain || s.End != unwind.EndBottom {
				t.Errorf("%v, end %v; want %s", got, s.End, tc.chain)
			}
			for name, regs := range tc.frames {
				for reg, want := range regs {
					r, _ := arch.AMD64.RegByName(reg)
					if v, _, ok := byName[name].Reg(r); !ok || v != want {
						t.Errorf("%s: %s is %#x, %v; want %#x", name, reg, v, ok, want)
					}
				}
			}
			// main's own registers are the same, whatever way they were found.
			main := byName["main"]
			if name, _ := main.PrevFrame().Name(); name != "work" || main.NonCall() || main.FP() == 0 && main.SP() == 0 {
				t.Errorf("main %v after %s", main, name)
			}
			if inst := byName["inner"]; inst != nil && tc.name == "amd64-rewritten-probe" {
				if !inst.NonCall() || inst.Trust() != unwind.TrustInstrumentation || inst.LookupAddr() != inst.RA() {
					t.Errorf("inner: %v, call %v", inst.Trust(), !inst.NonCall())
				}
				if ra, err := inst.Walker().ProcessState().ReadWord(inst.SP()); err != nil || ra != byName["tiny"].RA() {
					t.Errorf("tiny's return address is not on top of inner's stack: %#x", ra)
				}
			}
		})
	}
}

// toolHelper is the knowledge of a tool about what it inserted.
type toolHelper map[arch.Address]steppers.Instrumentation

func (h toolHelper) IsInstrumentation(ra arch.Address) (steppers.Instrumentation, bool) {
	i, ok := h[ra]
	return i, ok
}

const inserted = 0x7000_0000_0000 // anonymous executable memory

func dynamicWalk(t *testing.T, p *proc, h toolHelper) *unwind.Stack {
	t.Helper()
	p.add(inserted, libstate.Read|libstate.Write|libstate.Exec, make([]byte, 0x1000))
	d, err := steppers.NewDyninstDynamicStepper(arch.AMD64, h)
	if err != nil {
		t.Fatal(err)
	}
	g := unwind.NewAddrRangeGroup()
	if err := g.RegisterStepper(d); err != nil {
		t.Fatal(err)
	}
	w, err := unwind.NewWalker(mapper{p}, unwind.WithGroup(g), unwind.WithExplain())
	if err != nil {
		t.Fatal(err)
	}
	s, _ := w.WalkStack(unwind.NullThread)
	return s
}

// TestDyninstDynamic: the kinds of inserted code that a helper tells of.
func TestDyninstDynamic(t *testing.T) {
	sp := uint64(stack + 0x100)
	fp := sp + 0x40
	start := map[string]uint64{"rip": inserted + 0x10, "rsp": sp, "rbp": fp, "rbx": 7}
	t.Run("frameless", func(t *testing.T) {
		s := dynamicWalk(t, newProc(start), toolHelper{inserted + 0x10: {OrigRA: bias + fnCallee + 4}})
		f := s.Frames[len(s.Frames)-1]
		if v, _, _ := f.Reg(arch.RBX); len(s.Frames) != 2 || f.RA() != bias+fnCallee+4 || f.SP() != sp || f.FP() != fp || !f.NonCall() || v != 7 {
			t.Errorf("%d frames, %v, rbx %#x", len(s.Frames), f, v)
		}
	})
	t.Run("frame", func(t *testing.T) {
		p := newProc(start)
		p.put(fp, stack+0x800, bias+fnCallee+4)
		f := dynamicWalk(t, p, toolHelper{inserted + 0x10: {}}).Frames[1]
		if f.RA() != bias+fnCallee+4 || f.SP() != fp+16 || f.FP() != stack+0x800 || !f.NonCall() || f.Trust() != unwind.TrustInstrumentation {
			t.Errorf("%v", f)
		}
	})
	t.Run("aligned frame", func(t *testing.T) {
		p := newProc(start)
		p.put(fp, stack+0x800, bias+fnCallee+4, 0, stack+0x300)
		f := dynamicWalk(t, p, toolHelper{inserted + 0x10: {StackHeight: 24, Aligned: true}}).Frames[1]
		if f.SP() != stack+0x300 {
			t.Errorf("%v", f)
		}
	})
	t.Run("entry", func(t *testing.T) {
		p := newProc(start)
		p.put(fp, stack+0x800, bias+fnCallee, 0, stack+0x300)
		p.put(stack+0x300, bias+raCaller)
		s := dynamicWalk(t, p, toolHelper{inserted + 0x10: {StackHeight: 24, EntryExit: true}})
		if len(s.Frames) != 3 {
			t.Fatalf("%d frames, %v", len(s.Frames), s.Err)
		}
		f := s.Frames[2]
		if f.RA() != bias+raCaller || f.SP() != stack+0x308 || f.FP() != stack+0x800 || f.NonCall() || f.LookupAddr() != bias+raCaller-1 {
			t.Errorf("%v, call %v", f, !f.NonCall())
		}
	})
	refused := map[string]func(p *proc) toolHelper{
		"no code": func(*proc) toolHelper { return toolHelper{inserted + 0x10: {OrigRA: stack}} },
		"no return address": func(p *proc) toolHelper {
			p.put(fp, stack+0x800, stack)
			return toolHelper{inserted + 0x10: {}}
		},
		"stack pointer below": func(p *proc) toolHelper {
			p.put(fp, stack+0x800, bias+fnCallee, 0, stack)
			return toolHelper{inserted + 0x10: {StackHeight: 24}}
		},
		"aligned without a height": func(p *proc) toolHelper {
			p.put(fp, stack+0x800, bias+fnCallee)
			return toolHelper{inserted + 0x10: {Aligned: true}}
		},
		"not inserted": func(*proc) toolHelper { return toolHelper{} },
	}
	for name, setup := range refused {
		t.Run(name, func(t *testing.T) {
			p := newProc(start)
			if s := dynamicWalk(t, p, setup(p)); len(s.Frames) != 1 || s.End != unwind.EndNoStepper {
				t.Errorf("%d frames, %v", len(s.Frames), s.Frames[len(s.Frames)-1])
			}
		})
	}
}

// TestDyninstDynamicShared: one stepper walks two stacks in turns, one frame at a
// time; the entry that one has come through is not the other's.
func TestDyninstDynamicShared(t *testing.T) {
	p := newProc(nil)
	p.add(inserted, libstate.Read|libstate.Exec, make([]byte, 0x1000))
	h := toolHelper{inserted + 0x10: {EntryExit: true}, inserted + 0x20: {}}
	d, err := steppers.NewDyninstDynamicStepper(arch.AMD64, h)
	if err != nil {
		t.Fatal(err)
	}
	g := unwind.NewAddrRangeGroup()
	if err := g.RegisterStepper(d); err != nil {
		t.Fatal(err)
	}
	w, err := unwind.NewWalker(mapper{p}, unwind.WithGroup(g))
	if err != nil {
		t.Fatal(err)
	}
	frame := func(pc, at uint64) *unwind.Frame {
		p.put(at, stack+0x800, bias+fnCallee, bias+raCaller)
		f, err := unwind.NewFrame(pc, at-0x40, at, w)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	entry, other := frame(inserted+0x10, stack+0x100), frame(inserted+0x20, stack+0x200)
	step := func(f *unwind.Frame) (*unwind.Frame, error) { return w.WalkSingleFrame(f) }
	a, err := step(entry)
	if err != nil {
		t.Fatal(err)
	}
	b, err := step(other)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := step(b); !errors.Is(err, unwind.ErrNoStepper) {
		t.Errorf("the other stack's entry was taken for this one's: %v, %v", f, err)
	}
	if f, err := step(a); err != nil || f.RA() != bias+raCaller {
		t.Errorf("from the entry: %v, %v", f, err)
	}
}

// TestDyninstMarkers: marker frames that make sense, and those that do not, in
// inserted code of a program that was instrumented while it ran.
func TestDyninstMarkers(t *testing.T) {
	const marker = 0xBEEFDEAD
	sp, fp := uint64(stack+0x100), uint64(stack+0x140)
	point := uint64(bias + fnCallee + 4)
	for _, tc := range []struct {
		name  string
		pc    uint64
		words []uint64
		ok    bool
	}{
		{"point", inserted + 0x10, []uint64{stack + 0x800, point, marker, stack + 0x300}, true},
		{"no point", inserted + 0x10, []uint64{stack + 0x800, marker, stack + 0x300}, false}, // nothing tells it
		{"point in no library", inserted + 0x10, []uint64{stack + 0x800, inserted + 8, marker, stack + 0x300}, false},
		{"point in data", inserted + 0x10, []uint64{stack + 0x800, bias, marker, stack + 0x300}, false},
		{"stack pointer below", inserted + 0x10, []uint64{stack + 0x800, point, marker, stack}, false},
		{"stack pointer elsewhere", inserted + 0x10, []uint64{stack + 0x800, point, marker, bias}, false},
		{"another word", inserted + 0x10, []uint64{stack + 0x800, point, marker + 1<<32, stack + 0x300}, false},
		{"a function that it called", bias + fnLeaf, []uint64{stack + 0x800, point, marker, stack + 0x300}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProc(map[string]uint64{"rip": tc.pc, "rsp": sp, "rbp": fp})
			p.add(inserted, libstate.Read|libstate.Exec, make([]byte, 0x1000))
			p.put(fp, tc.words...)
			s, err := steppers.NewDyninstInstFrameStepper(arch.AMD64, nil)
			if err != nil {
				t.Fatal(err)
			}
			f := oneStep(t, mapper{p}, s)
			if (f != nil) != tc.ok {
				t.Fatalf("%v", f)
			}
			if f != nil && (f.RA() != point || f.SP() != stack+0x300 || f.FP() != stack+0x800 || !f.NonCall()) {
				t.Errorf("%v", f)
			}
		})
	}
}

// oneStep steps from the youngest frame by one stepper; nil when it declines.
func oneStep(t *testing.T, p unwind.ProcessState, s unwind.FrameStepper) *unwind.Frame {
	t.Helper()
	g := unwind.NewAddrRangeGroup()
	if err := g.RegisterStepper(s); err != nil {
		t.Fatal(err)
	}
	w, err := unwind.NewWalker(p, unwind.WithGroup(g), unwind.WithExplain())
	if err != nil {
		t.Fatal(err)
	}
	top, err := w.InitialFrame(unwind.NullThread)
	if err != nil {
		t.Fatal(err)
	}
	f, err := w.WalkSingleFrame(top)
	if err != nil && !errors.Is(err, unwind.ErrNoStepper) {
		t.Fatal(err)
	}
	return f
}

// foreign is a mapper of another 64-bit architecture.
type foreign struct {
	mapper
	arch *arch.Arch
}

func (p foreign) Arch() *arch.Arch { return p.arch }

// dyninstELF is a file with nothing but a section .dyninstInst at inserted.
func dyninstELF(t *testing.T) *elffile.File {
	t.Helper()
	var b bytes.Buffer
	le := binary.LittleEndian
	b.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	binary.Write(&b, le, []uint16{3, 183})
	binary.Write(&b, le, uint32(1))
	binary.Write(&b, le, []uint64{0, 0, 64})
	binary.Write(&b, le, uint32(0))
	binary.Write(&b, le, []uint16{64, 56, 0, 64, 3, 2})
	b.Write(make([]byte, 64))
	header := func(name, typ uint32, flags, addr, off, size uint64) {
		binary.Write(&b, le, []uint32{name, typ})
		binary.Write(&b, le, []uint64{flags, addr, off, size})
		binary.Write(&b, le, []uint32{0, 0})
		binary.Write(&b, le, []uint64{1, 0})
	}
	header(1, 8, 6, fnCallee, 0, 0x20)
	header(15, 3, 0, 0, 64*4, 32)
	b.WriteString("\x00.dyninstInst\x00\x00.shstrtab\x00\x00\x00\x00\x00\x00\x00\x00")
	f, err := elffile.Parse(b.Bytes())
	if err != nil || f.Section(".dyninstInst") == nil {
		t.Fatal(err)
	}
	return f
}

// TestDyninstLayouts: the frames of architectures without a marker, in relocated
// code.
func TestDyninstLayouts(t *testing.T) {
	f := dyninstELF(t)
	sp := uint64(stack + 0x100)
	for _, tc := range []struct {
		arch *arch.Arch
		put  map[uint64]uint64
		sp   uint64
		regs map[string]uint64
	}{
		{arch.ARM64, map[uint64]uint64{528 + 8*19: 19, 760: stack + 0x800, 768: bias + raCaller}, sp + 784,
			map[string]uint64{"x19": 19, "x29": stack + 0x800, "x30": bias + raCaller}},
		{arch.PPC64LE, map[uint64]uint64{0: stack + 0x600, 432: bias + raCaller}, stack + 0x600,
			map[string]uint64{"lr": bias + raCaller}},
	} {
		t.Run(tc.arch.Name, func(t *testing.T) {
			s, err := steppers.NewDyninstInstFrameStepper(tc.arch, partsOf(image.Parts{ELF: f}))
			if err != nil {
				t.Fatal(err)
			}
			p := newProc(nil)
			p.regs = arch.RegSet{}
			p.regs.Set(tc.arch.PC, bias+fnCallee+8)
			p.regs.Set(tc.arch.SP, sp)
			p.regs.Set(tc.arch.FP, sp)
			for off, v := range tc.put {
				p.put(sp+off, v)
			}
			got := oneStep(t, foreign{mapper{p}, tc.arch}, s)
			if got == nil || got.RA() != bias+raCaller || got.SP() != tc.sp || got.Trust() != unwind.TrustInstrumentation {
				t.Fatalf("%v", got)
			}
			for name, want := range tc.regs {
				r, _ := tc.arch.RegByName(name)
				if v, _, ok := got.Reg(r); !ok || v != want {
					t.Errorf("%s is %#x, %v", name, v, ok)
				}
			}
			for off := range tc.put {
				p.put(sp+off, 0) // a frame that makes no sense
			}
			if got := oneStep(t, foreign{mapper{p}, tc.arch}, s); got != nil {
				t.Errorf("%v from nothing", got)
			}
		})
	}
}

// TestDyninstConstructors: what they refuse, and that all three can be in a group
// at one priority.
func TestDyninstConstructors(t *testing.T) {
	if _, err := steppers.NewDyninstDynamicStepper(arch.AMD64, nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Error(err)
	}
	if _, err := steppers.NewDyninstInstrStepper(arch.AMD64, nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Error(err)
	}
	if _, err := steppers.NewDyninstInstFrameStepper(arch.S390X, noFile); !errors.Is(err, unwind.ErrUnsupported) {
		t.Error(err)
	}
	g, err := steppers.DefaultGroup(arch.AMD64, noFile)
	if err != nil {
		t.Fatal(err)
	}
	d, err := steppers.NewDyninstDynamicStepper(arch.AMD64, toolHelper{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.RegisterStepper(d); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for s, err := g.FindStepperForAddr(bias, nil); err == nil; s, err = g.FindStepperForAddr(bias, s) {
		if s.Priority() == unwind.PriorityDyninstr {
			asked = append(asked, s.Name())
		}
	}
	if strings.Join(asked, " ") != "DyninstInstFrame DyninstInstr DyninstDynamic" {
		t.Errorf("asked %v", asked)
	}
}
