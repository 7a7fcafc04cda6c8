package report

// The values of Crash.Kind. The list is closed: a new word is added here, in CrashKinds and in docs/usage.md,
// and no word ever changes its meaning.
//
// Memory accesses are named by their address and their direction. "-access" means that the direction is not
// known, "-call" that an instruction was fetched: by a call, a jump or a return.
const (
	// At a null pointer, with or without an offset.
	CrashNullRead   = "null-read"
	CrashNullWrite  = "null-write"
	CrashNullAccess = "null-access"
	CrashNullCall   = "null-call"
	// At an address where nothing is mapped.
	CrashWildRead   = "wild-read"
	CrashWildWrite  = "wild-write"
	CrashWildAccess = "wild-access"
	CrashWildCall   = "wild-call"
	// At a non-canonical address.
	CrashNonCanonicalRead   = "non-canonical-read"
	CrashNonCanonicalWrite  = "non-canonical-write"
	CrashNonCanonicalAccess = "non-canonical-access"
	CrashNonCanonicalCall   = "non-canonical-call"
	// At memory that allows no access, or not this kind of access.
	CrashNoAccessRead  = "no-access-read"
	CrashNoAccessWrite = "no-access-write"
	CrashNoAccess      = "no-access"
	CrashWriteReadOnly = "write-read-only"
	CrashExecNoExec    = "exec-no-exec"

	// At an address about which nothing more is known.
	CrashBadRead   = "bad-read"
	CrashBadWrite  = "bad-write"
	CrashBadAccess = "bad-access"
	CrashBadCall   = "bad-call"

	CrashStackOverflow = "stack-overflow"
	CrashMisaligned    = "misaligned"
	CrashProtectionKey = "protection-key"  // memory protection keys forbid the access
	CrashMemoryTag     = "memory-tag"      // the tags of pointer and memory differ
	CrashControlFlow   = "control-flow"    // shadow stack, branch target or pointer authentication
	CrashBounds        = "bounds"          // a subscript or an address is out of bounds
	CrashBusTruncated  = "bus-truncated"   // past the end of a mapped file
	CrashBusError      = "bus-error"       // the system could not supply the page
	CrashHardware      = "hardware-memory" // the hardware reported broken memory

	CrashDivZero            = "div-zero"
	CrashDivOverflow        = "div-overflow" // the quotient does not fit: INT_MIN / -1
	CrashIntOverflow        = "int-overflow"
	CrashFloat              = "float"
	CrashIllegalInstruction = "illegal-instruction"
	CrashPrivileged         = "privileged-instruction"
	CrashTrap               = "trap"       // a trap instruction that the compiler put where code must not be reached
	CrashBreakpoint         = "breakpoint" // a breakpoint or a single step

	CrashAbort           = "abort" // the program ended itself
	CrashAssertion       = "assertion"
	CrashException       = "exception" // an uncaught exception of a language
	CrashStackOverrun    = "stack-buffer-overrun"
	CrashHeapCorruption  = "heap-corruption"
	CrashInvalidArgument = "invalid-argument" // a function of the system or the C library ended the program because of it
	CrashOutOfMemory     = "oom"
	CrashSanitizer       = "sanitizer"        // a compiler's sanitizer found an error at run time
	CrashSeccomp         = "seccomp"          // a seccomp filter forbids the system call
	CrashSyscall         = "bad-syscall"      // there is no such system call
	CrashWatchdog        = "watchdog"         // a watchdog found the program stuck
	CrashDeadlock        = "deadlock"         // it was ended because it hung: tasks wait for each other, certainly
	CrashHang            = "hang"             // it was ended from outside while tasks possibly waited for each other, or the thread that got the signal, or one for whose end that waits, for a lock
	CrashLimit           = "limit"            // a resource limit was exceeded
	CrashGuard           = "guarded-resource" // macOS: something that its owner protects, such as a file descriptor, was closed or changed
	CrashLoad            = "load"             // a library, or a function in it, was not found
	CrashSignal          = "signal"           // sent by a process; the dump does not tell why
	CrashNone            = "none"             // the program did not crash
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
		CrashSeccomp, CrashSyscall, CrashWatchdog, CrashDeadlock, CrashHang, CrashLimit, CrashGuard, CrashLoad, CrashSignal, CrashNone, CrashUnknown,
	}
}
