package analysis

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// blameNote says, next to the instruction, what the bad register held: "from p (local of list_pop)".
func blameNote(b *report.Blame) string {
	s := &b.Steps[0]
	if s.Kind != report.BlameVariable || soughtNameless(b) {
		return ""
	}
	return "from " + sourceWords(s.Name) + " (" + roleOf(s) + ")"
}

// soughtNameless reports whether all that is known of a value is that a search came to it.
func soughtNameless(b *report.Blame) bool {
	return b.Steps[0].Sought && b.Steps[0].Kind == report.BlameVariable && b.Steps[0].Name == b.Register
}

func roleOf(s *report.BlameStep) string {
	switch {
	case s.Role == "" && s.Function == "":
		return "value"
	case s.Role == "":
		return "in " + s.Function
	case s.Role == "global" || s.Function == "":
		return s.Role
	}
	return s.Role + " of " + s.Function
}

// kindOfNumbers has the bad value written as a number, and not as an address.
const kindOfNumbers = "number"

// blameText describes the whole trace: "p->next where p = 0x0, local of list_pop at list.c:41; read from
// q->first at list.c:40". kind is the crash's.
func blameText(b *report.Blame, kind string) string {
	steps := b.Steps
	var head string
	who := b.Register
	switch steps[0].Kind {
	case report.BlameVariable:
		who = sourceWords(steps[0].Name)
	case report.BlameRead:
		if !strings.HasPrefix(steps[0].Name, "[") {
			who = sourceWords(steps[0].Name)
		}
	}
	if who == "" {
		who = "the target"
		if kind == report.CrashDivZero || kind == report.CrashDivOverflow {
			who = "the divisor"
		}
	}
	if b.Expression != "" {
		head = sourceWords(b.Expression) + " where "
	}
	if steps[0].Kind == report.BlameIndex {
		parts := []string{indexText(b, &steps[0])}
		for i := range steps[1:] {
			parts = append(parts, blameStep(b, &steps[1+i]))
		}
		return strings.Join(parts, "; ")
	}
	if steps[0].Kind == report.BlameConversion {
		parts := []string{conversionText(b, &steps[0])}
		for i := range steps[1:] {
			parts = append(parts, blameStep(b, &steps[1+i]))
		}
		return strings.Join(parts, "; ")
	}
	value := b.Value
	if steps[0].Value != nil && who != b.Register {
		value = *steps[0].Value
	}
	switch steps[0].Kind {
	case report.BlameComputed:
		who = steps[0].Name
	case report.BlameOverwritten:
		if b.Register == "" {
			who = "the return address"
		}
	}
	switch {
	case kind == report.CrashDivZero && value == 0:
		head += who + " = 0" // a number
	case kind == report.CrashDivOverflow:
		head += who + " = -1"
	case kind == kindOfNumbers:
		head += who + " = " + strconv.FormatInt(int64(value), 10)
	default:
		head += fmt.Sprintf("%s = %#x", who, uint64(value))
	}
	if soughtNameless(b) {
		head += ", where a search came to that does not look for its end"
		steps = steps[1:]
	} else if steps[0].Kind == report.BlameVariable {
		head += ", " + roleOf(&steps[0]) + atSource(&steps[0])
		steps = steps[1:]
	} else if steps[0].Kind == report.BlameRead && !strings.HasPrefix(steps[0].Name, "[") {
		if steps[0].Role == "global" {
			head += ", global"
		}
		head += ", read by " + steps[0].Function + atSource(&steps[0])
		steps = steps[1:]
	} else if steps[0].Kind == report.BlameComputed {
		head += ", computed by " + steps[0].Function + atSource(&steps[0])
		steps = steps[1:]
	}
	parts := []string{head}
	for i := range steps {
		parts = append(parts, blameStep(b, &steps[i]))
	}
	for i := range b.Steps {
		if m := b.Steps[i].Memory; m != nil {
			parts = append(parts, fmt.Sprintf("but memory has %#x there: it was changed since, or the register is of another moment", uint64(*m)))
			break
		}
	}
	return strings.Join(parts, "; ")
}

// indexText says which index an expression has that leads to a bad address.
func indexText(b *report.Blame, s *report.BlameStep) string {
	if s.Name == "" {
		return sourceWords(b.Expression) + ", an index that was computed" + atSource(s)
	}
	return fmt.Sprintf("%s where %s = %d%s", sourceWords(b.Expression), s.Name, int64(*s.Value), atSource(s))
}

// conversionText says what a function took for a conversion of its format: "%s, conversion 2 of printf's "%d %s", took n = 5, an integer (int)".
func conversionText(b *report.Blame, s *report.BlameStep) string {
	text := fmt.Sprintf("%s, conversion %d of %s's %s, took ", s.Name, s.Number, s.Function, strconv.Quote(s.Expression))
	value := uint64(b.Value)
	if s.Value != nil {
		value = uint64(*s.Value)
	}
	if s.Passed != "" {
		text += sourceWords(s.Passed) + " = "
	}
	if s.Type == "" {
		return text + fmt.Sprintf("%#x", value) + atSource(s)
	}
	return text + fmt.Sprintf("%d, an integer (%s)%s", int64(value), s.Type, atSource(s))
}

// overwrittenText says which text a value is a part of: "overwritten by text that begins in o->name, 16 bytes before: "xxxxx..."".
func overwrittenText(s *report.BlameStep) string {
	text := "overwritten by text"
	if s.Number < 8 {
		text = fmt.Sprintf("its first %d bytes overwritten by text", s.Number)
	}
	where := " that begins"
	if s.Name != "" {
		where += " in " + sourceWords(s.Name) + ","
	}
	return text + where + fmt.Sprintf(" %d bytes before: ", uint64(s.Offset)) + strconv.Quote(s.Expression)
}

// maxNegative is how far below 0 what is no address is told as a number.
const maxNegative = 4096

func blameStep(b *report.Blame, s *report.BlameStep) string {
	value := b.Value
	if s.Value != nil {
		value = *s.Value
	}
	switch s.Kind {
	case report.BlameRead:
		text := "read from "
		if s.Role == "global" {
			text += "the global "
		}
		return text + sourceWords(s.Name) + atSource(s)
	case report.BlameSet:
		return fmt.Sprintf("set to %#x%s", uint64(value), atSource(s))
	case report.BlameReturned:
		if s.Name == "" {
			return "returned by the call" + atSource(s)
		}
		return "returned by " + s.Name + atSource(s)
	case report.BlameArgument:
		if strings.HasPrefix(s.Name, "argument ") {
			if s.Function == "" {
				return s.Name
			}
			return s.Name + " of " + s.Function
		}
		return s.Name + ", " + roleOf(s)
	case report.BlamePassed:
		text := "passed"
		if s.Name != "" {
			text += " as " + s.Name
		}
		if s.Function != "" {
			text += " by " + s.Function
		}
		return text + atSource(s)
	case report.BlameOffset:
		text := fmt.Sprintf("%s+%#x", s.Name, uint64(s.Offset))
		if n := int64(s.Offset); n < 0 {
			text = fmt.Sprintf("%s-%#x", s.Name, -uint64(n))
		}
		if s.Expression != "" {
			text = "the address of " + sourceWords(s.Expression)
		}
		held := fmt.Sprintf("%#x", uint64(value))
		if n := int64(value); n < 0 && n >= -maxNegative { // no address
			held = strconv.FormatInt(n, 10)
		}
		return fmt.Sprintf("%s where %s = %s%s", text, sourceWords(s.Name), held, atSource(s))
	case report.BlameIndex, report.BlameOperand:
		if n := uint64(value); n >= 1<<32 && n < 1<<48 { // an address
			return fmt.Sprintf("%s = %#x", s.Name, n)
		}
		return fmt.Sprintf("%s = %d", s.Name, int64(value))
	case report.BlameOverwritten:
		return overwrittenText(s)
	case report.BlameNeverSet:
		return s.Name + " was never set"
	}
	return s.Name + ", " + roleOf(s) + atSource(s)
}

// sourceWords translates the members that the source does not name: the one of C++ objects with virtual functions,
// "the vtable pointer of p", and the pointers of std::unique_ptr and std::shared_ptr, which are called like these.
//
// What is in containers and iterators of libstdc++ and libc++ is named by the container and the iterator: v[i], v.end(), *it.
func sourceWords(name string) string {
	name = containerWords(name)
	for _, inner := range smartPointers {
		if object, rest, ok := strings.Cut(name, inner); ok && (rest == "" || strings.HasPrefix(rest, "->") && !reserved(rest[2:])) {
			return sourceWords(object + rest)
		}
	}
	for _, inner := range optionals {
		if object, rest, ok := strings.Cut(name, inner); ok && rest == "" {
			return sourceWords("*" + object)
		} else if ok && (strings.HasPrefix(rest, "->") || rest[0] == '.') {
			return sourceWords("(*" + object + ")" + rest)
		}
	}
	for _, sep := range [...]string{"->_vptr", "._vptr"} {
		object, rest, ok := strings.Cut(name, sep)
		switch i := strings.IndexByte(rest, '['); {
		case !ok:
		case i >= 0:
			return "entry " + strings.Trim(rest[i:], "[]") + " of the vtable of " + object
		case strings.HasPrefix(object, "*"):
			return "entry 0 of the vtable of " + object[1:]
		default:
			return "the vtable pointer of " + object
		}
	}
	return name
}

// smartPointers are the paths to the pointers in libstdc++'s and libc++'s smart pointers, the longer first.
var smartPointers = []string{"._M_t._M_t._M_head_impl", "._M_t._M_head_impl", "._M_ptr", "._M_t", ".__ptr_.__value_", ".__ptr_"}

// optionals are the paths to what is in a std::optional.
var optionals = []string{"._M_payload._M_payload._M_value", ".__val_"}

// reserved reports whether a member's name is one that only the library itself may have.
func reserved(name string) bool {
	return strings.HasPrefix(name, "__") || strings.HasPrefix(name, "_M_")
}

// containerWords is sourceWords for containers and iterators.
func containerWords(name string) string {
	for _, end := range bounds {
		for _, sep := range [...]string{".", "->"} {
			object, rest, ok := strings.Cut(name, sep+end.inner)
			switch {
			case !ok || strings.HasPrefix(object, "*"), object == "this" && end.libcxx && strings.Contains(rest, "]["): // where deques have the blocks of their elements
			case rest == "":
				return object + sep + end.words
			case end.words == "begin()" && rest[0] == '[' && sep == "->":
				return containerWords("(*" + object + ")" + rest)
			case end.words == "begin()" && rest[0] == '[':
				return containerWords(object + rest)
			case end.words == "begin()" && sep == "." && strings.HasPrefix(rest, "->"):
				return containerWords(object + "[0]." + rest[2:])
			}
		}
	}
	for _, inner := range listSizes {
		if object, rest, ok := strings.Cut(name, inner); ok && (rest == "" || rest[0] == ']') {
			return containerWords(object + member(inner) + "size()" + rest)
		}
	}
	for _, inner := range [...]string{"._M_current", "._M_node", "._M_cur", ".__i", ".__i_"} {
		if object, ok := strings.CutSuffix(name, inner); ok && !strings.HasSuffix(object, "_M_impl") {
			return object
		}
	}
	return name
}

// bounds are the paths to where the elements of vectors and deques begin and end.
var bounds = []struct {
	inner, words string
	libcxx       bool
}{
	{inner: "_M_impl._M_start._M_cur", words: "begin()"}, {inner: "_M_impl._M_start", words: "begin()"}, {inner: "_M_impl._M_finish", words: "end()"},
	{inner: "__begin_", words: "begin()", libcxx: true}, {inner: "__end_", words: "end()", libcxx: true},
}

// listSizes are the paths to the numbers of elements in the library's lists and trees.
var listSizes = []string{"._M_impl._M_node._M_size", "->_M_impl._M_node._M_size", "._M_t._M_impl._M_node_count", "->_M_t._M_impl._M_node_count",
	".__size_alloc_.__value_", "->__size_alloc_.__value_", ".__tree_.__pair3_.__value_", "->__tree_.__pair3_.__value_"}

// member returns how a path begins: "->" or ".".
func member(path string) string {
	if strings.HasPrefix(path, "->") {
		return "->"
	}
	return "."
}

// atEnd names the place of the element that a container would have at its end. Lists and trees have other members there: of how many elements they are.
func atEnd(name string) (string, bool) {
	for _, inner := range listSizes {
		if object, ok := strings.CutSuffix(name, inner); ok {
			return "*" + object + member(inner) + "end()", true
		}
	}
	return "", false
}

// atSource is " at list.c:41", or " at" the address if the line is not known.
func atSource(s *report.BlameStep) string {
	switch {
	case s.Source.File != "" && s.Source.Line > 0:
		return fmt.Sprintf(" at %s:%d", filepath.Base(s.Source.File), s.Source.Line)
	case s.Address != 0:
		return " at " + s.Address.String()
	}
	return ""
}
