package report

// Data is a value, or a part of one, as a tree. The options of the analysis limit its depth and width, as they
// limit Variable.Value, which is the same tree on one line.
type Data struct {
	// Kind is the sort of value, the same for all languages: "void", "bool", "int", "float", "char", "enum",
	// "string", "pointer", "reference", "member-pointer", "function", "array", "struct" (classes and tuples
	// too), "union", "sequence" (a container or slice), "map" (a container with keys), or "text", a note that
	// is not a value of the program.
	Kind string `json:"kind"`
	// Type is the type's name; empty if it has none, and at the root of the tree, where Variable.Type has it.
	Type string `json:"type,omitempty"`
	// Text is the value if it has no children, else what precedes them: "std::vector of length 2, capacity 4".
	// Strings are quoted; "..." follows one that was cut.
	Text string `json:"text,omitempty"`
	// Address is where the value is stored in the process's memory (not what a pointer holds); 0 if it is not
	// in memory.
	Address Addr `json:"address,omitempty"`
	// Error says why there is no value.
	Error string `json:"error,omitempty"`
	// Children are bases, members and elements, in order.
	Children []Child `json:"children,omitempty"`
	// Truncated says that children were left out, or that the string goes on.
	Truncated bool `json:"truncated,omitempty"`
}

// A Child is a part of a value.
type Child struct {
	Name string `json:"name,omitempty"` // of a member, "<Base>" for a base class; elements have none
	Key  *Data  `json:"key,omitempty"`  // for an element of a map
	// Repeat is how many equal elements follow one another, if more than one.
	Repeat int  `json:"repeat,omitempty"`
	Data   Data `json:"data"`
}
