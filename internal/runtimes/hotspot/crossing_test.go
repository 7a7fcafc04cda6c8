package hotspot

import (
	"testing"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A crossed is a stop between two frames: code that is yet to run, at 0x1000, and what is on the stack at 0x2000.
type crossed struct {
	what    string
	kind    kind
	code    []byte
	ra, sp  uint64 // of the caller; 0 where there is no crossing
	rax     uint64
	sender  uint64 // r13
	rbx, fp uint64
}

const (
	theStack = 0x2000
	inCode   = 0x1110 // the return address, in a blob of its own
)

// TestCrossing: what is known of the caller between two frames follows from the code that is yet to run.
func TestCrossing(t *testing.T) {
	jump := []byte{0xff, 0xe1}                                     // jmp rcx
	entry := []byte{0x50, 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55}      // push rax; push rbp; mov rbp,rsp; push r13
	exit := []byte{0x41, 0x5d, 0x48, 0x8b, 0xe3, 0x41, 0xff, 0xe5} // pop r13; mov rsp,rbx; jmp r13
	notes := []byte{0x4c, 0x8d, 0x6c, 0x24, 0x08}                  // lea r13,[rsp+8]
	slow := []byte{0x74, 0x05, 0xe8, 0, 0, 0, 0}                   // je over a call
	cat := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	for _, c := range []crossed{
		{what: "an adapter that has done nothing", kind: kindTable, code: cat(slow, notes, []byte{0x58, 0x50}, jump), ra: inCode, sp: theStack + 8, sender: theStack + 0x100},
		{what: "one that has noted the stack pointer", kind: kindTable, code: cat([]byte{0x58, 0x50}, jump), ra: inCode, sp: theStack + 0x40, sender: theStack + 0x40},
		{what: "one that has taken the address", kind: kindTable, code: cat([]byte{0x50}, jump), rax: inCode + 1, ra: inCode + 1, sp: theStack + 0x40, sender: theStack + 0x40},
		{what: "one that stores it", kind: kindTable, code: cat([]byte{0x48, 0x89, 0x04, 0x24}, jump), rax: inCode + 1, ra: inCode + 1, sp: theStack + 0x40, sender: theStack + 0x40},
		{what: "one that loads it", kind: kindTable, code: cat([]byte{0x48, 0x8b, 0x04, 0x24, 0x50}, jump), ra: inCode, sp: theStack + 0x40, sender: theStack + 0x40},
		{what: "a stack pointer far away", kind: kindTable, code: jump, ra: inCode, sp: theStack + 8, sender: theStack + 1<<20},
		{what: "a stack pointer below", kind: kindTable, code: jump, ra: inCode, sp: theStack + 8, sender: theStack - 8},
		{what: "code that returns", kind: kindTable, code: []byte{0xc3}},
		{what: "code that calls", kind: kindTable, code: cat([]byte{0xe8, 0, 0, 0, 0}, jump)},
		{what: "code that nobody can read", kind: kindTable, code: []byte{0x06, 0x06}},
		{what: "a circle", kind: kindTable, code: []byte{0x74, 0xfe, 0xeb, 0xfc}},
		{what: "the interpreter takes the address", kind: kindInterpreter, code: cat([]byte{0x58}, entry), ra: inCode, sp: theStack + 0x40, sender: theStack + 0x40},
		{what: "the interpreter has it", kind: kindInterpreter, code: entry, rax: inCode + 1, ra: inCode + 1, sp: theStack + 0x40, sender: theStack + 0x40},
		{what: "and has put it back", kind: kindInterpreter, code: entry[1:], ra: inCode, sp: theStack + 0x40, sender: theStack + 0x40},
		{what: "the frame pointer is saved", kind: kindInterpreter, code: entry[2:], ra: inCode + 2, sp: theStack + 0x40, sender: theStack + 0x40},
		{what: "the frame is begun", kind: kindInterpreter, code: entry[5:], fp: theStack, ra: inCode + 2, sp: theStack + 0x40, sender: theStack + 0x40},
		{what: "the frame is whole", kind: kindInterpreter, code: entry[5:], fp: theStack + 0x80},
		{what: "a push that makes no frame", kind: kindInterpreter, code: []byte{0x50, 0x55, 0xc3}},
		{what: "the interpreter returns", kind: kindInterpreter, code: exit, ra: inCode, sp: theStack + 0x30, rbx: theStack + 0x30},
		{what: "it has the address", kind: kindInterpreter, code: exit[2:], ra: inCode + 3, sp: theStack + 0x30, rbx: theStack + 0x30, sender: inCode + 3},
		{what: "it has the stack pointer", kind: kindInterpreter, code: exit[5:], ra: inCode + 3, sp: theStack, sender: inCode + 3},
		{what: "it returns to no code", kind: kindInterpreter, code: exit[5:], sender: 0x1900},
		{what: "an adapter for no code", kind: kindTable, code: cat([]byte{0x50}, jump), rax: 0x1900, sender: theStack + 0x40},
		{what: "its caller is below", kind: kindInterpreter, code: exit, rbx: theStack - 0x30},
		{what: "another jump", kind: kindInterpreter, code: []byte{0xff, 0xe0}, rax: inCode},
		{what: "compiled code", kind: kindCompiled, code: cat([]byte{0x58, 0x50}, jump)},
	} {
		t.Run(c.what, func(t *testing.T) {
			mem, stack := make([]byte, page), make([]byte, page)
			for i := range mem {
				mem[i] = 0xf4
			}
			copy(mem, c.code)
			littleEndian.PutUint64(stack, inCode)
			littleEndian.PutUint64(stack[8:], inCode+2)
			littleEndian.PutUint64(stack[0x78:], theStack+0xa0) // of the whole frame
			littleEndian.PutUint64(stack[0x88:], inCode+2)
			r := &recorded{recording: &recording{Pages: map[uint64][]byte{0x1000: mem, theStack: stack}}}
			vm := &VM{memory: memory{procmem.Of(r)}, spend: func(int) error { return nil }, tables: &tables{fields: map[string]field{}}}
			vm.returnsInto(inCode&^0xff, inCode|0xff)
			w, err := unwind.NewWalker(r)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			f, err := unwind.NewFrame(0x1000, theStack, c.fp, w)
			if err != nil {
				t.Fatal(err)
			}
			f.SetNonCall(true)
			for reg, v := range map[arch.Reg]uint64{arch.RAX: c.rax, arch.R13: c.sender, arch.RBX: c.rbx} {
				f.SetReg(reg, v, unwind.InRegister(reg))
			}
			s, ok := vm.crossing(&blob{kind: c.kind}, f)
			if ra := s.ra; ok && s.raAt != 0 {
				s.ra = vm.Word(s.raAt)
			} else {
				s.ra = ra
			}
			if ok != (c.ra != 0) || ok && (s.ra != c.ra || s.sp != c.sp) {
				t.Errorf("%v, to %#x with the stack at %#x, want %#x, %#x", ok, s.ra, s.sp, c.ra, c.sp)
			}
		})
	}
}

// returnsInto makes a virtual machine with one blob, whose code is in [begin, end), without a code cache around it.
func (vm *VM) returnsInto(begin, end uint64) {
	vm.heaps = []codeHeap{{low: begin, high: end, segments: 0x1800, shift: 8}}
	p := vm.Memory.(*recorded).Pages[0x1000]
	p[0x800] = 0
	vm.blobs.Get(begin, func() *blob { return &blob{begin: begin, end: end} })
}

// TestMade: how much of its frame a stub has made.
func TestMade(t *testing.T) {
	code := []byte{0x53, 0x55, 0x48, 0x8b, 0xec, 0x9c, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0x04, 0x24, 0xe8, 0, 0, 0, 0, 0x90} // push rbx; push rbp; mov; pushf; sub 32; store; call
	mem := make([]byte, page)
	copy(mem, code)
	r := &recorded{recording: &recording{Pages: map[uint64][]byte{0x1000: mem}}}
	vm := &VM{memory: memory{procmem.Of(r)}}
	for at, want := range map[uint64]int{0: 0, 1: 8, 2: 16, 5: 16, 6: 24, 10: 56, 14: 56, 19: -1, 3: -1} {
		depth, ok := vm.made(&blob{begin: 0x1000, frameSize: 80}, 0x1000+at)
		if ok != (want >= 0) || ok && depth != uint64(want) {
			t.Errorf("at %d: %d, %v, want %d", at, depth, ok, want)
		}
	}
	if depth, ok := vm.made(&blob{begin: 0x1000, frameSize: 48}, 0x1000+14); ok {
		t.Errorf("more than the frame: %d", depth)
	}
}

// TestInCallStub: which code calls the interpreter for compiled code.
func TestInCallStub(t *testing.T) {
	stub := []byte{0x48, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8, 0xe9, 0, 0, 0, 0}
	for _, c := range []struct {
		what   string
		code   []byte
		offset uint64
		want   bool
	}{
		{"its beginning", stub, 0, true},
		{"its jump", stub, 10, true},
		{"a call instead", append(append([]byte{}, stub[:10]...), 0xe8, 0, 0, 0, 0), 0, false},
		{"another register", append([]byte{0x48, 0xb8}, stub[2:]...), 0, false},
		{"a jump of something else", append([]byte{0x48, 0xb8}, stub[2:]...), 10, false},
	} {
		mem := make([]byte, page)
		copy(mem[16:], c.code)
		vm := &VM{memory: memory{procmem.Of(&recorded{recording: &recording{Pages: map[uint64][]byte{0x1000: mem}}})}}
		if got := vm.inCallStub(0x1010 + c.offset); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}
