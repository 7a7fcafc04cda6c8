package message

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Ada's exceptions as GNAT's run-time library lays them out. GNAT_GCC_Exception (s-excmac.ads) is the unwinder's header, then the
// Exception_Occurrence (a-except.ads): a pointer to the Exception_Data, the address of the header again, the message's length as a
// 32-bit number, and 200 characters. Exception_Data (s-stalib.ads): two bytes, of which the second is the language, the name's
// length as a 32-bit number with the NUL that ends it, and the name's address.

// classAda is the exception class in the unwinder's header.
const classAda = 0x474e552d41646100 // "GNU-Ada\0"

// Limits of an Ada exception.
const (
	maxAdaMessage = 200
	maxAdaName    = 1024
	maxAdaFrames  = 128  // youngest and oldest frames searched for exceptions
	maxAdaWords   = 8192 // words of them
)

// An adaException is an exception object that exists, which means that it was raised and that no handler has ended: the library
// gives its memory back then, and the allocator overwrites the class.
type adaException struct {
	Thrown
	header arch.Address
	id     arch.Address // of its Exception_Data
	// handler is the stack pointer of the call in which the unwinder found the handler that the exception went to; 0 if
	// there was none yet.
	handler arch.Address
	// frame is that of the handler; of an exception without one, the oldest of the library's in which it was found.
	frame int
	// inRaise says what of it frames of functions that look for a handler have.
	inRaise raiseTrace
}

// A raiseTrace is what a function that looks for an exception's handler has of an exception: its header may be in a register that
// the function saved for the program, its occurrence is what the function itself uses.
type raiseTrace uint8

const (
	noTrace raiseTrace = iota
	ofHeader
	ofOccurrence
)

// adaWords describes the exception that was raised and has not reached a handler. A handler of GNAT's library raises one for a
// fault: then the fault comes first, and nothing else is said.
func adaWords(p *Process) Words {
	flying, handled := p.adaExceptions()
	if flying == nil {
		return Words{}
	}
	handling := p.innermost(handled)
	w := Words{Handling: handling, Sure: true, Thrown: []Thrown{flying.Thrown}, Source: "the exception object at 0x" + strconv.FormatUint(flying.Object, 16), Cause: UncaughtException, Reason: "raised " + flying.said()}
	if at := p.adaFault(flying.frame); at > 0 {
		w.OfSignal = true
		if own := p.calledAbort(at); own.Reason != "" {
			own.Thrown, own.Handling, own.Sure = w.Thrown, handling, true
			return own
		}
	}
	return w
}

// maxAdaRaise is the most functions of the library between the handler of a signal and the search for a handler of the exception.
const maxAdaRaise = 16

// adaFault returns the frame of the trampoline of the signal for which GNAT's handler raised the exception that was found in a
// frame; 0 if it was not raised so.
func (p *Process) adaFault(frame int) int {
	for i := frame; i < min(len(p.Stack), frame+maxAdaRaise); i++ {
		f := &p.Stack[i]
		if f.Frame != nil && f.IsTrampoline() {
			return i
		}
		if !p.ofGNAT(f) && !p.stripped(f) {
			return 0
		}
	}
	return 0
}

// calledAbort reads why the program called abort, when GNAT's handler of SIGABRT made an exception of that: what that says is only
// "unhandled signal".
func (p *Process) calledAbort(trampoline int) Words {
	rest := *p
	rest.Stack = p.Stack[trampoline+1:]
	for i := range min(len(rest.Stack), 3) {
		if rest.Stack[i].is("abort", "__GI_abort") {
			w := abortMessage(&rest)
			if w.Reason == "" {
				w = cxxWords(&rest)
			}
			return w
		}
	}
	return Words{}
}

// adaHandled returns the exceptions that the thread handles, the innermost first; none if which that is is not certain. sure says
// that none of them was raised again: a library without names may be doing that.
func adaHandled(p *Process) (handling []Thrown, sure bool) {
	flying, handled := p.adaExceptions()
	if flying != nil {
		return nil, false
	}
	if handling = p.innermost(handled); handling == nil {
		return nil, false
	}
	return handling, !slices.ContainsFunc(p.Stack[:handled[0].frame], func(f Frame) bool { return p.stripped(&f) })
}

// innermost orders the exceptions that are handled.
func (p *Process) innermost(handled []adaException) (out []Thrown) {
	// Of the same function's handlers, the exception raised last belongs to the innermost.
	same := 1
	for same < len(handled) && handled[same].frame == handled[0].frame {
		same++
	}
	if same > 1 {
		last := slices.IndexFunc(handled[:same], p.adaCurrent)
		if last < 0 {
			return nil
		}
		handled[0], handled[last] = handled[last], handled[0]
	}
	if same > 2 {
		handled = handled[:1]
	}
	for i := range handled {
		out = append(out, handled[i].Thrown)
	}
	return out
}

// maxSoftData is how much of the library's data of a program without tasks is searched, in bytes.
const maxSoftData = 2048

// adaCurrent reports whether the exception is the one that the main program raised last, of which the library keeps a copy.
func (p *Process) adaCurrent(e adaException) bool {
	_, at, ok := p.symbol("system__soft_links__nt_tsd")
	if !ok {
		return false
	}
	w := p.Arch.WordSize
	for off := 0; off < maxSoftData; off += w {
		id, ok := p.LookupWord(at + uint64(off))
		if !ok {
			return false
		}
		if id == e.id {
			back, ok := p.LookupWord(at + uint64(off+w))
			return ok && back == e.header
		}
	}
	return false
}

// adaExceptions searches the frames for exceptions: the oldest that is looking for a handler, nil if there is none, and those whose
// handlers' frames are on the stack, the youngest first.
func (p *Process) adaExceptions() (flying *adaException, handled []adaException) {
	if !p.mayBeAda() {
		return nil, nil
	}
	var all []*adaException
	known := map[arch.Address]*adaException{}
	left := maxAdaWords
	for i := range p.Stack {
		if i >= maxAdaFrames && i < len(p.Stack)-maxAdaFrames {
			continue
		}
		f := &p.Stack[i]
		if p.ofLibc(f) {
			continue // what it kept of its caller's registers is found in the caller
		}
		library, raises := p.ofGNAT(f), adaRaises(f)
		for _, v := range p.adaPointers(f) {
			if left--; left < 0 {
				break
			}
			e, ok := p.adaObject(v)
			if !ok {
				continue
			}
			was := known[e.header]
			if was == nil {
				e.frame = i
				was, known[e.header] = &e, &e
				all = append(all, was)
			}
			if at, ok := p.frameAt(was.handler); raises && (was.handler == 0 || ok && at > i) {
				trace := ofHeader
				if v == e.Object {
					trace = ofOccurrence
				}
				was.inRaise = max(was.inRaise, trace)
			}
			if library {
				was.frame = i
			}
		}
	}
	again := raisedAgain(all)
	for _, e := range all {
		if e.handler == 0 || e == again {
			flying = e
		} else if at, ok := p.frameAt(e.handler); ok {
			e.frame = at
			handled = append(handled, *e)
		}
	}
	slices.SortStableFunc(handled, func(a, b adaException) int { return a.frame - b.frame })
	return flying, handled
}

// raisedAgain returns the exception that was handled and is looking for another handler; nil if none is, or if it is not certain
// which.
func raisedAgain(all []*adaException) (found *adaException) {
	most := ofHeader
	for _, e := range all {
		most = max(most, e.inRaise)
	}
	for _, e := range all {
		if e.handler == 0 || e.inRaise != most {
			continue
		}
		if found != nil {
			return nil
		}
		found = e
	}
	return found
}

// adaRaises reports whether the frame is of a function that looks for the handler of an exception.
func adaRaises(f *Frame) bool {
	return slices.ContainsFunc(f.Names, func(n string) bool {
		return strings.HasPrefix(n, "ada__exceptions__exception_propagation__") || strings.HasPrefix(n, "__gnat_reraise") || strings.HasPrefix(n, "__gnat_notify_")
	})
}

// mayBeAda reports whether a function on the stack may be of Ada. Its names have two underscores between the package and what is in
// it. A program without names may be of any language.
func (p *Process) mayBeAda() bool {
	return slices.ContainsFunc(p.Stack, func(f Frame) bool {
		return p.ofGNAT(&f) || p.stripped(&f) || slices.ContainsFunc(f.Names, func(n string) bool {
			return strings.HasPrefix(n, "_ada_") || n != "" && n[0] >= 'a' && n[0] <= 'z' && strings.Contains(n, "__") && !strings.ContainsAny(n, ".:<> ")
		})
	})
}

// stripped reports whether a frame has no name and is of the program itself, as far as the name of its file tells.
func (p *Process) stripped(f *Frame) bool {
	if len(f.Names) > 0 || p.LibraryAt == nil || f.Frame == nil {
		return false
	}
	lib := p.LibraryAt(f.LookupAddr())
	return lib != nil && !strings.Contains(find.BaseName(lib.Path), ".so")
}

func (p *Process) ofLibc(f *Frame) bool {
	if p.LibraryAt == nil || f.Frame == nil {
		return false
	}
	lib := p.LibraryAt(f.LookupAddr())
	return lib != nil && cLibrary(find.BaseName(lib.Path))
}

// gnatPrefixes begin the names of functions of GNAT's run-time library.
var gnatPrefixes = []string{"ada__", "__gnat_", "system__", "gnat__"}

// ofGNAT reports whether a frame is of GNAT's run-time library.
func (p *Process) ofGNAT(f *Frame) bool {
	for _, n := range f.Names {
		for _, prefix := range gnatPrefixes {
			if strings.HasPrefix(n, prefix) {
				return true
			}
		}
	}
	if p.LibraryAt == nil || f.Frame == nil {
		return false
	}
	lib := p.LibraryAt(f.LookupAddr())
	return lib != nil && (strings.HasPrefix(find.BaseName(lib.Path), "libgnat") || strings.HasPrefix(find.BaseName(lib.Path), "libgnarl"))
}

// adaPointers returns the words of a frame and its registers that may be addresses of exceptions.
func (p *Process) adaPointers(f *Frame) []uint64 {
	if f.Frame == nil {
		return nil
	}
	regs := f.Registers()
	var out []uint64
	for r := range arch.Reg(p.Arch.NumRegs()) {
		if v, ok := regs.Get(r); ok {
			out = append(out, v)
		}
	}
	out = append(out, p.frameWords(f)...)
	const firstPage = 1 << 12
	return slices.DeleteFunc(out, func(v uint64) bool { return v < firstPage || v%8 != 0 })
}

// adaObject reads the exception whose header or occurrence is at an address.
func (p *Process) adaObject(addr arch.Address) (adaException, bool) {
	if e, ok := p.adaFromHeader(addr); ok {
		return e, true
	}
	header, ok := p.LookupWord(addr + uint64(p.Arch.WordSize))
	if !ok || header >= addr || addr-header > maxAdaHeader {
		return adaException{}, false
	}
	return p.adaFromHeader(header)
}

// The unwinder's header has two words of its own and up to six more in GNAT's declaration, and is aligned. maxAdaHeader is the
// longest one, of ARM.
const minAdaHeader, maxAdaHeader = 24, 128

func (p *Process) adaFromHeader(header arch.Address) (adaException, bool) {
	class, ok := p.Uint(header, 8)
	if p.armEABI() {
		class = bits.ReverseBytes64(class)
	}
	if !ok || class != classAda {
		return adaException{}, false
	}
	w := uint64(p.Arch.WordSize)
	for off := uint64(minAdaHeader); off <= maxAdaHeader; off += w {
		if back, ok := p.LookupWord(header + off + w); !ok || back != header {
			continue
		}
		e, ok := p.adaOccurrence(header + off)
		if !ok {
			continue
		}
		e.header = header
		if stop, ok := p.LookupWord(header + 8 + w); ok && stop == 0 && !p.armEABI() { // a stop function is of a forced unwinding: nothing handles it
			e.handler, _ = p.LookupWord(header + 8 + 2*w)
		}
		return e, true
	}
	return adaException{}, false
}

// adaOccurrence reads an Exception_Occurrence.
func (p *Process) adaOccurrence(addr arch.Address) (adaException, bool) {
	w := uint64(p.Arch.WordSize)
	id, ok := p.LookupWord(addr)
	if !ok || id == 0 || id%w != 0 {
		return adaException{}, false
	}
	name, ok := p.adaName(id)
	if !ok {
		return adaException{}, false
	}
	n, ok := p.Uint(addr+2*w, 4)
	if !ok || n > maxAdaMessage {
		return adaException{}, false
	}
	said := p.Bytes(addr+2*w+4, int(n))
	if said == nil {
		return adaException{}, false
	}
	return adaException{id: id, Thrown: Thrown{Type: name, What: latin(said), HasWhat: n > 0, Runtime: GNAT, Object: addr, Trace: p.adaTrace(addr)}}, true
}

// maxAdaTrace is the most calls that an occurrence has room for (Max_Tracebacks).
const maxAdaTrace = 50

// adaTrace reads the calls in which an exception was raised, the youngest first: a program that was bound with -E keeps them. Behind the message are whether it
// was raised, a number, how many calls there are, and their addresses.
func (p *Process) adaTrace(occurrence arch.Address) (out []arch.Address) {
	w := uint64(p.Arch.WordSize)
	at := occurrence + 2*w + 4 + maxAdaMessage
	n, ok := p.Uint(at+8, 4)
	if !ok || n > maxAdaTrace {
		return nil
	}
	for i := range n {
		pc, ok := p.LookupWord(at + 12 + i*w)
		if !ok || pc == 0 {
			return nil
		}
		out = append(out, pc)
	}
	return out
}

// adaName reads the name of an exception from its Exception_Data.
func (p *Process) adaName(id arch.Address) (string, bool) {
	head := p.Some(id, 2)
	n, ok := p.Uint(id+4, 4)
	if len(head) < 2 || head[0] > 1 || head[1] != 'A' || !ok || n < 2 || n > maxAdaName {
		return "", false
	}
	at, ok := p.LookupWord(id + 8)
	if !ok {
		return "", false
	}
	name := p.Bytes(at, int(n))
	if name == nil || name[n-1] != 0 {
		return "", false
	}
	name = name[:n-1]
	for _, c := range name {
		if c <= ' ' || c == 0x7f {
			return "", false
		}
	}
	return latin(name), true
}

// latin returns text of Ada, whose characters are those of Latin-1 unless the program wrote UTF-8 into them.
func latin(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}

// said is what the library prints of an exception.
func (e *adaException) said() string { return adaSaid(&e.Thrown) }

func adaSaid(t *Thrown) string {
	if !t.HasWhat {
		return t.Type
	}
	return t.Type + " : " + t.What
}

// frameAt returns the frame whose part of the stack has an address.
func (p *Process) frameAt(addr arch.Address) (int, bool) {
	for i := range p.Stack {
		if f := p.Stack[i].Frame; f != nil {
			if cfa, ok := f.CFA(); ok && f.SP() <= addr && addr < cfa {
				return i, true
			}
		}
	}
	return 0, false
}

// AdaPlace splits the message of an exception that a check of the language raised, "file:line what", and returns the line 0 for any
// other.
func AdaPlace(message string) (file string, line int, what string) {
	place, what, _ := strings.Cut(message, " ")
	file, digits, ok := strings.Cut(place, ":")
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil || n == 0 || !strings.Contains(file, ".") {
		return "", 0, message
	}
	return file, int(n), what
}
