//go:build linux && (amd64 || arm64)

package livestate

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A SelfState is this program as one of its goroutines saw it: the goroutine's
// registers and stack, copied when Self was called, and the rest of the memory as it
// is when it is read. All methods may be called by several goroutines.
//
// If C called Go, C's frames are read from the thread's own stack; they are there
// until the function that called Self returns to C.
type SelfState struct {
	arch  *arch.Arch
	tid   int
	regs  arch.RegSet
	stack []byte
	at    arch.Address // the address of stack
	maps  []libstate.Mapping
	auxv  libstate.Auxv
	path  string

	table atomic.Pointer[libstate.Table]
	memMu sync.Mutex // guards file; no other lock is taken inside
	file  *os.File   // /proc/self/mem, opened when needed
}

var _ unwind.ProcessState = (*SelfState)(nil)

// capture takes the registers and copies the stack of the calling goroutine, from
// the caller's SP on, in one step.
//
//go:noescape
func capture(c *selfContext, buf *byte, size uintptr) uintptr

// Self copies the calling goroutine's registers and stack. Its youngest frame is that
// of the function that called Self; skip leaves out that many more frames. Only the
// calling goroutine can be walked.
//
//go:noinline
func Self(skip int) (*SelfState, error) {
	s := &SelfState{arch: selfArch(), tid: unix.Gettid()}
	var c selfContext
	buf := make([]byte, 16<<10)
	for {
		n := int(capture(&c, &buf[0], uintptr(len(buf))))
		if n == 0 {
			return nil, fmt.Errorf("the goroutine is not running on its own stack: %w", ErrUnsupported)
		}
		if n <= len(buf) || len(buf) >= maxSelfStack {
			s.stack, s.at = buf[:min(n, len(buf))], arch.Address(c.start)
			break
		}
		buf = make([]byte, min(n+n/4, maxSelfStack)&^7)
	}
	pc, _, _, _ := runtime.Caller(0)
	if err := s.registers(&c, runtime.FuncForPC(pc).Entry(), skip); err != nil {
		return nil, err
	}
	s.learn()
	return s, nil
}

func selfArch() *arch.Arch {
	if runtime.GOARCH == "arm64" {
		return arch.ARM64
	}
	return arch.AMD64
}

// registers finds the registers of the function that called Self. Over a call Go saves
// only the frame pointer, so no others are available, except that of the goroutine,
// which never changes. On both machines a frame pointer leads to the caller's and, one
// word above, to the return address.
//
// self is the start of the function Self. Its own frame is skipped: the frame pointer
// is that frame's, unless the compiler put a wrapper around capture.
func (s *SelfState) registers(c *selfContext, self uintptr, skip int) error {
	fp := arch.Address(c.fp)
	for {
		next, err1 := s.ReadWord(fp)
		pc, err2 := s.ReadWord(fp + 8)
		if err1 != nil || err2 != nil || pc == 0 {
			return fmt.Errorf("own stack: it ends %d callers before the wanted frame: %w", skip+1, unwind.ErrBadParam)
		}
		if f := runtime.FuncForPC(uintptr(pc) - 1); f == nil || f.Entry() != self {
			if skip == 0 {
				s.setRegisters(pc, fp, next, uint64(c.g))
				return nil
			}
			skip--
		}
		fp = next
	}
}

func (s *SelfState) setRegisters(pc, fp, callers, g uint64) {
	s.regs.Set(s.arch.PC, pc)
	s.regs.Set(s.arch.FP, callers)
	if s.arch == arch.ARM64 {
		s.regs.Set(s.arch.SP, callers+8) // Go's frame records lie below SP
		s.regs.Set(arch.ARM64X28, g)
		return
	}
	s.regs.Set(s.arch.SP, fp+16)
	s.regs.Set(arch.R14, g)
}

// learn finds out the other facts that walking needs.
func (s *SelfState) learn() {
	pid := os.Getpid()
	s.maps, _ = readMaps(pid)
	if b, err := os.ReadFile(procPath(pid, "auxv")); err == nil {
		s.auxv = libstate.ParseAuxv(b, s.arch.WordSize, s.arch.ByteOrder)
	}
	s.path, _ = os.Executable()
}

// Arch returns this program's architecture.
func (s *SelfState) Arch() *arch.Arch { return s.arch }

// ProcessID returns this program's id.
func (s *SelfState) ProcessID() int { return os.Getpid() }

// ThreadIDs lists the thread that called Self.
func (s *SelfState) ThreadIDs() ([]unwind.ThreadID, error) {
	return []unwind.ThreadID{unwind.ThreadID(s.tid)}, nil
}

// DefaultThread returns the thread that called Self.
func (s *SelfState) DefaultThread() (unwind.ThreadID, error) { return unwind.ThreadID(s.tid), nil }

// Registers returns the registers that a Go function preserves across a call: pc, SP,
// the frame pointer and the goroutine's register.
func (s *SelfState) Registers(tid unwind.ThreadID) (arch.RegSet, error) {
	if tid != unwind.NullThread && tid != unwind.ThreadID(s.tid) {
		return arch.RegSet{}, fmt.Errorf("thread %d: %w", tid, unwind.ErrNoThread)
	}
	return s.regs, nil
}

// PreStackwalk and PostStackwalk only check the thread.
func (s *SelfState) PreStackwalk(tid unwind.ThreadID) error {
	_, err := s.Registers(tid)
	return err
}
func (s *SelfState) PostStackwalk(tid unwind.ThreadID) error { return s.PreStackwalk(tid) }

// IsFirstParty returns true.
func (s *SelfState) IsFirstParty() bool { return true }

// ExecutablePath returns the path of this program.
func (s *SelfState) ExecutablePath() string { return s.path }

// Auxv returns this program's auxiliary vector.
func (s *SelfState) Auxv() libstate.Auxv { return s.auxv }

// Signal returns none: the program is running.
func (s *SelfState) Signal() corestate.SignalInfo { return corestate.SignalInfo{} }

// ThreadName returns the name of the thread.
func (s *SelfState) ThreadName(tid unwind.ThreadID) string { return comm(os.Getpid(), int(tid)) }

// Mappings lists the mappings when Self was called, ascending and disjoint.
func (s *SelfState) Mappings() []libstate.Mapping {
	return append([]libstate.Mapping(nil), s.maps...)
}

// MappingAt returns the mapping that held addr when Self was called.
func (s *SelfState) MappingAt(addr arch.Address) (libstate.Mapping, bool) {
	return (&mapList{list: s.maps}).at(addr)
}

// BuildLibraries finds this program's libraries; see Process.BuildLibraries.
func (s *SelfState) BuildLibraries(files modules.Source) (*libstate.Table, []string) {
	table, warnings := libraries.Build(libraries.Source{Arch: s.arch, Mem: s, Mappings: s.Mappings(), Auxv: s.auxv, ExecPath: s.path, Files: files})
	s.table.Store(table)
	return table, warnings
}

// LibraryTracker returns the libraries that the program had when Self was called.
func (s *SelfState) LibraryTracker() libstate.LibraryState {
	if s.table.Load() == nil {
		s.BuildLibraries(nil)
	}
	return s.table.Load()
}

// ReadMem reads the copied stack, and other memory as it is now. If it reads less than
// len(buf), the error is a *arch.MemError.
func (s *SelfState) ReadMem(addr arch.Address, buf []byte) (int, error) {
	n := 0
	for n < len(buf) {
		a := addr + uint64(n)
		if a < addr {
			return n, &arch.MemError{Addr: a, Err: arch.ErrUnmapped}
		}
		got := 0
		if end := s.at + uint64(len(s.stack)); a >= s.at && a < end {
			got = copy(buf[n:], s.stack[a-s.at:])
		} else {
			part := buf[n:]
			if a < s.at && s.at-a < uint64(len(part)) {
				part = part[:s.at-a]
			}
			got = s.read(a, part)
		}
		if got == 0 {
			return n, s.why(a)
		}
		n += got
	}
	return n, nil
}

func (s *SelfState) why(addr arch.Address) error {
	e := &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	if _, ok := s.MappingAt(addr); ok {
		e.Err = arch.ErrUnreadable
	}
	return e
}

// read lets the kernel do the reading: it returns an error where this program would
// crash.
func (s *SelfState) read(addr arch.Address, buf []byte) int {
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(buf)}}
	if n, err := unix.ProcessVMReadv(os.Getpid(), local, remote, 0); err == nil && n > 0 {
		return n
	}
	s.memMu.Lock()
	defer s.memMu.Unlock()
	if s.file == nil {
		s.file, _ = os.Open("/proc/self/mem")
	}
	if s.file == nil || int64(addr) < 0 {
		return 0
	}
	// Stop at the end of the page: the next one may not be readable.
	n, _ := s.file.ReadAt(buf[:min(uint64(len(buf)), pageSize-addr%pageSize)], int64(addr))
	return max(n, 0)
}

// ReadWord reads one word.
func (s *SelfState) ReadWord(addr arch.Address) (uint64, error) {
	if off := addr - s.at; addr >= s.at && off+8 <= uint64(len(s.stack)) {
		return binary.LittleEndian.Uint64(s.stack[off:]), nil
	}
	buf := make([]byte, 8)
	if _, err := s.ReadMem(addr, buf); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(buf), nil
}

// Close releases what the state holds.
func (s *SelfState) Close() error {
	s.memMu.Lock()
	defer s.memMu.Unlock()
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
	return nil
}
