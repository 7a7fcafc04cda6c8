package message

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// C++ exceptions as laid out by the Itanium C++ ABI (section 2.2): the run-time library's header, which ends
// with the unwinder's own header (_Unwind_Exception, 1.2), then the object. libstdc++ and libc++abi agree on
// the layout from the type on.

// Exception classes in the unwinder's header: vendor and language. A last byte of 1 marks an exception that
// shares the object of another.
const (
	classGNU   = 0x474e5543432b2b00 // "GNUCC++"
	classClang = 0x434c4e47432b2b00 // "CLNGC++"
	dependent  = 1
)

// maxNested is the longest chain of nested exceptions that is read.
const maxNested = 8

// terminators are the functions that end the program because of an exception, or for lack of one.
var terminators = []string{"std::terminate", "std::__terminate", "__cxa_call_terminate", "__clang_call_terminate", "__cxxabiv1::__terminate"}

// throwers call a terminator if nothing catches an exception.
var throwers = []string{"__cxa_throw", "__cxa_rethrow", "std::rethrow_exception", "_Unwind_Resume", "__cxa_init_primary_exception"}

// Terminates reports whether a function of C++'s run-time library ends the program when nothing catches an exception. What it
// calls, the handler of std::set_terminate, only tells of that.
func Terminates(function string) bool {
	return slices.Contains(terminators, function) || slices.Contains(throwers, function)
}

// cxxWords describes the exception that std::terminate was called for, or the call of a pure virtual function.
func cxxWords(p *Process) Words {
	if f := p.frame("__cxa_pure_virtual"); f != nil {
		return p.pureVirtual(f)
	}
	if w := p.libraryCheck(); w.Reason != "" {
		return w
	}
	end := p.frame(terminators...)
	if end == nil && p.frame(throwers...) == nil {
		return Words{}
	}
	lib, globals, known := p.exceptionGlobals()
	source := in("caughtExceptions", lib)
	var header arch.Address
	if known {
		caught, ok := p.LookupWord(globals)
		if ok && caught == 0 {
			return p.noException(end, lib)
		}
		header, known = p.unwindHeader(caught)
	} else {
		header, known = p.thrownByFrame()
		source = "the registers of the frame that threw it"
	}
	if !known && end != nil && p.frame(throwers...) == nil && p.joinless() {
		return Words{Source: "the call to std::terminate", Cause: UncaughtException, Reason: notJoined}
	}
	if !known {
		return p.lostException(end)
	}
	chain := p.exceptions(header)
	if len(chain) == 0 {
		return p.lostException(end)
	}
	chain[0].Template = p.template(chain[0].What)
	w := Words{Thrown: chain, Source: source, Cause: UncaughtException}
	w.Message, w.Reason = uncaught(chain)
	if !p.printed(chain[0].Runtime) {
		w.Message = ""
	}
	return w
}

// pureVirtual: the virtual function table of an abstract class was used, by its constructor or destructor, or
// after the destructor. The function prints this itself, and terminates the program.
func (p *Process) pureVirtual(f *Frame) Words {
	w := Words{Message: "pure virtual method called", Source: "the call to __cxa_pure_virtual", Cause: InvalidArgument, Reason: "call to a pure virtual function"}
	if lib := p.LibraryAt(f.LookupAddr()); lib != nil && strings.Contains(find.BaseName(lib.Path), "c++abi") {
		w.Message = "libc++abi: Pure virtual function called!"
	} else if p.printed(LibStdCxx) {
		w.Message += "\nterminate called without an active exception"
	}
	return w
}

// handlers are the functions of run-time libraries that print why std::terminate was called, unless the program sets its own
// (std::set_terminate), and what they call for that.
var handlers = []string{"__gnu_cxx::__verbose_terminate_handler", "demangling_terminate_handler", "abort_message", "__abort_message"}

// printed reports whether the run-time library's own handler runs, which prints the exception: it is on the stack. A handler
// of the program prints what it likes.
//
// The handlers mostly have no names: that of libstdc++ calls abort in a part of its own, those of libc++abi are not exported.
// Without names they are frames of the library, above the ones that call handlers and directly below the C library's.
func (p *Process) printed(runtime string) bool {
	if p.frame(handlers...) != nil {
		return true
	}
	i := slices.IndexFunc(p.Stack, func(f Frame) bool { return f.is(terminators...) || f.is(throwers...) })
	if i < 0 || p.LibraryAt == nil {
		return false
	}
	least := 2 // libstdc++: __terminate, the handler
	if runtime == LibCxxABI && !p.Stack[i].is("std::__terminate") {
		least = 3 // __terminate, the handler, abort_message
	}
	lib, own := p.LibraryAt(p.Stack[i].LookupAddr()), 0
	for i--; i >= 0 && lib != nil; i-- {
		in := p.LibraryAt(p.Stack[i].LookupAddr())
		switch {
		case in != nil && strings.HasPrefix(find.BaseName(in.Path), "libgcc_s"): // it found no handler
			continue
		case p.Stack[i].is("__gxx_personality_v0"):
			own, least = 0, least+1 // __cxa_call_terminate
			continue
		case in != lib:
			return own >= least && in != nil && cLibrary(find.BaseName(in.Path))
		}
		names := p.Stack[i].Names
		if len(names) > 0 && names[0] != "" && !p.Stack[i].is("__cxxabiv1::__terminate") {
			return false // a handler of a program that has the run-time library in itself
		}
		own++
	}
	return false
}

// cLibrary reports whether a file is a C library: glibc, musl, Android's.
func cLibrary(name string) bool {
	return strings.HasPrefix(name, "libc.") || strings.HasPrefix(name, "libc-") || strings.HasPrefix(name, "ld-musl")
}

// runtimeLibrary reports whether a file is a library of C or C++'s run time, which has no text of the program's author and no panic.
func runtimeLibrary(name string) bool {
	return cLibrary(name) || strings.HasPrefix(name, "libstdc++") || strings.HasPrefix(name, "libc++") || strings.HasPrefix(name, "libgcc_s")
}

// lostException: a thrower called std::terminate, and the exception is not in the dump.
func (p *Process) lostException(end *Frame) Words {
	if end == nil || p.frame(throwers...) == nil {
		return Words{}
	}
	return Words{Reason: "uncaught C++ exception of unknown type", Cause: UncaughtException}
}

// noException: std::terminate was called for another reason, such as a thread that was not joined.
func (p *Process) noException(end *Frame, lib *libstate.Library) Words {
	if end == nil {
		return Words{}
	}
	w := Words{Source: in("caughtExceptions", lib), Cause: UncaughtException, Reason: "std::terminate called without an active exception"}
	switch libcxx := lib != nil && strings.Contains(find.BaseName(lib.Path), "c++abi"); {
	case libcxx && p.printed(LibCxxABI):
		w.Message = "libc++abi: terminating"
	case !libcxx && p.printed(LibStdCxx):
		w.Message = "terminate called without an active exception"
	}
	if p.joinless() {
		w.Reason = notJoined
	}
	return w
}

const notJoined = "a std::thread was destroyed without being joined or detached"

// joinless reports whether a thread that was neither joined nor detached was destroyed.
func (p *Process) joinless() bool {
	return p.frame("std::thread::~thread", "std::__1::thread::~thread", "std::__ndk1::thread::~thread") != nil
}

// uncaught returns the text that the run-time library prints for an exception, and the reason.
func uncaught(chain []Thrown) (message, reason string) {
	t := &chain[0]
	reason = "uncaught exception " + t.brief()
	for i := range chain[1:] {
		reason += "; nested exception " + chain[i+1].brief()
	}
	said := t.HasWhat && t.derived
	if t.Runtime == LibCxxABI {
		// libc++abi's demangler writes no space between closing brackets.
		message = "libc++abi: terminating due to uncaught exception of type " + strings.ReplaceAll(t.full, "> >", ">>")
		if said {
			message += ": " + t.What
		}
		return message, reason
	}
	message = "terminate called after throwing an instance of '" + t.full + "'"
	if said {
		message += "\n  what():  " + t.What
	}
	return message, reason
}

// brief returns the type, and the exception's text if it adds anything.
func (t *Thrown) brief() string {
	if !t.HasWhat || t.What == "" || t.What == t.Type {
		return t.Type
	}
	return t.Type + ": " + t.What
}

// exceptionGlobals returns the dying thread's __cxa_eh_globals, whose first word is the exception caught last.
// It finds them by following the code of __cxa_get_globals. When std::terminate is called, the exception counts
// as caught, even if nothing caught it.
func (p *Process) exceptionGlobals() (*libstate.Library, arch.Address, bool) {
	lib, entry, ok := p.symbol("__cxa_get_globals")
	if !ok {
		return nil, 0, false
	}
	f := follower{Process: p, call: func(f *follower) (uint64, bool) {
		// The only call is to __tls_get_addr.
		index, ok := f.regs.Get(f.abi.arg)
		if !ok || p.ThreadLocal == nil {
			return 0, false
		}
		two, ok := p.Words(index, 2)
		if !ok {
			return 0, false
		}
		return p.ThreadLocal(two[0], two[1])
	}}
	globals, ok := f.run(entry, 0)
	return lib, globals, ok && globals != 0
}

// exceptionClass reads the class of an exception from the unwinder's header; false if it is not a known C++
// class.
func (p *Process) exceptionClass(header arch.Address) (class uint64, ok bool) {
	class, ok = p.Uint(header, 8)
	if p.armEABI() { // there the class is eight characters
		class = bits.ReverseBytes64(class)
	}
	return class, ok && (class&^0xff == classGNU || class&^0xff == classClang)
}

// armEABI reports whether exceptions follow the "Exception Handling ABI for the Arm Architecture", whose
// headers have another layout.
func (p *Process) armEABI() bool { return p.Arch.Family == arch.FamilyARM }

// typeDistance is how far before the unwinder's header the type is, in bytes.
func (p *Process) typeDistance() uint64 {
	switch {
	case p.armEABI():
		return 32
	case p.Arch.WordSize == 4:
		return 48
	}
	return 80
}

// unwindHeader returns the unwinder's header in an exception's header. The length of what precedes it depends
// on the library and the architecture; the class identifies the header.
func (p *Process) unwindHeader(exception arch.Address) (arch.Address, bool) {
	// On 64-bit systems libc++abi has two more words before the type.
	offsets := []uint64{p.typeDistance(), p.typeDistance() + 2*uint64(p.Arch.WordSize)}
	for _, off := range offsets {
		if _, ok := p.exceptionClass(exception + off); ok {
			return exception + off, true
		}
	}
	return 0, false
}

// thrownByFrame finds the exception by the registers of __cxa_throw and similar functions: they keep the
// address of the object or of one of its headers.
func (p *Process) thrownByFrame() (arch.Address, bool) {
	f := p.frame("__cxa_throw", "__cxa_rethrow", "std::rethrow_exception", "__cxa_call_terminate", "__clang_call_terminate")
	if f == nil {
		return 0, false
	}
	regs := f.Registers()
	for r := range arch.Reg(p.Arch.NumRegs()) {
		v, ok := regs.Get(r)
		if !ok || v == 0 || v%uint64(p.Arch.WordSize) != 0 {
			continue
		}
		for _, header := range []arch.Address{v, v - p.headerSize()} {
			if _, _, ok := p.exception(header); ok {
				return header, true
			}
		}
		if header, ok := p.unwindHeader(v); ok {
			if _, _, ok := p.exception(header); ok {
				return header, true
			}
		}
	}
	return 0, false
}

// headerSize is the size of _Unwind_Exception: the class and two words, six on Windows, padded to the largest
// alignment.
func (p *Process) headerSize() uint64 {
	switch {
	case p.Windows && p.Arch.WordSize == 8:
		return 64
	case p.armEABI():
		return 88
	}
	return 32
}

// typeOf reads the type of the exception with the given unwinder's header; nil if there is none. From the type
// on all libraries have the same fields.
func (p *Process) typeOf(header arch.Address) *typeInfo {
	info, ok := p.LookupWord(header - p.typeDistance())
	if !ok {
		return nil
	}
	return p.typeInfo(info)
}

// exceptions reads an exception, and those nested in it, from its unwinder's header.
func (p *Process) exceptions(header arch.Address) []Thrown {
	var out []Thrown
	for len(out) < maxNested {
		t, object, ok := p.exception(header)
		if !ok {
			break
		}
		out = append(out, t.thrown)
		inner, ok := p.nested(t.info, object)
		if !ok {
			break
		}
		header = inner - p.headerSize()
	}
	return out
}

type thrownType struct {
	thrown Thrown
	info   *typeInfo
}

func (p *Process) exception(header arch.Address) (thrownType, arch.Address, bool) {
	class, ok := p.exceptionClass(header)
	if !ok {
		return thrownType{}, 0, false
	}
	object := header + p.headerSize()
	if class&0xff == dependent {
		if object, ok = p.primary(header, class); !ok {
			return thrownType{}, 0, false
		}
		header = object - p.headerSize()
		if class, ok = p.exceptionClass(header); !ok || class&0xff == dependent {
			return thrownType{}, 0, false
		}
	}
	info := p.typeOf(header)
	if info == nil {
		return thrownType{}, 0, false
	}
	t := Thrown{Type: info.shown(), full: info.full(), Object: object, Runtime: LibStdCxx}
	if class&^0xff == classClang {
		t.Runtime = LibCxxABI
	}
	if sub, ok := p.baseAt(info, object, "St9exception"); ok {
		t.derived = true
		t.What, t.HasWhat = p.what(sub)
	} else {
		t.What, t.HasWhat = p.plainValue(info.name, object)
	}
	return thrownType{t, info}, object, true
}

// primary returns the object that a dependent exception shares (std::exception_ptr). libstdc++ keeps its
// address in place of the type, libc++abi in the word before the type.
func (p *Process) primary(header arch.Address, class uint64) (arch.Address, bool) {
	before := p.typeDistance()
	if class&^0xff == classClang && p.Arch.WordSize == 8 {
		before += 8
	}
	return p.LookupWord(header - before)
}

// nested returns the exception that an object with the base std::nested_exception keeps: a pointer after the
// address of the virtual function table.
func (p *Process) nested(info *typeInfo, object arch.Address) (arch.Address, bool) {
	for _, name := range []string{"St16nested_exception"} {
		if sub, ok := p.baseAt(info, object, name); ok {
			inner, ok := p.LookupWord(sub + uint64(p.Arch.WordSize))
			return inner, ok && inner != 0
		}
	}
	return 0, false
}

// what calls what() of a std::exception without a process: it follows the function's code.
func (p *Process) what(object arch.Address) (string, bool) {
	table, ok := p.LookupWord(object)
	if !ok {
		return "", false
	}
	entry, ok := p.LookupWord(table + 2*uint64(p.Arch.WordSize)) // after two destructors
	if !ok {
		return "", false
	}
	f := follower{Process: p}
	text, ok := f.run(entry, object)
	if !ok {
		return "", false
	}
	return p.cstring(text, maxMessage)
}

// Names of std::string in C++ type information.
const (
	stdString    = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
	stdStringOld = "Ss"
	libcxxString = "NSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEE"
)

// shown returns a type's name as people write it.
func (t *typeInfo) shown() string {
	switch t.name {
	case stdString, stdStringOld, libcxxString:
		return "std::string"
	}
	s := inlineNamespaces.Get().Replace(t.full())
	// The class that std::throw_with_nested derives.
	for _, wrap := range []string{"std::_Nested_exception<", "std::__nested<"} {
		if inner, ok := strings.CutPrefix(s, wrap); ok {
			return strings.TrimSpace(strings.TrimSuffix(inner, ">"))
		}
	}
	return s
}

// full returns a type's name as the run-time libraries print it.
func (t *typeInfo) full() string {
	s := demangle.Name("_ZTS" + t.name)
	if _, name, ok := strings.Cut(s, "typeinfo name for "); ok {
		return name
	}
	return t.name
}

// Inline namespaces of the standard libraries are left out of names shown to people.
var inlineNamespaces = lazy.Value[*strings.Replacer]{Make: func() *strings.Replacer {
	return strings.NewReplacer("std::__1::", "std::", "std::__cxx11::", "std::")
}}
