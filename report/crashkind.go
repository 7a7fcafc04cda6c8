package report

// The values of Crash.Kind. The list is closed: a new word is added here and in CrashKinds, and no word ever changes its
// meaning. docs/reference/kinds.md is made of these comments: one above is for the constants below it, up to the next.
//
// Memory accesses are named by their address and their direction. "-access" means that the direction is not
// known, "-call" that an instruction was fetched: by a call, a jump or a return.
const (
	// An access through a null pointer: near null (64 kB), or anywhere if the instruction adds to a register that is null.
	CrashNullRead   = "null-read"
	CrashNullWrite  = "null-write"
	CrashNullAccess = "null-access"
	CrashNullCall   = "null-call" // a call, jump or return to null
	// An access or call at an address where nothing is mapped.
	CrashWildRead   = "wild-read"
	CrashWildWrite  = "wild-write"
	CrashWildAccess = "wild-access"
	CrashWildCall   = "wild-call"
	// An access or call at an address that no process can have. The processor does not report the address: it is computed from the instruction.
	CrashNonCanonicalRead   = "non-canonical-read"
	CrashNonCanonicalWrite  = "non-canonical-write"
	CrashNonCanonicalAccess = "non-canonical-access"
	CrashNonCanonicalCall   = "non-canonical-call"
	// An access to memory that allows none, such as a guard page.
	CrashNoAccessRead  = "no-access-read"
	CrashNoAccessWrite = "no-access-write"
	CrashNoAccess      = "no-access"
	CrashWriteReadOnly = "write-read-only" // a write to memory that may only be read
	CrashExecNoExec    = "exec-no-exec"    // a call, jump or return into memory that is not executable

	// An access or call at an address that looks valid, or about which the dump says nothing more.
	CrashBadRead   = "bad-read"
	CrashBadWrite  = "bad-write"
	CrashBadAccess = "bad-access"
	CrashBadCall   = "bad-call"

	CrashStackOverflow = "stack-overflow"  // the stack ran out
	CrashMisaligned    = "misaligned"      // an access that must be aligned and is not
	CrashProtectionKey = "protection-key"  // memory protection keys forbid the access
	CrashMemoryTag     = "memory-tag"      // the tags of pointer and memory differ
	CrashControlFlow   = "control-flow"    // shadow stack, control flow guard, branch targets or pointer authentication
	CrashBounds        = "bounds"          // a subscript or an address is out of bounds, found by the processor or the system
	CrashBusTruncated  = "bus-truncated"   // past the end of a mapped file
	CrashBusError      = "bus-error"       // the system could not supply the page
	CrashHardware      = "hardware-memory" // the hardware reported broken memory

	CrashDivZero            = "div-zero"               // a division by zero
	CrashDivOverflow        = "div-overflow"           // the quotient does not fit: INT_MIN / -1
	CrashIntOverflow        = "int-overflow"           // another overflow of integers
	CrashFloat              = "float"                  // an error of floating-point arithmetic
	CrashIllegalInstruction = "illegal-instruction"    // an instruction that the processor does not have
	CrashPrivileged         = "privileged-instruction" // an instruction that programs may not run
	CrashTrap               = "trap"                   // an instruction that compilers put where code must not be reached: `__builtin_trap`, unreachable code, `-fsanitize-trap` (with the check that failed)
	CrashBreakpoint         = "breakpoint"             // a breakpoint or a single step

	CrashAbort           = "abort"                // the program ended itself
	CrashAssertion       = "assertion"            // an assertion failed
	CrashException       = "exception"            // an exception or a panic that nothing caught
	CrashStackOverrun    = "stack-buffer-overrun" // a buffer on the stack was overrun
	CrashHeapCorruption  = "heap-corruption"      // the heap is corrupt
	CrashInvalidArgument = "invalid-argument"     // a function of the system or the C library ended the program because of an argument
	CrashOutOfMemory     = "oom"                  // no memory was left
	CrashSanitizer       = "sanitizer"            // a sanitizer of the compiler found an error: address sanitizer, undefined behaviour sanitizer
	CrashSeccomp         = "seccomp"              // a seccomp filter forbids the system call
	CrashSyscall         = "bad-syscall"          // there is no such system call
	CrashWatchdog        = "watchdog"             // something found the program stuck or too slow: `SIGABRT` from process 1, `SIGXCPU`, `SIGALRM`, `SIGQUIT`
	CrashDeadlock        = "deadlock"             // it was ended on purpose, and tasks of it wait for each other, which memory proves
	CrashHang            = "hang"                 // it was ended from outside, and tasks of it possibly wait for each other, or the thread that got the signal, or that for whose end it waits, waits for a lock that is held
	CrashLimit           = "limit"                // another limit of the system was exceeded
	CrashGuard           = "guarded-resource"     // macOS: something that its owner protects, such as a file descriptor, a port or memory, was closed or changed
	CrashLoad            = "load"                 // a library, or a function in it, was not found
	CrashSignal          = "signal"               // a signal that a process sent; the dump does not tell why
	CrashNone            = "none"                 // the program did not crash
	CrashUnknown         = "unknown"              // the dump does not say
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
