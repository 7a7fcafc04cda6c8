package analysis

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A conversion is one conversion of a format of printf or scanf that has an argument.
type conversion struct {
	text     string // as written: "%-10s"
	number   int    // among the format's conversions, from 1, those without an argument too
	argument int    // the number of its argument, from 0, among those after the format
	pointer  bool   // the argument points to memory that the function reads or writes
}

// A passing is how an argument is passed.
type passing uint8

// The passings.
const (
	passedWord   passing = iota // an integer of at most a word, or a pointer
	passedDouble                // a double
	passedLong                  // a long double
	passedTwice                 // an integer of 8 bytes
)

// maxConversions is how many conversions of a format, and how many of its arguments, are looked at.
const maxConversions = 64

// A format is what the conversions of a printf or scanf take.
type format struct {
	conversions []conversion
	arguments   []passing
}

// parseFormat returns the conversions of a format, up to the first that is not known: what that takes is not known either. Of
// formats that number their arguments (%2$s), those before a gap are known.
func parseFormat(text string, scan bool) format {
	p := formatParser{text: text, scan: scan, numbered: map[int]passing{}}
	for len(p.out.conversions) < maxConversions && p.conversion() {
	}
	for i := 0; len(p.numbered) > 0; i++ {
		how, ok := p.numbered[i]
		if !ok {
			break
		}
		p.out.arguments = append(p.out.arguments, how)
	}
	return p.out
}

type formatParser struct {
	text     string
	scan     bool
	at       int
	count    int             // conversions so far, %% not among them
	numbered map[int]passing // the arguments that numbers name
	out      format
}

// argument takes an argument, which number names, 0 for the next. It returns false if both kinds are mixed, which no standard allows.
func (p *formatParser) argument(number int, how passing) (int, bool) {
	if number == 0 {
		if len(p.numbered) > 0 || len(p.out.arguments) >= maxConversions {
			return 0, false
		}
		p.out.arguments = append(p.out.arguments, how)
		return len(p.out.arguments) - 1, true
	}
	if len(p.out.arguments) > 0 || number > maxConversions {
		return 0, false
	}
	if was, ok := p.numbered[number-1]; ok && was != how {
		return 0, false
	}
	p.numbered[number-1] = how
	return number - 1, true
}

// digits reads a number; 0 if there is none.
func (p *formatParser) digits() int {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	n, err := strconv.Atoi(p.text[start:p.at])
	if err != nil {
		return 0
	}
	return n
}

// position reads "2$"; 0 if that is not there.
func (p *formatParser) position() int {
	start := p.at
	if n := p.digits(); n > 0 && p.at < len(p.text) && p.text[p.at] == '$' {
		p.at++
		return n
	}
	p.at = start
	return 0
}

// skip passes over bytes of a set.
func (p *formatParser) skip(set string) {
	for p.at < len(p.text) && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
	}
}

// star reads a width or precision: digits, or an argument.
func (p *formatParser) star() bool {
	if p.at >= len(p.text) || p.text[p.at] != '*' {
		p.digits()
		return true
	}
	p.at++
	_, ok := p.argument(p.position(), passedWord)
	return ok
}

// conversion reads the next conversion; false at the end, and after what is not known.
func (p *formatParser) conversion() bool {
	next := strings.IndexByte(p.text[p.at:], '%')
	if next < 0 {
		return false
	}
	start := p.at + next
	p.at = start + 1
	number := p.position()
	suppressed := false
	if p.scan {
		for p.at < len(p.text) && strings.IndexByte("*'I", p.text[p.at]) >= 0 {
			suppressed = suppressed || p.text[p.at] == '*'
			p.at++
		}
		p.digits()
	} else {
		p.skip("-+ #0'I")
		if !p.star() {
			return false
		}
		if p.at < len(p.text) && p.text[p.at] == '.' {
			if p.at++; p.at < len(p.text) && p.text[p.at] == '-' {
				p.at++
			}
			if !p.star() {
				return false
			}
		}
	}
	length := p.length()
	if p.at >= len(p.text) {
		return false
	}
	verb := p.text[p.at]
	p.at++
	if verb == '%' {
		return true
	}
	if p.scan && verb == '[' && !p.set() {
		return false
	}
	p.count++
	how, pointer, ok := takes(verb, length, p.scan)
	switch {
	case !ok:
		return false
	case suppressed, verb == 'm' && !p.scan: // the text of errno
		return true
	}
	argument, ok := p.argument(number, how)
	if ok {
		p.out.conversions = append(p.out.conversions, conversion{p.text[start:p.at], p.count, argument, pointer})
	}
	return ok
}

// length reads a length modifier.
func (p *formatParser) length() string {
	start := p.at
	if p.at < len(p.text) && p.text[p.at] == 'w' { // C23: %w32d, %wf16d
		p.at++
		p.skip("f")
		p.digits()
		return p.text[start:p.at]
	}
	set := "hlLqjzZt"
	if p.scan {
		set += "m" // allocate
	}
	p.skip(set)
	return p.text[start:p.at]
}

// set passes over the rest of a set of characters, "[^]a-z]".
func (p *formatParser) set() bool {
	if p.at < len(p.text) && p.text[p.at] == '^' {
		p.at++
	}
	if p.at < len(p.text) && p.text[p.at] == ']' {
		p.at++
	}
	end := strings.IndexByte(p.text[p.at:], ']')
	if end < 0 {
		return false
	}
	p.at += end + 1
	return true
}

// takes tells how the argument of a conversion is passed, and whether it points to memory that is accessed.
func takes(verb byte, length string, scan bool) (how passing, pointer, ok bool) {
	if scan {
		return passedWord, true, strings.IndexByte("diouxXaAeEfFgGcsCSpn[", verb) >= 0
	}
	switch verb {
	case 'd', 'i', 'o', 'u', 'x', 'X', 'b', 'B':
		switch length {
		case "ll", "q", "L", "j", "w64":
			return passedTwice, false, true
		}
		if strings.HasPrefix(length, "wf") { // as many bytes as the C library likes
			return 0, false, false
		}
		return passedWord, false, true
	case 'a', 'A', 'e', 'E', 'f', 'F', 'g', 'G':
		if length == "L" || length == "ll" || length == "q" {
			return passedLong, false, true
		}
		return passedDouble, false, length == "" || length == "l"
	case 'c', 'C', 'p':
		return passedWord, false, true
	case 's', 'S', 'n':
		return passedWord, true, true
	case 'm':
		return passedWord, false, true
	}
	return 0, false, false
}

// An argumentPlace is where an argument after the format is: a register for integers, by its number among those of arguments, or an offset in bytes
// from the first argument on the stack.
type argumentPlace struct {
	register int // -1 for the stack
	stack    int64
}

// A layout is how a platform passes the arguments of a function with a variable number of them.
type layout struct {
	registers int // for integers
	floats    int // for floating-point numbers
	word      int64
	long      int64 // bytes of a long double, which is on the stack
}

// layoutOf returns the layout of an architecture, where it is known.
func layoutOf(a *arch.Arch) (layout, bool) {
	switch a {
	case arch.AMD64:
		return layout{registers: 6, floats: 8, word: 8, long: 16}, true // System V ABI, AMD64 supplement, 3.2.3
	case arch.X86:
		return layout{word: 4, long: 12}, true // System V ABI, Intel386 supplement
	}
	return layout{}, false
}

// place returns where argument n after the format is, in a function whose named arguments take so many registers for integers and
// floating-point numbers, and so many bytes of the stack.
func (l layout) place(arguments []passing, n, integers, floats int, stack int64) (argumentPlace, bool) {
	if n < 0 || n >= len(arguments) {
		return argumentPlace{}, false
	}
	for i, how := range arguments[:n+1] {
		at := argumentPlace{register: -1, stack: stack}
		size := l.word
		switch {
		case how == passedDouble && floats < l.floats:
			floats++
			continue
		case how == passedDouble:
			size = 8
		case how == passedLong:
			if l.word == 8 {
				stack = (stack + l.long - 1) / l.long * l.long
			}
			size = l.long
		case integers < l.registers:
			at = argumentPlace{register: integers}
			integers++
			size = 0
		case how == passedTwice:
			size = 8
		}
		if i == n {
			return at, how == passedWord
		}
		stack += size
	}
	return argumentPlace{}, false
}
