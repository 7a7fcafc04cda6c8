package report

// The values of Crash.Kind. The list is closed: a word is added to it here, in
// CrashKinds, and in docs/usage.md, and none changes its meaning.
//
// An access to memory is named by its address and its direction; "-access" stands for
// a direction that is not known, and "-call" for fetching an instruction: by a call, a
// jump or a return.
const (
	// At a null pointer, with an offset or without.
	CrashNullRead   = "null-read"
	CrashNullWrite  = "null-write"
	CrashNullAccess = "null-access"
	CrashNullCall   = "null-call"
	// Where nothing is mapped.
	CrashWildRead   = "wild-read"
	CrashWildWrite  = "wild-write"
	CrashWildAccess = "wild-access"
	CrashWildCall   = "wild-call"
	// At an address that the processor can have nothing at.
	CrashNonCanonicalRead   = "non-canonical-read"
	CrashNonCanonicalWrite  = "non-canonical-write"
	CrashNonCanonicalAccess = "non-canonical-access"
	CrashNonCanonicalCall   = "non-canonical-call"
	// At memory that allows no access, or not this one.
	CrashNoAccessRead  = "no-access-read"
	CrashNoAccessWrite = "no-access-write"
	CrashNoAccess      = "no-access"
	CrashWriteReadOnly = "write-read-only"
	CrashExecNoExec    = "exec-no-exec"

	// At an address of which no more is known.
	CrashBadRead   = "bad-read"
	CrashBadWrite  = "bad-write"
	CrashBadAccess = "bad-access"
	CrashBadCall   = "bad-call"

	CrashStackOverflow = "stack-overflow"
	CrashMisaligned    = "misaligned"
	CrashProtectionKey = "protection-key"  // memory protection keys forbid the access
	CrashMemoryTag     = "memory-tag"      // pointer and memory have different tags
	CrashControlFlow   = "control-flow"    // shadow stack, branch target or pointer signature
	CrashBounds        = "bounds"          // a subscript or an address out of its bounds
	CrashBusTruncated  = "bus-truncated"   // past the end of a mapped file
	CrashBusError      = "bus-error"       // the system could not supply the page
	CrashHardware      = "hardware-memory" // the hardware found its memory to be broken

	CrashDivZero            = "div-zero"
	CrashDivOverflow        = "div-overflow" // the quotient does not fit: INT_MIN / -1
	CrashIntOverflow        = "int-overflow"
	CrashFloat              = "float"
	CrashIllegalInstruction = "illegal-instruction"
	CrashPrivileged         = "privileged-instruction"
	CrashTrap               = "trap"       // put there by the compiler: the code must not be reached
	CrashBreakpoint         = "breakpoint" // or a single step

	CrashAbort           = "abort" // the program ended itself
	CrashAssertion       = "assertion"
	CrashException       = "exception" // of a language, that nothing caught
	CrashStackOverrun    = "stack-buffer-overrun"
	CrashHeapCorruption  = "heap-corruption"
	CrashInvalidArgument = "invalid-argument" // a function of the system or the C library ended the program for it
	CrashOutOfMemory     = "oom"
	CrashSanitizer       = "sanitizer"   // of the compiler: it found an error while the program ran
	CrashSeccomp         = "seccomp"     // a filter forbids the system call
	CrashSyscall         = "bad-syscall" // no such system call
	CrashWatchdog        = "watchdog"    // something that watches the program found it stuck
	CrashLimit           = "limit"       // of a resource
	CrashLoad            = "load"        // a library or a function of it was not found
	CrashSignal          = "signal"      // sent by a process, for no reason that the dump tells
	CrashNone            = "none"        // a dump of a program that did not crash
	CrashUnknown         = "unknown"
)

// CrashKinds lists the values of Crash.Kind.
func CrashKinds() []string {
	return []string{
		CrashNullRead, CrashNullWrite, CrashNullAccess, CrashNullCall,
		CrashWildRead, CrashWildWrite, CrashWildAccess, CrashWildCall,
		CrashNonCanonicalRead, CrashNonCanonicalWrite, CrashNonCanonicalAccess, CrashNonCanonicalCall,
		CrashNoAccessRead, CrashNoAccessWrite, CrashNoAccess, CrashWriteReadOnly, CrashExecNoExec,
		CrashBadRead, CrashBadWrite, CrashBadAccess, CrashBadCall,
		CrashStackOverflow, CrashMisaligned, CrashProtectionKey, CrashMemoryTag, CrashControlFlow, CrashBounds,
		CrashBusTruncated, CrashBusError, CrashHardware,
		CrashDivZero, CrashDivOverflow, CrashIntOverflow, CrashFloat, CrashIllegalInstruction, CrashPrivileged, CrashTrap, CrashBreakpoint,
		CrashAbort, CrashAssertion, CrashException, CrashStackOverrun, CrashHeapCorruption, CrashInvalidArgument, CrashOutOfMemory, CrashSanitizer,
		CrashSeccomp, CrashSyscall, CrashWatchdog, CrashLimit, CrashLoad, CrashSignal, CrashNone, CrashUnknown,
	}
}
