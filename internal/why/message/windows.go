package message

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Codes of the Windows exceptions that languages use for their own.
const (
	codeMSVC   = 0xe06d7363
	codeGNU    = 0x20474343 // of gcc's unwinder
	codeDotNet = 0xe0434352
)

// Magic numbers of Microsoft's C++ exceptions, the first parameter: compiler versions.
const (
	msvcMagicFirst = 0x19930520
	msvcMagicLast  = 0x19930522
)

// msvcWords reads the C++ exception that a Windows exception was raised for.
//
// The parameters of Microsoft's exceptions are a magic number, the object, its description (_ThrowInfo of
// ehdata.h) and, on 64-bit systems, the address of the image that addresses in the description are relative to.
// gcc's exceptions have its unwinder's header as their parameter.
func msvcWords(p *Process) Words {
	e := &p.Exception
	switch {
	case e.Code == codeGNU && len(e.Params) > 0:
		chain := p.exceptions(e.Params[0])
		if len(chain) == 0 {
			return Words{}
		}
		w := Words{Thrown: chain, Source: "the exception record", Cause: UncaughtException}
		w.Message, w.Reason = uncaught(chain)
		if !p.printed(chain[0].Runtime) { // it is raised first, and printed when nobody takes it
			w.Message = ""
		}
		return w
	case e.Code == codeMSVC && len(e.Params) >= 3 && e.Params[0] >= msvcMagicFirst && e.Params[0] <= msvcMagicLast:
		return p.microsoft(e.Params)
	}
	return Words{}
}

// microsoft reads the type of the object, and the text of the exception.
func (p *Process) microsoft(params []uint64) Words {
	image := uint64(0)
	if p.Arch.WordSize == 8 {
		if len(params) < 4 {
			return Words{}
		}
		image = params[3]
	}
	types, ok := p.catchable(params[2], image)
	if !ok {
		return Words{}
	}
	t := Thrown{Type: types[0].name, Runtime: MSVC, Object: params[1]}
	for _, base := range types {
		if base.name == "std::exception" {
			t.derived = true
			// A class of the program may override what(), the library's own classes do not.
			if strings.HasPrefix(t.Type, "std::") {
				t.What, t.HasWhat = p.microsoftWhat(params[1] + base.offset)
			}
		}
	}
	if !t.HasWhat && !t.derived {
		t.What, t.HasWhat = p.microsoftPlain(t.Type, params[1])
	}
	w := Words{Thrown: []Thrown{t}, Source: "the exception record", Cause: UncaughtException, Reason: "uncaught exception " + t.brief()}
	if t.HasWhat {
		w.Message = t.What
	}
	return w
}

// A catchableType is a type as which an object can be caught: its own type or a base class, at an offset in the
// object.
type catchableType struct {
	name   string
	offset uint64
}

// maxCatchable is how many types of one object are read.
const maxCatchable = 64

// catchable lists the types of the thrown object, its own first.
//
//	_ThrowInfo            four 32-bit fields, the last refers to
//	_CatchableTypeArray   a count, and as many references to
//	_CatchableType        flags, a reference to the type, three offsets (PMD), ...
//	TypeDescriptor        two words, the decorated name
func (p *Process) catchable(info, image arch.Address) ([]catchableType, bool) {
	list, ok := p.reference(info+12, image)
	if !ok {
		return nil, false
	}
	n, ok := p.Uint(list, 4)
	if !ok || n == 0 || n > maxCatchable {
		return nil, false
	}
	var out []catchableType
	for i := range n {
		entry, ok := p.reference(list+4+4*i, image)
		if !ok {
			break
		}
		t, ok := p.reference(entry+4, image)
		if !ok {
			break
		}
		offset, ok1 := p.Uint(entry+8, 4)
		virtual, ok2 := p.Uint(entry+12, 4)
		name, ok3 := p.cstring(t+2*uint64(p.Arch.WordSize), maxName)
		shown, ok4 := microsoftType(name)
		if !ok1 || !ok2 || !ok3 || !ok4 || virtual != 0xffffffff {
			if i == 0 {
				if !ok3 || !ok4 {
					return nil, false
				}
				offset = 0
			} else {
				continue // a virtual base: its offset is in the object's own table
			}
		}
		out = append(out, catchableType{shown, offset})
	}
	return out, len(out) > 0
}

// reference reads a 32-bit address, which on 64-bit systems is relative to the image.
func (p *Process) reference(addr, image arch.Address) (arch.Address, bool) {
	v, ok := p.Uint(addr, 4)
	return p.Arch.Truncate(image + v), ok && v != 0
}

// microsoftType turns a decorated type name, ".?AVruntime_error@std@@", into the source's name.
func microsoftType(decorated string) (string, bool) {
	name, ok := strings.CutPrefix(decorated, ".")
	if !ok {
		return "", false
	}
	const suffix = " `RTTI Type Descriptor'"
	s := demangle.Name("??_R0" + strings.TrimPrefix(name, "?A?A") + "@8")
	s, ok = strings.CutSuffix(s, strings.TrimPrefix(suffix, " "))
	if !ok {
		return "", false
	}
	s = strings.TrimSpace(s)
	for _, kind := range []string{"class ", "struct ", "enum ", "union "} {
		s = strings.TrimPrefix(s, kind)
	}
	return s, s != ""
}

// microsoftWhat reads the text of a std::exception: its address, or null, follows the address of the virtual
// function table.
func (p *Process) microsoftWhat(object arch.Address) (string, bool) {
	text, ok := p.LookupWord(object + uint64(p.Arch.WordSize))
	if !ok {
		return "", false
	}
	if text == 0 {
		return "Unknown exception", true
	}
	return p.cstring(text, maxMessage)
}

// microsoftPlain reads a thrown number or string.
func (p *Process) microsoftPlain(name string, object arch.Address) (string, bool) {
	letter := map[string]string{"char const *": "PKc", "char *": "Pc", "int": "i", "unsigned int": "j", "long": "l", "unsigned long": "m",
		"__int64": "x", "unsigned __int64": "y", "short": "s", "bool": "b", "char": "c", "double": "d", "float": "f"}[name]
	if letter == "" {
		return "", false
	}
	return p.plainValue(letter, object)
}

// dotNetWords names the .NET exception by its parameter, an HRESULT.
func dotNetWords(p *Process) Words {
	e := &p.Exception
	if e.Code != codeDotNet || len(e.Params) == 0 {
		return Words{}
	}
	code := uint32(e.Params[0])
	name := dotNetName(code)
	if name == "" {
		return Words{}
	}
	return Words{Reason: fmt.Sprintf("uncaught .NET exception, %s (HRESULT %#08x)", name, code), Source: "the exception record", Cause: UncaughtException}
}

// dotNetName returns the .NET exception class of an HRESULT (corerror.h); "" if there is none, or more than
// one.
func dotNetName(hresult uint32) string {
	switch hresult {
	case 0x80004003:
		return "System.NullReferenceException"
	case 0x8007000e:
		return "System.OutOfMemoryException"
	case 0x80131500:
		return "System.Exception"
	case 0x80131501:
		return "System.SystemException"
	case 0x80131502:
		return "System.ArgumentOutOfRangeException"
	case 0x80131508:
		return "System.IndexOutOfRangeException"
	case 0x80131509:
		return "System.InvalidOperationException"
	case 0x80131515:
		return "System.NotSupportedException"
	case 0x80131534:
		return "System.TypeInitializationException"
	case 0x80131537:
		return "System.FormatException"
	case 0x80131577:
		return "System.Collections.Generic.KeyNotFoundException"
	case 0x80004002:
		return "System.InvalidCastException"
	case 0x80020012:
		return "System.DivideByZeroException"
	case 0x80131516:
		return "System.OverflowException"
	}
	return ""
}
