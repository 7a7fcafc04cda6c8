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
				if _, ok := f.CFA(); by == "DyninstInstr" && f.Trust() != unwind.TrustInstrumentation || !ok && name != "_start" && strings.HasPrefix(by, "Dyninst") {
					t.Errorf("%s/%s: %v, CFA known: %t", name, by, f.Trust(), ok)
				}
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

// TestDyninstDynamic: the kinds of inserted code that a helper tells of, from a frame in
// inserted code; its frame pointer is sp+0x40.
func TestDyninstDynamic(t *testing.T) {
	const pc, sp, fp, end = inserted + 0x10, stack + 0x100, stack + 0x140, stack + stackLen
	const work = bias + fnCallee + 4
	for _, tc := range []struct {
		name   string
		is     steppers.Instrumentation
		none   bool // the helper knows nothing
		fp     uint64
		noFP   bool
		sp     uint64
		words  []uint64 // from the frame pointer
		second bool     // the step from the caller
		want   string
	}{
		{name: "frameless", is: steppers.Instrumentation{OrigRA: work},
			want: "0x555500001024 sp 0x7ffe00000100 instrumentation, rip 0x555500001024, rsp 0x7ffe00000100, rbp 0x7ffe00000140 in rbp, rbx 0x7 in rbx, rcx lost, interrupted"},
		{name: "frameless, of no code", is: steppers.Instrumentation{OrigRA: stack},
			want: "none; the helper's address 0x7ffe00000000 is not code"},
		{name: "frame", words: []uint64{stack + 0x800, work},
			want: "0x555500001024 sp 0x7ffe00000150 instrumentation, rip 0x555500001024 saved at 0x7ffe00000148, rsp 0x7ffe00000150, rbp 0x7ffe00000800 saved at 0x7ffe00000140, rbx lost, rcx lost, interrupted"},
		{name: "the stack pointer is kept", is: steppers.Instrumentation{StackHeight: 24}, words: []uint64{stack + 0x800, work, 0, stack + 0x300},
			want: "0x555500001024 sp 0x7ffe00000300 instrumentation, rip 0x555500001024 saved at 0x7ffe00000148, rsp 0x7ffe00000300 saved at 0x7ffe00000158, rbp 0x7ffe00000800 saved at 0x7ffe00000140, rbx lost, rcx lost, interrupted"},
		{name: "aligned frame", is: steppers.Instrumentation{StackHeight: 24, Aligned: true}, words: []uint64{stack + 0x800, work, 0, stack + 0x300},
			want: "0x555500001024 sp 0x7ffe00000300 instrumentation, rip 0x555500001024 saved at 0x7ffe00000148, rsp 0x7ffe00000300 saved at 0x7ffe00000158, rbp 0x7ffe00000800 saved at 0x7ffe00000140, rbx lost, rcx lost, interrupted"},
		{name: "aligned without a height", is: steppers.Instrumentation{Aligned: true}, words: []uint64{stack + 0x800, work},
			want: "none; frame pointer 0x7ffe00000140 is not on the stack above SP 0x7ffe00000100"},
		{name: "no return address", words: []uint64{stack + 0x800, stack},
			want: "none; no return address at 0x7ffe00000148; no frame of inserted code at 0x7ffe00000140"},
		{name: "entry", is: steppers.Instrumentation{EntryExit: true}, words: []uint64{stack + 0x800, work, bias + raCaller}, second: true,
			want: "0x555500001009 sp 0x7ffe00000158 instrumentation, rip 0x555500001009 saved at 0x7ffe00000150, rsp 0x7ffe00000158, rbp 0x7ffe00000800 saved at 0x7ffe00000140, rbx lost, rcx lost"},
		{name: "entry without a return address", is: steppers.Instrumentation{EntryExit: true}, words: []uint64{stack + 0x800, work, stack}, second: true,
			want: "none; no return address at 0x7ffe00000150"},
		{name: "no entry", words: []uint64{stack + 0x800, work, bias + raCaller}, second: true,
			want: "none"},
		{name: "not inserted", none: true, words: []uint64{stack + 0x800, work},
			want: "none"},
		{name: "frame pointer not known", noFP: true,
			want: "none; frame pointer 0x0 is not on the stack above SP 0x0"},
		{name: "frame pointer at SP", fp: sp, words: []uint64{stack + 0x800, work},
			want: "0x555500001024 sp 0x7ffe00000110 instrumentation, rip 0x555500001024 saved at 0x7ffe00000108, rsp 0x7ffe00000110, rbp 0x7ffe00000800 saved at 0x7ffe00000100, rbx lost, rcx lost, interrupted"},
		{name: "frame pointer below SP", fp: sp - 8, words: []uint64{stack + 0x800, work},
			want: "none; frame pointer 0x7ffe000000f8 is not on the stack above SP 0x7ffe00000100"},
		{name: "frame pointer not aligned", fp: sp + 0x44, words: []uint64{stack + 0x800, work},
			want: "none; frame pointer 0x7ffe00000144 is not on the stack above SP 0x7ffe00000100"},
		{name: "frame pointer at the stack's last words", fp: end - 16, words: []uint64{stack + 0x800, work},
			want: "0x555500001024 sp 0x7ffe00004000 instrumentation, rip 0x555500001024 saved at 0x7ffe00003ff8, rsp 0x7ffe00004000, rbp 0x7ffe00000800 saved at 0x7ffe00003ff0, rbx lost, rcx lost, interrupted"},
		{name: "frame pointer at the stack's last word", fp: end - 8, words: []uint64{stack + 0x800},
			want: "none; no return address at 0x7ffe00004000; no frame of inserted code at 0x7ffe00003ff8"},
		{name: "frame pointer at the stack's end", fp: end,
			want: "none; frame pointer 0x7ffe00004000 is not on the stack above SP 0x7ffe00000100"},
		{name: "the stack pointer is below", is: steppers.Instrumentation{StackHeight: 24}, words: []uint64{stack + 0x800, work, 0, fp - 8},
			want: "none; no frame of inserted code at 0x7ffe00000140"},
		{name: "the stack pointer is at the frame", is: steppers.Instrumentation{StackHeight: 24}, words: []uint64{stack + 0x800, work, 0, fp},
			want: "none; no frame of inserted code at 0x7ffe00000140"},
		{name: "the stack pointer is above it", is: steppers.Instrumentation{StackHeight: 24}, words: []uint64{stack + 0x800, work, 0, fp + 8},
			want: "0x555500001024 sp 0x7ffe00000148 instrumentation, rip 0x555500001024 saved at 0x7ffe00000148, rsp 0x7ffe00000148 saved at 0x7ffe00000158, rbp 0x7ffe00000800 saved at 0x7ffe00000140, rbx lost, rcx lost, interrupted"},
		{name: "the stack pointer is the stack's end", is: steppers.Instrumentation{StackHeight: 24}, words: []uint64{stack + 0x800, work, 0, end},
			want: "0x555500001024 sp 0x7ffe00004000 instrumentation, rip 0x555500001024 saved at 0x7ffe00000148, rsp 0x7ffe00004000 saved at 0x7ffe00000158, rbp 0x7ffe00000800 saved at 0x7ffe00000140, rbx lost, rcx lost, interrupted"},
		{name: "the stack pointer is beyond the stack", is: steppers.Instrumentation{StackHeight: 24}, words: []uint64{stack + 0x800, work, 0, end + 8},
			want: "none; no frame of inserted code at 0x7ffe00000140"},
		{name: "the stack pointer is kept nowhere", is: steppers.Instrumentation{StackHeight: 0x8000}, words: []uint64{stack + 0x800, work},
			want: "none; no frame of inserted code at 0x7ffe00000140"},
		{name: "the words of the frame are lost", fp: end + 0x100,
			want: "none; no return address at 0x7ffe00004108; no frame of inserted code at 0x7ffe00004100"},
		{name: "the saved frame pointer is lost", sp: stack - 16, fp: stack - 8, words: []uint64{work},
			want: "none; no frame of inserted code at 0x7ffdfffffff8"},
		{name: "the saved frame pointer is lost, the stack pointer is kept", is: steppers.Instrumentation{StackHeight: 24}, sp: stack - 16, fp: stack - 8, words: []uint64{work, 0, stack + 0x300},
			want: "none; no frame of inserted code at 0x7ffdfffffff8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.fp == 0 {
				tc.fp = fp
			}
			if tc.sp == 0 {
				tc.sp = sp
			}
			p := newProc(map[string]uint64{"rip": pc, "rsp": tc.sp, "rbp": tc.fp, "rbx": 7, "rcx": 8})
			if tc.noFP {
				p.regs.Valid &^= arch.Mask(arch.RBP)
				p.setRegs(map[string]uint64{"rsp": 0})
			}
			if tc.fp > end {
				for i := range p.segs {
					if p.segs[i].m.Start == stack {
						p.segs[i].m.End += 0x1000 // not in the dump
					}
				}
			}
			p.add(inserted, libstate.Read|libstate.Write|libstate.Exec, make([]byte, 0x1000))
			if len(tc.words) > 0 {
				p.put(max(tc.fp, stack), tc.words...)
			}
			h := toolHelper{pc: tc.is}
			if tc.none {
				h = toolHelper{}
			}
			w := walker(t, mapper{p}, nil, must(steppers.NewDyninstDynamicStepper(arch.AMD64, h)))
			in := must(w.InitialFrame(1))
			if tc.second {
				in = must(w.WalkSingleFrame(in))
			}
			if got := outcome(w, in, "rip", "rsp", "rbp", "rbx", "rcx"); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// forgetful is a helper that denies what it has said once.
type forgetful struct {
	toolHelper
	asked int
}

func (h *forgetful) IsInstrumentation(ra arch.Address) (steppers.Instrumentation, bool) {
	i, ok := h.toolHelper.IsInstrumentation(ra)
	h.asked++
	return i, ok && h.asked == 1
}

// Whether a frame is at a function's entry tells the code from which the walk has reached
// it.
func TestDyninstDynamicEntry(t *testing.T) {
	const at, sp = inserted + 0x10, stack + 0x100
	entry := toolHelper{at: {EntryExit: true}}
	for _, tc := range []struct {
		name    string
		helper  toolHelper
		other   bool // another stepper has found the frame
		nonCall bool
		want    bool
	}{
		{"another stepper's", entry, true, true, false},
		{"another stepper's, a call made", entry, true, false, false},
		{"its own", entry, false, true, true},
		{"its own, of no entry", toolHelper{at: {}}, false, true, false},
		{"its own, by what is denied", nil, false, true, false},
	} {
		p := newProc(map[string]uint64{"rip": at, "rsp": sp, "rbp": sp})
		p.add(inserted, libstate.Read|libstate.Exec, make([]byte, 0x1000))
		p.put(sp, stack+0x800, bias+fnCallee, bias+raCaller)
		var h steppers.DyninstDynamicHelper = tc.helper
		if tc.helper == nil {
			h = &forgetful{toolHelper: entry}
		}
		list := []unwind.FrameStepper{must(steppers.NewDyninstDynamicStepper(arch.AMD64, h))}
		if tc.other {
			list = append(list, fixedCaller{at, bias + fnCallee, sp + 16, tc.nonCall})
		}
		w := walker(t, mapper{p}, nil, list...)
		in := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		if f, err := w.WalkSingleFrame(in); (err == nil) != tc.want {
			t.Errorf("%s: %v, %v", tc.name, f, err)
		}
	}
}

// A denier describes code that it says is not inserted.
type denier struct{ steppers.Instrumentation }

func (h denier) IsInstrumentation(arch.Address) (steppers.Instrumentation, bool) {
	return h.Instrumentation, false
}

// What a helper says of code that is not inserted does not count.
func TestDyninstDynamicDenied(t *testing.T) {
	const sp = stack + 0x100
	for _, h := range []denier{{steppers.Instrumentation{OrigRA: bias + fnCallee}}, {steppers.Instrumentation{EntryExit: true}}} {
		p := newProc(map[string]uint64{"rip": bias + fnCaller, "rsp": sp, "rbp": sp})
		p.put(sp, stack+0x800, bias+raCaller)
		if f := oneStep(t, mapper{p}, must(steppers.NewDyninstDynamicStepper(arch.AMD64, h))); f != nil {
			t.Errorf("%v", f)
		}
	}
}

// Where calls leave the return address in a register, the stepper knows only code without a
// frame.
func TestDyninstDynamicWithLinkRegister(t *testing.T) {
	const sp = foreignStack + 0x100
	for orig, want := range map[arch.Address]string{foreignCode + 0x200: "0x10000200 sp 0x20000100 instrumentation, interrupted", 0: "none"} {
		p := newForeign(arch.ARM64, nil)
		p.putWords(sp, sp+0x80, foreignCode+0x300, foreignCode+0x300)
		p.set(map[arch.Reg]uint64{arch.ARM64.PC: foreignCode + 0x100, arch.ARM64SP: sp, arch.ARM64FP: sp})
		w := walker(t, p, nil, must(steppers.NewDyninstDynamicStepper(arch.ARM64, toolHelper{foreignCode + 0x100: {OrigRA: orig}})))
		if got := outcome(w, must(w.InitialFrame(1))); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
	if _, err := steppers.NewDyninstDynamicStepper(nil, toolHelper{}); !errors.Is(err, unwind.ErrBadParam) {
		t.Error(err)
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

// dyninstELF is a file of a machine with code from address 0x1000 on, that has a section
// .dyninstInst of 0x200 bytes, and the functions given.
func dyninstELF(t *testing.T, machine uint16, relocated uint64, code []byte, funcs ...unwind.Symbol) *elffile.File {
	t.Helper()
	const names = "\x00.dyninstInst\x00.symtab\x00.strtab\x00"
	le := binary.LittleEndian
	var syms, strs bytes.Buffer
	syms.Write(make([]byte, 24))
	strs.WriteString(names)
	for _, f := range funcs {
		binary.Write(&syms, le, uint32(strs.Len()))
		binary.Write(&syms, le, []uint16{0x12, 1})
		binary.Write(&syms, le, []uint64{f.Addr, f.Size})
		strs.WriteString(f.Name + "\x00")
	}
	const head, sections = 64 + 56, 4
	codeAt := uint64(head + sections*64)
	symsAt := codeAt + uint64(len(code))
	strsAt := symsAt + uint64(syms.Len())
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	binary.Write(&b, le, []uint16{3, machine})
	binary.Write(&b, le, uint32(1))
	binary.Write(&b, le, []uint64{0, 64, head})
	binary.Write(&b, le, uint32(0))
	binary.Write(&b, le, []uint16{64, 56, 1, 64, sections, 3})
	binary.Write(&b, le, []uint32{1, 5}) // PT_LOAD, readable and executable
	binary.Write(&b, le, []uint64{codeAt, 0x1000, 0x1000, uint64(len(code)), uint64(len(code)), 1})
	header := func(name, typ uint32, flags, addr, off, size uint64, link, entry uint32) {
		binary.Write(&b, le, []uint32{name, typ})
		binary.Write(&b, le, []uint64{flags, addr, off, size})
		binary.Write(&b, le, []uint32{link, 0})
		binary.Write(&b, le, []uint64{1, uint64(entry)})
	}
	header(0, 0, 0, 0, 0, 0, 0, 0)
	header(1, 8, 6, relocated, 0, 0x200, 0, 0)
	header(14, 2, 0, 0, symsAt, uint64(syms.Len()), 3, 24)
	header(22, 3, 0, 0, strsAt, uint64(strs.Len()), 0, 0)
	b.Write(code)
	b.Write(syms.Bytes())
	b.Write(strs.Bytes())
	f, err := elffile.Parse(b.Bytes())
	if err != nil || f.Section(".dyninstInst") == nil {
		t.Fatal(err)
	}
	return f
}

// A function at 0x1700 that was instrumented four times, and its copy at 0x1800.
const (
	fnWork    = 0x1700
	fnCopy    = 0x1800
	lostCopy  = 0x1980                             // relocated code of an unknown function
	trampSkip = "\x48\x8d\x64\x24\x80"             // lea -128(%rsp),%rsp
	trampBack = "\x48\x8d\xa4\x24\x80\x00\x00\x00" // lea 128(%rsp),%rsp
)

var (
	// work without what the jump to the copy has overwritten: inc %rax; inc %rbx; inc %rcx;
	// inc %rdx; pop %rbp; ret.
	workCode = "\xe9\xfb\x00\x00\x00" + "\x48\xff\xc0" + "\x48\xff\xc3" + "\x48\xff\xc1" + "\x48\xff\xc2" + "\x5d\xc3"
	// push %rax; push %rbx; inc %rax; inc %r12; pop %rbx; pop %rax.
	trampPlain = trampSkip + "\x50\x53\x48\xff\xc0\x49\xff\xc4\x5b\x58" + trampBack
	// and $-16,%rsp; push %rax; mov (%rsp),%rsp.
	trampAligned = trampSkip + "\x48\x83\xe4\xf0\x50\x48\x8b\x24\x24"
	// push %rbp; mov %rsp,%rbp; push %rbx; nop; leave.
	trampFrame = trampSkip + "\x55\x48\x89\xe5\x53\x90\xc9" + trampBack
	// jmp to the next instruction; nop.
	trampBranch = trampSkip + "\xeb\x00\x90" + trampBack
	trampLast   = trampSkip + "\x50\x58" + trampBack
)

// The copy: push %rbp; mov %rsp,%rbp; nop; and the rest, with instrumentation between.
var copyParts = []string{"\x55\x48\x89\xe5\x90", trampPlain, "\x48\xff\xc0", trampAligned, "\x48\xff\xc3", trampFrame, "\x48\xff\xc1", trampBranch, "\x48\xff\xc2\x5d\xc3", trampLast}

// inCopy is the address of an offset in a part of the copy.
func inCopy(part, off int) uint64 {
	return fnCopy + uint64(len(strings.Join(copyParts[:part], ""))+off)
}

// rewritten maps the program, with the copy's code, and returns its file.
func rewritten(t *testing.T, regs map[string]uint64) (*proc, *elffile.File) {
	code := make([]byte, 0x1000)
	copy(code[fnWork-0x1000:], workCode)
	copied := strings.Join(copyParts, "")
	copy(code[fnCopy-0x1000:], copied)
	f := dyninstELF(t, 62, fnCopy, code, unwind.Symbol{Name: "work", Addr: fnWork, Size: uint64(len(workCode))},
		unwind.Symbol{Name: "work_dyninst", Addr: fnCopy, Size: uint64(len(copied))})
	return newProc(regs), f
}

// Steps from relocated code: to the instruction that instrumentation without a frame
// precedes, with the registers that it has not changed or has saved.
func TestDyninstRelocated(t *testing.T) {
	const sp = stack + 0x100
	for _, tc := range []struct {
		name   string
		pc     uint64
		sp     uint64
		called bool
		want   string
	}{
		{name: "before anything is saved", pc: inCopy(1, 5),
			want: "0x555500001705 sp 0x7ffe00000180 instrumentation, rip 0x555500001705, rax 0xa1 in rax, rbx 0xb1 in rbx, rcx 0xc1 in rcx, rdx lost, rbp 0xb9 in rbp, r12 0x12 in r12, interrupted"},
		{name: "after the pushes", pc: inCopy(1, 7),
			want: "0x555500001705 sp 0x7ffe00000190 instrumentation, rip 0x555500001705, rax 0x52 saved at 0x7ffe00000108, rbx 0x51 saved at 0x7ffe00000100, rcx 0xc1 in rcx, rdx lost, rbp 0xb9 in rbp, r12 0x12 in r12, interrupted"},
		{name: "after a change", pc: inCopy(1, 10),
			want: "0x555500001705 sp 0x7ffe00000190 instrumentation, rip 0x555500001705, rax 0x52 saved at 0x7ffe00000108, rbx 0x51 saved at 0x7ffe00000100, rcx 0xc1 in rcx, rdx lost, rbp 0xb9 in rbp, r12 0x12 in r12, interrupted"},
		{name: "after two changes", pc: inCopy(1, 13),
			want: "0x555500001705 sp 0x7ffe00000190 instrumentation, rip 0x555500001705, rax 0x52 saved at 0x7ffe00000108, rbx 0x51 saved at 0x7ffe00000100, rcx 0xc1 in rcx, rdx lost, rbp 0xb9 in rbp, r12 lost, interrupted"},
		{name: "after one pop", pc: inCopy(1, 14),
			want: "0x555500001705 sp 0x7ffe00000188 instrumentation, rip 0x555500001705, rax 0x51 saved at 0x7ffe00000100, rbx 0xb1 in rbx, rcx 0xc1 in rcx, rdx lost, rbp 0xb9 in rbp, r12 lost, interrupted"},
		{name: "what was saved is lost", pc: inCopy(1, 10), sp: stack + stackLen - 8,
			want: "0x555500001705 sp 0x7ffe00004088 instrumentation, rip 0x555500001705, rax lost, rbx 0x0 saved at 0x7ffe00003ff8, rcx 0xc1 in rcx, rdx lost, rbp 0xb9 in rbp, r12 0x12 in r12, interrupted"},
		{name: "a call made", pc: inCopy(1, 13), called: true,
			want: "none"},
		{name: "an aligned stack", pc: inCopy(3, 10),
			want: "none; instrumentation at 0x1829: the stack pointer before it is not known"},
		{name: "before it is aligned", pc: inCopy(3, 5),
			want: "0x555500001708 sp 0x7ffe00000180 instrumentation, rip 0x555500001708, rax 0xa1 in rax, rbx 0xb1 in rbx, rcx 0xc1 in rcx, rdx lost, rbp 0xb9 in rbp, r12 0x12 in r12, interrupted"},
		{name: "with a frame", pc: inCopy(5, 9),
			want: "none; instrumentation at 0x1839: the stack pointer before it is not known"},
		{name: "before the frame", pc: inCopy(5, 6),
			want: "0x55550000170b sp 0x7ffe00000188 instrumentation, rip 0x55550000170b, rax 0xa1 in rax, rbx 0xb1 in rbx, rcx 0xc1 in rcx, rdx lost, rbp 0x51 saved at 0x7ffe00000100, r12 0x12 in r12, interrupted"},
		{name: "behind a branch", pc: inCopy(7, 8),
			want: "none; instrumentation at 0x184f: the stack pointer before it is not known"},
		{name: "at the end", pc: inCopy(9, 6),
			want: "none"},
		{name: "a copied instruction", pc: inCopy(2, 0),
			want: "none; relocated from 0x1705 in the original code"},
		{name: "within a copied instruction, a call made", pc: inCopy(2, 2), called: true,
			want: "none; relocated from 0x1706 in the original code"},
		{name: "of no known function", pc: lostCopy,
			want: "none; the relocated code at 0x1980 has no known original"},
		{name: "the original", pc: fnWork + 5,
			want: "none"},
		{name: "the end of relocated code", pc: fnCopy + 0x200,
			want: "none"},
		{name: "in no library", pc: inserted - bias,
			want: "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.sp == 0 {
				tc.sp = sp
			}
			p, f := rewritten(t, map[string]uint64{"rip": bias + tc.pc, "rsp": tc.sp, "rbp": 0xb9, "rax": 0xa1, "rbx": 0xb1, "rcx": 0xc1, "r12": 0x12})
			p.put(stack+0x100, 0x51, 0x52)
			w := walker(t, mapper{p}, nil, must(steppers.NewDyninstInstrStepper(arch.AMD64, partsOf(image.Parts{ELF: f}))))
			in := must(w.InitialFrame(1))
			if tc.called {
				in = called(t, w, bias+tc.pc, tc.sp, 0xb9)
			}
			if got := outcome(w, in, "rip", "rax", "rbx", "rcx", "rdx", "rbp", "r12"); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// Steps from the frame of instrumentation in a library's relocated code.
func TestDyninstMarkersInLibrary(t *testing.T) {
	const marker, sp, top = 0xBEEFDEAD, stack + 0x100, stack + 0x300
	const second = 0x9000_0000
	for _, tc := range []struct {
		name  string
		pc    uint64
		sp    uint64 // stack+0x100 where 0
		fp    uint64 // stack+0x140 where 0
		words []uint64
		want  string
	}{
		{name: "its own point", pc: inCopy(5, 10), words: []uint64{0xb0, marker, top},
			want: "0x55550000170b sp 0x7ffe00000300 instrumentation, rip 0x55550000170b, rsp 0x7ffe00000300 saved at 0x7ffe00000150, rbp 0xb0 saved at 0x7ffe00000140, rbx 0x0 saved at 0x7ffe00000138, rcx 0xc1 in rcx, interrupted; marker frame of instrumentation at 0x7ffe00000140"},
		{name: "a point in the frame", pc: inCopy(5, 10), words: []uint64{0xb0, fnWork + 8, marker, top},
			want: "0x555500001708 sp 0x7ffe00000300 instrumentation, rip 0x555500001708 saved at 0x7ffe00000148, rsp 0x7ffe00000300 saved at 0x7ffe00000158, rbp 0xb0 saved at 0x7ffe00000140, rbx 0x0 saved at 0x7ffe00000138, rcx 0xc1 in rcx, interrupted; marker frame of instrumentation at 0x7ffe00000140"},
		{name: "a point in relocated code", pc: inCopy(5, 10), words: []uint64{0xb0, inCopy(2, 0), marker, top},
			want: "none; marker frame at 0x7ffe00000140: instruction 0x181c, stack pointer 0x7ffe00000300"},
		{name: "a point in another library", pc: inCopy(5, 10), words: []uint64{0xb0, (second - bias) & (1<<64 - 1), marker, top},
			want: "none; marker frame at 0x7ffe00000140: instruction 0xffffaaab90000000, stack pointer 0x7ffe00000300"},
		{name: "a point in data", pc: inCopy(5, 10), words: []uint64{0xb0, 0x10, marker, top},
			want: "none; marker frame at 0x7ffe00000140: instruction 0x10, stack pointer 0x7ffe00000300"},
		{name: "before the frame is set up", pc: inCopy(5, 6), words: []uint64{0xb0, marker, top},
			want: "0x55550000170b sp 0x7ffe00000300 instrumentation, rip 0x55550000170b, rsp 0x7ffe00000300 saved at 0x7ffe00000150, rbp 0xb0 saved at 0x7ffe00000140, rbx lost, rcx lost, interrupted; marker frame of instrumentation at 0x7ffe00000140"},
		{name: "of no known instruction", pc: lostCopy, words: []uint64{0xb0, marker, top},
			want: "none; marker frame at 0x7ffe00000140: instruction 0xbeefdead, stack pointer 0x7ffe00000300"},
		{name: "a copied instruction", pc: inCopy(6, 0), words: []uint64{0xb0, fnWork + 8, marker, top},
			want: "none"},
		{name: "the original", pc: fnWork + 5, words: []uint64{0xb0, fnWork + 8, marker, top},
			want: "none"},
		{name: "frame pointer at SP", pc: inCopy(5, 10), fp: sp, words: []uint64{0xb0, marker, top},
			want: "0x55550000170b sp 0x7ffe00000300 instrumentation, rip 0x55550000170b, rsp 0x7ffe00000300 saved at 0x7ffe00000110, rbp 0xb0 saved at 0x7ffe00000100, rbx 0x0 saved at 0x7ffe000000f8, rcx 0xc1 in rcx, interrupted; marker frame of instrumentation at 0x7ffe00000100"},
		{name: "the saved frame pointer is lost", pc: inCopy(5, 10), sp: stack - 16, fp: stack - 8, words: []uint64{marker, top},
			want: "0x55550000170b sp 0x7ffe00000300 instrumentation, rip 0x55550000170b, rsp 0x7ffe00000300 saved at 0x7ffe00000008, rbp lost, rbx 0xb1 in rbx, rcx 0xc1 in rcx, interrupted; marker frame of instrumentation at 0x7ffdfffffff8"},
		{name: "frame pointer below SP", pc: inCopy(5, 10), fp: sp - 8, words: []uint64{0xb0, marker, top},
			want: "none"},
		{name: "frame pointer as far up as can be", pc: inCopy(5, 10), fp: sp + 499*8, words: []uint64{0xb0, marker, stack + 0x2000},
			want: "0x55550000170b sp 0x7ffe00002000 instrumentation, rip 0x55550000170b, rsp 0x7ffe00002000 saved at 0x7ffe000010a8, rbp 0xb0 saved at 0x7ffe00001098, rbx 0x0 saved at 0x7ffe00001090, rcx 0xc1 in rcx, interrupted; marker frame of instrumentation at 0x7ffe00001098"},
		{name: "frame pointer farther up", pc: inCopy(5, 10), fp: sp + 500*8, words: []uint64{0xb0, marker, stack + 0x2000},
			want: "none"},
		{name: "frame pointer not aligned", pc: inCopy(5, 10), fp: sp + 0x41, words: []uint64{0xb0, marker, top},
			want: "none"},
		{name: "stack pointer at the frame", pc: inCopy(5, 10), words: []uint64{0xb0, marker, sp + 0x40},
			want: "none; marker frame at 0x7ffe00000140: instruction 0xbeefdead, stack pointer 0x7ffe00000140"},
		{name: "stack pointer a word above", pc: inCopy(5, 10), words: []uint64{0xb0, marker, sp + 0x48},
			want: "0x55550000170b sp 0x7ffe00000148 instrumentation, rip 0x55550000170b, rsp 0x7ffe00000148 saved at 0x7ffe00000150, rbp 0xb0 saved at 0x7ffe00000140, rbx 0x0 saved at 0x7ffe00000138, rcx 0xc1 in rcx, interrupted; marker frame of instrumentation at 0x7ffe00000140"},
		{name: "stack pointer not aligned", pc: inCopy(5, 10), words: []uint64{0xb0, marker, top + 1},
			want: "none; marker frame at 0x7ffe00000140: instruction 0xbeefdead, stack pointer 0x7ffe00000301"},
		{name: "stack pointer at the stack's last word", pc: inCopy(5, 10), words: []uint64{0xb0, marker, stack + stackLen - 8},
			want: "0x55550000170b sp 0x7ffe00003ff8 instrumentation, rip 0x55550000170b, rsp 0x7ffe00003ff8 saved at 0x7ffe00000150, rbp 0xb0 saved at 0x7ffe00000140, rbx 0x0 saved at 0x7ffe00000138, rcx 0xc1 in rcx, interrupted; marker frame of instrumentation at 0x7ffe00000140"},
		{name: "stack pointer at the stack's end", pc: inCopy(5, 10), words: []uint64{0xb0, marker, stack + stackLen},
			want: "none; marker frame at 0x7ffe00000140: instruction 0xbeefdead, stack pointer 0x7ffe00004000"},
		{name: "no marker", pc: inCopy(5, 10), words: []uint64{0xb0, marker + 1, top},
			want: "none"},
		{name: "in no library", pc: inserted - bias, words: []uint64{0xb0, bias + fnWork + 8, marker, top},
			want: "0x555500001708 sp 0x7ffe00000300 instrumentation, rip 0x555500001708 saved at 0x7ffe00000148, rsp 0x7ffe00000300 saved at 0x7ffe00000158, rbp 0xb0 saved at 0x7ffe00000140, rbx lost, rcx lost, interrupted; marker frame of instrumentation at 0x7ffe00000140"},
		{name: "in no code", pc: stack + 0x1000 - bias, words: []uint64{0xb0, bias + fnWork + 8, marker, top},
			want: "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.fp == 0 {
				tc.fp = sp + 0x40
			}
			if tc.sp == 0 {
				tc.sp = sp
			}
			p, f := rewritten(t, map[string]uint64{"rip": bias + tc.pc, "rsp": tc.sp, "rbp": tc.fp, "rbx": 0xb1, "rcx": 0xc1})
			p.add(inserted, libstate.Read|libstate.Exec, make([]byte, 16))
			p.add(second, libstate.Read|libstate.Exec, make([]byte, 16))
			other := &libstate.Library{Path: "/lib/b.so", Kind: libstate.SharedLibrary, Start: second, LoadBias: second, End: second + 16, Mappings: []libstate.Mapping{p.at(second).m}}
			p.libs = libstate.NewTable([]*libstate.Library{p.program(libstate.Executable), other}, 0)
			p.put(max(tc.fp, stack), tc.words...)
			w := walker(t, mapper{p}, nil, must(steppers.NewDyninstInstFrameStepper(arch.AMD64, imagesByPath{"/bin/prog": {ELF: f}})))
			if got := outcome(w, must(w.InitialFrame(1)), "rip", "rsp", "rbp", "rbx", "rcx"); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
	p := newProc(map[string]uint64{"rip": bias + fnLeaf, "rsp": sp, "rbp": sp + 0x40})
	p.put(sp+0x40, 0xb0, fnWork+8, marker, top)
	if f := oneStep(t, mapper{p}, must(steppers.NewDyninstInstFrameStepper(arch.AMD64, nil))); f != nil {
		t.Errorf("%v from a library, without files", f)
	}
}

// TestDyninstLayouts: the frames of architectures without a marker, in relocated
// code.
func TestDyninstLayouts(t *testing.T) {
	const sp, end = stack + 0x100, stack + stackLen
	for _, tc := range []struct {
		name  string
		arch  *arch.Arch
		sp    uint64 // stack+0x100 where 0
		fp    int64  // from SP
		words map[uint64]uint64
		want  string
	}{
		{name: "ARM64", arch: arch.ARM64, words: map[uint64]uint64{528 + 8*19: 19, 760: stack + 0x800, 768: bias + raCaller},
			want: "0x555500001009 sp 0x7ffe00000410 instrumentation, x18 0x0 saved at 0x7ffe000003a0, x19 0x13 saved at 0x7ffe000003a8, x29 0x7ffe00000800 saved at 0x7ffe000003f8, x30 0x555500001009 saved at 0x7ffe00000400"},
		{name: "ARM64, the end of the chain", arch: arch.ARM64, words: map[uint64]uint64{768: bias + raCaller},
			want: "0x555500001009 sp 0x7ffe00000410 instrumentation, x18 0x0 saved at 0x7ffe000003a0, x19 0x0 saved at 0x7ffe000003a8, x29 0x0 saved at 0x7ffe000003f8, x30 0x555500001009 saved at 0x7ffe00000400"},
		{name: "ARM64, frame pointer elsewhere", arch: arch.ARM64, fp: 16, words: map[uint64]uint64{760: stack + 0x800, 768: bias + raCaller},
			want: "none"},
		{name: "ARM64, the chain leads down", arch: arch.ARM64, words: map[uint64]uint64{760: stack + 0x80, 768: bias + raCaller},
			want: "none"},
		{name: "ARM64, return to no code", arch: arch.ARM64, words: map[uint64]uint64{760: stack + 0x800, 768: stack},
			want: "none"},
		{name: "ARM64, the last frame of the stack", arch: arch.ARM64, sp: end - 784 - 8, words: map[uint64]uint64{768: bias + raCaller},
			want: "0x555500001009 sp 0x7ffe00003ff8 instrumentation, x18 0x0 saved at 0x7ffe00003f88, x19 0x0 saved at 0x7ffe00003f90, x29 0x0 saved at 0x7ffe00003fe0, x30 0x555500001009 saved at 0x7ffe00003fe8"},
		{name: "ARM64, up to the stack's end", arch: arch.ARM64, sp: end - 784, words: map[uint64]uint64{768: bias + raCaller},
			want: "none"},
		{name: "ARM64, partly below the stack", arch: arch.ARM64, sp: stack - 600, words: map[uint64]uint64{768: bias + raCaller},
			want: "none"},
		{name: "ARM64, partly off the stack", arch: arch.ARM64, sp: end - 768,
			want: "none"},
		{name: "PPC64LE", arch: arch.PPC64LE, words: map[uint64]uint64{0: stack + 0x600, 432: bias + raCaller},
			want: "0x555500001009 sp 0x7ffe00000600 instrumentation, lr 0x555500001009 saved at 0x7ffe000002b0, r31 lost"},
		{name: "PPC64LE, frame pointer elsewhere", arch: arch.PPC64LE, fp: 8, words: map[uint64]uint64{0: stack + 0x600, 432: bias + raCaller},
			want: "0x555500001009 sp 0x7ffe00000600 instrumentation, lr 0x555500001009 saved at 0x7ffe000002b0, r31 lost"},
		{name: "PPC64LE, the stack pointer is below", arch: arch.PPC64LE, words: map[uint64]uint64{0: stack + 0x80, 432: bias + raCaller},
			want: "none"},
		{name: "PPC64LE, nothing", arch: arch.PPC64LE,
			want: "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.sp == 0 {
				tc.sp = sp
			}
			p := newProc(nil)
			p.regs = arch.RegSet{}
			p.regs.Set(tc.arch.PC, bias+fnCallee+8)
			p.regs.Set(tc.arch.SP, tc.sp)
			p.regs.Set(tc.arch.FP, tc.sp+uint64(tc.fp))
			for off, v := range tc.words {
				p.put(tc.sp+off, v)
			}
			s := must(steppers.NewDyninstInstFrameStepper(tc.arch, partsOf(image.Parts{ELF: dyninstELF(t, 183, fnCallee, nil)})))
			w := walker(t, foreign{mapper{p}, tc.arch}, nil, s)
			regs := []string{"x18", "x19", "x29", "x30"}
			if tc.arch == arch.PPC64LE {
				regs = []string{"lr", "r31"}
			}
			if got := outcome(w, must(w.InitialFrame(1)), regs...); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
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
	for _, a := range []*arch.Arch{arch.S390X, nil} {
		if _, err := steppers.NewDyninstInstFrameStepper(a, noFile); !errors.Is(err, unwind.ErrUnsupported) {
			t.Error(err)
		}
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
