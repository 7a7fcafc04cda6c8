package report

// A Crash says why the process died. Signal is set for POSIX systems, Exception
// for Windows.
type Crash struct {
	Signal       string `json:"signal,omitempty"` // "SIGSEGV"
	SignalNumber int    `json:"signal_number,omitempty"`
	Exception    string `json:"exception,omitempty"` // "EXCEPTION_ACCESS_VIOLATION"
	Code         string `json:"code,omitempty"`      // the signal's or exception's code by name or number: "SEGV_MAPERR"
	// Kind is one of the Crash constants: what happened, in a word that is stable and
	// the same on every system and processor.
	Kind string `json:"kind,omitempty"`
	// Address is the address that the fault was about; nil when it was about none.
	// 0 is an address like others.
	Address *Addr `json:"address,omitempty"`
	// AdjustedAddress tells more than the address that the system gave; nil when
	// there is no more to tell.
	AdjustedAddress *AdjustedAddress `json:"adjusted_address,omitempty"`
	// Reason says it in words: "read of 4 bytes at null+0x8".
	Reason string `json:"reason,omitempty"`
	// Message is what the program itself said: a failed assertion, the text of an
	// exception or a panic, malloc's complaint.
	Message string `json:"message,omitempty"`
	// Thread is the identifier of the thread that crashed, and Frame the index in
	// its Frames of the one to look at first, nil when nobody decided: the text
	// then takes the innermost with a source line.
	Thread      int          `json:"thread"`
	Frame       *int         `json:"frame,omitempty"`
	Instruction *Instruction `json:"instruction,omitempty"`
	// Accesses are those that the faulting instruction makes to memory, computed from
	// its operands and the registers: the addresses that are known.
	Accesses []Access `json:"accesses,omitempty"`
	// Overflow tells of a stack that ran out.
	Overflow *Overflow `json:"overflow,omitempty"`
	// BitFlips are the addresses, one flipped bit away from the bad one, at which the
	// access would have been allowed; the most likely first.
	BitFlips []BitFlip `json:"bit_flips,omitempty"`
	// Inconsistencies are what cannot be as the dump says: the hardware, or the dump,
	// contradicts itself. Each is one of the Inconsistent constants.
	Inconsistencies []string `json:"inconsistencies,omitempty"`
	Causes          []Cause  `json:"causes,omitempty"` // most likely first
	// Blame traces the bad value to where it came from; nil where that is not known.
	Blame *Blame `json:"blame,omitempty"`
	// MessageSource says where Message was found: "__abort_msg in libc.so.6".
	MessageSource string `json:"message_source,omitempty"`
	// Assertion is the condition that Message says did not hold.
	Assertion *Assertion `json:"assertion,omitempty"`
	// Thrown are the exception that nothing caught, and those nested in it.
	Thrown []Thrown `json:"thrown,omitempty"`
	Panic  *Panic   `json:"panic,omitempty"`
}

// The values of AdjustedAddress.Kind.
const (
	AdjustedNonCanonical = "non-canonical" // the system gave no address, or another
	AdjustedNullPointer  = "null-pointer"  // the address is a null pointer with an offset
)

// An AdjustedAddress is what the faulting instruction tells of the bad address beyond
// what the system says.
type AdjustedAddress struct {
	Kind string `json:"kind"`
	// Address is the one accessed, of AdjustedNonCanonical.
	Address Addr `json:"address,omitempty"`
	// Offset is what was added to the null pointer, of AdjustedNullPointer.
	Offset Addr `json:"offset,omitempty"`
}

// The values of Access.Kind.
const (
	AccessRead      = "read"
	AccessWrite     = "write"
	AccessReadWrite = "read-write"
	AccessExecute   = "execute"
)

// An Access is one that an instruction makes to memory.
type Access struct {
	Address Addr   `json:"address"`
	Size    int    `json:"size,omitempty"` // bytes; 0 when not known
	Kind    string `json:"kind"`           // one of the Access constants
	// GuardPage says that it is to a small area without permissions next to memory
	// in use, as is laid below stacks and around large allocations.
	GuardPage bool `json:"guard_page,omitempty"`
}

// An Overflow is a stack that ran out.
type Overflow struct {
	Frames int    `json:"frames"` // walked
	Bytes  uint64 `json:"bytes"`  // from the stack pointer to the oldest frame; 0 when not known
	// Cycle names the functions that called one another again and again, from the
	// innermost outward; empty when none did. Times is how often they did.
	Cycle []string `json:"cycle,omitempty"`
	Times int      `json:"times,omitempty"`
}

// A BitFlip is a guess that one bit of an address was changed by the hardware.
type BitFlip struct {
	Address  Addr   `json:"address"` // with the bit as it may have been
	Bit      int    `json:"bit"`     // its number, 0 for the lowest
	Register string `json:"register,omitempty"`
	// Confidence is between 0 and 1, and no probability: it orders guesses.
	Confidence float64        `json:"confidence"`
	Details    BitFlipDetails `json:"details"`
}

// BitFlipDetails are what speaks for a bit flip and against it.
type BitFlipDetails struct {
	WasNonCanonical bool `json:"was_non_canonical,omitempty"` // no process can have the bad address
	IsNull          bool `json:"is_null,omitempty"`           // the guess is a null pointer
	WasLow          bool `json:"was_low,omitempty"`           // so low that it may as well be a small number
	// NearbyRegisters is how many other registers point near the guess.
	NearbyRegisters int `json:"nearby_registers,omitempty"`
	// PoisonRegisters says that a register holds a pattern that allocators fill freed
	// memory with.
	PoisonRegisters bool `json:"poison_registers,omitempty"`
}

// The values of Crash.Inconsistencies. They are those that minidump-stackwalk has.
const (
	InconsistentDivision     = "int_div_by_zero_not_possible"
	InconsistentPrivileged   = "priv_instruction_crash_without_priv_instruction"
	InconsistentNonCanonical = "non_canonical_address_falsely_reported"
	InconsistentAllowed      = "access_violation_when_access_allowed"
	InconsistentAccess       = "crashing_access_not_found_in_memory_accesses"
)

// An Instruction is the one that faulted, or that would have run next.
type Instruction struct {
	Address   Addr      `json:"address"`
	Text      string    `json:"text"`                // disassembled: "mov eax, [rax+8]"
	Registers Registers `json:"registers,omitempty"` // those that it reads for its address
	// Access is what it was doing to memory, "read", "write" or "execute", and
	// AccessSize to how many bytes; empty and 0 when it was not, or not known.
	Access     string `json:"access,omitempty"`
	AccessSize int    `json:"access_size,omitempty"`
	// Note says where the registers' values came from: "from p (local, queue.c:15)".
	Note string `json:"note,omitempty"`
}

// A Cause is a guess at what led to the crash.
type Cause struct {
	Text       string `json:"text"`
	Confidence string `json:"confidence,omitempty"` // "certain", "likely", "possible"
}

// The values of Cause.Confidence and Blame.Confidence.
const (
	Certain  = "certain"
	Likely   = "likely"
	Possible = "possible"
)

// A Blame names the value that was bad, and traces it back to where it came from.
type Blame struct {
	// Expression is what the instruction accessed or called: "p->next"; "" where that
	// has no name.
	Expression string `json:"expression,omitempty"`
	Register   string `json:"register,omitempty"` // that held the value
	Value      Addr   `json:"value"`
	Confidence string `json:"confidence"` // "certain", "likely", "possible"
	// Steps lead from the instruction backward.
	Steps []BlameStep `json:"steps,omitempty"`
}

// The values of BlameStep.Kind.
const (
	BlameVariable = "variable"  // Name held the value
	BlameRead     = "read"      // it was read from Name, which is in memory
	BlameSet      = "set"       // it was set to this number
	BlameReturned = "returned"  // Name returned it
	BlameArgument = "argument"  // Name is an argument, and the caller passed it
	BlamePassed   = "passed"    // the caller passed it, as Name
	BlameOffset   = "offset"    // it is Name and Offset bytes, as the address of a member is
	BlameNeverSet = "never-set" // nothing was stored in Name
)

// A BlameStep is one on the way of a value, seen from the bad one backward.
type BlameStep struct {
	Kind string `json:"kind"`
	// Name is a variable or an expression of the source: "p", "n->payload". Without
	// debugging information it is that of a register or memory: "[rdi+0x10]".
	Name string `json:"name,omitempty"`
	// Role is what Name is: "local", "argument", "global"; "" for an expression.
	Role     string `json:"role,omitempty"`
	Function string `json:"function,omitempty"`
	Source   Source `json:"source,omitzero"`
	Address  Addr   `json:"address,omitempty"` // of the instruction
	// Of BlameOffset: Expression is that whose address the value was, "p->items", and
	// Offset how far behind Name that is, in bytes.
	Expression string `json:"expression,omitempty"`
	Offset     Addr   `json:"offset,omitempty"`
	// Value is what Name held, where that is another than the bad value itself: a part
	// of it, the address that something was added to.
	Value    *Addr `json:"value,omitempty"`
	Physical int   `json:"physical"` // number of the physical frame
}
