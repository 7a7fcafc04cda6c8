package message

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Rust panics. The standard library passes the panic message from function to function and stores it nowhere,
// so it is read from the frame of the function that calls the panic hook. That frame has the hook's
// PanicHookInfo, which refers to the payload as a trait object (the addresses of the value and of its table)
// and to the Location. Neither layout is guaranteed, so what is read must fit both.

var rustHooks = []string{"std::panicking::panic_with_hook", "std::panicking::rust_panic_with_hook"}

// maxFrameWords is how many words of a frame are searched.
const maxFrameWords = 512

func rustWords(p *Process) Words {
	if f := p.frame(rustHooks...); f != nil {
		return p.rustPanic(p.frameWords(f), rustHookName(f))
	}
	if f := p.frame("std::alloc::rust_oom"); f != nil {
		return p.rustNoMemory(f)
	}
	// Rust's SIGSEGV handler ends the program for a stack overflow, or because the thread was just changing what the handler looks at. It passes every
	// other fault on to the system.
	for i := range p.Stack {
		if i > 0 && p.Stack[i-1].is("std::process::abort") && len(p.Stack[i].Names) == 1 && strings.Contains(p.Stack[i].Names[0], "::stack_overflow::thread_info::with_current_info") {
			break
		}
		for _, n := range p.Stack[i].Names {
			if strings.HasPrefix(n, "std::sys::") && strings.HasSuffix(n, "stack_overflow::imp::signal_handler") {
				return Words{Reason: "stack overflow", Source: "the call to " + n, Cause: StackOverflow}
			}
		}
	}
	return p.rustNameless(p.frameWords)
}

// maxNameless is how many frames without names are looked at for the panic hook's. Eight lie inside of it at most.
const maxNameless = 24

// rustNameless finds the panic of a program without symbols. There the hook is one of the frames without names that called abort, and has
// a payload and a Location as in rustPanic. That a frame has such words is no proof: an earlier panic may have left them. So a caller of it must
// have passed this Location on, as the code of its call says.
func (p *Process) rustNameless(words func(*Frame) []uint64) Words {
	if p.LibraryAt == nil || p.Argument == nil {
		return Words{}
	}
	end := slices.IndexFunc(p.Stack, func(f Frame) bool { return f.is("abort") })
	if end < 0 || end+1 >= len(p.Stack) {
		return Words{}
	}
	lib := p.LibraryAt(p.Stack[end+1].LookupAddr())
	if lib == nil || runtimeLibrary(find.BaseName(lib.Path)) {
		return Words{}
	}
	last := end
	for last+1 < min(len(p.Stack), end+1+maxNameless) && len(p.Stack[last+1].Names) == 0 && p.LibraryAt(p.Stack[last+1].LookupAddr()) == lib {
		last++
	}
	for i := end + 1; i <= last; i++ {
		ws := words(&p.Stack[i])
		where, ok := p.hookLocation(ws)
		if !ok || !strings.HasSuffix(where.file, ".rs") {
			continue
		}
		if raised := p.passesOn(i+1, last, where.at); raised > 0 {
			w := p.rustPanic(ws, "Rust's panic hook")
			w.Raised = raised
			return w
		}
	}
	return Words{}
}

// maxPanicArgument is the number of the last argument in which a panic function takes its Location.
const maxPanicArgument = 4

// passesOn returns the outermost of the frames whose function passes an address on, in the call that it is in; 0 if none does.
func (p *Process) passesOn(from, to int, addr arch.Address) int {
	for i := to; i >= from; i-- {
		for n := range maxPanicArgument + 1 {
			if v, ok := p.Argument(i, n, false); ok && v == addr {
				return i
			}
		}
	}
	return 0
}

// frameWords returns the words of a frame from its stack pointer to its CFA.
func (p *Process) frameWords(f *Frame) []uint64 {
	cfa, ok := f.CFA()
	if !ok || cfa <= f.SP() {
		return nil
	}
	n := (cfa - f.SP()) / uint64(p.Arch.WordSize)
	ws, ok := p.Words(f.SP(), int(min(n, maxFrameWords)))
	if !ok {
		return nil
	}
	return ws
}

// rustPanic reads a panic from the words of the frame of the hook.
func (p *Process) rustPanic(ws []uint64, hook string) Words {
	where, ok := p.hookLocation(ws)
	if !ok {
		where, ok = p.onlyLocation(ws)
	}
	if !ok {
		return Words{}
	}
	place := where.file + ":" + strconv.Itoa(where.line) + ":" + strconv.Itoa(where.column)
	w := Words{
		Message: "panicked at " + place + ":",
		Source:  "the frame of " + hook,
		Reason:  "panic at " + find.BaseName(where.file) + ":" + strconv.Itoa(where.line),
		Cause:   UncaughtException,
		Panic:   &Panic{Runtime: Rust, File: where.file, Line: where.line, Column: where.column},
	}
	if value, ok := p.onlyPayload(ws); ok {
		w.Panic.Value = value
		w.Message += "\n" + value
		w.Reason += ": " + value
	}
	return w
}

// hookLocation finds the Location of the hook's PanicHookInfo: it follows the payload's
// two words. The frame may hold other Locations, left there by earlier calls; false when
// those that follow a payload disagree.
func (p *Process) hookLocation(ws []uint64) (found rustLocation, ok bool) {
	for i := 0; i+2 < len(ws); i++ {
		if ws[i] == 0 || !p.traitTable(ws[i+1]) {
			continue
		}
		l, is := p.location(ws[i+2])
		if !is {
			continue
		}
		if ok && (l.file != found.file || l.line != found.line || l.column != found.column) {
			return rustLocation{}, false
		}
		found, ok = l, true
	}
	return found, ok
}

// traitTable reports whether the table of a trait object may lie at an address: the
// function that drops the value or none, its size and alignment, and a function of the
// trait.
func (p *Process) traitTable(addr arch.Address) bool {
	if addr == 0 || addr%uint64(p.Arch.WordSize) != 0 || p.writable(addr) {
		return false
	}
	t, ok := p.Words(addr, 4)
	return ok && (t[0] == 0 || p.runs(t[0])) && bits.OnesCount64(t[2]) == 1 && t[2] <= 1<<12 && t[3] != 0 && p.runs(t[3])
}

func rustHookName(f *Frame) string {
	for _, n := range rustHooks {
		if f.is(n) {
			return n
		}
	}
	return ""
}

type rustLocation struct {
	at           arch.Address
	file         string
	line, column int
}

// onlyLocation returns the one core::panic::Location that the words point to; false if there is none, or more
// than one.
func (p *Process) onlyLocation(ws []uint64) (found rustLocation, ok bool) {
	var at arch.Address
	for _, w := range ws {
		if w == at {
			continue
		}
		if l, is := p.location(w); is {
			if ok {
				return rustLocation{}, false
			}
			found, at, ok = l, w, true
		}
	}
	return found, ok
}

// location reads a core::panic::Location: a &str, then two 32-bit numbers counted from 1. It is a constant, so
// it must not be in writable memory.
func (p *Process) location(addr arch.Address) (rustLocation, bool) {
	w := uint64(p.Arch.WordSize)
	if addr == 0 || addr%w != 0 || p.writable(addr) {
		return rustLocation{}, false
	}
	two, ok := p.Words(addr, 2)
	const maxPath, maxLine = 1024, 1 << 24
	if !ok || two[1] < 2 || two[1] > maxPath || p.writable(two[0]) {
		return rustLocation{}, false
	}
	line, ok1 := p.Uint(addr+2*w, 4)
	column, ok2 := p.Uint(addr+2*w+4, 4)
	if !ok1 || !ok2 || line == 0 || line > maxLine || column == 0 || column > maxLine {
		return rustLocation{}, false
	}
	file, ok := p.strictText(two[0], two[1])
	if !ok || strings.ContainsAny(file, "\n\t") {
		return rustLocation{}, false
	}
	return rustLocation{addr, file, int(line), int(column)}, true
}

// writable reports whether an address is known to be writable.
func (p *Process) writable(addr arch.Address) bool {
	if p.Mapping == nil {
		return false
	}
	m, ok := p.Mapping(addr)
	return ok && m.Perm&libstate.Write != 0 && m.Perm&libstate.Unknown == 0
}

// runs reports whether there may be code at an address.
func (p *Process) runs(addr arch.Address) bool {
	if p.Mapping == nil {
		return true
	}
	m, ok := p.Mapping(addr)
	return ok && m.Perm&(libstate.Exec|libstate.Unknown) != 0
}

// onlyPayload returns the text that two consecutive words refer to as a trait object; false if there is none,
// or more than one.
func (p *Process) onlyPayload(ws []uint64) (text string, ok bool) {
	var at arch.Address
	for i := 0; i+1 < len(ws); i++ {
		if ok && ws[i] == at {
			continue
		}
		if s, is := p.payload(ws[i], ws[i+1]); is {
			if ok {
				return "", false
			}
			text, at, ok = s, ws[i], true
		}
	}
	return text, ok
}

// payload reads a trait object that is a &str or a String: two words, or three. The table starts with the
// function that drops the value (none for &str), its size, its alignment and the functions of the trait.
func (p *Process) payload(data, table arch.Address) (string, bool) {
	w := uint64(p.Arch.WordSize)
	if data == 0 || table == 0 || data%w != 0 || table%w != 0 || p.writable(table) {
		return "", false
	}
	t, ok := p.Words(table, 4)
	if !ok || t[2] != w || t[3] == 0 || !p.runs(t[3]) || t[0] != 0 && !p.runs(t[0]) {
		return "", false
	}
	switch t[1] {
	case 2 * w:
		two, ok := p.Words(data, 2)
		if !ok || t[0] != 0 || !p.typeIs(t[3], "&str") {
			return "", false
		}
		return p.strictText(two[0], two[1])
	case 3 * w:
		if t[0] == 0 || !p.typeIs(t[3], "String") {
			return "", false
		}
		return p.rustString(data)
	case 4 * w:
		// The structure that the panic handler formats into: an Option<String> and the arguments.
		if p.Function == nil {
			return "", false
		}
		if name := p.Function(t[3]); name != "" && !strings.Contains(name, "FormatStringPayload") {
			return "", false
		}
		if s, ok := p.rustString(data); ok {
			return s, true
		}
		return p.rustString(data + w)
	}
	return "", false
}

// rustString reads a String. The compiler chooses the order of its words: the address differs from the two
// numbers, and the length is at most the capacity.
func (p *Process) rustString(addr arch.Address) (string, bool) {
	w := uint64(p.Arch.WordSize)
	three, ok := p.Words(addr, 3)
	if !ok {
		return "", false
	}
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}} {
		capacity, at, n := three[order[0]], three[order[1]], three[order[2]]
		if n > capacity || capacity >= 1<<(8*w-1) {
			continue
		}
		if s, ok := p.strictText(at, n); ok {
			return s, true
		}
	}
	return "", false
}

// typeIs reports whether a table's function type_id may be that of the type want. It may unless its name is
// known and names another type.
func (p *Process) typeIs(fn arch.Address, want string) bool {
	if p.Function == nil {
		return true
	}
	name := p.Function(fn)
	self, ok := strings.CutSuffix(name, "::type_id")
	return !ok || strings.HasPrefix(self, "<T as ") || strings.Contains(self, want+" as ")
}

// rustNoMemory reads the size of the failed allocation from the frame of rust_oom, which has a Layout and
// nothing else: an alignment, which is a power of two, and a size. If the size is a power of two as well, the
// two cannot be told apart.
func (p *Process) rustNoMemory(f *Frame) Words {
	w := Words{Message: "memory allocation failed", Source: "the call to std::alloc::rust_oom", Cause: OutOfMemory,
		Panic: &Panic{Runtime: Rust}}
	if ws := p.frameWords(f); len(ws) >= 2 {
		size, ok := ws[1], bits.OnesCount64(ws[0]) == 1 && bits.OnesCount64(ws[1]) != 1
		if !ok {
			size, ok = ws[0], bits.OnesCount64(ws[1]) == 1 && bits.OnesCount64(ws[0]) != 1
		}
		if ok && size < 1<<(8*p.Arch.WordSize-1) {
			w.Message = "memory allocation of " + strconv.FormatUint(size, 10) + " bytes failed"
		}
	}
	w.Panic.Value = w.Message
	w.Reason = w.Message
	return w
}
