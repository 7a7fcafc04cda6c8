package reason

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/wincodes"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
)

// Codes of Windows exceptions (winnt.h, ntstatus.h), and of the run-time libraries of languages.
const (
	winGuardPage        = 0x80000001
	winBreakpoint       = 0x80000003
	winAccessViolation  = 0xc0000005
	winInPageError      = 0xc0000006
	winStackOverflow    = 0xc00000fd
	winFastFail         = 0xc0000409
	winHeapCorruption   = 0xc0000374
	winFatalUserCall    = 0xc000041d
	winCppException     = 0xe06d7363
	winOutOfMemory      = 0xe0000008
	winInvalidParameter = 0xc000000d
	winCRTInvalidParam  = 0xc0000417
	winIllegal          = 0xc000001d
	winDivByZero        = 0xc0000094
	winIntOverflow      = 0xc0000095
	winPrivileged       = 0xc0000096
)

var winExceptions = lazy.Value[map[uint32]named]{Make: func() map[uint32]named {
	return map[uint32]named{
		winGuardPage:        {"EXCEPTION_GUARD_PAGE", "access to a guard page"},
		0x80000002:          {"EXCEPTION_DATATYPE_MISALIGNMENT", "misaligned access"},
		winBreakpoint:       {"EXCEPTION_BREAKPOINT", "breakpoint"},
		0x80000004:          {"EXCEPTION_SINGLE_STEP", "single step"},
		0x40000015:          {"STATUS_FATAL_APP_EXIT", "the program ended itself"},
		0x40010005:          {"DBG_CONTROL_C", "Ctrl+C"},
		0x40010006:          {"DBG_PRINTEXCEPTION_C", "debug output, not a crash"},
		0x4001000a:          {"DBG_PRINTEXCEPTION_WIDE_C", "debug output, not a crash"},
		0x40080201:          {"EXCEPTION_RO_ORIGINATEERROR", "report of a WinRT error, not a crash"},
		0x40080202:          {"EXCEPTION_RO_TRANSFORMERROR", "report of a WinRT error, not a crash"},
		0x406d1388:          {"MS_VC_EXCEPTION", "thread name for the debugger, not a crash"},
		0x0517a7ed:          {"Simulated Exception", "dump without a crash"},
		winAccessViolation:  {"EXCEPTION_ACCESS_VIOLATION", "access violation"},
		winInPageError:      {"EXCEPTION_IN_PAGE_ERROR", "a page could not be loaded"},
		0xc0000008:          {"EXCEPTION_INVALID_HANDLE", "invalid handle"},
		winInvalidParameter: {"STATUS_INVALID_PARAMETER", "invalid parameter"},
		0xc0000017:          {"STATUS_NO_MEMORY", "out of memory"},
		winIllegal:          {"EXCEPTION_ILLEGAL_INSTRUCTION", "illegal instruction"},
		0xc0000025:          {"EXCEPTION_NONCONTINUABLE_EXCEPTION", "the program continued after a noncontinuable exception"},
		0xc0000026:          {"EXCEPTION_INVALID_DISPOSITION", "an exception handler returned an invalid disposition"},
		0xc000008c:          {"EXCEPTION_ARRAY_BOUNDS_EXCEEDED", "subscript out of range"},
		0xc000008d:          {"EXCEPTION_FLT_DENORMAL_OPERAND", "denormal floating-point operand"},
		0xc000008e:          {"EXCEPTION_FLT_DIVIDE_BY_ZERO", "floating-point division by zero"},
		0xc000008f:          {"EXCEPTION_FLT_INEXACT_RESULT", "inexact floating-point result"},
		0xc0000090:          {"EXCEPTION_FLT_INVALID_OPERATION", "invalid floating-point operation"},
		0xc0000091:          {"EXCEPTION_FLT_OVERFLOW", "floating-point overflow"},
		0xc0000092:          {"EXCEPTION_FLT_STACK_CHECK", "floating-point stack overflow or underflow"},
		0xc0000093:          {"EXCEPTION_FLT_UNDERFLOW", "floating-point underflow"},
		winDivByZero:        {"EXCEPTION_INT_DIVIDE_BY_ZERO", "integer division by zero"},
		winIntOverflow:      {"EXCEPTION_INT_OVERFLOW", "integer overflow"},
		winPrivileged:       {"EXCEPTION_PRIV_INSTRUCTION", "privileged instruction"},
		winStackOverflow:    {"EXCEPTION_STACK_OVERFLOW", "stack overflow"},
		0xc0000135:          {"STATUS_DLL_NOT_FOUND", "a DLL was not found"},
		0xc0000138:          {"STATUS_ORDINAL_NOT_FOUND", "a DLL lacks a function imported by ordinal"},
		0xc0000139:          {"STATUS_ENTRYPOINT_NOT_FOUND", "a DLL lacks a function imported by name"},
		0xc000013a:          {"STATUS_CONTROL_C_EXIT", "ended by Ctrl+C"},
		0xc0000142:          {"STATUS_DLL_INIT_FAILED", "a DLL failed to initialise"},
		0xc0000194:          {"EXCEPTION_POSSIBLE_DEADLOCK", "possible deadlock"},
		0xc00002c9:          {"STATUS_REG_NAT_CONSUMPTION", "use of a register without a value (NaT)"},
		winHeapCorruption:   {"STATUS_HEAP_CORRUPTION", "corrupted heap"},
		winFastFail:         {"EXCEPTION_STACK_BUFFER_OVERRUN", "the program ended itself (fast fail)"},
		winCRTInvalidParam:  {"STATUS_INVALID_CRUNTIME_PARAMETER", "invalid parameter passed to a C library function"},
		winFatalUserCall:    {"STATUS_FATAL_USER_CALLBACK_EXCEPTION", "unhandled exception in a callback from the kernel"},
		0xc0000420:          {"STATUS_ASSERTION_FAILURE", "assertion failed"},
		0xc0000602:          {"STATUS_FAIL_FAST_EXCEPTION", "the program ended itself (fast fail)"},
		0xc06d007e:          {"VCPP_EXCEPTION_MODULE_NOT_FOUND", "a delay-loaded DLL was not found"},
		0xc06d007f:          {"VCPP_EXCEPTION_PROCEDURE_NOT_FOUND", "a delay-loaded DLL lacks a function"},
		winOutOfMemory:      {"Out of Memory", "out of memory"},
		winCppException:     {"Unhandled C++ Exception", "uncaught C++ exception"},
		0xe0434352:          {"CLR exception", "uncaught .NET exception"},
		0xe0434f4d:          {"CLR exception", "uncaught .NET exception"},
		0xe0464645:          {"CLR fatal error", ".NET runtime failure"},
		0x80131506:          {"COR_E_EXECUTIONENGINE", ".NET runtime failure"},
		0x80131623:          {"COR_E_FAILFAST", "the .NET program ended itself (Environment.FailFast)"},
		0x20474343:          {"GCC exception", "uncaught C++ exception"},
		0x0eedfade:          {"Delphi exception", "uncaught Delphi exception"},
		0x0eefface:          {"Borland C++ exception", "uncaught C++ exception"},
		0xe0465043:          {"Free Pascal exception", "uncaught Free Pascal exception"},
		0xe0440001:          {"D exception", "uncaught D exception"},
	}
}}

// fastFails are the names of the codes of __fastfail (winnt.h, FAST_FAIL_...) by number; "" for a number
// without a name.
var fastFails = [...]string{
	0: "LEGACY_GS_VIOLATION", 1: "VTGUARD_CHECK_FAILURE", 2: "STACK_COOKIE_CHECK_FAILURE", 3: "CORRUPT_LIST_ENTRY", 4: "INCORRECT_STACK",
	5: "INVALID_ARG", 6: "GS_COOKIE_INIT", 7: "FATAL_APP_EXIT", 8: "RANGE_CHECK_FAILURE", 9: "UNSAFE_REGISTRY_ACCESS",
	10: "GUARD_ICALL_CHECK_FAILURE", 11: "GUARD_WRITE_CHECK_FAILURE", 12: "INVALID_FIBER_SWITCH", 13: "INVALID_SET_OF_CONTEXT",
	14: "INVALID_REFERENCE_COUNT", 18: "INVALID_JUMP_BUFFER", 19: "MRDATA_MODIFIED", 20: "CERTIFICATION_FAILURE", 21: "INVALID_EXCEPTION_CHAIN",
	22: "CRYPTO_LIBRARY", 23: "INVALID_CALL_IN_DLL_CALLOUT", 24: "INVALID_IMAGE_BASE", 25: "DLOAD_PROTECTION_FAILURE", 26: "UNSAFE_EXTENSION_CALL",
	27: "DEPRECATED_SERVICE_INVOKED", 28: "INVALID_BUFFER_ACCESS", 29: "INVALID_BALANCED_TREE", 30: "INVALID_NEXT_THREAD",
	31: "GUARD_ICALL_CHECK_SUPPRESSED", 32: "APCS_DISABLED", 33: "INVALID_IDLE_STATE", 34: "MRDATA_PROTECTION_FAILURE",
	35: "UNEXPECTED_HEAP_EXCEPTION", 36: "INVALID_LOCK_STATE", 37: "GUARD_JUMPTABLE", 38: "INVALID_LONGJUMP_TARGET", 39: "INVALID_DISPATCH_CONTEXT",
	40: "INVALID_THREAD", 41: "INVALID_SYSCALL_NUMBER", 42: "INVALID_FILE_OPERATION", 43: "LPAC_ACCESS_DENIED", 44: "GUARD_SS_FAILURE",
	45: "LOADER_CONTINUITY_FAILURE", 46: "GUARD_EXPORT_SUPPRESSION_FAILURE", 47: "INVALID_CONTROL_STACK", 48: "SET_CONTEXT_DENIED",
	49: "INVALID_IAT", 50: "HEAP_METADATA_CORRUPTION", 51: "PAYLOAD_RESTRICTION_VIOLATION", 52: "LOW_LABEL_ACCESS_DENIED",
	53: "ENCLAVE_CALL_FAILURE", 54: "UNHANDLED_LSS_EXCEPTON", 55: "ADMINLESS_ACCESS_DENIED", 56: "UNEXPECTED_CALL",
	57: "CONTROL_INVALID_RETURN_ADDRESS", 58: "UNEXPECTED_HOST_BEHAVIOR", 59: "FLAGS_CORRUPTION", 60: "VEH_CORRUPTION", 61: "ETW_CORRUPTION",
	62: "RIO_ABORT", 63: "INVALID_PFN", 64: "GUARD_ICALL_CHECK_FAILURE_XFG", 65: "CAST_GUARD", 66: "HOST_VISIBILITY_CHANGE",
	67: "KERNEL_CET_SHADOW_STACK_ASSIST", 68: "PATCH_CALLBACK_FAILED", 69: "NTDLL_PATCH_FAILED", 70: "INVALID_FLS_DATA", 71: "ASAN_ERROR",
	72: "CLR_EXCEPTION_AOT", 73: "POINTER_AUTH_INVALID_RETURN_ADDRESS",
}

// The meaning of the most common codes, if the name does not say it.
var fastFailWords = lazy.Value[map[uint64]string]{Make: func() map[uint64]string {
	return map[uint64]string{
		0:  "stack buffer overrun",
		1:  "corrupted virtual function table",
		2:  "stack buffer overrun: the cookie in front of the return address has changed",
		3:  "corrupted doubly linked list",
		4:  "the stack pointer is outside the thread's stack",
		5:  "invalid parameter passed to a C library function",
		7:  "the program ended itself (abort)",
		8:  "subscript out of range",
		10: "indirect call to an address that is not a function (control flow guard)",
		13: "attempt to set an invalid thread context",
		18: "corrupted longjmp buffer",
		21: "corrupted exception handler chain",
		50: "corrupted heap",
		57: "the return address differs from the shadow stack's",
		64: "indirect call to an address that is not a function of this type (control flow guard)",
		65: "invalid cast to a derived class",
		71: "error found by the address sanitizer",
	}
}}

// FastFailName returns the name of a __fastfail code; "" for an unknown one.
func FastFailName(code uint64) string {
	if code < uint64(len(fastFails)) && fastFails[code] != "" {
		return "FAST_FAIL_" + fastFails[code]
	}
	return ""
}

// accessKind returns the kind of access, which is the first parameter of EXCEPTION_ACCESS_VIOLATION and
// EXCEPTION_IN_PAGE_ERROR. The second parameter is the address.
func accessKind(n uint64) string {
	switch n {
	case 0:
		return "read"
	case 1:
		return "write"
	case 8:
		return "execute"
	}
	return ""
}

var accessSuffix = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{"read": "_READ", "write": "_WRITE", "execute": "_EXEC"}
}}

// memoryFault returns the access that an exception was raised for, if it has one.
func (e Exception) memoryFault() (kind string, addr uint64, ok bool) {
	if e.Of != WindowsExceptions || len(e.Params) < 2 {
		return "", 0, false
	}
	switch e.Code {
	case winAccessViolation, winInPageError, winGuardPage, winStackOverflow:
		return accessKind(e.Params[0]), e.Params[1], true
	}
	return "", 0, false
}

func (e Exception) windowsName() string {
	name := winExceptions.Get()[e.Code].name
	if name == "" {
		name = orElse(statusName(e.Code), fmt.Sprintf("%#08x", e.Code))
	}
	kind, _, _ := e.memoryFault()
	switch {
	case e.Code == winAccessViolation || e.Code == winInPageError:
		name += accessSuffix.Get()[kind]
		if e.Code == winInPageError && len(e.Params) > 2 {
			name += " / " + status(e.Params[2])
		}
	case e.Code == winFastFail && len(e.Params) > 0:
		if f := FastFailName(e.Params[0]); f != "" {
			name += " / " + f
		}
	}
	return name
}

// statusName returns the name of a code that is no exception by itself, but that programs raise as one: of an NTSTATUS, of an HRESULT
// or of an error of remote procedure calls; "" if it has none. Programs and languages define codes with the customer bit.
func statusName(code uint32) string {
	for _, of := range [...]func(uint32) string{wincodes.Status, wincodes.HResult, wincodes.RPC} {
		if name := of(code); name != "" {
			return name
		}
	}
	const fromWin32 = 0x80070000
	if name := systemErrorName(code & 0xffff); code&^0xffff == fromWin32 && name != "" {
		return "HRESULT_FROM_WIN32(" + name + ")"
	}
	return ""
}

// status is an NTSTATUS as text, of the low half of an exception's parameter.
func status(param uint64) string {
	return orElse(wincodes.Status(uint32(param)), fmt.Sprintf("%#08x", uint32(param)))
}

// statusWords makes words of the name of a status: "STATUS_DATA_ERROR" becomes "data error".
func statusWords(name string) string {
	if from, ok := strings.CutPrefix(strings.TrimSuffix(name, ")"), "HRESULT_FROM_"); ok {
		_, name, _ = strings.Cut(from, "(")
	}
	for _, prefix := range [...]string{"STATUS_", "ERROR_"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return readable(rest, "")
		}
	}
	return name
}

// allOnes is the address that Windows reports for an access to a non-canonical address.
const allOnes = ^uint64(0)

func (in *Input) whyWindows(e Exception) Reason {
	kind, addr, hasAccess := e.memoryFault()
	switch {
	case hasAccess:
		return in.windowsFault(e, kind, addr)
	case e.Code == winFastFail:
		return fastFail(e)
	case e.Code == winOutOfMemory && len(e.Params) > 0:
		return Reason{Kind: report.CrashOutOfMemory, Text: fmt.Sprintf("out of memory: %d bytes requested", e.Params[0])}
	case e.Assertion != "":
		return Reason{Kind: report.CrashAssertion, Text: "assertion failed: " + e.Assertion}
	case e.Code == winBreakpoint:
		return in.windowsBreakpoint()
	case e.Code == winPrivileged:
		return Reason{Kind: report.CrashPrivileged, Text: in.privileged(), AtInst: true}
	}
	n, known := winExceptions.Get()[e.Code]
	if name := statusName(e.Code); !known && name != "" {
		return Reason{Kind: windowsKind(e.Code), Text: fmt.Sprintf("%s (%#08x)", statusWords(name), e.Code)}
	}
	if !known {
		return Reason{Kind: windowsKind(e.Code), Text: unknownCode(e.Code)}
	}
	r := Reason{Kind: windowsKind(e.Code), Text: n.words, AtInst: atInstruction(e.Code)}
	if kind, text := in.division(); e.Code == winIntOverflow && kind == report.CrashDivOverflow {
		r.Kind, r.Text = kind, text
	}
	if kind, text := in.trap(); e.Code == winIllegal && kind == report.CrashTrap {
		r.Kind, r.Text = kind, text
	}
	return r
}

// windowsFault explains an exception that was raised for a memory access.
func (in *Input) windowsFault(e Exception, kind string, addr uint64) Reason {
	r := in.plainFault(kind, addr)
	switch e.Code {
	case winAccessViolation:
		if addr == allOnes && kind == "read" && in.Arch != nil && in.Arch.WordSize == 8 {
			return in.addressless(kind)
		}
		return in.faultAt(kind, addr)
	case winInPageError:
		r.Kind = report.CrashBusError
		r.Text += ": the page could not be loaded"
		if len(e.Params) > 2 {
			r.Text += " (" + status(e.Params[2]) + ")"
		}
	case winStackOverflow:
		r.Kind, r.Text = report.CrashStackOverflow, "stack overflow: "+r.Text
	case winGuardPage:
		r.Kind = of(&noAccessKinds, kind)
		r.Text += ", in a guard page"
	}
	return r
}

// addressless explains an access violation at allOnes: an access to a non-canonical address, or really to the
// last byte.
func (in *Input) addressless(kind string) Reason {
	if acc := in.access(allOnes); acc.Known {
		return in.faultAt(kind, allOnes)
	}
	return in.protectionFault()
}

// windowsBreakpoint distinguishes a debugger's breakpoint from an instruction that compilers use to stop a
// program.
func (in *Input) windowsBreakpoint() Reason {
	r := Reason{Kind: report.CrashBreakpoint, Text: "breakpoint", AtInst: true}
	if kind, text := in.trap(); kind != "" && kind != report.CrashBreakpoint {
		r.Kind, r.Text = kind, text
	}
	return r
}

// windowsKind returns the kind of an exception by its code alone.
func windowsKind(code uint32) string {
	switch code {
	case 0, 0x517a7ed, 0x40010006, 0x4001000a, 0x40080201, 0x40080202, 0x406d1388:
		return report.CrashNone
	case winAccessViolation:
		return report.CrashBadAccess
	case winInPageError:
		return report.CrashBusError
	case winGuardPage:
		return report.CrashNoAccess
	case winStackOverflow:
		return report.CrashStackOverflow
	case 0x80000002:
		return report.CrashMisaligned
	case winBreakpoint, 0x80000004:
		return report.CrashBreakpoint
	case winIllegal:
		return report.CrashIllegalInstruction
	case winPrivileged:
		return report.CrashPrivileged
	case 0xc000008c:
		return report.CrashBounds
	case 0xc000008d, 0xc000008e, 0xc000008f, 0xc0000090, 0xc0000091, 0xc0000092, 0xc0000093:
		return report.CrashFloat
	case winDivByZero:
		return report.CrashDivZero
	case winIntOverflow:
		return report.CrashIntOverflow
	case 0xc0000017, winOutOfMemory:
		return report.CrashOutOfMemory
	case winHeapCorruption:
		return report.CrashHeapCorruption
	case 0xc0000135, 0xc0000138, 0xc0000139, 0xc0000142, 0xc06d007e, 0xc06d007f:
		return report.CrashLoad
	case 0xc0000008, winInvalidParameter, winCRTInvalidParam:
		return report.CrashInvalidArgument
	case 0xc0000420:
		return report.CrashAssertion
	case 0x40000015, 0xc0000602, 0x80131623:
		return report.CrashAbort
	case 0x40010005, 0xc000013a:
		return report.CrashSignal
	case 0xc0000194:
		return report.CrashWatchdog
	case 0x0eedfade, 0x0eefface, 0xc0000025, 0xc0000026, winFatalUserCall:
		return report.CrashException
	}
	if code>>29&1 != 0 { // a code defined by the program or its language, as C++'s and .NET's
		return report.CrashException
	}
	return report.CrashUnknown
}

// fastFail explains 0xc0000409. Its name says buffer overrun, but mostly it is a __fastfail.
func fastFail(e Exception) Reason {
	r := Reason{Kind: report.CrashAbort, Text: "the program ended itself (fast fail)"}
	if len(e.Params) == 0 {
		return r
	}
	code := e.Params[0]
	r.Kind = fastFailKind(code)
	words, name := fastFailWords.Get()[code], FastFailName(code)
	switch {
	case words != "":
		r.Text = words
	case name != "":
		r.Text += ": " + readable(name, "FAST_FAIL_")
	default:
		r.Text += fmt.Sprintf(", with code %d", code)
	}
	return r
}

func fastFailKind(code uint64) string {
	switch code {
	case 0, 2:
		return report.CrashStackOverrun
	case 3, 29, 35, 50:
		return report.CrashHeapCorruption
	case 5:
		return report.CrashInvalidArgument
	case 8:
		return report.CrashBounds
	case 1, 10, 11, 31, 37, 38, 44, 46, 47, 57, 64, 65, 67, 73:
		return report.CrashControlFlow
	}
	return report.CrashAbort
}

// atInstruction reports whether the instruction at the program counter raised the exception.
func atInstruction(code uint32) bool {
	switch code {
	case 0x80000002, winBreakpoint, winIllegal:
		return true
	}
	return code >= 0xc000008c && code <= winPrivileged
}

// unknownCode describes an unknown code by its bits (ntstatus.h): severity, customer flag, facility, code.
func unknownCode(code uint32) string {
	switch {
	case code == 0:
		return "dump without an exception"
	case code>>29&1 != 0:
		return fmt.Sprintf("exception %#08x, raised by the program itself", code)
	}
	return fmt.Sprintf("exception %#08x (facility %#x, code %#x)", code, code>>16&0xfff, code&0xffff)
}
