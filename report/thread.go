package report

// EndBottom is the Thread.End of a walk that reached the bottom of the stack.
const EndBottom = "bottom"

// A Thread is one thread of the process and its stack.
type Thread struct {
	ID      int    `json:"id"`      // the kernel's thread identifier
	Name    string `json:"name"`    // empty if the dump has none
	Crashed bool   `json:"crashed"` // the process died in this thread
	// LastError is what GetLastError would have returned, by name or number; empty if not known, and on systems
	// other than Windows.
	LastError string `json:"last_error,omitempty"`
	// State is what the thread of a running process was doing: "running" (or ready to run), "sleeping",
	// "uninterruptible", "stopped", "idle", "parked" or "ended"; empty in dumps. CPUSeconds is how long it has
	// run so far, in user and kernel mode.
	State      string  `json:"state,omitempty"`
	CPUSeconds float64 `json:"cpu_seconds,omitempty"`
	// Notes are what the runtime of a language knows of the thread, in short, stable phrases: "has the GIL", "garbage is being collected".
	Notes []string `json:"notes,omitempty"`
	// Registers are the thread's registers when it was dumped.
	Registers Registers `json:"registers"`
	// End says why the walk stopped: EndBottom or another short, stable word for programs. EndDetail says it in
	// a sentence, with addresses.
	End       string `json:"end"`
	EndDetail string `json:"end_detail,omitempty"`
	// Frames are innermost first. Inlined calls and tail calls are entries of their own.
	Frames []Frame `json:"frames"`
	// Alike says that the thread shares the Frames, without variables, of a thread before it that the text shows in
	// its place. Its variables were compared: they have the values that all threads with this stack have in common.
	Alike bool `json:"-"`
}

// The values of Frame.Trust: how the frame was found.
const (
	TrustContext         = "context"    // the thread's own registers
	TrustCFI             = "cfi"        // .eh_frame or .debug_frame
	TrustSymCFI          = "sym-cfi"    // a Breakpad symbol file's CFI
	TrustEXIDX           = "exidx"      // ARM's exception index
	TrustPEUnwind        = "pe-unwind"  // .pdata and .xdata
	TrustFrameSize       = "frame-size" // the size of the frame in a PDB
	TrustSignal          = "signal"     // the context that a signal saved
	TrustInstrumentation = "instrumentation"
	TrustFramePointer    = "frame-pointer"
	TrustAnalysis        = "analysis" // analysis of the function's machine code
	TrustWildPC          = "wild-pc"  // after a call through a wild pointer
	TrustScan            = "scan"     // a return address found by scanning the stack
	TrustUser            = "user"     // a stepper of the program that uses corewalk
	// TrustSuspended: a coroutine or an async function, whose variables are in an object in memory, not on a stack.
	TrustSuspended = "suspended"
	// TrustRuntime: a call of a language, as its runtime's own structures have it.
	TrustRuntime = "runtime"
)

// UnknownSignal is the Frame.Signal of a signal trampoline that does not tell which signal it was.
const UnknownSignal = "unknown"

// A Frame is one line of a backtrace: a frame on the stack, or a virtual entry for a call that has no frame of
// its own. Virtual entries (Inlined or Tail) come before the frame that contains them and have the same
// Physical.
type Frame struct {
	Index    int  `json:"index"`         // in the whole stack; the index in Thread.Frames unless frames before it are missing there
	Physical int  `json:"physical"`      // number of the stack frame, not counting virtual entries
	PC       Addr `json:"pc"`            // program counter
	SP       Addr `json:"sp"`            // stack pointer
	CFA      Addr `json:"cfa,omitempty"` // 0 when not known
	// Lookup is the address used to look up unwind rules, symbols and lines: PC, or PC-1 after a call.
	Lookup Addr   `json:"lookup,omitempty"`
	Module string `json:"module,omitempty"` // Module.Path; empty if PC is in no module
	Offset Addr   `json:"offset,omitzero"`  // PC as an address in the module's file; for a tail call that of its function; only set with Module
	// Function is the name to show, demangled. Symbol is the linkage name if it differs.
	Function string `json:"function,omitempty"`
	Symbol   string `json:"symbol,omitempty"`
	// Entry is the address in the process at which the function begins; 0 if not known, and for inlined calls.
	Entry   Addr   `json:"entry,omitempty"`
	Source  Source `json:"source,omitzero"`
	Inlined bool   `json:"inlined,omitempty"` // a call inlined into the next physical frame
	// NoReturn says that the function never returns, by its declaration: it was called to end the program.
	NoReturn bool `json:"no_return,omitempty"`
	// Merged says that the compiler made one call of several, as it may if the callee does not return. It is nil
	// for other frames and for virtual entries.
	Merged *Merged `json:"merged,omitempty"`
	Tail   bool    `json:"tail,omitempty"` // a caller that left the stack by a tail call
	// Signal marks the trampoline that a signal handler returns to, with the name of the signal or
	// UnknownSignal. The next frame is the one that the signal interrupted.
	Signal       string `json:"signal,omitempty"`
	SignalNumber int    `json:"signal_number,omitempty"` // number of that signal
	// SignalConfidence is "likely" if nothing proves which signal it was, and empty if its number is certain or not known.
	SignalConfidence string `json:"signal_confidence,omitempty"`
	Trust            string `json:"trust"`   // one of the Trust constants
	Stepper          string `json:"stepper"` // the stepper that found it
	// Mismatched says that a file from a different build was used for this frame, at the user's request.
	Mismatched bool `json:"mismatched,omitempty"`
	// Doubtful says that nothing proves that the frame is on the stack: its address was guessed, or found by way of a
	// register or a frame that was.
	Doubtful bool `json:"doubtful,omitempty"`
	// ReturnAddressLocation is where PC was found: in a register for the youngest frame, in the place of the
	// return address for other frames.
	ReturnAddressLocation Location `json:"return_address_location,omitzero"`
	// Object is the address of the variables of a suspended function: a coroutine's frame.
	Object Addr `json:"object,omitempty"`
	// Approximate says of a suspended function that the place at which it is suspended is not known: Source is
	// where the function begins.
	Approximate bool `json:"approximate,omitempty"`
	// Awaits says how sure it is that a suspended function awaits the frame before it: "certain" or "possible".
	Awaits string `json:"awaits,omitempty"`
	// Language and Kind describe frames and calls of a language above the native code: "python", "java", "javascript", "wasm", "php", "lua", "ruby" or "erlang", and
	// KindInterpreted, KindJIT or KindVirtual. Both are empty for native frames.
	Language string `json:"language,omitempty"`
	Kind     string `json:"kind,omitempty"`
	// Folded says that the native frame only executes the call of a language before it: the text leaves it out.
	Folded bool `json:"folded,omitempty"`
	// Args and Locals are nil if they were not requested or nothing is known, and empty if the function has
	// none.
	Args   []Variable `json:"args,omitzero"`
	Locals []Variable `json:"locals,omitzero"`
	// VariablesLeftOut says why Args and Locals were not read although they were requested: LeftOutRecursion, or nothing.
	VariablesLeftOut string   `json:"variables_left_out,omitempty"`
	Explain          *Explain `json:"explain,omitempty"`
	// Listing is the source around the frame's line, and Code the instructions around its address. Both are
	// nil if they were not requested or not found; Code also for virtual entries.
	Listing *Listing   `json:"listing,omitempty"`
	Code    []CodeLine `json:"code,omitempty"`
	// Verify is the opinion of the other steppers. It is nil if it was not requested, and for the youngest
	// frame and virtual entries.
	Verify *Verify `json:"verify,omitempty"`
	// LeftOut says which frames before this one are not in Thread.Frames, because the text folds them.
	LeftOut LeftOut `json:"-"`
}

// A LeftOut tells of rounds of a recursion that are not in a report made for WriteText. They are the same as the round
// before them, but for their addresses and variables.
type LeftOut struct {
	Entries int // how many frames
	Cycle   int // how many of them are a round, up to MaxCycle
}

// The values of Frame.Kind.
const (
	KindInterpreted = "interpreted" // the native frames after it execute it; it has no frame of its own
	KindJIT         = "jit"         // code that was compiled while the program ran
	KindVirtual     = "virtual"     // a call of a language that no frame stands for
)

// LeftOutRecursion is the value of Frame.VariablesLeftOut for a frame in the middle rounds of a recursion (InRounds).
const LeftOutRecursion = "recursion"

// virtual reports whether f has no frame of its own on the stack.
func (f *Frame) virtual() bool { return f.Inlined || f.Tail }

// A Merged tells where the jumps to a merged call are. Control came from one of them.
type Merged struct {
	Places []MergedPlace `json:"places"` // each once, in the order of their addresses
	// Lost says that the call itself is in none of the places: the frame's Source is that of other code.
	Lost bool `json:"lost,omitempty"`
}

// A MergedPlace is one place of a merged call.
type MergedPlace struct {
	Inlined []string `json:"inlined,omitempty"` // names of the inlined calls that it is in, innermost first
	Source  Source   `json:"source,omitzero"`
	// Verdict is PlaceTaken or PlaceRefuted; empty if it is open whether control came from there.
	Verdict string `json:"verdict,omitempty"`
}

// The values of MergedPlace.Verdict. The code proves them: the conditions of the jumps, computed with registers and
// memory that did not change since.
const (
	PlaceTaken   = "taken"   // control came from this place: the frame is shown there
	PlaceRefuted = "refuted" // control did not come from this place
)

// A Source is a place in a source file. The zero Source means not known.
type Source struct {
	File   string `json:"file"`             // path as the debug information has it
	Line   int    `json:"line,omitempty"`   // from 1; 0 when not known
	Column int    `json:"column,omitempty"` // from 1; 0 when not known
}

// The values of Variable.Status.
const (
	StatusSuccess    = "glvv_Success"
	StatusParam      = "glvv_EParam"
	StatusOutOfScope = "glvv_EOutOfScope"
	StatusBufferSize = "glvv_EBufferSize"
	StatusUnknown    = "glvv_EUnknown"
)

// A Variable is an argument or a local variable of a frame.
type Variable struct {
	Name  string `json:"name"`            // as the source has it
	Type  string `json:"type,omitempty"`  // as the source language writes it
	Value string `json:"value,omitempty"` // as the text prints it
	// Doubtful says that nothing proves the value or Entry: it comes from a register that was guessed for a frame that
	// was found by scanning, or lies where such a register leads, or the whole frame is doubtful.
	Doubtful bool `json:"doubtful,omitempty"`
	// Status is StatusSuccess, or the kind of failure that left the variable without a value. Reason then says
	// it in words: "optimised out".
	Status string `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Entry is the value that a parameter had when its function was called, if the caller still shows it and it
	// differs from Value.
	Entry string `json:"entry,omitempty"`
	// Location says in words where the variable is stored: "memory at 0x7ffc10", "register rbx", "register rbx,
	// saved at 0x7ffc10", "computed", "constant", "pieces: register rbx; memory at 0x7ffc10"; empty if it is
	// stored nowhere.
	Location string `json:"location,omitempty"`
	// Expression is the location expression in the debugging information, if explanations were requested:
	// "DW_OP_fbreg-24".
	Expression string `json:"expression,omitempty"`
	// Data is the value as a tree, if that was requested and there is a value.
	Data *Data `json:"data,omitempty"`
}

// Same reports whether the text shows two variables alike.
func (v *Variable) Same(w *Variable) bool {
	return v.Name == w.Name && v.Value == w.Value && v.Status == w.Status && v.Reason == w.Reason && v.Entry == w.Entry &&
		v.Doubtful == w.Doubtful
}

// known reports whether v has a value to show.
func (v *Variable) known() bool {
	return v.Status == StatusSuccess || v.Status == "" && v.Reason == ""
}
