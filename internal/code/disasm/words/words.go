// Package words writes instructions of POWER and z/Architecture as GNU tools do: names and operands. It has a table for
// each, of lines with a mask, a value and a text:
//
//	fc0007fe00000000 7c00021400000000 add r{u6.5},r{u11.5},r{u16.5}
//
// The first line counts whose value the instruction has under its mask. Instructions are 64 bits, the first bit first;
// shorter ones end with zeros. In the text, an operand stands in braces: how it is written (see operand), and which
// bits it is made of: the first bit and how many, with + before more bits, and < before a shift to the left.
//
// The tables are made by
//
//	go run ./internal/code/disasm/words/make
//
// They are parsed when the first such instruction is written: other dumps, and the start of a program, pay nothing.
package words

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

//go:embed ppc64.txt
var textPPC64 string

//go:embed s390x.txt
var textS390x string

var (
	tablePPC64 = lazy.Value[[]line]{Make: func() []line { return parse(textPPC64) }}
	tableS390x = lazy.Value[[]line]{Make: func() []line { return parse(textS390x) }}
)

type line struct {
	mask, value uint64
	text        string
}

// parse returns the lines of a table, except comments.
func parse(table string) []line {
	lines := make([]line, 0, strings.Count(table, "\n"))
	for row := range strings.Lines(table) {
		mask, rest, _ := strings.Cut(strings.TrimSuffix(row, "\n"), " ")
		value, text, _ := strings.Cut(rest, " ")
		m, err := strconv.ParseUint(mask, 16, 64)
		v, err2 := strconv.ParseUint(value, 16, 64)
		if err == nil && err2 == nil {
			lines = append(lines, line{m, v, text})
		}
	}
	return lines
}

// PPC64 returns the text of the POWER instruction with these bits at pc: a word, or the prefix and the word after it.
// It is empty if the table does not have the instruction.
func PPC64(code, pc uint64) string { return write(tablePPC64.Get(), code, pc) }

// S390x returns the text of the instruction of z/Architecture with these bits at pc, or an empty one.
func S390x(code, pc uint64) string { return write(tableS390x.Get(), code, pc) }

func write(table []line, code, pc uint64) string {
	for i := range table {
		if l := &table[i]; code&l.mask == l.value {
			return Expand(l.text, code, pc)
		}
	}
	return ""
}

// Expand returns the text of a line with the operands of the instruction with these bits at pc.
func Expand(text string, code, pc uint64) string {
	var out []byte
	for {
		before, rest, ok := strings.Cut(text, "{")
		out = append(out, before...)
		if !ok {
			return string(out)
		}
		var operand string
		operand, text, _ = strings.Cut(rest, "}")
		out = appendOperand(out, operand, code, pc)
	}
}

var ppcConditions = [8]string{"ge", "le", "ne", "ns", "lt", "gt", "eq", "so"}

// appendOperand adds an operand: a letter for how it is written, and its bits.
func appendOperand(out []byte, operand string, code, pc uint64) []byte {
	first, second, _ := strings.Cut(operand[1:], ",")
	v, signed, negative := operandBits(first, code)
	n := int64(v)
	switch operand[0] {
	case 'u': // a number without a sign, or of a register
		return strconv.AppendUint(out, v, 10)
	case 's': // with a sign
		return strconv.AppendInt(out, signed, 10)
	case 'n': // always below zero
		return strconv.AppendInt(out, negative, 10)
	case 'l': // a length, less one
		return strconv.AppendUint(out, v+1, 10)
	case 'p': // an address, relative to the instruction
		return strconv.AppendUint(append(out, "0x"...), pc+uint64(signed), 16)
	case 'd': // the same, as a distance if it is zero
		if signed == 0 {
			return append(out, ".+0x0"...)
		}
		return strconv.AppendUint(append(out, "0x"...), pc+uint64(signed), 16)
	case 'a': // an address of 32 bits
		return strconv.AppendUint(append(out, "0x"...), uint64(uint32(signed)), 16)
	case 'x': // bits, in hexadecimal
		return strconv.AppendUint(append(out, "0x"...), v, 16)

	// POWER
	case 'z': // a register, of which the first means zero
		if n == 0 {
			return append(out, '0')
		}
		return strconv.AppendUint(append(out, 'r'), v, 10)
	case 'c': // a bit of the condition register
		if n >= 4 {
			out = append(strconv.AppendInt(append(out, "4*cr"...), n/4, 10), '+')
		}
		return append(out, ppcConditions[4+n%4]...)
	case 'q': // a condition of a branch
		return append(out, ppcConditions[n%8]...)
	case 'C', 'K': // a field of the condition register, with what is between it and other operands; the first is left out
		if n == 0 {
			return out
		}
		if operand[0] == 'K' {
			return strconv.AppendInt(append(out, " cr"...), n, 10)
		}
		return append(strconv.AppendInt(append(out, "cr"...), n, 10), ',')
	case 'S': // a special register
		switch n {
		case 1:
			return append(out, "xer"...)
		case 8:
			return append(out, "lr"...)
		case 9:
			return append(out, "ctr"...)
		case 268:
			return append(out, "tb"...)
		}
		return strconv.AppendUint(out, v, 10)

	// z/Architecture: registers of addresses, of which the first means none
	case 'B': // a base after something else in parentheses
		if n == 0 {
			return out
		}
		return append(strconv.AppendUint(append(out, "%r"...), v, 10), ')')
	case 'M': // a base alone
		if n == 0 {
			return out
		}
		return append(strconv.AppendUint(append(out, "(%r"...), v, 10), ')')
	case 'X': // an index and a base
		base, _, _ := operandBits(second, code)
		open := "("
		for _, r := range [...]uint64{v, base} {
			if r != 0 {
				out = strconv.AppendUint(append(append(out, open...), "%r"...), r, 10)
				open = ","
			}
		}
		if open == "," {
			out = append(out, ')')
		}
		return out
	}
	return append(out, '?')
}

// operandBits returns the number that these bits of the instruction make: without a sign, with one, and below zero
// whatever the bits.
func operandBits(bits string, code uint64) (v uint64, signed, negative int64) {
	bits, shifted, _ := strings.Cut(bits, "<")
	shift, _ := strconv.Atoi(shifted)
	all := 0
	for part := range strings.SplitSeq(bits, "+") {
		at, of, _ := strings.Cut(part, ".")
		first, _ := strconv.Atoi(at)
		n, _ := strconv.Atoi(of)
		v = v<<n | code<<first>>(64-n)
		all += n
	}
	signed = int64(v<<(64-all)) >> (64 - all)
	return v << shift, signed << shift, int64(v)<<shift - 1<<(all+shift)
}
