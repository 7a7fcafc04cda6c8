// Package unwindrules runs the postfix programs with which symbol files describe how to
// find a frame's caller: the rules in Breakpad's STACK CFI records, and the program strings
// in STACK WIN records and in a PDB's FrameData.
//
// A program consists of words separated by spaces. A word is a decimal number, which may be
// negative, a name ($ebp, x29, .cfa, $T0), or an operator: + - * / % on machine words that
// wrap around, @ (the first operand rounded down to a multiple of the second, a power of
// two), ^ (the word in memory at an address) and = (assignment). Specification:
// https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/docs/symbol_files.md
//
// Programs come from untrusted files: the sizes of the stack and the set of variables and
// the number of words executed are limited. A Machine is not safe for concurrent use.
package unwindrules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	maxStack = 64
	maxVars  = 64
	maxWords = 1024 // executed for one program
)

var (
	// ErrSyntax is wrapped by errors about malformed programs.
	ErrSyntax = errors.New("malformed postfix program")
	// ErrUndefined is wrapped if a program uses a name that has no value.
	ErrUndefined = errors.New("no value")
	// ErrMemory is wrapped if a program reads memory that cannot be read.
	ErrMemory = errors.New("memory not readable")
)

// A Machine runs programs. Names are looked up among the variables first, then with Reg.
type Machine struct {
	WordSize int                               // 4 or 8 bytes; every value has this size
	Read     func(addr uint64) (uint64, error) // the word of WordSize bytes at addr
	Reg      func(name string) (uint64, bool)  // a register by its name without "$"; may be nil

	vars  []variable
	stack []cell
}

// A Source says where a Value comes from.
type Source uint8

const (
	Computed     Source = iota
	FromMemory          // the word at Value.Addr, as it is
	FromRegister        // the register Value.Reg, as it is
)

// A Value is the result of a program.
type Value struct {
	Bits uint64
	From Source
	Addr uint64 // of FromMemory
	Reg  string // of FromRegister: its name without "$"
}

type variable struct {
	name string
	Value
}

// A cell is a value, or a name that is resolved only when its value is used: an assignment
// uses the name itself.
type cell struct {
	Value
	name  string
	undef bool // .undef: assigning it removes the variable
}

// Reset removes all variables.
func (m *Machine) Reset() { m.vars = m.vars[:0] }

// Set gives a variable a value.
func (m *Machine) Set(name string, v uint64) error { return m.set(name, Value{Bits: v}) }

// SetReg gives the variable for a register ("$ebp") the register's value.
func (m *Machine) SetReg(name string, v uint64) error {
	return m.set(name, Value{Bits: v, From: FromRegister, Reg: strings.TrimPrefix(name, "$")})
}

func (m *Machine) set(name string, v Value) error {
	v.Bits &= m.mask()
	for i := range m.vars {
		if m.vars[i].name == name {
			m.vars[i].Value = v
			return nil
		}
	}
	if len(m.vars) == maxVars {
		return fmt.Errorf("more than %d variables: %w", maxVars, ErrSyntax)
	}
	m.vars = append(m.vars, variable{name, v})
	return nil
}

// Unset removes a variable.
func (m *Machine) Unset(name string) {
	for i := range m.vars {
		if m.vars[i].name == name {
			m.vars = append(m.vars[:i], m.vars[i+1:]...)
			return
		}
	}
}

// Var is the value of a variable.
func (m *Machine) Var(name string) (Value, bool) {
	for i := range m.vars {
		if m.vars[i].name == name {
			return m.vars[i].Value, true
		}
	}
	return Value{}, false
}

// Value runs a program that leaves one value and assigns nothing.
func (m *Machine) Value(program string) (Value, error) {
	if err := m.run(program, false); err != nil {
		return Value{}, err
	}
	if len(m.stack) != 1 {
		return Value{}, fmt.Errorf("program leaves %d values, want 1: %w", len(m.stack), ErrSyntax)
	}
	return m.pop()
}

// Exec runs a program of assignments, which leaves nothing on the stack.
func (m *Machine) Exec(program string) error {
	if err := m.run(program, true); err != nil {
		return err
	}
	if len(m.stack) != 0 {
		return fmt.Errorf("program leaves %d values, want none: %w", len(m.stack), ErrSyntax)
	}
	return nil
}

func (m *Machine) mask() uint64 {
	if m.WordSize == 4 {
		return 1<<32 - 1
	}
	return 1<<64 - 1
}

func (m *Machine) run(program string, assign bool) error {
	m.stack = m.stack[:0]
	for n := 0; ; n++ {
		var word string
		if word, program = next(program); word == "" {
			return nil
		}
		if n == maxWords {
			return fmt.Errorf("program has more than %d words: %w", maxWords, ErrSyntax)
		}
		if word == "=" && !assign {
			return fmt.Errorf("assignment in an expression: %w", ErrSyntax)
		}
		if err := m.step(word); err != nil {
			return fmt.Errorf("%q: %w", word, err)
		}
	}
}

// next cuts the first word off a program. Some linkers write no space after an operator, so
// an operator also ends where another word could begin.
func next(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t\r\n")
	end := strings.IndexAny(s, " \t\r\n")
	if end < 0 {
		end = len(s)
	}
	if end > 1 && isOperator(s[0]) && !isNumber(s[:end]) {
		return s[:1], s[1:]
	}
	if eq := strings.IndexByte(s[:end], '='); eq > 0 {
		end = eq
	}
	return s[:end], s[end:]
}

func isOperator(c byte) bool { return strings.IndexByte("+-*/%@^=", c) >= 0 }

func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func (m *Machine) step(word string) error {
	switch {
	case len(word) == 1 && isOperator(word[0]):
		return m.operate(word[0])
	case isNumber(word):
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			u, uerr := strconv.ParseUint(word, 10, 64)
			if uerr != nil {
				return fmt.Errorf("%w: %w", ErrSyntax, uerr)
			}
			v = int64(u)
		}
		return m.push(cell{Value: Value{Bits: uint64(v) & m.mask()}})
	case word == ".undef":
		return m.push(cell{name: word, undef: true})
	case word[0] == '$' || word[0] == '.' || word[0] == '_' || letter(word[0]):
		return m.push(cell{name: word})
	}
	return ErrSyntax
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (m *Machine) push(c cell) error {
	if len(m.stack) == maxStack {
		return fmt.Errorf("more than %d values on the stack: %w", maxStack, ErrSyntax)
	}
	m.stack = append(m.stack, c)
	return nil
}

func (m *Machine) popCell() (cell, error) {
	if len(m.stack) == 0 {
		return cell{}, fmt.Errorf("missing operand: %w", ErrSyntax)
	}
	c := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return c, nil
}

func (m *Machine) pop() (Value, error) {
	c, err := m.popCell()
	if err != nil || c.name == "" {
		return c.Value, err
	}
	if v, ok := m.lookup(c.name); ok && !c.undef {
		return v, nil
	}
	return Value{}, fmt.Errorf("%s: %w", c.name, ErrUndefined)
}

func (m *Machine) lookup(name string) (Value, bool) {
	if v, ok := m.Var(name); ok {
		return v, true
	}
	if m.Reg == nil {
		return Value{}, false
	}
	reg := strings.TrimPrefix(name, "$")
	v, ok := m.Reg(reg)
	return Value{Bits: v & m.mask(), From: FromRegister, Reg: reg}, ok
}

func (m *Machine) operate(op byte) error {
	switch op {
	case '=':
		return m.assign()
	case '^':
		addr, err := m.pop()
		if err != nil {
			return err
		}
		v, err := m.Read(addr.Bits)
		if err != nil {
			return fmt.Errorf("word at %#x: %w: %w", addr.Bits, ErrMemory, err)
		}
		return m.push(cell{Value: Value{Bits: v & m.mask(), From: FromMemory, Addr: addr.Bits}})
	}
	b, err := m.pop()
	if err != nil {
		return err
	}
	a, err := m.pop()
	if err != nil {
		return err
	}
	v, err := arithmetic(op, a.Bits, b.Bits)
	if err != nil {
		return err
	}
	return m.push(cell{Value: Value{Bits: v & m.mask()}})
}

func (m *Machine) assign() error {
	from, err := m.popCell()
	if err != nil {
		return err
	}
	to, err := m.popCell()
	if err != nil {
		return err
	}
	if to.name == "" || to.undef {
		return fmt.Errorf("assignment to a value, not a name: %w", ErrSyntax)
	}
	if from.undef {
		m.Unset(to.name)
		return nil
	}
	if from.name != "" {
		v, ok := m.lookup(from.name)
		if !ok {
			return fmt.Errorf("%s: %w", from.name, ErrUndefined)
		}
		from.Value = v
	}
	return m.set(to.name, from.Value)
}

func arithmetic(op byte, a, b uint64) (uint64, error) {
	switch op {
	case '+':
		return a + b, nil
	case '-':
		return a - b, nil
	case '*':
		return a * b, nil
	case '@':
		if b == 0 || b&(b-1) != 0 {
			return 0, fmt.Errorf("bad alignment %d: %w", b, ErrSyntax)
		}
		return a &^ (b - 1), nil
	}
	if b == 0 {
		return 0, fmt.Errorf("division by zero: %w", ErrSyntax)
	}
	if op == '/' {
		return a / b, nil
	}
	return a % b, nil
}
