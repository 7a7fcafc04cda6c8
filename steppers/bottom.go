package steppers

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// BottomOfStackStepper recognises frames that have no caller: the entry point of the
// program and of the dynamic linker, the code in clone where a new thread begins, the
// Windows functions where threads begin, and the end of a goroutine or of a context
// made by makecontext or Boost.Context.
//
// The entry point is in the ELF header that the process has mapped. A thread's first
// code is recognised by what it does after its call: it exits. So stripped programs
// have bottoms too. If there are symbols, they must not contradict. (DebugStepper
// handles code whose call frame information says that it has no return address.)
type BottomOfStackStepper struct {
	m     *machine
	names []string
	libs  sync.Map // *libstate.Library to []unwind.AddrRange
	// exit is where the last goroutine ended that was looked at: all of a program end there.
	exit atomic.Pointer[goexit]
}

// A goexit is an address in runtime.goexit, as the symbols of a walker say.
type goexit struct {
	walker *unwind.Walker
	lib    *libstate.Library
	addr   arch.Address
}

// NewBottomOfStackStepper returns the stepper for an architecture, or ErrUnsupported.
// Functions with the given names are bottoms too.
func NewBottomOfStackStepper(a *arch.Arch, names ...string) (*BottomOfStackStepper, error) {
	m, err := mustKnow(a)
	if err != nil {
		return nil, err
	}
	return &BottomOfStackStepper{m: m, names: slices.Clone(names)}, nil
}

// Name implements unwind.FrameStepper.
func (s *BottomOfStackStepper) Name() string { return "BottomOfStack" }

// Priority implements unwind.FrameStepper.
func (s *BottomOfStackStepper) Priority() uint32 { return unwind.PriorityStackBottom }

// NewLibraryNotification implements unwind.LibraryNotifier.
func (s *BottomOfStackStepper) NewLibraryNotification(lib *libstate.Library, change libstate.Change) {
	if change == libstate.Unload {
		s.libs.Delete(lib)
		s.exit.Store(nil)
	}
}

// CallerFrame implements unwind.FrameStepper. It never fills in out.
func (s *BottomOfStackStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	w := in.Walker()
	lookup := in.LookupAddr()
	lib := libraryAt(w.ProcessState(), lookup)
	if lib == nil {
		return unwind.StatusNotMe
	}
	for _, r := range s.ranges(w, lib) {
		if lookup >= r.Start && lookup < r.End {
			if out.Tracing() {
				out.Notef("start-up code at %#x", r.Start)
			}
			return unwind.StatusStackBottom
		}
	}
	if isPE(lib) {
		if name := winBottom(in, lib); name != "" {
			note(out, "start-up code: "+name)
			return unwind.StatusStackBottom
		}
		return unwind.StatusNotMe
	}
	if why := s.startOfThread(in, lib); why != "" {
		note(out, why)
		return unwind.StatusStackBottom
	}
	return unwind.StatusNotMe
}

// winBottom returns the Windows function in which the frame's thread began; "" if the
// frame is in another one. 32-bit names may be decorated.
func winBottom(in *unwind.Frame, lib *libstate.Library) string {
	base := strings.ToLower(find.BaseName(lib.Path))
	if base != "ntdll.dll" && base != "kernel32.dll" {
		return ""
	}
	name := symbolName(in, lib)
	if bare, _, ok := strings.Cut(name, "@"); ok {
		name = strings.TrimPrefix(bare, "_")
	}
	switch name {
	case "RtlUserThreadStart", "_RtlUserThreadStart", // it calls __RtlUserThreadStart
		"BaseThreadStart", "BaseThreadStartThunk", "BaseProcessStart", "BaseProcessStartThunk":
		return name
	}
	return ""
}

// netBSDStart is the function to which the entry point of a NetBSD program jumps.
const netBSDStart = "___start"

// ranges returns the address ranges of a library's start-up code.
func (s *BottomOfStackStepper) ranges(w *unwind.Walker, lib *libstate.Library) []unwind.AddrRange {
	if v, ok := s.libs.Load(lib); ok {
		return v.([]unwind.AddrRange)
	}
	var ranges []unwind.AddrRange
	syms := w.SymbolReader()
	if r, ok := s.entry(w.ProcessState(), syms, lib); ok {
		ranges = append(ranges, r)
	}
	if syms == nil {
		return ranges // another walker may know more
	}
	names := s.names
	if lib.Kind == libstate.Executable {
		names = append(names[:len(names):len(names)], netBSDStart)
	}
	for _, name := range names {
		if sym, ok := syms.SymbolByName(lib, name); ok {
			ranges = append(ranges, unwind.AddrRange{Start: sym.Addr, End: sym.Addr + max(sym.Size, s.m.entryCode)})
		}
	}
	s.libs.Store(lib, ranges)
	return ranges
}

// entry returns the address range of the code at the entry point of a program or
// dynamic linker. e_entry is the word at byte 0x18 of the ELF header, in both classes.
func (s *BottomOfStackStepper) entry(mem unwind.ProcessState, syms unwind.SymbolReader, lib *libstate.Library) (unwind.AddrRange, bool) {
	size, sized := s.m.entryCode, false
	switch lib.Kind {
	case libstate.Interpreter:
		size = s.m.loaderCode
	case libstate.Executable:
	default:
		return unwind.AddrRange{}, false
	}
	if lib.Module != nil && lib.Module.Format != libstate.FormatELF {
		return entrySymbol(syms, lib, size)
	}
	entry, ok := headerEntry(mem, lib)
	if !ok && lib.Kind == libstate.Executable {
		entry, ok = auxEntry(mem)
	}
	if !ok {
		return entrySymbol(syms, lib, size)
	}
	start := withoutMode(s.m.arch, s.throughDescriptor(mem, entry))
	if !lib.Contains(start) {
		return unwind.AddrRange{}, false
	}
	if syms != nil {
		if sym, ok := syms.SymbolAt(lib, start); ok && sym.Addr == start {
			if !isEntryName(sym.Name) {
				return unwind.AddrRange{}, false // an ordinary function, with callers
			}
			if lib.Kind == libstate.Executable && sym.Size != 0 {
				size, sized = sym.Size, true
			}
		}
	}
	if lib.Kind == libstate.Executable {
		if size = entryLen(mem, start, size); !sized {
			size = max(size, straightTo(mem, start))
		}
	}
	return unwind.AddrRange{Start: start, End: start + size}, true
}

// headerEntry returns the entry point from the header that the process has mapped.
func headerEntry(mem unwind.ProcessState, lib *libstate.Library) (arch.Address, bool) {
	if lib.HeaderAddr == 0 {
		return 0, false
	}
	entry, err := mem.ReadWord(lib.HeaderAddr + 0x18)
	return entry + lib.LoadBias, err == nil && entry != 0
}

// An AuxReader is a ProcessState that has the auxiliary vector of its process.
type AuxReader interface {
	Auxv() libstate.Auxv
}

// auxEntry returns the program's entry point from the auxiliary vector.
func auxEntry(mem unwind.ProcessState) (arch.Address, bool) {
	aux, is := mem.(AuxReader)
	if !is {
		return 0, false
	}
	return aux.Auxv().Get(libstate.ATEntry)
}

// entryLen returns how many of the size bytes at start belong to the code of a
// program's entry point. That code ends with a jump, or exits after its call.
func entryLen(p unwind.ProcessState, start arch.Address, size uint64) uint64 {
	code := readFunc(p, start, start+size)
	called := false
	for off := uint64(0); off < uint64(len(code)); {
		in, err := disasm.Decode(p.Arch(), code[off:], start+off)
		if err != nil {
			break
		}
		off += uint64(in.Len)
		switch {
		case in.Kind.IsCall():
			called = true
		case in.Kind == disasm.CondJump || in.Conditional:
		case in.Kind.EndsBlock() && !in.Delayed, in.Kind == disasm.Syscall && called:
			return off
		}
	}
	return size
}

// maxStraight is how far a program's entry point may be from its first call: Free Pascal's needs 0x48 bytes.
const maxStraight = 0x80

// straightTo returns how many bytes of code at start lead to the end of a call without a branch: 0 if none do.
func straightTo(p unwind.ProcessState, start arch.Address) uint64 {
	code := readFunc(p, start, start+maxStraight)
	for off := uint64(0); off < uint64(len(code)); {
		in, err := disasm.Decode(p.Arch(), code[off:], start+off)
		if err != nil {
			break
		}
		switch off += uint64(in.Len); {
		case in.Kind.IsCall() && !in.Delayed && !in.Conditional:
			return off
		case in.Kind.EndsBlock() || in.Kind.IsCall() || in.Conditional:
			return 0
		}
	}
	return 0
}

// throughDescriptor returns the code that a function pointer leads to. In the 64-bit
// PowerPC ELF ABI 1.9 the pointer points to a descriptor, whose first word is the
// code's address. Programs of ABI 2 run on the same machine without descriptors.
func (s *BottomOfStackStepper) throughDescriptor(p unwind.ProcessState, ptr arch.Address) arch.Address {
	if !s.m.descriptors || isCode(p, ptr) {
		return ptr
	}
	if code, err := p.ReadWord(ptr); err == nil {
		return code
	}
	return ptr
}

func entrySymbol(syms unwind.SymbolReader, lib *libstate.Library, size uint64) (unwind.AddrRange, bool) {
	if syms == nil {
		return unwind.AddrRange{}, false
	}
	sym, ok := syms.SymbolByName(lib, "_start")
	if !ok {
		sym, ok = syms.SymbolByName(lib, "__start") // MIPS, Alpha
	}
	if !ok {
		return unwind.AddrRange{}, false
	}
	if sym.Size != 0 && lib.Kind == libstate.Executable {
		size = sym.Size
	}
	return unwind.AddrRange{Start: sym.Addr, End: sym.Addr + size}, true
}

// isEntryName reports whether a symbol names start-up code. Linkers call it _start; Go,
// _rt0_<arch>_<os>, Free Pascal also SI_PRC_$$__FPC_PROC_START.
func isEntryName(name string) bool {
	return name == "_start" || name == "__start" || name == "_dlstart" || strings.HasPrefix(name, "_rt0_") ||
		strings.HasSuffix(name, "__FPC_PROC_START")
}

// startOfThread says why the frame is the first of a thread, goroutine or context; ""
// if it is not. A parent in the same function has not made a call there.
func (s *BottomOfStackStepper) startOfThread(in *unwind.Frame, lib *libstate.Library) string {
	if interrupted(in) {
		return s.birthOfThread(in)
	}
	p, a, ra := in.Walker().ProcessState(), s.m.arch, in.RA()
	g, ok := glanceAt(p, a, ra-1)
	if !ok {
		return ""
	}
	is := func(code codePattern, back arch.Address) bool {
		skip := int(back) - 1 // the glance is at ra-1
		if len(code) <= max(skip, 0) || !g.mayBe(code[max(skip, 0):], max(-skip, 0)) {
			return false
		}
		ok, _ := code.at(p, a, ra-back)
		return ok
	}
	for _, code := range s.m.threadExits {
		if is(code, 0) && threadName(in, lib) {
			return "code that ends its thread when the call returns"
		}
	}
	if is(s.m.contextEnd, 0) {
		return "the code to which contexts of makecontext return"
	}
	for _, code := range s.m.fiberEnds {
		if is(code, s.m.fiberBack) && (s.m.fiberCall == 0 || calls(p, ra+s.m.fiberCall)) {
			return "the code to which fibers of Boost.Context return"
		}
	}
	if is(s.m.goExit, max(s.m.goExitPC, 1)) && s.goexitName(in, lib) {
		return "the end of a goroutine"
	}
	return ""
}

// calls reports whether a call returns to an address.
func calls(p unwind.ProcessState, ra arch.Address) bool {
	_, ok := callBefore(p, ra)
	return ok
}

// birthOfThread says that the thread was just created and has not called its function
// yet; "" if that is not so. In the parent, the register that is zero for the child
// holds the thread's number.
func (s *BottomOfStackStepper) birthOfThread(in *unwind.Frame) string {
	if v, _, ok := in.Reg(s.m.birthResult); !ok || v != 0 {
		return ""
	}
	for _, code := range s.m.threadBirths {
		if ok, _ := code.at(in.Walker().ProcessState(), s.m.arch, in.RA()-s.m.birthPC); ok {
			return "a new thread that has not called its function"
		}
	}
	return ""
}

// symbolName returns the name of the frame's function; "" if not known.
func symbolName(in *unwind.Frame, lib *libstate.Library) string {
	if syms := in.Walker().SymbolReader(); syms != nil {
		if sym, ok := syms.SymbolAt(lib, in.LookupAddr()); ok {
			return sym.Name
		}
	}
	return ""
}

// threadName reports whether the frame may be in clone. A program that ends a thread by
// a system call of its own, in the middle of its stack, has a function of another name
// there. The frame may be in clone if the function has no name, or has the name of the
// next exported function of a stripped library.
func threadName(in *unwind.Frame, lib *libstate.Library) bool {
	if lib.Kind != libstate.Executable {
		return true
	}
	switch symbolName(in, lib) {
	case "", "clone", "__clone", "clone3", "__clone3", "thread_start", "__thread_start", "runtime.clone", "runtime.clone.abi0":
		return true
	}
	return false
}

func (s *BottomOfStackStepper) goexitName(in *unwind.Frame, lib *libstate.Library) bool {
	is := goexit{in.Walker(), lib, in.LookupAddr()}
	if last := s.exit.Load(); last != nil && *last == is {
		return true
	}
	name := symbolName(in, lib)
	if name != "runtime.goexit" && name != "runtime.goexit.abi0" {
		return false
	}
	kept := is // only what is kept is allocated
	s.exit.Store(&kept)
	return true
}
