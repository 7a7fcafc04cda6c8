package report

// A Crash says why the process died. Signal is set on POSIX systems, Exception on Windows.
type Crash struct {
	Signal       string `json:"signal,omitempty"`        // "SIGSEGV"
	SignalNumber int    `json:"signal_number,omitempty"` // as the dump's system numbers signals
	Exception    string `json:"exception,omitempty"`     // "EXCEPTION_ACCESS_VIOLATION"
	Code         string `json:"code,omitempty"`          // name or number of the signal's or exception's code: "SEGV_MAPERR"
	// Kind is one of the Crash constants: one stable word for what happened, the same on every system and
	// processor.
	Kind string `json:"kind,omitempty"`
	// Address is the faulting address; nil if the fault has none. 0 is a valid address.
	Address *Addr `json:"address,omitempty"`
	// AdjustedAddress corrects or completes Address from the faulting instruction; nil if there is nothing to
	// add.
	AdjustedAddress *AdjustedAddress `json:"adjusted_address,omitempty"`
	// Reason describes the crash in words: "read of 4 bytes at null+0x8".
	Reason string `json:"reason,omitempty"`
	// Message is what the program itself reported: a failed assertion, the text of an exception or a panic,
	// malloc's error.
	Message string `json:"message,omitempty"`
	// Thread is the identifier of the thread that crashed. Frame is the index in that thread's Frames of the
	// frame to look at first: the one that failed, or its first caller that is not known as a helper. If it is nil, that
	// is the innermost frame.
	Thread      int          `json:"thread"`
	Frame       *int         `json:"frame,omitempty"`
	Instruction *Instruction `json:"instruction,omitempty"`
	// Accesses are the memory accesses of the faulting instruction whose addresses could be computed from its
	// operands and the registers.
	Accesses []Access `json:"accesses,omitempty"`
	// Overflow describes a stack overflow; nil if there was none.
	Overflow *Overflow `json:"overflow,omitempty"`
	// BitFlips are addresses that differ in one bit from the bad one and at which the access would have been
	// allowed, most likely first.
	BitFlips []BitFlip `json:"bit_flips,omitempty"`
	// Inconsistencies are contradictions in the dump, by faulty hardware or a faulty dump. Each is one of the
	// Inconsistent constants.
	Inconsistencies []string `json:"inconsistencies,omitempty"`
	Causes          []Cause  `json:"causes,omitempty"` // most likely first
	// Blame traces the bad value back to its origin; nil if that is not known.
	Blame *Blame `json:"blame,omitempty"`
	// MessageSource says where Message was found: "__abort_msg in libc.so.6".
	MessageSource string `json:"message_source,omitempty"`
	// Told are the constant texts, formats too, with which the function was called that ended the program: "no such lane %d\n". It
	// is "" if the program's words are in Message, and where they are not known.
	Told string `json:"told,omitempty"`
	// ToldConfidence is "certain", or "likely" where a compiler made one call of several: Told is then the one whose text the dead part of
	// the stack still leads to.
	ToldConfidence string `json:"told_confidence,omitempty"`
	// Printed is the constant text, formats too, that the function which ended the program had written right before, if nothing is known that it was called
	// with: of several texts of one call that a compiler made of several, the one that the dead part of the stack still leads to.
	Printed string `json:"printed,omitempty"`
	// EndedAt is the line at which a function ended the program, counted from that of its declaration, if there are several such lines in it and nothing is known
	// of its words.
	EndedAt int `json:"ended_at,omitempty"`
	// Assertion is the failed assertion that Message is about; nil if there is none.
	Assertion *Assertion `json:"assertion,omitempty"`
	// Raised holds the exception that the crashed thread was raising or handling in a language such as Python, then
	// those that it came of.
	Raised []Raised `json:"raised,omitempty"`
	// Thrown holds the uncaught exception, then the exceptions nested in it.
	Thrown []Thrown `json:"thrown,omitempty"`
	Panic  *Panic   `json:"panic,omitempty"`
}

// The values of AdjustedAddress.Kind.
const (
	AdjustedNonCanonical = "non-canonical" // the system reported no address, or a wrong one
	AdjustedNullPointer  = "null-pointer"  // the address is a null pointer plus an offset
)

// An AdjustedAddress is what the faulting instruction shows about the bad address beyond what the system
// reported.
type AdjustedAddress struct {
	Kind string `json:"kind"`
	// Address is the address accessed, for AdjustedNonCanonical.
	Address Addr `json:"address,omitempty"`
	// Offset is what was added to the null pointer, for AdjustedNullPointer.
	Offset Addr `json:"offset,omitempty"`
}

// The values of Access.Kind.
const (
	AccessRead      = "read"
	AccessWrite     = "write"
	AccessReadWrite = "read-write"
	AccessExecute   = "execute"
)

// An Access is one memory access of an instruction.
type Access struct {
	Address Addr   `json:"address"`        // first byte accessed
	Size    int    `json:"size,omitempty"` // bytes; 0 when not known
	Kind    string `json:"kind"`           // one of the Access constants
	// GuardPage says that the address lies in a small area without permissions next to memory in use, such as
	// systems put below stacks and around large allocations.
	GuardPage bool `json:"guard_page,omitempty"`
}

// An Overflow describes a stack that ran out of space.
type Overflow struct {
	Frames int    `json:"frames"` // number of frames walked
	Bytes  uint64 `json:"bytes"`  // from the stack pointer to the oldest frame walked; 0 when not known
	// Incomplete says that the walk ended at a limit before the stack did: Frames, Bytes and Times are less than there are. Stack is
	// then how much of the stack is used, in bytes, if that is known otherwise.
	Incomplete bool   `json:"incomplete,omitempty"`
	Stack      uint64 `json:"stack,omitempty"`
	// Cycle names the functions that called one another repeatedly, innermost first; empty if there is no such
	// cycle. Times is how often the cycle repeated.
	Cycle []string `json:"cycle,omitempty"`
	Times int      `json:"times,omitempty"`
	// Alternate says that the stack is one on which signals are handled (sigaltstack(2)). Only its frames count.
	Alternate bool `json:"alternate,omitempty"`
}

// A BitFlip is a guess that the hardware flipped one bit of an address.
type BitFlip struct {
	Address  Addr   `json:"address"`            // the address before the flip
	Bit      int    `json:"bit"`                // number of the flipped bit, 0 for the lowest
	Register string `json:"register,omitempty"` // the register that held the bad address
	// Confidence, from 0 to 1, ranks guesses. It is not a probability.
	Confidence float64        `json:"confidence"`
	Details    BitFlipDetails `json:"details"`
}

// BitFlipDetails is the evidence for and against a bit flip.
type BitFlipDetails struct {
	WasNonCanonical bool `json:"was_non_canonical,omitempty"` // the bad address is non-canonical: no process can map it
	IsNull          bool `json:"is_null,omitempty"`           // the guess is a null pointer
	WasLow          bool `json:"was_low,omitempty"`           // the guess is so low that it may be a small number
	// NearbyRegisters is how many other registers point near the guess.
	NearbyRegisters int `json:"nearby_registers,omitempty"`
	// PoisonRegisters says that a register holds a pattern that allocators fill freed memory with.
	PoisonRegisters bool `json:"poison_registers,omitempty"`
}

// The values of Crash.Inconsistencies, the same as minidump-stackwalk's.
const (
	InconsistentDivision     = "int_div_by_zero_not_possible"
	InconsistentPrivileged   = "priv_instruction_crash_without_priv_instruction"
	InconsistentNonCanonical = "non_canonical_address_falsely_reported"
	InconsistentAllowed      = "access_violation_when_access_allowed"
	InconsistentAccess       = "crashing_access_not_found_in_memory_accesses"
)

// An Instruction is the instruction that faulted, or the one that would have run next.
type Instruction struct {
	Address   Addr      `json:"address"`             // where the instruction lies
	Text      string    `json:"text"`                // disassembled: "mov eax, [rax+8]"
	Registers Registers `json:"registers,omitempty"` // those that form its address
	// Access is "read", "write" or "execute", and AccessSize the number of bytes; empty and 0 if it accessed no
	// memory, or that is not known.
	Access     string `json:"access,omitempty"`
	AccessSize int    `json:"access_size,omitempty"`
	// Note says where the registers' values came from: "from p (local, queue.c:15)".
	Note string `json:"note,omitempty"`
}

// A Cause is a guess at what led to the crash.
type Cause struct {
	Text       string `json:"text"`                 // what may have caused it, in words
	Confidence string `json:"confidence,omitempty"` // "certain", "likely", "possible"
	// Block is the block of the heap to which it happened, if Text tells of a heap that was used wrongly; nil otherwise.
	Block *CauseBlock `json:"block,omitempty"`
}

// The values of CauseBlock.Fault.
const (
	BlockOverrun = "overrun" // what is behind it was written to
	BlockFreed   = "freed"   // it was used, or given back, after it had been given back
	BlockReused  = "reused"  // the same, and it may have been handed out again since, to somebody else
)

// A CauseBlock is a block of the heap that was used wrongly, by what does not depend on where that is noticed.
type CauseBlock struct {
	Fault string `json:"fault"`          // one of the Block constants
	Size  uint64 `json:"size"`           // in bytes, as the allocator rounds it
	Type  string `json:"type,omitempty"` // the structure or class that a pointer to it points to: "Order"
	// Elements is the type of the numbers that a pointer to it points to: "int".
	Elements string `json:"elements,omitempty"`
	// Text is the name of the member that points to it, if that is to characters: "name".
	Text string `json:"text,omitempty"`
}

// The values of Cause.Confidence and Blame.Confidence.
const (
	Certain  = "certain"
	Likely   = "likely"
	Possible = "possible"
)

// A Blame names the bad value and traces it back to its origin.
type Blame struct {
	// Expression is what the instruction accessed or called: "p->next"; "" if it has no name in the source.
	Expression string `json:"expression,omitempty"`
	Register   string `json:"register,omitempty"` // the register that held the value
	Value      Addr   `json:"value"`              // the bad value, as the source or the instruction names it
	Confidence string `json:"confidence"`         // "certain", "likely", "possible"
	// Steps lead back from the instruction.
	Steps []BlameStep `json:"steps,omitempty"`
}

// The values of BlameStep.Kind.
const (
	BlameVariable = "variable"  // Name held the value
	BlameRead     = "read"      // it was read from Name, which is in memory
	BlameSet      = "set"       // it was set to this number
	BlameReturned = "returned"  // the function Name returned it
	BlameArgument = "argument"  // Name is an argument; the caller passed it
	BlamePassed   = "passed"    // the caller passed Name
	BlameOffset   = "offset"    // it is Name plus Offset bytes, like the address of a member
	BlameNeverSet = "never-set" // nothing was stored in Name
	BlameComputed = "computed"  // it was computed as Name; the steps of kind operand that follow have the parts
	BlameOperand  = "operand"   // Name, a part of what was computed, was Value, which is signed
	BlameIndex    = "index"     // Name, an index of an expression in another step or in Blame.Expression, was Value, which is signed; "" if it has no name
	// BlameConversion: Function, of the family of printf or scanf, took the value for Name, a conversion of a format ("%s").
	BlameConversion = "conversion"
	// BlameOverwritten: the first Number bytes of the value are those of Expression, text in memory that begins Offset bytes before it, in
	// the array Name.
	BlameOverwritten = "overwritten"
)

// A BlameStep is one step on the way back from the bad value to its origin.
type BlameStep struct {
	Kind string `json:"kind"`
	// Name is a variable or an expression of the source: "p", "n->payload". Without debugging information it is
	// a register or a place in memory: "[rdi+0x10]".
	Name string `json:"name,omitempty"`
	// Role is what Name is: "local", "argument", "global"; "" for an expression.
	Role string `json:"role,omitempty"`
	// Entry says that Name is what the function was called with: nothing else was stored in it since, as far as its code tells. What was
	// read with Entry was read for the call of the function, which was inlined.
	Entry    bool   `json:"entry,omitempty"`
	Function string `json:"function,omitempty"` // name of the function in which this step lies
	// Within is the inlined function that the value did not leave after this step, as what that returns cannot be it, where the instruction that failed is not
	// of that function: the compiler moved it. It is "" otherwise.
	Within  string `json:"within,omitempty"`
	Source  Source `json:"source,omitzero"`
	Address Addr   `json:"address,omitempty"` // of the instruction
	// Outside is of how many inlined calls around the instruction that failed, or that called the next inner frame, the instruction of this
	// step is no part, the innermost first: the value came into them.
	Outside int `json:"outside,omitempty"`
	// Sought says that the null is where a search came to in an inlined function that returns such a pointer, and does not look for its end:
	// the compiler may have left that out since a caller uses what it returns. A search of an array goes on behind that.
	Sought bool `json:"sought,omitempty"`
	// For BlameOffset: the value is the address of Expression, "p->items", which lies Offset bytes after Name. For BlameConversion: the
	// format, cut after 256 bytes. For BlameOverwritten: the text, cut after 48.
	Expression string `json:"expression,omitempty"`
	Offset     Addr   `json:"offset,omitempty"`
	// Value is what Name held if that is not the bad value itself: the bad value may be a part of it, or it
	// plus an offset.
	Value *Addr `json:"value,omitempty"`
	// Memory is what Name holds in the dump, if that is another value than was read from it: it was changed since, or the
	// register that holds the value is of another moment than the memory. It is nil otherwise.
	Memory   *Addr `json:"memory,omitempty"`
	Physical int   `json:"physical"`         // number of the physical frame
	Number   int   `json:"number,omitempty"` // for BlameConversion: the number of the conversion in the format, from 1; for BlameOverwritten of bytes
	// Passed is what the caller passed for a BlameConversion: "n"; "" if that has no name.
	Passed string `json:"passed,omitempty"`
	// Type is the type of Passed, if that is an integer: "int".
	Type string `json:"type,omitempty"`
}
