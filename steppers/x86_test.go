package steppers_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where the core of smallCore has its code and its stack.
const (
	smallCode  = 0x8048000
	smallStack = 0xff800000
)

// smallCore opens a core of one thread with code and a stack, for architectures
// whose addresses have 32 bits.
func smallCore(tb testing.TB, b *corebuild.Core, regs, code, stack []byte) *corestate.ELFCore {
	tb.Helper()
	b.Thread(1, 11, regs)
	b.Load(smallCode, elffile.PF_R|elffile.PF_X, 0x1000, append(code, make([]byte, 0x1000-len(code))...))
	b.Load(smallStack, elffile.PF_R|elffile.PF_W, 0x2000, append(stack, make([]byte, 0x2000-len(stack))...))
	path := filepath.Join(tb.TempDir(), "core")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	c, err := corestate.Open(context.Background(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// withLibrary is a core whose code is a library's.
type withLibrary struct{ *corestate.ELFCore }

func (withLibrary) LibraryTracker() libstate.LibraryState {
	m := libstate.Mapping{Start: smallCode, End: smallCode + 0x1000, Perm: libstate.Read | libstate.Exec}
	return libstate.NewTable([]*libstate.Library{{Path: "/lib/libc.so", Kind: libstate.SharedLibrary, Start: m.Start, End: m.End,
		Mappings: []libstate.Mapping{m}}}, 0)
}

// i386Core is smallCore for i386.
func i386Core(tb testing.TB, pc, sp uint32, code, stack []byte) *corestate.ELFCore {
	regs := make([]byte, 17*4)
	binary.LittleEndian.PutUint32(regs[12*4:], pc)
	binary.LittleEndian.PutUint32(regs[15*4:], sp)
	return smallCore(tb, corebuild.New32(elffile.EM_386, binary.LittleEndian), regs, code, stack)
}

// x86SigContextOrder is struct sigcontext_32, a word each.
var x86SigContextOrder = []string{"gs", "fs", "es", "ds", "edi", "esi", "ebp", "esp", "ebx", "edx", "ecx", "eax", "trap", "error",
	"eip", "cs", "eflags", "esp at signal", "ss"}

// TestSignalFramesX86 restores every register from both kinds of signal frames,
// at each instruction of both codes that return from handlers.
func TestSignalFramesX86(t *testing.T) {
	const sp = smallStack + 0x100
	// What SP points at when the handler has returned: a handler with SA_SIGINFO
	// has three arguments, siginfo and the head of struct ucontext before.
	rt := append([]uint32{12, sp + 12, sp + 140}, make([]uint32, 128/4+20/4)...)
	plain := []uint32{12}
	for _, tc := range []struct {
		name string
		code []byte
		head []uint32
		stop uint32 // of pc, from the code's start
		off  uint32 // SP above its place at the start
		top  bool
		want bool
	}{
		{"RT, returned to", []byte{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80}, rt, 0, 0, false, true},
		{"RT, about to run", []byte{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80}, rt, 0, 0, true, true},
		{"RT, at int", []byte{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80}, rt, 5, 0, true, true},
		{"non-RT, returned to", []byte{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}, plain, 0, 0, false, true},
		{"non-RT, about to run", []byte{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}, plain, 0, 0, true, true},
		{"non-RT, after pop", []byte{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}, plain, 1, 4, true, true},
		{"non-RT, at int", []byte{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}, plain, 6, 4, true, true},
		{"another system call", []byte{0xb8, 0xae, 0, 0, 0, 0xcd, 0x80}, rt, 0, 0, false, false},
		{"in the middle", []byte{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80}, rt, 2, 0, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stack := make([]byte, 0x100)
			for _, w := range tc.head {
				stack = binary.LittleEndian.AppendUint32(stack, w)
			}
			context := smallStack + uint64(len(stack))
			for i := range x86SigContextOrder {
				stack = binary.LittleEndian.AppendUint32(stack, uint32(0x1000+i))
			}
			code := append(make([]byte, 16), tc.code...)
			pc := uint32(smallCode + 16 + tc.stop)
			w := walker(t, i386Core(t, pc, sp+tc.off, code, stack), nil, must(steppers.NewSigHandlerStepper(arch.X86)))
			in := called(t, w, uint64(pc), uint64(sp+tc.off), 0)
			if tc.top {
				in = must(w.InitialFrame(1))
			}
			f, err := w.WalkSingleFrame(in)
			if (err == nil) != tc.want {
				t.Fatalf("walked: %v; want %v", err, tc.want)
			}
			if err != nil {
				return
			}
			for i, name := range x86SigContextOrder {
				r, ok := arch.X86.RegByName(name)
				if !ok {
					continue
				}
				v, loc, ok := f.Reg(r)
				if at := unwind.AtAddress(context + uint64(4*i)); !ok || v != 0x1000+uint64(i) || loc != at {
					t.Errorf("%s = %#x, %v, %v; want %#x, %v", name, v, loc, ok, 0x1000+i, at)
				}
			}
			if sig, ok := steppers.SignalAt(in); !f.NonCall() || f.Trust() != unwind.TrustSignal || !ok || sig.Number != 12 || !sig.Sure {
				t.Errorf("non-call %v, trust %v, signal %+v, %v", f.NonCall(), f.Trust(), sig, ok)
			}
		})
	}
}

// TestThreadEndsX86: code that ends its thread when a call returns, and threads
// that have just been made.
func TestThreadEndsX86(t *testing.T) {
	for _, tc := range []struct {
		name  string
		code  []byte
		after uint32 // of pc, from the code's start
		top   bool
		want  bool
	}{
		{"glibc's clone", []byte{0xff, 0xd3, 0x89, 0xc3, 0xb8, 1, 0, 0, 0, 0x65, 0xff, 0x15, 0x10, 0, 0, 0}, 2, false, true},
		{"static glibc's clone", []byte{0xff, 0xd3, 0x89, 0xc3, 0xb8, 1, 0, 0, 0, 0xcd, 0x80}, 2, false, true},
		{"musl's __clone", []byte{0xff, 0xd0, 0x89, 0xc3, 0x31, 0xc0, 0x40, 0xcd, 0x80}, 2, false, true},
		{"makecontext", []byte{0xff, 0xd0, 0x8d, 0x24, 0x9c, 0x83, 0x3c, 0x24, 0}, 2, false, true},
		{"another system call", []byte{0xff, 0xd3, 0x89, 0xc3, 0xb8, 2, 0, 0, 0, 0xcd, 0x80}, 2, false, false},
		{"glibc's clone, made", []byte{0xcd, 0x80, 0x5f, 0x5e, 0x5b, 0x85, 0xc0, 0x0f, 0x8c}, 2, true, true},
		{"glibc's clone3, made", []byte{0xcd, 0x80, 0x85, 0xc0, 0x74, 0x09, 0x5e, 0x5b}, 2, true, true},
		{"musl's __clone, made", []byte{0xcd, 0x80, 0x85, 0xc0, 0x75, 0x0e, 0x89, 0xe8, 0x31, 0xed}, 2, true, true},
		{"another system call, done", []byte{0xcd, 0x80, 0x85, 0xc0, 0x75, 0x0d, 0x89, 0xe8, 0x31, 0xed}, 2, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pc := uint32(smallCode + 16 + tc.after)
			p := withLibrary{i386Core(t, pc, smallStack+0x100, append(make([]byte, 16), tc.code...), nil)}
			w := walker(t, p, nil, must(steppers.NewBottomOfStackStepper(arch.X86)))
			in := called(t, w, uint64(pc), smallStack+0x100, 0)
			if tc.top {
				in = must(w.InitialFrame(1))
			}
			_, err := w.WalkSingleFrame(in)
			if got := errors.Is(err, unwind.ErrStackBottom); got != tc.want {
				t.Errorf("bottom: %v (%v); want %v", got, err, tc.want)
			}
		})
	}
}
