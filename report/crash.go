package report

// A Crash says why the process died. Signal is set for POSIX systems, Exception
// for Windows.
type Crash struct {
	Signal       string `json:"signal,omitempty"` // "SIGSEGV"
	SignalNumber int    `json:"signal_number,omitempty"`
	Exception    string `json:"exception,omitempty"` // "EXCEPTION_ACCESS_VIOLATION"
	Code         string `json:"code,omitempty"`      // the signal's or exception's code by name or number: "SEGV_MAPERR"
	// Address is the address that the fault was about; nil when it was about none.
	// 0 is an address like others.
	Address *Addr `json:"address,omitempty"`
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
	Causes      []Cause      `json:"causes,omitempty"` // most likely first
}

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
