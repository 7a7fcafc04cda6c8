package hotspot

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/unwind"
)

// Bytecodes of the tests: each method is tried from 0 on, and what is thrown there is caught.
const (
	nop, null, lstore0, astore1, athrow, ret = 0, 1, 63, 76, 191, 177
)

// TestHandling: in which slot the exception is that code handles.
func TestHandling(t *testing.T) {
	caught := []handlerEntry{{0, 1, 4}}
	for _, c := range []struct {
		what     string
		code     []byte
		handlers []handlerEntry
		at, slot int // -1: none
	}{
		{"in a catch", []byte{nop, opGoto, 0, 8, astore1, nop, opGoto, 0, 3, ret}, caught, 5, 1},
		{"what is tried", []byte{nop, opGoto, 0, 8, astore1, nop, opGoto, 0, 3, ret}, caught, 0, -1},
		{"behind a catch", []byte{nop, opGoto, 0, 8, astore1, nop, opGoto, 0, 3, ret}, caught, 9, -1},
		{"the beginning of a catch", []byte{nop, opGoto, 0, 8, astore1, nop, opGoto, 0, 3, ret}, caught, 4, -1},
		{"a finally", []byte{nop, opGoto, 0, 7, astore1, nop, 43, athrow, ret}, caught, 5, 1},
		{"a wide slot number", []byte{nop, opGoto, 0, 8, opWide, opAstore, 1, 2, nop, ret}, caught, 8, 258},
		{"an exception that is dropped", []byte{nop, opGoto, 0, 5, 87, nop, ret}, caught, 5, -1},
		{"a slot with something else", []byte{nop, opGoto, 0, 7, astore1, null, astore1, nop, ret}, caught, 7, -1},
		{"the same before", []byte{nop, opGoto, 0, 7, astore1, null, astore1, nop, ret}, caught, 5, 1},
		{"a slot that may have something else", []byte{nop, opGoto, 0, 11, astore1, null, opIfnull, 0, 5, null, astore1, nop, ret}, caught, 11, -1},
		{"code that never runs", []byte{nop, opGoto, 0, 6, astore1, ret, nop, ret}, caught, 6, -1},
		{"a slot that a long has", []byte{nop, opGoto, 0, 7, astore1, 9, lstore0, nop, ret}, caught, 7, -1},
		{"within another", []byte{nop, opGoto, 0, 10, astore1, nop, opGoto, 0, 5, 77, nop, ret}, []handlerEntry{{0, 1, 4}, {5, 6, 9}}, 10, 2},
		{"the same, listed the other way", []byte{nop, opGoto, 0, 10, astore1, nop, opGoto, 0, 5, 77, nop, ret}, []handlerEntry{{5, 6, 9}, {0, 1, 4}}, 10, 2},
		{"a switch", []byte{nop, opGoto, 0, 28, astore1, opTableswitch, 0, 0, 0, 0, 0, 23, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 24, nop, ret}, caught, 28, 1},
		{"a bytecode of the virtual machine's own", []byte{nop, opGoto, 0, 8, astore1, 220, opGoto, 0, 3, ret}, caught, 5, 1},
		{"one that nobody knows", []byte{nop, opGoto, 0, 8, astore1, 250, opGoto, 0, 3, ret}, caught, 5, -1},
		{"a subroutine", []byte{nop, opGoto, 0, 8, astore1, nop, opJsr, 0, 3, ret}, caught, 5, -1},
		{"a handler within a bytecode", []byte{nop, opGoto, 0, 8, astore1, nop, opGoto, 0, 3, ret}, []handlerEntry{{0, 1, 4}, {0, 1, 2}}, 5, -1},
		{"a jump out of the method", []byte{nop, opGoto, 0, 8, astore1, nop, opGoto, 9, 3, ret}, caught, 5, -1},
		{"an end within a bytecode", []byte{nop, opGoto, 0, 8, astore1, nop, opGoto}, caught, 5, -1},
		{"no bytecode", nil, caught, 5, -1},
	} {
		b := bytecodes{code: c.code, handlers: c.handlers, steps: maxBytecodeSteps}
		slot, ok := b.handling(c.at)
		if !ok {
			slot = -1
		}
		if slot != c.slot {
			t.Errorf("%s: slot %d, want %d", c.what, slot, c.slot)
		}
		few := bytecodes{code: c.code, handlers: c.handlers, steps: 8}
		if slot, ok := few.handling(c.at); ok {
			t.Errorf("%s: slot %d in 8 steps", c.what, slot)
		}
	}
}

// TestLive: whether what is in a slot may still be read.
func TestLive(t *testing.T) {
	const iload1, lload1, aload0, istore1, lstore1 = 27, 31, 42, 60, 64
	for _, c := range []struct {
		what        string
		code        []byte
		handlers    []handlerEntry
		at, slot    int
		live, known bool
	}{
		{"read at once", []byte{iload1, ret}, nil, 0, 1, true, true},
		{"read later", []byte{nop, opGoto, 0, 4, ret, iload1, ret}, nil, 0, 1, true, true},
		{"read before", []byte{iload1, nop, ret}, nil, 1, 1, false, true},
		{"another slot", []byte{iload1, ret}, nil, 0, 0, false, true},
		{"the first slot", []byte{aload0, ret}, nil, 0, 0, true, true},
		{"changed before it is read", []byte{null, istore1, iload1, ret}, nil, 0, 1, false, true},
		{"changed on one way only", []byte{null, opIfnull, 0, 5, null, istore1, iload1, ret}, nil, 0, 1, true, true},
		{"the second of a long", []byte{null, lstore0, iload1, ret}, nil, 0, 1, false, true},
		{"a long", []byte{null, lload1, ret}, nil, 0, 1, true, true},
		{"changed as a long", []byte{null, lstore1, lload1, ret}, nil, 0, 1, false, true},
		{"counted up", []byte{nop, opIinc, 1, 1, ret}, nil, 0, 1, true, true},
		{"counted up, with a wide number", []byte{nop, opWide, opIinc, 1, 2, 0, 1, ret}, nil, 0, 258, true, true},
		{"a slot with a number", []byte{nop, opIload, 7, ret}, nil, 0, 7, true, true},
		{"a wide number", []byte{nop, opWide, opIload, 1, 2, ret}, nil, 0, 258, true, true},
		{"another wide number", []byte{nop, opWide, opIload, 1, 2, ret}, nil, 0, 2, false, true},
		{"in a loop", []byte{iload1, nop, opGoto, 0xff, 0xfe}, nil, 1, 1, true, true},
		{"where an exception is caught", []byte{nop, ret, iload1, ret}, []handlerEntry{{0, 1, 2}}, 0, 1, true, true},
		{"where an exception of others is caught", []byte{nop, ret, iload1, ret}, []handlerEntry{{1, 2, 2}}, 2, 0, false, true},
		{"in the virtual machine's own bytecode", []byte{nop, 220, 7, ret}, nil, 0, 0, true, true},
		{"in another of its own", []byte{nop, 224, 7, ret}, nil, 0, 7, true, true},
		{"behind one that nobody knows", []byte{nop, 250, iload1, ret}, nil, 0, 1, false, false},
		{"read, before one that nobody knows", []byte{iload1, 250, ret}, nil, 0, 1, true, true},
		{"nowhere", nil, nil, 0, 1, false, false},
	} {
		b := bytecodes{code: c.code, handlers: c.handlers, steps: maxBytecodeSteps}
		if live, known := b.live(c.at, c.slot); live != c.live || known != c.known {
			t.Errorf("%s: live %v, known %v; want %v, %v", c.what, live, known, c.live, c.known)
		}
	}
}

// FuzzBytecode: whatever bytecode is in memory, looking for what it handles ends.
func FuzzBytecode(f *testing.F) {
	f.Add([]byte{nop, opGoto, 0, 8, astore1, nop, opGoto, 0, 3, ret}, uint16(0), uint16(1), uint16(4), uint16(5))
	f.Add([]byte{opTableswitch, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, ret}, uint16(0), uint16(1), uint16(4), uint16(5))
	f.Fuzz(func(t *testing.T, code []byte, start, end, pc, at uint16) {
		b := bytecodes{code: code, steps: maxBytecodeSteps}
		for i := range uint16(3) {
			if h := (handlerEntry{int(start), int(end), int(pc + i)}); h.pc < len(code) {
				b.handlers = append(b.handlers, h)
			}
		}
		b.handling(int(at))
		b.live(int(at), int(pc))
	})
}

// TestFlyingGuards: what a thread still has of an exception that another frame threw, or that is none, is not in flight.
func TestFlyingGuards(t *testing.T) {
	const code, oop, pc = 0x1800, 24, 32
	for _, c := range []struct {
		what, class   string
		kind          kind
		pc, end, from uint64
		want          bool
	}{
		{"in flight", "java/lang/Throwable", kindCompiled, code + 8, code + 16, code + 8, true},
		{"of another call of the method", "java/lang/Throwable", kindCompiled, code + 9, code + 16, code + 8, false},
		{"of other code", "java/lang/Throwable", kindCompiled, code + 8, code + 4, code + 8, false},
		{"of no compiled code", "java/lang/Throwable", kindInterpreter, code + 8, code + 16, code + 8, false},
		{"no exception", "java/lang/Integers", kindCompiled, code + 8, code + 16, code + 8, false},
	} {
		vm := thrower(c.class)
		vm.fields["JavaThread._exception_oop"], vm.fields["JavaThread._exception_pc"] = field{offset: oop}, field{offset: pc}
		r := vm.Memory.(*recorded)
		binary.LittleEndian.PutUint64(r.Pages[0x1000][aThread-0x1000+oop:], anError)
		binary.LittleEndian.PutUint64(r.Pages[0x1000][aThread-0x1000+pc:], c.pc)
		w, err := unwind.NewWalker(r)
		if err != nil {
			t.Fatal(err)
		}
		f, err := unwind.NewFrame(c.from, 0x1f00, 0x1f00, w)
		if err != nil {
			t.Fatal(err)
		}
		if got := vm.flying(aThread, f, &blob{kind: c.kind, begin: code, end: c.end}); (got == anError) != c.want || got != 0 && !c.want {
			t.Errorf("%s: %#x", c.what, got)
		}
		w.Close()
	}
}
