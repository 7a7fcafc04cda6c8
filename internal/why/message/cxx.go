package message

import (
	"math/bits"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Exceptions of C++ as the Itanium C++ ABI lays them out (section 2.2): the run-time
// library's header, which ends in the unwinder's own (_Unwind_Exception, 1.2), and the
// object right behind it. libstdc++ and libc++abi agree on what is from the type on.

// Classes of exceptions: vendor and language, in the unwinder's header. The last byte
// is 1 for one that shares another's object.
const (
	classGNU   = 0x474e5543432b2b00 // "GNUCC++"
	classClang = 0x434c4e47432b2b00 // "CLNGC++"
	dependent  = 1
)

// maxNested bounds a chain of nested exceptions.
const maxNested = 8

// terminators are the functions that end the program for an exception, or for the lack
// of one.
var terminators = []string{"std::terminate", "std::__terminate", "__cxa_call_terminate", "__clang_call_terminate", "__cxxabiv1::__terminate"}

// throwers call them where nothing catches an exception.
var throwers = []string{"__cxa_throw", "__cxa_rethrow", "std::rethrow_exception", "_Unwind_Resume", "__cxa_init_primary_exception"}

// cxxWords tells of the exception that std::terminate was called for, and of calls of
// functions that a class does not have.
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
		caught, ok := p.word(globals)
		if ok && caught == 0 {
			return p.noException(end, lib)
		}
		header, known = p.unwindHeader(caught)
	} else {
		header, known = p.thrownByFrame()
		source = "the registers of the frame that threw it"
	}
	if !known {
		return p.lostException(end)
	}
	chain := p.exceptions(header)
	if len(chain) == 0 {
		return p.lostException(end)
	}
	w := Words{Thrown: chain, Source: source, Cause: UncaughtException}
	w.Message, w.Reason = uncaught(chain)
	return w
}

// pureVirtual: the table of an abstract class was used, by its constructor or
// destructor, or after that.
func (p *Process) pureVirtual(f *Frame) Words {
	w := Words{Message: "pure virtual method called\nterminate called without an active exception", Source: "the call of __cxa_pure_virtual", Cause: InvalidArgument, Reason: "call of a pure virtual function"}
	if lib := p.LibraryAt(f.LookupAddr()); lib != nil && strings.Contains(find.BaseName(lib.Path), "c++abi") {
		w.Message = "libc++abi: Pure virtual function called!"
	}
	return w
}

// lostException: std::terminate was called by what throws, and the exception is not to
// be found in the dump.
func (p *Process) lostException(end *Frame) Words {
	if end == nil || p.frame(throwers...) == nil {
		return Words{}
	}
	return Words{Reason: "uncaught C++ exception; what was thrown is not known", Cause: UncaughtException}
}

// noException: std::terminate was called for something else, such as a thread that
// nobody joined.
func (p *Process) noException(end *Frame, lib *libstate.Library) Words {
	if end == nil {
		return Words{}
	}
	w := Words{Message: "terminate called without an active exception", Source: in("caughtExceptions", lib), Cause: UncaughtException,
		Reason: "std::terminate called without an active exception"}
	if lib != nil && strings.Contains(find.BaseName(lib.Path), "c++abi") {
		w.Message = "libc++abi: terminating"
	}
	if p.frame("std::thread::~thread") != nil {
		w.Reason = "a std::thread was destroyed that nobody had joined or detached"
	}
	return w
}

// uncaught is the text that the run-time library writes of an exception, and the reason.
func uncaught(chain []Thrown) (message, reason string) {
	t := &chain[0]
	reason = "uncaught exception " + t.brief()
	for i := range chain[1:] {
		reason += ", nested in it " + chain[i+1].brief()
	}
	said := t.HasWhat && t.derived
	if t.Runtime == LibCxxABI {
		// Its demangler writes no space between brackets.
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

// brief is the type and what it says, if that is more.
func (t *Thrown) brief() string {
	if !t.HasWhat || t.What == "" || t.What == t.Type {
		return t.Type
	}
	return t.Type + ": " + t.What
}

// exceptionGlobals finds the dying thread's __cxa_eh_globals, whose first word is the
// exception caught last, by what __cxa_get_globals does. std::terminate is called with
// the exception caught, also where nothing did.
func (p *Process) exceptionGlobals() (*libstate.Library, arch.Address, bool) {
	lib, entry, ok := p.symbol("__cxa_get_globals")
	if !ok {
		return nil, 0, false
	}
	f := follower{Process: p, call: func(f *follower) (uint64, bool) {
		// The one call is that of __tls_get_addr.
		index, ok := f.regs.Get(f.abi.arg)
		if !ok || p.ThreadLocal == nil {
			return 0, false
		}
		two, ok := p.words(index, 2)
		if !ok {
			return 0, false
		}
		return p.ThreadLocal(two[0], two[1])
	}}
	globals, ok := f.run(entry, 0)
	return lib, globals, ok && globals != 0
}

// exceptionClass reads the class of an exception from the unwinder's header; false
// where there is none of a C++ that is known.
func (p *Process) exceptionClass(header arch.Address) (class uint64, ok bool) {
	class, ok = p.uint(header, 8)
	if p.armEABI() { // there it is eight characters
		class = bits.ReverseBytes64(class)
	}
	return class, ok && (class&^0xff == classGNU || class&^0xff == classClang)
}

// armEABI reports whether exceptions are those of the "Exception Handling ABI for the
// Arm Architecture": their headers are laid out differently.
func (p *Process) armEABI() bool { return p.Arch.Family == arch.FamilyARM }

// typeDistance is how far before the unwinder's header the type is.
func (p *Process) typeDistance() uint64 {
	switch {
	case p.armEABI():
		return 32
	case p.Arch.WordSize == 4:
		return 48
	}
	return 80
}

// unwindHeader finds the unwinder's header in an exception's header. How long what lies
// before it is depends on the library and the architecture; the class tells.
func (p *Process) unwindHeader(exception arch.Address) (arch.Address, bool) {
	// libc++abi has two words more before the type on 64-bit systems.
	offsets := []uint64{p.typeDistance(), p.typeDistance() + 2*uint64(p.Arch.WordSize)}
	for _, off := range offsets {
		if _, ok := p.exceptionClass(exception + off); ok {
			return exception + off, true
		}
	}
	return 0, false
}

// thrownByFrame finds the exception by what __cxa_throw and its like keep in registers:
// the object's address or one of its headers.
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

// headerSize is the size of _Unwind_Exception: the class, two words, and those that
// make it a multiple of the largest alignment. On Windows six words are the unwinder's.
func (p *Process) headerSize() uint64 {
	switch {
	case p.Windows && p.Arch.WordSize == 8:
		return 64
	case p.armEABI():
		return 88
	}
	return 32
}

// typeOf reads the type of the exception whose unwinder's header is given: from the
// type on all libraries have the same fields. Nil where there is none.
func (p *Process) typeOf(header arch.Address) *typeInfo {
	info, ok := p.word(header - p.typeDistance())
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

// primary is the object that a dependent exception shares (std::exception_ptr).
// libstdc++ has its address in place of the type, libc++abi in the word before it.
func (p *Process) primary(header arch.Address, class uint64) (arch.Address, bool) {
	before := p.typeDistance()
	if class&^0xff == classClang && p.Arch.WordSize == 8 {
		before += 8
	}
	return p.word(header - before)
}

// nested finds the exception that an object with the base std::nested_exception keeps:
// a pointer behind the table of virtual functions.
func (p *Process) nested(info *typeInfo, object arch.Address) (arch.Address, bool) {
	for _, name := range []string{"St16nested_exception"} {
		if sub, ok := p.baseAt(info, object, name); ok {
			inner, ok := p.word(sub + uint64(p.Arch.WordSize))
			return inner, ok && inner != 0
		}
	}
	return 0, false
}

// what calls what() of a std::exception, without a process: its code is followed.
func (p *Process) what(object arch.Address) (string, bool) {
	table, ok := p.word(object)
	if !ok {
		return "", false
	}
	entry, ok := p.word(table + 2*uint64(p.Arch.WordSize)) // behind two destructors
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

// Names of std::string in C++'s type information.
const (
	stdString    = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
	stdStringOld = "Ss"
	libcxxString = "NSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEE"
)

// shown is a type's name as people write it.
func (t *typeInfo) shown() string {
	switch t.name {
	case stdString, stdStringOld, libcxxString:
		return "std::string"
	}
	s := inlineNamespaces.Replace(t.full())
	// What std::throw_with_nested makes of a class.
	for _, wrap := range []string{"std::_Nested_exception<", "std::__nested<"} {
		if inner, ok := strings.CutPrefix(s, wrap); ok {
			return strings.TrimSpace(strings.TrimSuffix(inner, ">"))
		}
	}
	return s
}

// full is a type's name as the run-time libraries print it.
func (t *typeInfo) full() string {
	s := demangle.Name("_ZTS" + t.name)
	if _, name, ok := strings.Cut(s, "typeinfo name for "); ok {
		return name
	}
	return t.name
}

// The inline namespaces of the standard libraries are not for people.
var inlineNamespaces = strings.NewReplacer("std::__1::", "std::", "std::__cxx11::", "std::")
