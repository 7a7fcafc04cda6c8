package message

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Errors of gfortran's run-time library. It writes its messages and stores them nowhere, so they are made of the arguments of the
// call to the function that writes them (libgfortran.h):
//
//	runtime_error (format, ...)
//	runtime_error_at (where, format, ...)
//	os_error (text)
//	os_error_at (where, format, ...)
//	generate_error (common, family, text)
//	error_stop_string (text, length, quiet)
//	error_stop_numeric (code, quiet)
//
// The library then calls exit: such a program has a core if a function that exit calls aborts.

// fortranError returns what makes the message of one of these functions, whose name is without the prefixes of the exported names and of
// the library's own; nil for any other. caller is the frame that calls it.
func fortranError(name string) func(p *Process, caller int) (text string, ok bool) {
	switch name {
	case "runtime_error":
		return func(p *Process, i int) (string, bool) { return p.fortranFormat("", i, 0) }
	case "runtime_error_at":
		return (*Process).fortranAt
	case "os_error":
		return func(p *Process, i int) (string, bool) { return p.fortranText(i, 0) }
	case "os_error_at":
		return (*Process).fortranOSError
	case "generate_error":
		return (*Process).fortranGenerated
	case "error_stop_string":
		return (*Process).fortranStop
	case "error_stop_numeric":
		return (*Process).fortranStopCode
	}
	return nil
}

// fortranName is the name of a function of gfortran's library without its prefix.
func fortranName(f *Frame) (string, bool) {
	for _, n := range f.Names {
		for _, prefix := range []string{"_gfortran_", "_gfortrani_"} {
			if rest, ok := strings.CutPrefix(n, prefix); ok {
				return rest, true
			}
		}
	}
	return "", false
}

// fortranWords reads the message of the function of gfortran's library that ended the program.
func fortranWords(p *Process) Words {
	for i := range p.Stack {
		name, ok := fortranName(&p.Stack[i])
		read := fortranError(name)
		if !ok || read == nil {
			continue
		}
		w := Words{Source: "the call to _gfortran_" + name, Reason: "Fortran runtime error"}
		stop := strings.HasPrefix(name, "error_stop")
		if stop {
			w.Reason = "ERROR STOP"
		}
		if p.Argument == nil {
			return w
		}
		text, ok := read(p, i+1)
		if !ok {
			return w
		}
		w.Reason = text
		if _, what, ok := strings.Cut(text, "\n"); ok && !stop {
			w.Reason = what // the report has the place
		}
		if strings.HasPrefix(name, "os_error") { // the library writes what the error was, too
			if strings.Contains(text, "Error allocating ") {
				w.Cause = OutOfMemory
			}
			return w
		}
		w.Message = text
		return w
	}
	return Words{}
}

// fortranText reads the text that is the n-th argument of the call.
func (p *Process) fortranText(caller, n int) (string, bool) {
	at, ok := p.Argument(caller, n, false)
	if !ok {
		return "", false
	}
	s, ok := p.cstring(at, maxMessage)
	if !ok || s == "" || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
		return "", false
	}
	return s, true
}

const fortranPrefix = "Fortran runtime error: "

func (p *Process) fortranAt(caller int) (string, bool) {
	where, ok := p.fortranText(caller, 0)
	if !ok {
		return "", false
	}
	return p.fortranFormat(where+"\n", caller, 1)
}

// fortranFormat formats the text whose format is the n-th argument.
func (p *Process) fortranFormat(before string, caller, n int) (string, bool) {
	format, ok := p.fortranText(caller, n)
	if !ok {
		return "", false
	}
	text, ok := p.fortranPrinted(format, caller, n+1)
	return before + fortranPrefix + text, ok
}

// fortranOSError is what is known of the system's errors: the number of the error is not.
func (p *Process) fortranOSError(caller int) (string, bool) {
	where, ok := p.fortranText(caller, 0)
	format, ok2 := p.fortranText(caller, 1)
	if !ok || !ok2 {
		return "", false
	}
	text, ok := p.fortranPrinted(format, caller, 2)
	return where + ": " + text, ok
}

// fortranPrinted formats as printf does, with the arguments from the n-th on; false if one is not known, or the conversion is not one
// that the compiler uses.
func (p *Process) fortranPrinted(format string, caller, n int) (string, bool) {
	var out strings.Builder
	for {
		text, rest, more := strings.Cut(format, "%")
		out.WriteString(text)
		if !more {
			return out.String(), true
		}
		if after, ok := strings.CutPrefix(rest, "%"); ok {
			out.WriteByte('%')
			format = after
			continue
		}
		long := strings.HasPrefix(rest, "l") || strings.HasPrefix(rest, "z")
		verb := strings.TrimLeft(rest, "lz")
		if verb == "" {
			return "", false
		}
		v, ok := p.variadic(caller, n)
		if !ok {
			return "", false
		}
		n++
		size := 4
		if long {
			size = p.Arch.WordSize
		}
		switch verb[0] {
		case 'd', 'i':
			shift := uint(64 - 8*size)
			out.WriteString(strconv.FormatInt(int64(v<<shift)>>shift, 10))
		case 'u':
			out.WriteString(strconv.FormatUint(v<<uint(64-8*size)>>uint(64-8*size), 10))
		case 's':
			s, ok := p.cstring(v, maxMessage)
			if !ok {
				return "", false
			}
			out.WriteString(s)
		default:
			return "", false
		}
		format = verb[1:]
	}
}

// variadic returns the n-th argument of the call in a frame, one of those whose number and types vary. The function that is called keeps
// those that were passed in registers, for va_arg.
func (p *Process) variadic(caller, n int) (uint64, bool) {
	if v, ok := p.Argument(caller, n, false); ok {
		return v, true
	}
	if p.Arch != arch.AMD64 || p.Windows || caller == 0 {
		return 0, false
	}
	const inRegisters, vectors = 6, 48
	f := &p.Stack[caller-1]
	cfa, ok := f.CFA()
	if !ok {
		return 0, false
	}
	if n >= inRegisters {
		return p.LookupWord(cfa + 8*uint64(n-inRegisters))
	}
	// A va_list: how much of the registers was used, of general ones and of vectors, where the stack's arguments are, where the registers are.
	ws := p.frameWords(f)
	for i := 0; i+2 < len(ws); i++ {
		used, save := uint32(ws[i]), ws[i+2]
		if ws[i+1] >= cfa && (ws[i+1]-cfa)%8 == 0 && ws[i+1]-cfa < maxMessage && used%8 == 0 && used <= vectors && ws[i]>>32 == vectors && save >= f.SP() && save+vectors <= cfa {
			return p.LookupWord(save + 8*uint64(n))
		}
	}
	return 0, false
}

// fortranGenerated reads the error of an input or output statement. Its description begins with two 32-bit numbers, the address of the source's name,
// and the line (st_parameter_common).
func (p *Process) fortranGenerated(caller int) (string, bool) {
	text, ok := p.fortranText(caller, 2)
	if at, known := p.Argument(caller, 2, false); known && at == 0 { // the library has a text for the family
		text, ok = p.fortranFamily(caller)
	}
	if !ok {
		return "", false
	}
	text = fortranPrefix + text
	if at, ok := p.Argument(caller, 0, false); ok {
		text = p.fortranPlace(at) + text
	}
	return text, true
}

// fortranFamily is the library's text for an error without one of its own, of those whose numbers Fortran's IOSTAT_END and IOSTAT_EOR fix.
func (p *Process) fortranFamily(caller int) (string, bool) {
	family, ok := p.Argument(caller, 1, false)
	switch {
	case ok && int32(family) == -1:
		return "End of file", true
	case ok && int32(family) == -2:
		return "End of record", true
	}
	return "", false
}

// fortranPlace is the line in which the library writes where the statement is; "" if it is not known, or names a unit, and the file that was opened.
func (p *Process) fortranPlace(common arch.Address) string {
	name, ok := p.LookupWord(common + 8)
	unit, ok2 := p.Uint(common+4, 4)
	if !ok || !ok2 || int32(unit) > 0 {
		return ""
	}
	file, ok := p.cstring(name, maxName)
	line, ok2 := p.Uint(common+8+uint64(p.Arch.WordSize), 4)
	if !ok || !ok2 || file == "" || line == 0 {
		return ""
	}
	return "At line " + strconv.FormatUint(line, 10) + " of file " + file + "\n"
}

func (p *Process) fortranStop(caller int) (string, bool) {
	at, ok := p.Argument(caller, 0, false)
	n, ok2 := p.Argument(caller, 1, false)
	if !ok || !ok2 {
		return "", false
	}
	s, ok := p.strictText(at, n)
	return "ERROR STOP " + s, ok
}

func (p *Process) fortranStopCode(caller int) (string, bool) {
	code, ok := p.Argument(caller, 0, false)
	return "ERROR STOP " + strconv.Itoa(int(int32(code))), ok
}
