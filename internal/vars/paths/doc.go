// Package paths parses expressions that name a value of a process: q->head->next[3].name, *p, &x,
// arr[2:5], (struct tile *)0x55d0, $rip. It knows the forms of C, C++, Go and Rust alike, and nothing of
// the process. An expression calls nothing and changes nothing: calls and assignments are refused.
package paths

// A Node is a part of an expression. At is where it begins, in bytes from the start of the text.
type Node interface{ At() int }

// At is the place of a node in the text.
type at int

// At implements Node.
func (a at) At() int { return int(a) }

type (
	// An Ident is the name of a variable, with its scopes: "x", "ns::x". Quoted says that it was written in
	// quotes, as names with other characters are.
	Ident struct {
		at
		Name   string
		Quoted bool
	}
	// A Register is the name of a register after "$".
	Register struct {
		at
		Name string
	}
	// A Number is an integer, also 'a' and true.
	Number struct {
		at
		Value uint64
	}
	// A Text is a string, which is the key of a map.
	Text struct {
		at
		Value string
	}
	// A Member is X.Name, X->Name, or number Name of a tuple.
	Member struct {
		at
		X    Node
		Name string
	}
	// An Index is X[I].
	Index struct {
		at
		X, I Node
	}
	// A Slice is X[From:To]; From and To are nil where they are left out. X@n is one, too, of which Run is
	// true: n objects one after the other, the first of which is X.
	Slice struct {
		at
		X, From, To Node
		Run         bool
	}
	// A Unary is an operator before its operand: * & - + ~ !
	Unary struct {
		at
		Op string
		X  Node
	}
	// A Binary is an operator between its operands, as in C.
	Binary struct {
		at
		Op   string
		X, Y Node
	}
	// A Cast is (Type)X, in Go also (*T)(X), in Rust also X as *const T.
	Cast struct {
		at
		Type TypeName
		X    Node
	}
	// A Sizeof is sizeof X, or sizeof(Type) if X is nil.
	Sizeof struct {
		at
		X    Node
		Type TypeName
	}
)

// A TypeName is the name of a type, and how many pointers lead to it: {"struct tile", 1}.
type TypeName struct {
	Name     string
	Pointers int
}

// String returns the type as C writes it.
func (t TypeName) String() string {
	s := t.Name
	for i := range t.Pointers {
		if i == 0 {
			s += " "
		}
		s += "*"
	}
	return s
}

// An Error says what is wrong with an expression, and where, in bytes from the start.
type Error struct {
	Where int
	Text  string
}

func (e *Error) Error() string { return e.Text }
