package report

// A Listing is the source around the line of a frame.
type Listing struct {
	Path  string   `json:"path"`  // where the source was found on this machine
	First int      `json:"first"` // number of the first line
	Lines []string `json:"lines"` // without their line ends
	// Newer says that the file was changed after the module was built: the lines may differ from those that
	// were compiled.
	Newer bool `json:"newer,omitempty"`
}

// A CodeLine is one machine instruction around the address of a frame.
type CodeLine struct {
	Address Addr   `json:"address"`        // of its first byte
	Bytes   string `json:"bytes"`          // in hexadecimal, in the order of their addresses
	Text    string `json:"text,omitempty"` // disassembled; empty if the bytes are not an instruction
	// Here marks the instruction of the frame: the one that faulted or would run next, or the call that the
	// frame returns to.
	Here bool `json:"here,omitempty"`
}

// A MemoryArea is a stretch of the process's memory around an address that matters to the crash.
type MemoryArea struct {
	// Names say what points there: registers, "fault address", "stack pointer".
	Names   []string `json:"names"`
	Address Addr     `json:"address"` // what the first name points to
	Start   Addr     `json:"start"`   // of Bytes
	// Bytes are the memory from Start on, in hexadecimal; empty if the dump has none of it.
	Bytes string `json:"bytes,omitempty"`
	// Mapping is the file, or the name that the system gives to the mapping: "[heap]"; empty if it has none.
	Mapping string `json:"mapping,omitempty"`
	// Place says in one clause what is there: "in a freed block of 40 bytes at 0x5650 (cache.items[3]), offset 8, ..."; empty for the stack pointer.
	Place string `json:"place,omitempty"`
}
