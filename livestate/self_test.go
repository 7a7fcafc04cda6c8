//go:build linux && (amd64 || arm64)

package livestate

import (
	"errors"
	"runtime"
	"testing"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

//go:noinline
func recurse(n int, f func()) int {
	if n == 0 {
		f()
		return 0
	}
	return recurse(n-1, f) + 1
}

// chain is the return addresses that the copy's frame pointers lead to, from the
// youngest frame's pc on.
func chain(t *testing.T, s *SelfState) []uintptr {
	t.Helper()
	regs, err := s.Registers(unwind.NullThread)
	if err != nil {
		t.Fatal(err)
	}
	pc, _ := regs.Get(s.Arch().PC)
	fp, _ := regs.Get(s.Arch().FP)
	out := []uintptr{uintptr(pc)}
	for range 1 << 20 {
		next, err1 := s.ReadWord(fp)
		pc, err2 := s.ReadWord(fp + 8)
		if err1 != nil || err2 != nil || fp == 0 {
			break
		}
		out = append(out, uintptr(pc))
		fp = next
	}
	return out
}

// The registers and the copy agree with what the runtime says, also after the stack
// has moved and others have used its memory.
func TestSelf(t *testing.T) {
	var s *SelfState
	var want []uintptr
	done := make(chan bool)
	go func() {
		recurse(500, func() {
			var err error
			if s, err = Self(0); err != nil {
				t.Error(err)
				return
			}
			want = make([]uintptr, 1000)
			want = want[:runtime.Callers(1, want)]
		})
		recurse(100_000, func() { runtime.GC() })
		close(done)
	}()
	<-done
	if s == nil {
		return
	}
	defer s.Close()
	got := chain(t, s)
	if len(got) < 502 || len(want) < 502 {
		t.Fatalf("%d return addresses, %d from the runtime", len(got), len(want))
	}
	name := func(pc uintptr) string { return runtime.FuncForPC(pc - 1).Name() }
	for i := range 502 {
		// The runtime's first is in the same function, at its own call.
		if name(got[i]) != name(want[i]) || i > 0 && got[i] != want[i] {
			t.Fatalf("frame %d: %s, the runtime says %s", i, name(got[i]), name(want[i]))
		}
	}
	if !s.IsFirstParty() {
		t.Error("not first party")
	}
}

//go:noinline
func calledBy() (*SelfState, error) { return Self(1) }

func TestSelfSkips(t *testing.T) {
	s, err := calledBy()
	if err != nil {
		t.Fatal(err)
	}
	if got := runtime.FuncForPC(chain(t, s)[0] - 1).Name(); got != runtime.FuncForPC(func() uintptr { pc, _, _, _ := runtime.Caller(1); return pc }()).Name() {
		t.Error(got)
	}
	if _, err := Self(1 << 20); !errors.Is(err, unwind.ErrBadParam) {
		t.Errorf("more callers than there are: %v", err)
	}
	if _, err := s.Registers(1 << 30); !errors.Is(err, unwind.ErrNoThread) {
		t.Error(err)
	}
}

// What is not there is an error, not a crash.
func TestSelfReadsNothingThere(t *testing.T) {
	s, err := Self(0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, addr := range []arch.Address{0, 8, 1 << 63, ^arch.Address(0) - 3, 0x7fff_ffff_f000} {
		if n, err := s.ReadMem(addr, make([]byte, 16)); !errors.Is(err, arch.ErrUnmapped) {
			t.Errorf("%#x: %d bytes, %v", addr, n, err)
		}
	}
	lib, ok := s.LibraryTracker().AOut()
	if !ok {
		t.Fatal("no program")
	}
	head := make([]byte, 4)
	if _, err := s.ReadMem(lib.HeaderAddr, head); err != nil || string(head) != "\x7fELF" {
		t.Errorf("%q, %v", head, err)
	}
	// Across the end of the copy.
	buf := make([]byte, 64)
	if n, err := s.ReadMem(s.at+uint64(len(s.stack))-32, buf); err != nil && n < 32 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
