package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Sanitizers (compiler-rt, and GCC's copy of it). The address sanitizer builds its report in a buffer and
// copies it before it prints it and ends the program. A register or a word in the frame of the printing
// function points to the copy (~ScopedInErrorReport, asan_report.cpp). The other sanitizers print as they go;
// the failed check is known from the function that the compiled code called.

// maxReport is how much of a report is read, in bytes: the sentences at its start, with three stacks between
// them.
const maxReport = 16 << 10

func sanitizerWords(p *Process) Words {
	var asan, undefined string
	for i := range p.Stack {
		for _, name := range p.Stack[i].Names {
			name = strings.TrimPrefix(name, "__ubsan::")
			switch {
			case strings.HasPrefix(name, "__ubsan_handle_") && undefined == "":
				undefined = name
			case asanName(name):
				asan = name
			}
		}
	}
	switch {
	case undefined != "":
		return undefinedWords(undefined)
	case asan != "":
		return p.asanWords(asan)
	}
	// Of a stripped runtime only what it exports has a name: the functions that it replaces.
	for i := range p.Stack[:min(len(p.Stack), maxRuntimeFrames)] {
		if slices.ContainsFunc(p.Stack[i].Names, interceptor) {
			if r, name, ok := p.findASanReport(i); ok {
				return r.words(name)
			}
			break
		}
	}
	return Words{}
}

// maxRuntimeFrames is how many frames the sanitizer's runtime and the C library have at most when the process dies.
const maxRuntimeFrames = 24

func interceptor(name string) bool {
	return strings.HasPrefix(strings.TrimLeft(name, "_"), "interceptor_")
}

func asanName(name string) bool {
	return strings.HasPrefix(name, "__asan_report_") || strings.HasPrefix(name, "__asan::Report") ||
		strings.HasPrefix(name, "__asan::ScopedInErrorReport::")
}

// undefinedChecks describes the handlers of the undefined behaviour sanitizer (ubsan_handlers.h), by the middle
// of their names.
var undefinedChecks = [...][2]string{
	{"add_overflow", "integer overflow in an addition"},
	{"sub_overflow", "integer overflow in a subtraction"},
	{"mul_overflow", "integer overflow in a multiplication"},
	{"negate_overflow", "integer overflow in a negation"},
	{"divrem_overflow", "division by zero, or overflow in a division"},
	{"shift_out_of_bounds", "shift by too many or too few bits"},
	{"out_of_bounds", "subscript out of bounds"},
	{"type_mismatch", "null pointer, misaligned pointer or object too small"},
	{"alignment_assumption", "alignment assumption violated"},
	{"builtin_unreachable", "unreachable code reached"},
	{"missing_return", "end of a function reached without returning a value"},
	{"vla_bound_not_positive", "variable-length array whose length is not positive"},
	{"float_cast_overflow", "floating-point number that does not fit an integer"},
	{"load_invalid_value", "invalid value for its type"},
	{"implicit_conversion", "conversion that changes the value"},
	{"invalid_builtin", "invalid argument to a builtin function"},
	{"function_type_mismatch", "call through a pointer to another function type"},
	{"nonnull_return", "null returned from a function that must not return null"},
	{"nonnull_arg", "null passed for a nonnull parameter"},
	{"nullability_return", "null returned from a function that must not return null"},
	{"nullability_arg", "null passed for a nonnull parameter"},
	{"pointer_overflow", "pointer arithmetic that overflows"},
	{"cfi_check_fail", "control flow integrity check failed"},
	{"dynamic_type_cache_miss", "object type does not match its pointer's"},
}

func undefinedWords(handler string) Words {
	check := strings.TrimPrefix(handler, "__ubsan_handle_")
	text := strings.ReplaceAll(strings.TrimSuffix(check, "_abort"), "_", " ")
	for _, c := range undefinedChecks {
		if strings.HasPrefix(check, c[0]) {
			text = c[1]
			break
		}
	}
	return Words{Reason: "undefined behaviour found: " + text, Source: "the call to " + handler, Cause: SanitizerError}
}

// asanWords reads the address sanitizer's report: the error, and where the memory was. Without the report only
// the failed check is known, from the function that was called.
func (p *Process) asanWords(function string) Words {
	w := Words{Reason: "AddressSanitizer: " + asanCheck(function), Source: "the call to " + function, Cause: SanitizerError}
	for i := min(len(p.Stack), maxRuntimeFrames) - 1; i >= 0; i-- {
		if slices.ContainsFunc(p.Stack[i].Names, asanName) {
			if r, name, ok := p.findASanReport(i); ok {
				return r.words(name)
			}
			break
		}
	}
	return w
}

// findASanReport reads the report that one of the frames up to the last points to, and names that frame. Those of a stripped runtime have no names.
func (p *Process) findASanReport(last int) (r asanText, name string, ok bool) {
	for i := range last + 1 {
		f := &p.Stack[i]
		if r, ok := p.asanReport(append(p.savedRegisters(f), p.frameWords(f)...)); ok {
			if n := len(f.Names); n > 0 {
				return r, "the frame of " + f.Names[n-1], true
			}
			return r, fmt.Sprintf("frame #%d", i), true
		}
	}
	return asanText{}, "", false
}

func (r *asanText) words(source string) Words {
	return Words{Reason: "AddressSanitizer: " + r.found, Source: source, Cause: SanitizerError, Message: r.message, Finding: strings.Join(r.findings, ", ")}
}

// savedRegisters returns the known register values of a frame.
func (p *Process) savedRegisters(f *Frame) []uint64 {
	var out []uint64
	regs := f.Registers()
	for r := range arch.Reg(p.Arch.NumRegs()) {
		if v, ok := regs.Get(r); ok {
			out = append(out, v)
		}
	}
	return out
}

// asanReport reads the report that one of the words ws points to.
func (p *Process) asanReport(ws []uint64) (asanText, bool) {
	const page = 4096
	for _, at := range ws {
		if at < page || at%page != 0 {
			continue
		}
		if head := p.Some(at, 2); string(head) != "==" {
			continue
		}
		if text, ok := p.cstring(at, maxReport); ok {
			if r := parseASan(dropEscapes(text)); r.found != "" {
				return r, true
			}
		}
	}
	return asanText{}, false
}

// asanCheck describes the check by the name of the function that reports it: __asan_report_load4.
func asanCheck(function string) string {
	check := strings.TrimSuffix(strings.TrimPrefix(function, "__asan_report_"), "_noabort")
	for _, access := range [...][2]string{{"load", "bad read"}, {"store", "bad write"}, {"exp_load", "bad read"}, {"exp_store", "bad write"}} {
		if size, ok := strings.CutPrefix(check, access[0]); ok {
			size = strings.Trim(size, "_n")
			switch size {
			case "":
				return access[1]
			case "1":
				return access[1] + " of 1 byte"
			}
			return access[1] + " of " + size + " bytes"
		}
	}
	return "error found"
}

// An asanText is the content of an address sanitizer report.
type asanText struct {
	message  string   // the sentences that describe the error, as printed
	found    string   // the error, and the access
	findings []string // where the memory is, who freed and who allocated it
}

// parseASan parses a report:
//
//	==PID==ERROR: AddressSanitizer: ERROR on address A at pc P bp B sp S
//	READ of size N at A thread T
//	    #0 P in FUNCTION FILE:LINE
//
//	A is located N bytes inside of N-byte region [A,A)
//	freed by thread T here:
//	    #0 ...
func parseASan(text string) asanText {
	var out asanText
	const marker = "ERROR: AddressSanitizer: "
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		_, said, isError := strings.Cut(line, marker)
		switch {
		case isError && out.found == "":
			out.message = line
			out.found = asanError(said)
		case out.found == "":
		case strings.HasPrefix(line, "READ of size ") || strings.HasPrefix(line, "WRITE of size "):
			out.message += "\n" + line
			out.found += ": " + asanAccess(line)
		case strings.Contains(line, " is located "):
			out.findings = append(out.findings, line)
		case strings.HasSuffix(line, " here:") && strings.Contains(line, " by thread "):
			if where := asanWhere(lines[i+1:]); where != "" {
				out.findings = append(out.findings, strings.TrimSuffix(line, " here:")+" in "+where)
			}
		}
	}
	return out
}

// asanError returns the kind of error, without the registers that follow it.
func asanError(said string) string {
	for _, end := range [...]string{" on address ", " on unknown address ", " at pc ", " (pc "} {
		said, _, _ = strings.Cut(said, end)
	}
	return strings.TrimSuffix(said, ":")
}

// asanAccess turns "READ of size 4 at 0x60 thread T0" into the words that reports use for an access.
func asanAccess(line string) string {
	f := strings.Fields(line)
	if len(f) < 6 {
		return line
	}
	unit := " bytes at "
	if f[3] == "1" {
		unit = " byte at "
	}
	return strings.ToLower(f[0]) + " of " + f[3] + unit + f[5]
}

// asanWhere returns the function and place of the first frame that is not the sanitizer's own. Its own frames
// come first and have the names of the functions that they replace: of one that is linked into the program without
// debug information, the first frame has nothing else that tells.
func asanWhere(lines []string) string {
	if len(lines) > 1 && strings.HasPrefix(strings.TrimSpace(lines[0]), "#0 ") && strings.HasPrefix(strings.TrimSpace(lines[1]), "#1 ") {
		lines = lines[1:]
	}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") {
			return ""
		}
		_, frame, ok := strings.Cut(line, " in ")
		if i := strings.Index(line, " ("); !ok && i > 0 { // without a name, as of a stripped program
			if in, _, ok := strings.Cut(line[i+len(" ("):], ")"); ok && !strings.Contains(in, "libasan.so") {
				return find.BaseName(in)
			}
		}
		if !ok || strings.HasPrefix(frame, "operator ") || strings.HasPrefix(frame, "__interceptor_") || strings.Contains(frame, "/libsanitizer/") ||
			strings.Contains(frame, "/compiler-rt/") {
			continue
		}
		if i := strings.LastIndexByte(frame, ' '); i > 0 && strings.ContainsRune(frame[i:], ':') {
			return frame[:i] + " at " + find.BaseName(frame[i+1:])
		}
		return frame
	}
	return ""
}

// dropEscapes removes terminal colours from a text: ESC [ ... m.
func dropEscapes(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}
