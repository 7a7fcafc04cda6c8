package steppers_test

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// Generated code has return addresses that no call precedes. There, a frame pointer leads
// to the caller if a chain of records confirms it.
func TestFrameFuncGeneratedCode(t *testing.T) {
	const jit, here, to, up, lost = 0x9000_0000, 0x9000_0100, 0x9000_0200, 0x9000_0300, 0x9100_0000
	const sp, fp, fp2, fp3 = stack + 0x100, stack + 0x140, stack + 0x180, stack + 0x1c0
	end := uint64(stack + stackLen)
	for _, tc := range []struct {
		name  string
		pc    uint64 // 0 for here
		fp    uint64 // 0 for fp
		words map[uint64]uint64
		top   bool
		bare  bool // the process does not know its mappings
		want  uint64
	}{
		{name: "two records", words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: fp3, fp2 + 8: up}, want: to},
		{name: "one record", words: map[uint64]uint64{fp: fp2, fp + 8: to}},
		{name: "the second leads down", words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: fp, fp2 + 8: up}},
		{name: "the second leads to itself", words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: fp2, fp2 + 8: up}},
		{name: "the second returns to data", words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: fp3, fp2 + 8: got}},
		{name: "the first returns to data", words: map[uint64]uint64{fp: fp2, fp + 8: got, fp2: fp3, fp2 + 8: up}},
		{name: "the first leads down", words: map[uint64]uint64{fp: sp, fp + 8: to, sp: fp2, sp + 8: up}},
		{name: "the second is unaligned", words: map[uint64]uint64{fp: fp2 + 4, fp + 8: to, fp2 + 4: fp3, fp2 + 12: up}},
		{name: "the second is on no stack", words: map[uint64]uint64{fp: end + 0x100, fp + 8: to, end + 0x100: end + 0x200, end + 0x108: up}},
		{name: "the second is the stack's last", words: map[uint64]uint64{fp: end - 16, fp + 8: to, end - 16: end, end - 8: up}, want: to},
		{name: "the second goes over the stack's end", words: map[uint64]uint64{fp: end - 8, fp + 8: to}},
		{name: "then a library", words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: 0, fp2 + 8: bias + raSpill}, want: to},
		{name: "then a library, where no call is", words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: fp3, fp2 + 8: bias + raSpill + 1}},
		{name: "below the stack pointer", fp: sp - 16, words: map[uint64]uint64{sp - 16: fp, sp - 8: to, fp: fp2, fp + 8: up}},
		{name: "behind a call of another function", words: map[uint64]uint64{fp: fp2, fp + 8: jit + 0x405, fp2: fp3, fp2 + 8: up}},
		{name: "then behind one", words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: fp3, fp2 + 8: jit + 0x405}, want: to},
		{name: "to the first byte of code", words: map[uint64]uint64{fp: fp2, fp + 8: jit, fp2: fp3, fp2 + 8: up}},
		{name: "to the second", words: map[uint64]uint64{fp: fp2, fp + 8: jit + 1, fp2: fp3, fp2 + 8: up}, want: jit + 1},
		{name: "then a library without code", words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: 0, fp2 + 8: lost + 1}, want: to},
		{name: "in a library", pc: bias + fnCallee + 0x300, words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: fp3, fp2 + 8: up}},
		{name: "mappings are not known", bare: true, words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: fp3, fp2 + 8: up}},
		{name: "interrupted", top: true, words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: fp3, fp2 + 8: up}, want: to},
		{name: "interrupted outside of code", pc: stack + 0x2000, top: true, words: map[uint64]uint64{fp: fp2, fp + 8: to, fp2: fp3, fp2 + 8: up}},
		{name: "a return address on top of the stack", words: map[uint64]uint64{sp: bias + raSpill, fp: fp2, fp + 8: to, fp2: fp3, fp2 + 8: up}, want: to},
		{name: "interrupted, just called", top: true, words: map[uint64]uint64{sp: bias + raSpill, fp: fp2, fp + 8: to, fp2: fp3, fp2 + 8: up}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.pc == 0 {
				tc.pc = here
			}
			if tc.fp == 0 {
				tc.fp = fp
			}
			p := newProc(map[string]uint64{"rip": tc.pc, "rsp": sp, "rbp": tc.fp})
			code := make([]byte, 0x1000)
			for i := range code {
				code[i] = 0x90
			}
			copy(code[0x400:], []byte{0xe8, 0xfb, 0, 0, 0}) // a call of jit+0x500,
			code[0x500] = 0xc3                              // which returns
			p.add(jit, libstate.Read|libstate.Exec, code)
			p.add(end, libstate.Read|libstate.Write, make([]byte, 0x1000))
			gone := libstate.Mapping{Start: lost, End: lost + 0x1000, Perm: libstate.Read | libstate.Exec}
			p.segs = append(p.segs, seg{m: gone})
			p.libs = libstate.NewTable([]*libstate.Library{p.program(libstate.Executable),
				{Path: "/lib/lost.so", Start: gone.Start, End: gone.End, Mappings: []libstate.Mapping{gone}}}, 0)
			for at, v := range tc.words {
				p.put(at, v)
			}
			var state unwind.ProcessState = mapper{p}
			if tc.bare {
				state = p
			}
			w := walker(t, state, nil, frameFunc(nil))
			in := called(t, w, tc.pc, sp, tc.fp)
			if tc.top {
				in = must(w.InitialFrame(1))
			}
			var exp want
			if tc.want != 0 {
				exp = want{ra: tc.want, sp: tc.fp + 16, fp: tc.words[tc.fp]}
			}
			checkCaller(t, w, in, exp, unwind.TrustFramePointer)
			if _, ok := in.CFA(); ok {
				t.Error("the CFA is known by a guess")
			}
		})
	}
}
