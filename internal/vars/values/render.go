package values

import (
	"fmt"
	"strings"
)

// String returns the value in one line: {a = 1, b = {2, 3}, name = "x"}.
func (v *Value) String() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v *Value) write(b *strings.Builder) {
	if v.Err != nil {
		if v.Text != "" {
			b.WriteString(v.Text + " ")
		}
		b.WriteString("<" + v.Err.Error() + ">")
		return
	}
	b.WriteString(v.Text)
	if !v.Compound {
		return
	}
	if v.Text != "" {
		if len(v.Parts) == 0 && !v.More {
			return
		}
		b.WriteString(joint(v))
	}
	open, end, is := "{", "}", " = "
	switch v.style {
	case parens:
		open, end = "(", ")"
	case record:
		is = ": "
	case brackets:
		open, end = "[", "]"
	}
	b.WriteString(open)
	for i := range v.Parts {
		if i > 0 {
			b.WriteString(", ")
		}
		v.Parts[i].write(b, is)
	}
	if v.More {
		if len(v.Parts) > 0 && v.Parts[len(v.Parts)-1].Value.Compound {
			b.WriteByte(' ')
		}
		b.WriteString("...")
	}
	b.WriteString(end)
}

// joint returns what stands between the text of a value and its parts.
func joint(v *Value) string {
	switch {
	case v.style == parens:
		return ""
	case v.style == record || strings.HasSuffix(v.Text, ":") || strings.HasSuffix(v.Text, ")") && strings.HasPrefix(v.Text, "("):
		return " "
	}
	return " = "
}

func (p *Part) write(b *strings.Builder, is string) {
	switch {
	case p.Key != nil:
		b.WriteByte('[')
		p.Key.write(b)
		b.WriteString("] = ")
	case p.Name != "":
		b.WriteString(p.Name + is)
	}
	p.Value.write(b)
	if p.Repeat > 1 {
		fmt.Fprintf(b, " <repeats %d times>", p.Repeat)
	}
}
