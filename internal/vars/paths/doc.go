// Package paths parses expressions that name a value of a process: q->head->next[3].name, *p, &x,
// arr[2:5], (struct tile *)0x55d0, $rip, v.size(), x > 2.5 ? x : y. It knows the forms of C, C++, Go and Rust alike,
// what contradicts them as a Dialect, and nothing of the process. An expression changes nothing: assignments are
// refused. What looks like a call is a Call, of which the evaluator says whether it is a read.
package paths

import (
	"fmt"
	"strings"
)

// A Dialect is a language whose forms contradict those of C.
type Dialect uint8

const (
	Plain   Dialect = iota // C, C++ and others
	Fortran                // a%x, .true., a .and. b, 'text'
	Ada                    // a = b, a /= b, a and b, x'First, p.all
	Rust                   // a & 1 == 0 is (a & 1) == 0, &a as usize is (&a) as usize, b'x'
	Go                     // a & 1 == 0 is (a & 1) == 0, ^a, a &^ b
	D                      // a is b, a[1..3], cast(T) a
	Pascal                 // p^.x, @x, a = b, a <> b, a div b, a and b, a[1, 2], x in s, 'text'
)

// Calls reports whether f(x) is a call, or a conversion, and never an element of an array.
func (d Dialect) Calls() bool { return d != Fortran && d != Ada }

// A Node is a part of an expression. At is where it begins, in bytes from the start of the text.
type Node interface{ At() int }

// At is the place of a node in the text.
type at int

// At implements Node.
func (a at) At() int { return int(a) }

type (
	// An Ident is the name of a variable, with its scopes: "x", "ns::x". Quoted says that it was written in
	// quotes, as names with other characters are, and Global as ::x, which is no variable of a function.
	Ident struct {
		at
		Name           string
		Quoted, Global bool
		Bracketed      bool // as (x), which before - * & + may be a cast
	}
	// A Register is what follows "$": the name of a register, or of a convenience variable, "foo", or which of the
	// values that were printed: "" of $, "1" of $1, "$" of $$, "$2" of $$2.
	Register struct {
		at
		Name string
	}
	// A Number is an integer; with Bool it is true or false, with Char it is written as 'a'. Unsigned and Wide say that it
	// is written as 7u and as 7l, and Based that its base is not 10. Type is that of Rust's 7u8 and of
	// L'a', and "" of others.
	Number struct {
		at
		Value                uint64
		Bool, Unsigned, Char bool
		Wide, Based          bool
		Type                 string
	}
	// A Float is a floating-point number. Single says that it is written as one of 32 bits: 1.5f, 1.5f32.
	Float struct {
		at
		Value  float64
		Single bool
	}
	// A Text is a string, which is the key of a map, or compared with one. Bytes says that it is Rust's b"x".
	Text struct {
		at
		Value string
		Bytes bool
	}
	// A List is an array: [1, 2, 3], or with Count [0; 4].
	List struct {
		at
		Items []Node
		Count Node
	}
	// A Member is X.Name, or number Name of a tuple; with Arrow, X->Name.
	Member struct {
		at
		X     Node
		Name  string
		Arrow bool
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
		Op        string
		X, Y      Node
		Bracketed bool // as (x - y)
	}
	// A Ternary is If ? X : Y.
	Ternary struct {
		at
		If, X, Y Node
	}
	// A Call is Fun(Args). In Fortran and Ada it may be the element of an array; an argument may be a Range. Open is where
	// the parenthesis is.
	Call struct {
		at
		Fun  Node
		Args []Node
		Open int
	}
	// A Range is From:To:Step in the parentheses of Fortran, From..To in those of Ada. From, To, which is part of it, and Step are
	// nil where they are left out.
	Range struct {
		at
		From, To, Step Node
	}
	// A Cast is (Type)X, in Go also (*T)(X), in Rust also X as *const T, in C++ also int(X) and static_cast<T>(X), whose
	// name is Op; "" for others.
	Cast struct {
		at
		Op   string
		Type TypeName
		X    Node
	}
	// An Assertion is X.(Type) of Go.
	Assertion struct {
		at
		X    Node
		Type string
	}
	// An Attribute is X'Name of Ada.
	Attribute struct {
		at
		X    Node
		Name string
	}
	// A Sizeof is sizeof X, or sizeof(Type) if X is nil; with both it is of Type if X means nothing. Align says that
	// it is alignof.
	Sizeof struct {
		at
		X     Node
		Type  TypeName
		Align bool
	}
)

// A TypeName is the name of a type, and how many pointers lead to it: {"struct tile", 1}. Dims are the lengths of an array
// of that, the outermost first, and Outer is how many pointers lead to the array: char (*)[16]. With Function they lead to a
// function that returns it: int (*)(char *). Reference says that it is a reference to that.
type TypeName struct {
	Name      string
	Pointers  int
	Dims      []uint64
	Outer     int
	Function  *Signature
	Reference bool
}

// A Signature has the types of a function's parameters, after which others may follow.
type Signature struct {
	Params   []TypeName
	Variadic bool
}

// String returns the type as C writes it.
func (t TypeName) String() string {
	s := t.Name
	if t.Pointers > 0 {
		s += " " + strings.Repeat("*", t.Pointers)
	}
	if t.Outer > 0 {
		s += " (" + strings.Repeat("*", t.Outer) + ")"
	}
	for _, n := range t.Dims {
		s += fmt.Sprintf("[%d]", n)
	}
	if t.Function != nil {
		var list []string
		for _, p := range t.Function.Params {
			list = append(list, p.String())
		}
		if t.Function.Variadic {
			list = append(list, "...")
		}
		s += "(" + strings.Join(list, ", ") + ")"
	}
	if t.Reference {
		s += " &"
	}
	return s
}

// An Error says what is wrong with an expression, and where, in bytes from the start.
type Error struct {
	Where int
	Text  string
}

func (e *Error) Error() string { return e.Text }
