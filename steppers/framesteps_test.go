package steppers_test

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// wideStack is a process whose stack is mapped a page further at both ends than it is in
// the dump.
type wideStack struct{ mapper }

func (p wideStack) MappingAt(addr arch.Address) (libstate.Mapping, bool) {
	if m := (libstate.Mapping{Start: stack - 0x1000, End: stack + stackLen + 0x1000, Perm: libstate.Read | libstate.Write}); addr >= m.Start && addr < m.End {
		return m, true
	}
	return p.mapper.MappingAt(addr)
}

// A step of FrameFuncStepper in all its cases on x86-64, at an instruction of a function of
// which something or nothing is known.
func TestFrameFuncSteps(t *testing.T) {
	const sp, fp, end, up, lost, listed = stack + 0x100, stack + 0x140, stack + stackLen, stack + 0x10000, 0x9000_0000, 0x9100_0000
	ra := uint64(bias + raCaller)
	standard, leaf, unknown := helper{steppers.StandardFrame, steppers.SetFrame}, helper{steppers.NoFrame, steppers.UnsetFrame}, helper{}
	for _, tc := range []struct {
		name    string
		h       helper
		pc      uint64 // bias+fnCallee+8 where 0
		sp, fp  uint64 // the constants where 0
		called  bool
		windows bool
		words   map[uint64]uint64
		want    string
	}{
		{name: "a standard frame", h: standard, words: map[uint64]uint64{fp: 0xb9, fp + 8: ra},
			want: "0x555500001009 sp 0x7ffe00000150 frame-pointer, rip 0x555500001009 saved at 0x7ffe00000148, rbp 0xb9 saved at 0x7ffe00000140, rbx lost; the function at 0x555500001028: standard_frame, set_frame"},
		{name: "a standard frame that returns to a restorer in data", h: standard, words: map[uint64]uint64{fp: 0xb9, fp + 8: stack + 0x800},
			want: "none; the function at 0x555500001028: standard_frame, set_frame; 0x7ffe00000800, saved at 0x7ffe00000148, does not follow a call"},
		{name: "the saved frame pointer is lost", h: standard, sp: stack - 16, fp: stack - 8, words: map[uint64]uint64{stack: ra},
			want: "none; the function at 0x555500001028: standard_frame, set_frame; saved frame pointer: memory at 0x7ffdfffffff8: not mapped"},
		{name: "the return address is lost", h: standard, fp: end - 8, words: map[uint64]uint64{end - 8: 0xb9},
			want: "none; the function at 0x555500001028: standard_frame, set_frame; return address: memory at 0x7ffe00004000: not mapped"},
		{name: "frame pointer not known", h: standard, fp: 1,
			want: "none; the function at 0x555500001028: standard_frame, set_frame; frame pointer 0x0 is not on the stack above SP 0x7ffe00000100"},
		{name: "not set up, and no return address on top", h: helper{steppers.StandardFrame, steppers.UnsetFrame}, words: map[uint64]uint64{fp: 0xb9, fp + 8: ra},
			want: "none; the function at 0x555500001028: standard_frame, unset_frame; 0x0, saved at 0x7ffe00000100, does not follow a call"},
		{name: "perhaps not set up, and no return address on top", h: helper{steppers.UnknownT, steppers.UnsetFrame}, words: map[uint64]uint64{fp: 0xb9, fp + 8: ra},
			want: "0x555500001009 sp 0x7ffe00000150 frame-pointer, rip 0x555500001009 saved at 0x7ffe00000148, rbp 0xb9 saved at 0x7ffe00000140, rbx lost; the function at 0x555500001028: unknown_t, unset_frame; 0x0, saved at 0x7ffe00000100, does not follow a call"},
		{name: "a leaf", h: leaf, words: map[uint64]uint64{sp: ra},
			want: "0x555500001009 sp 0x7ffe00000108 frame-pointer, rip 0x555500001009 saved at 0x7ffe00000100, rbp 0x7ffe00000140 in rbp, rbx lost; the function at 0x555500001028: no_frame, unset_frame"},
		{name: "a leaf that returns to a listed module's headers", h: leaf, words: map[uint64]uint64{sp: listed + 0x80},
			want: "none; the function at 0x555500001028: no_frame, unset_frame; 0x91000080, saved at 0x7ffe00000100, does not follow a call"},
		{name: "a leaf that returns to a listed module without code", h: leaf, words: map[uint64]uint64{sp: listed + 0x200},
			want: "0x91000200 sp 0x7ffe00000108 frame-pointer, rip 0x91000200 saved at 0x7ffe00000100, rbp 0x7ffe00000140 in rbp, rbx lost; the function at 0x555500001028: no_frame, unset_frame"},
		{name: "a leaf that returns to a file that is not at hand", h: leaf, words: map[uint64]uint64{sp: lost + 0x200},
			want: "none; the function at 0x555500001028: no_frame, unset_frame; 0x90000200, saved at 0x7ffe00000100, does not follow a call"},
		{name: "a leaf whose stack is lost", h: leaf, sp: end,
			want: "none; the function at 0x555500001028: no_frame, unset_frame; return address: memory at 0x7ffe00004000: not mapped"},
		{name: "unknown", h: unknown, words: map[uint64]uint64{fp: 0x1234, fp + 8: ra},
			want: "0x555500001009 sp 0x7ffe00000150 frame-pointer, rip 0x555500001009 saved at 0x7ffe00000148, rbp 0x1234 saved at 0x7ffe00000140, rbx lost; the function at 0x555500001028: unknown_t, unknown_s"},
		{name: "unknown, lost code", h: unknown, pc: lost + 0x100, words: map[uint64]uint64{fp: 0, fp + 8: ra},
			want: "none; the function at 0x90000100: unknown_t, unknown_s; the call before 0x555500001009, at 0x7ffe00000148, is to another function"},
		{name: "unknown, the return address is lost", h: unknown, fp: end - 8,
			want: "none; the function at 0x555500001028: unknown_t, unknown_s; return address: memory at 0x7ffe00004000: not mapped"},
		{name: "unknown, behind a call of another function", h: unknown, words: map[uint64]uint64{fp: 0, fp + 8: bias + raWrong},
			want: "none; the function at 0x555500001028: unknown_t, unknown_s; the call before 0x5555000010b5, at 0x7ffe00000148, is to another function"},
		{name: "unknown, frame pointer not aligned", h: unknown, fp: fp + 1, words: map[uint64]uint64{fp + 1: 0, fp + 9: ra},
			want: "none; the function at 0x555500001028: unknown_t, unknown_s; frame pointer 0x7ffe00000141 is not on the stack above SP 0x7ffe00000100"},
		{name: "no code", h: unknown, pc: got + 8, called: true,
			want: "none; 0x555500004008 is not code: the stack cannot be trusted"},
		{name: "of Windows, the end", h: unknown, windows: true,
			want: "bottom; the function at 0x555500001028: unknown_t, unknown_s; the frame pointer and the return address are zero: the end of the chain"},
		{name: "of Windows, the return address is lost", h: unknown, windows: true, fp: end - 8,
			want: "none; the function at 0x555500001028: unknown_t, unknown_s; return address: memory at 0x7ffe00004000: not mapped"},
		{name: "of Windows, the saved frame pointer is lost", h: unknown, windows: true, sp: stack - 16, fp: stack - 8,
			want: "none; the function at 0x555500001028: unknown_t, unknown_s; the call before 0x0, at 0x7ffe00000000, is to another function"},
		{name: "of Windows, a chain", h: unknown, windows: true, words: map[uint64]uint64{fp: fp + 0x20, fp + 8: ra, fp + 0x28: bias + 0x1001},
			want: "0x555500001009 sp 0x7ffe00000150 frame-pointer, rip 0x555500001009 saved at 0x7ffe00000148, rbp 0x7ffe00000160 saved at 0x7ffe00000140, rbx lost; the function at 0x555500001028: unknown_t, unknown_s"},
		{name: "of Windows, a chain to no code", h: unknown, windows: true, words: map[uint64]uint64{fp: fp + 0x20, fp + 8: ra, fp + 0x28: bias + 0x1000},
			want: "none; the function at 0x555500001028: unknown_t, unknown_s; the frame pointer does not lead to a second one: compilers for Windows use the register for other things"},
		{name: "of Windows, a chain to what is lost", h: unknown, windows: true, words: map[uint64]uint64{fp: end + 0x100, fp + 8: ra},
			want: "none; the function at 0x555500001028: unknown_t, unknown_s; the frame pointer does not lead to a second one: compilers for Windows use the register for other things"},
		{name: "of Windows, a chain to another mapping", h: unknown, windows: true, words: map[uint64]uint64{fp: up + 0x100, fp + 8: ra, up + 0x108: ra},
			want: "none; the function at 0x555500001028: unknown_t, unknown_s; the frame pointer does not lead to a second one: compilers for Windows use the register for other things"},
		{name: "of Windows, a known frame and no chain", h: standard, windows: true, words: map[uint64]uint64{fp: 0x1234, fp + 8: ra},
			want: "0x555500001009 sp 0x7ffe00000150 frame-pointer, rip 0x555500001009 saved at 0x7ffe00000148, rbp 0x1234 saved at 0x7ffe00000140, rbx lost; the function at 0x555500001028: standard_frame, set_frame"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.pc == 0 {
				tc.pc = bias + fnCallee + 8
			}
			if tc.sp == 0 {
				tc.sp = sp
			}
			if tc.fp == 0 {
				tc.fp = fp
			}
			p := newProc(map[string]uint64{"rip": tc.pc, "rsp": tc.sp, "rbp": tc.fp, "rbx": 7})
			if tc.fp == 1 {
				p.regs.Valid &^= arch.Mask(arch.RBP)
			}
			p.add(up, libstate.Read|libstate.Write, make([]byte, 0x200))
			m := libstate.Mapping{Start: lost, End: lost + 0x1000, Perm: libstate.Read | libstate.Exec}
			m2 := libstate.Mapping{Start: listed, End: listed + 0x1000, Perm: libstate.Read | libstate.Exec}
			p.segs = append(p.segs, seg{m: m}, seg{m: m2})
			lib := p.program(libstate.Executable)
			if tc.windows {
				lib.Module = &libstate.ModuleID{Format: libstate.FormatPE}
			}
			p.libs = libstate.NewTable([]*libstate.Library{lib,
				{Path: "/lib/listed.so", Kind: libstate.SharedLibrary, Start: listed, End: listed + 0x1000, Mappings: []libstate.Mapping{m2}, Module: &libstate.ModuleID{}}}, 0)
			copy(p.at(stack + 0x800).data[0x800:], text[restorer1])
			for at, v := range tc.words {
				p.put(at, v)
			}
			w := walker(t, wideStack{mapper{p}}, nil, frameFunc(tc.h))
			in := must(w.InitialFrame(1))
			if tc.called {
				in = called(t, w, tc.pc, tc.sp, tc.fp)
			}
			if got := outcome(w, in, "rip", "rbp", "rbx"); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// On x86-64 the frame of a function that aligns its stack counts as ending at its record,
// although its code would show more.
func TestFrameFuncOfAlignedStack(t *testing.T) {
	const fp, pc = stack + 0x140, bias + 0x1213
	p := newProc(map[string]uint64{"rip": pc, "rsp": fp - 8, "rbp": fp, "r10": fp + 0x30})
	// lea 8(%rsp),%r10; and $-16,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10; nop.
	copy(p.at(pc).data[0x200:], "\x4c\x8d\x54\x24\x08\x48\x83\xe4\xf0\x41\xff\x72\xf8\x55\x48\x89\xe5\x41\x52\x90\x90")
	p.put(fp, 0xb9, bias+raCaller)
	w := walker(t, mapper{p}, symbols{{Name: "aligned", Addr: 0x1200, Size: 0x15}}, frameFunc(helper{steppers.StandardFrame, steppers.SetFrame}))
	const want = "0x555500001009 sp 0x7ffe00000150 frame-pointer; the function at 0x555500001213: standard_frame, set_frame"
	if got := outcome(w, must(w.InitialFrame(1))); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// The same where calls leave the return address in a register: it is there until the
// function saves it, and a frame may end above its record.
func TestFrameFuncStepsWithLinkRegister(t *testing.T) {
	const sp, fp, end, lost, size = foreignStack + 0x100, foreignStack + 0x140, foreignStack + foreignSize, 0x40000000, 0x20000
	const ra, saved = foreignCode + 0x204, foreignCode + 0x304
	code := map[int][]uint32{
		// sub sp, sp, #0x40; stp x29, x30, [sp, #16]; add x29, sp, #16; nop; ldp; add; ret.
		0x100: {0xd10103ff, 0xa9017bfd, 0x910043fd, 0xd503201f, 0xa9417bfd, 0x910103ff, 0xd65f03c0},
		// stp x29, x30, [sp, #-16]!; mov x29, sp; nop; ldp; ret.
		0x180: {0xa9bf7bfd, 0x910003fd, 0xd503201f, 0xa8c17bfd, 0xd65f03c0},
		0x200: {0xd63f0000}, 0x300: {0xd63f0000}} // blr x0
	named := symbols{{Name: "f", Addr: foreignCode + 0x100, Size: 0x1c}, {Name: "g", Addr: foreignCode + 0x180, Size: 0x14}}
	standard, leaf, unknown := helper{steppers.StandardFrame, steppers.SetFrame}, helper{steppers.NoFrame, steppers.UnsetFrame}, helper{}
	for _, tc := range []struct {
		name   string
		h      helper
		pc     uint64 // foreignCode+0x400 where 0
		fp, lr uint64 // the constants where 0; 1 for not known
		called bool
		pe     bool
		words  map[uint64]uint64
		want   string
	}{
		{name: "a leaf", h: leaf,
			want: "0x10000204 sp 0x20000100 frame-pointer, pc 0x10000204 in x30, x29 0x20000140 in x29, x19 lost, x30 lost; the function at 0x10000400: no_frame, unset_frame"},
		{name: "a leaf, frame pointer not known", h: leaf, fp: 1,
			want: "0x10000204 sp 0x20000100 frame-pointer, pc 0x10000204 in x30, x29 lost, x19 lost, x30 lost; the function at 0x10000400: no_frame, unset_frame"},
		{name: "a leaf, link register not known", h: leaf, lr: 1,
			want: "none; the function at 0x10000400: no_frame, unset_frame; return address: its value is not known in this frame"},
		{name: "a leaf that made a call", h: leaf, called: true,
			want: "none; the function at 0x10000400: no_frame, unset_frame"},
		{name: "not set up, a call made", h: helper{steppers.StandardFrame, steppers.UnsetFrame}, called: true,
			want: "none; the function at 0x10000400: standard_frame, unset_frame"},
		{name: "half set up", h: helper{steppers.StandardFrame, steppers.HalfsetFrame}, words: map[uint64]uint64{sp: 0x77, sp + 8: saved},
			want: "none; the function at 0x10000400: standard_frame, halfset_frame"},
		{name: "a standard frame", h: standard, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x10000304 sp 0x20000150 frame-pointer, pc 0x10000304 saved at 0x20000148, x29 0x77 saved at 0x20000140, x19 lost, x30 lost, no CFA; the function at 0x10000400: standard_frame, set_frame"},
		{name: "a frame that ends above its record", h: standard, pc: foreignCode + 0x10c, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x10000304 sp 0x20000170 frame-pointer, pc 0x10000304 saved at 0x20000148, x29 0x77 saved at 0x20000140, x19 0x19 in x19, x30 lost; the function at 0x1000010c: standard_frame, set_frame"},
		{name: "a frame that ends at its record", h: standard, pc: foreignCode + 0x188, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x10000304 sp 0x20000150 frame-pointer, pc 0x10000304 saved at 0x20000148, x29 0x77 saved at 0x20000140, x19 0x19 in x19, x30 lost; the function at 0x10000188: standard_frame, set_frame"},
		{name: "a frame that ends below its record", h: standard, pc: foreignCode + 0x108, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x10000304 sp 0x20000150 frame-pointer, pc 0x10000304 saved at 0x20000148, x29 0x77 saved at 0x20000140, x19 lost, x30 lost, no CFA; the function at 0x10000108: standard_frame, set_frame"},
		{name: "a frame that ends where the stack does", h: standard, pc: foreignCode + 0x10c, fp: end - 0x30, words: map[uint64]uint64{end - 0x28: saved},
			want: "0x10000304 sp 0x20001000 frame-pointer, pc 0x10000304 saved at 0x20000fd8, x29 0x0 saved at 0x20000fd0, x19 0x19 in x19, x30 lost; the function at 0x1000010c: standard_frame, set_frame"},
		{name: "a frame that would end above the stack", h: standard, pc: foreignCode + 0x10c, fp: end - 0x20, words: map[uint64]uint64{end - 0x18: saved},
			want: "0x10000304 sp 0x20000ff0 frame-pointer, pc 0x10000304 saved at 0x20000fe8, x29 0x0 saved at 0x20000fe0, x19 lost, x30 lost, no CFA; the function at 0x1000010c: standard_frame, set_frame"},
		{name: "unknown", h: unknown, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x10000304 sp 0x20000150 frame-pointer, pc 0x10000304 possibly saved at 0x20000148, x29 0x77 possibly saved at 0x20000140, x19 lost, x30 lost, no CFA; the function at 0x10000400: unknown_t, unknown_s"},
		{name: "unknown, of Windows", h: unknown, pe: true, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x10000304 sp 0x20000150 frame-pointer, pc 0x10000304 possibly saved at 0x20000148, x29 0x77 possibly saved at 0x20000140, x19 lost, x30 lost, no CFA; the function at 0x10000400: unknown_t, unknown_s"},
		{name: "unknown, link register to lost code", h: unknown, lr: lost + 0x100, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x10000304 sp 0x20000150 frame-pointer, pc 0x10000304 possibly saved at 0x20000148, x29 0x77 possibly saved at 0x20000140, x19 lost, x30 lost, no CFA; the function at 0x10000400: unknown_t, unknown_s"},
		{name: "lost", h: unknown, pc: lost + 0x10000, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x10000204 sp 0x20000100 frame-pointer, pc 0x10000204 in x30, x29 0x20000140 in x29, x19 lost, x30 lost; the function at 0x40010000: unknown_t, unknown_s; the link register points outside the function, whose code is not available"},
		{name: "lost, link register not known", h: unknown, pc: lost + 0x10000, lr: 1, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x10000304 sp 0x20000150 frame-pointer, pc 0x10000304 possibly saved at 0x20000148, x29 0x77 possibly saved at 0x20000140, x19 lost, x30 lost, no CFA; the function at 0x40010000: unknown_t, unknown_s"},
		{name: "lost, of a known function", h: standard, pc: lost + 0x10000, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x10000304 sp 0x20000150 frame-pointer, pc 0x10000304 saved at 0x20000148, x29 0x77 saved at 0x20000140, x19 lost, x30 lost, no CFA; the function at 0x40010000: standard_frame, set_frame"},
		{name: "lost, near the return address in another library", h: unknown, pc: lost + 0x100, lr: lost - 0x100, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x3fffff00 sp 0x20000100 frame-pointer, pc 0x3fffff00 in x30, x29 0x20000140 in x29, x19 lost, x30 lost; the function at 0x40000100: unknown_t, unknown_s; the link register points outside the function, whose code is not available"},
		{name: "lost, in no library", h: unknown, pc: lost - 0x1000, words: map[uint64]uint64{fp: 0x77, fp + 8: saved},
			want: "0x10000304 sp 0x20000150 frame-pointer, pc 0x10000304 possibly saved at 0x20000148, x29 0x77 possibly saved at 0x20000140, x19 lost, x30 lost, no CFA; the function at 0x3ffff000: unknown_t, unknown_s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newForeign(arch.ARM64, code)
			m := libstate.Mapping{Start: lost, End: lost + size, Perm: libstate.Read | libstate.Exec}
			p.segs = append(p.segs, seg{m: m}, seg{m: libstate.Mapping{Start: lost - 0x2000, End: lost, Perm: libstate.Read | libstate.Exec}})
			first, _ := p.libs.LibraryAt(foreignCode)
			if tc.pe {
				first.Module = &libstate.ModuleID{Format: libstate.FormatPE}
			}
			p.libs = libstate.NewTable([]*libstate.Library{first, {Path: "/lib/lost.so", Kind: libstate.SharedLibrary, Start: lost, End: lost + size, Mappings: []libstate.Mapping{m}}}, 0)
			for at, v := range tc.words {
				p.putWords(at, v)
			}
			regs := map[arch.Reg]uint64{arch.ARM64.PC: tc.pc, arch.ARM64SP: sp, arch.ARM64FP: tc.fp, arch.ARM64LR: tc.lr, arch.ARM64X19: 0x19}
			for r, v := range map[arch.Reg]uint64{arch.ARM64.PC: foreignCode + 0x400, arch.ARM64FP: fp, arch.ARM64LR: ra} {
				switch regs[r] {
				case 0:
					regs[r] = v
				case 1:
					delete(regs, r)
				}
			}
			p.set(regs)
			w := walker(t, p, named, must(steppers.NewFrameFuncStepper(arch.ARM64, tc.h)))
			in := must(w.InitialFrame(1))
			if tc.called {
				in = called(t, w, foreignCode+0x400, sp, fp)
				in.SetReg(arch.ARM64LR, ra, unwind.InRegister(arch.ARM64LR))
			}
			if got := outcome(w, in, "pc", "x29", "x19", "x30"); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// The end of a chain of frame pointers, on ARM64: zero, where frame pointers have led to it
// and nothing is known of the function.
func TestFrameFuncEndOfChain(t *testing.T) {
	const sp, fp = foreignStack + 0x100, foreignStack + 0x140
	const first, second, third = foreignCode + 0x108, foreignCode + 0x204, foreignCode + 0x304
	for _, tc := range []struct {
		name   string
		h      byPlace
		fp     uint64 // of the caller
		noFP   bool
		called bool // the caller is given
		want   string
	}{
		{name: "zero", h: byPlace{second - 4: {}},
			want: "bottom; the function at 0x10000200: unknown_t, unknown_s; the frame pointer is zero: the end of the chain"},
		{name: "not zero", h: byPlace{second - 4: {}}, fp: fp + 0x20,
			want: "0x10000304 sp 0x20000170 frame-pointer, x29 0x77 saved at 0x20000160, no CFA; the function at 0x10000200: unknown_t, unknown_s"},
		{name: "zero in a known function", h: byPlace{},
			want: "none; the function at 0x10000200: standard_frame, set_frame; frame pointer 0x0 is not on the stack above SP 0x20000150"},
		{name: "zero in a given frame", h: byPlace{second - 4: {}}, called: true,
			want: "none; the function at 0x10000200: unknown_t, unknown_s; frame pointer 0x0 is not on the stack above SP 0x20000150"},
		{name: "not known", h: byPlace{first: {steppers.NoFrame, steppers.UnsetFrame}, second - 4: {}}, noFP: true,
			want: "none; the function at 0x10000200: unknown_t, unknown_s; frame pointer 0x0 is not on the stack above SP 0x20000100"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newForeign(arch.ARM64, map[int][]uint32{0x200: {bl(0x200, 0x100)}, 0x300: {bl(0x300, 0x200)}})
			p.putWords(fp, tc.fp, second)
			p.putWords(fp+0x20, 0x77, third)
			p.set(map[arch.Reg]uint64{arch.ARM64.PC: first, arch.ARM64SP: sp, arch.ARM64LR: second})
			if !tc.noFP {
				p.set(map[arch.Reg]uint64{arch.ARM64FP: fp})
			}
			w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(arch.ARM64, tc.h)))
			in := called(t, w, second, fp+16, 0)
			if !tc.called {
				in = must(w.WalkSingleFrame(must(w.InitialFrame(1))))
			}
			if got := outcome(w, in, "x29"); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// On MIPS, where there is no convention for frame pointers, only a function that has no
// frame yet leads to its caller; on PowerPC the back chain says nothing of the frame
// pointer, and may lead to lost code.
func TestFrameFuncWithoutFramePointers(t *testing.T) {
	const sp, lost = foreignStack + 0x100, 0x40000000
	for _, tc := range []struct {
		name  string
		a     *arch.Arch
		h     helper
		words map[uint64]uint64
		want  string
	}{
		{name: "a leaf of MIPS", a: arch.MIPSEL, h: helper{steppers.NoFrame, steppers.UnsetFrame},
			want: "0x10000208 sp 0x20000100 frame-pointer, fp 0xf9 in fp; the function at 0x10000100: no_frame, unset_frame"},
		{name: "a frame of MIPS", a: arch.MIPSEL, h: helper{steppers.StandardFrame, steppers.SetFrame},
			want: "none; the function at 0x10000100: standard_frame, set_frame"},
		{name: "the back chain", a: arch.PPC, h: helper{}, words: map[uint64]uint64{sp: sp + 0x20, sp + 0x24: foreignCode + 0x304},
			want: "0x10000304 sp 0x20000120 frame-pointer, r31 lost; the function at 0x10000108: unknown_t, unknown_s"},
		{name: "the back chain to lost code", a: arch.PPC, h: helper{}, words: map[uint64]uint64{sp: sp + 0x20, sp + 0x24: lost + 0x304},
			want: "0x40000304 sp 0x20000120 frame-pointer, r31 lost; the function at 0x10000108: unknown_t, unknown_s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newForeign(tc.a, map[int][]uint32{0x200: {0x0c000000 | (foreignCode+0x100)>>2, 0}, 0x300: {0x4e800421}}) // jal 0x100; bctrl
			p.segs = append(p.segs, seg{m: libstate.Mapping{Start: lost, End: lost + 0x1000, Perm: libstate.Read | libstate.Exec}})
			for at, v := range tc.words {
				p.putWords(at, v)
			}
			p.set(map[arch.Reg]uint64{tc.a.PC: foreignCode + 0x100, tc.a.SP: sp, tc.a.FP: 0xf9, tc.a.RA: foreignCode + 0x208})
			w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(tc.a, tc.h)))
			in := must(w.InitialFrame(1))
			if tc.a == arch.PPC {
				in = called(t, w, foreignCode+0x108, sp, 0xf9)
			}
			if got := outcome(w, in, tc.a.RegName(tc.a.FP)); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}
