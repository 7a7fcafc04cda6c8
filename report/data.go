package report

// Data is a value, or a part of one, as a tree. How deep and wide it is the
// options of the analysis bound, as they do Variable.Value; Variable.Value is the
// same tree in one line.
type Data struct {
	// Kind is what sort of value it is, the same for all languages: "void", "bool",
	// "int", "float", "char", "enum", "string", "pointer", "reference",
	// "member-pointer", "function", "array", "struct" (classes and tuples too),
	// "union", "sequence" (a container or slice), "map" (a container with keys), or
	// "text", a note that is no value of the program's.
	Kind string `json:"kind"`
	// Type is the type's name; empty when it has none, and at the root of the tree,
	// where it is Variable.Type.
	Type string `json:"type,omitempty"`
	// Text is the value of what has no children, and of others what stands before
	// them: "std::vector of length 2, capacity 4". A string is in quotes; after one
	// that was cut comes "...".
	Text string `json:"text,omitempty"`
	// Address is where the value lies in the process's memory (not what a pointer
	// holds); 0 when it is elsewhere.
	Address Addr `json:"address,omitempty"`
	// Error says why there is no value.
	Error string `json:"error,omitempty"`
	// Children are bases, members and elements, in order.
	Children []Child `json:"children,omitempty"`
	// Truncated says that children were left out, or of a string that it goes on.
	Truncated bool `json:"truncated,omitempty"`
}

// A Child is a part of a value.
type Child struct {
	Name string `json:"name,omitempty"` // a member's, "<Base>" of a base; elements have none
	Key  *Data  `json:"key,omitempty"`  // of an element of a map
	// Repeat is how many equal elements follow one another, when more than one.
	Repeat int  `json:"repeat,omitempty"`
	Data   Data `json:"data"`
}
