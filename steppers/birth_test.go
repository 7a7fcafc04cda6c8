package steppers_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A thread that has just been made has called nothing: its stack is where clone
// left it.
func TestBottomOfNewThread(t *testing.T) {
	const code, pc = 0x2000, 0x2002
	glibc := []byte{0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x18, 0x74, 0x01, 0xc3}
	musl := []byte{0x0f, 0x05, 0x85, 0xc0, 0x75, 0x0f, 0x31, 0xed}
	for _, c := range []struct {
		name string
		code []byte
		pc   uint64
		rax  uint64
		want bool
	}{
		{"glibc", glibc, pc, 0, true},
		{"musl", musl, pc, 0, true},
		{"the parent", glibc, pc, 4242, false},
		{"a failure", glibc, pc, ^uint64(0) - 10, false},
		{"one instruction on", glibc, pc + 3, 0, false},
		{"another system call", []byte{0x0f, 0x05, 0x48, 0x3d, 0, 0xf0, 0xff, 0xff}, pc, 0, false},
		{"at the first byte of memory", glibc, 1, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProc(map[string]uint64{"rip": bias + c.pc, "rsp": stack, "rax": c.rax})
			p.add(bias+code, libstate.Read|libstate.Exec, append(c.code, make([]byte, 64)...))
			p.libs = libstate.NewTable([]*libstate.Library{p.program(libstate.SharedLibrary)}, 0)
			w := walker(t, p, nil, must(steppers.NewBottomOfStackStepper(arch.AMD64)))
			_, err := w.WalkSingleFrame(must(w.InitialFrame(1)))
			if got := errors.Is(err, unwind.ErrStackBottom); got != c.want {
				t.Errorf("bottom: %v (%v), want %v", got, err, c.want)
			}
		})
	}
}
