package analysis

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// blameNote says, next to the instruction, what the bad register held: "from p (local of list_pop)".
func blameNote(b *report.Blame) string {
	s := &b.Steps[0]
	if s.Kind != report.BlameVariable {
		return ""
	}
	return "from " + s.Name + " (" + roleOf(s) + ")"
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

// blameText describes the whole trace: "p->next where p = 0x0, local of list_pop at list.c:41; read from
// q->first at list.c:40".
func blameText(b *report.Blame) string {
	steps := b.Steps
	var head string
	who := b.Register
	switch steps[0].Kind {
	case report.BlameVariable:
		who = steps[0].Name
	case report.BlameRead:
		if !strings.HasPrefix(steps[0].Name, "[") {
			who = tableWords(steps[0].Name)
		}
	}
	if who == "" {
		who = "the target"
	}
	if b.Expression != "" {
		head = tableWords(b.Expression) + " where "
	}
	value := b.Value
	if steps[0].Value != nil && who != b.Register {
		value = *steps[0].Value
	}
	head += fmt.Sprintf("%s = %#x", who, uint64(value))
	if steps[0].Kind == report.BlameVariable {
		head += ", " + roleOf(&steps[0]) + atSource(&steps[0])
		steps = steps[1:]
	} else if steps[0].Kind == report.BlameRead && !strings.HasPrefix(steps[0].Name, "[") {
		if steps[0].Role == "global" {
			head += ", global"
		}
		head += ", read by " + steps[0].Function + atSource(&steps[0])
		steps = steps[1:]
	}
	parts := []string{head}
	for i := range steps {
		parts = append(parts, blameStep(b, &steps[i]))
	}
	return strings.Join(parts, "; ")
}

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
		return text + tableWords(s.Name) + atSource(s)
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
		if s.Expression != "" {
			text = "the address of " + tableWords(s.Expression)
		}
		return fmt.Sprintf("%s where %s = %#x%s", text, tableWords(s.Name), uint64(value), atSource(s))
	case report.BlameNeverSet:
		return s.Name + " was never set"
	}
	return s.Name + ", " + roleOf(s) + atSource(s)
}

// tableWords translates the hidden member of C++ objects with virtual functions: "the vtable pointer of p".
func tableWords(name string) string {
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
