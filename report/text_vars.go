package report

import (
	"fmt"
	"strconv"
	"strings"
)

func argsOf(f *Frame) []Variable   { return f.Args }
func localsOf(f *Frame) []Variable { return f.Locals }

// variablesText returns frame i's arguments in parentheses, each value shortened to limit; empty if the
// arguments are not known.
func variablesText(group []*Thread, i, limit int) string {
	args := group[0].Frames[i].Args
	if args == nil {
		return ""
	}
	var b strings.Builder
	b.WriteByte('(')
	for v := range args {
		if v > 0 {
			b.WriteString(", ")
		}
		arg := mergeVariable(group, i, v, argsOf)
		name := variableName(&arg)
		if name != "" {
			b.WriteString(name + "=")
		}
		b.WriteString(valueText(pointing(arg, maxPointing), limit))
		if arg.Entry != "" {
			b.WriteString(", " + doubtfulName(&arg) + "@entry=" + brief(arg.Entry, limit))
		}
	}
	b.WriteByte(')')
	return b.String()
}

// cutArgs shortens a list of arguments at its end.
func cutArgs(args string, limit int) string {
	if width(args) <= limit {
		return args
	}
	return args[:runeOffset(args, limit-2)] + "…)"
}

func variableText(v Variable, limit int) string {
	return variableName(&v) + " = " + valueText(v, limit)
}

// variableName is the name of a variable, with a question mark if it has a value, which is doubtful.
func variableName(v *Variable) string {
	if v.known() {
		return doubtfulName(v)
	}
	return brief(v.Name, maxName)
}

// doubtfulName is the name of a variable, with a question mark if what is known of its value is doubtful.
func doubtfulName(v *Variable) string {
	if v.Doubtful {
		return brief(v.Name, maxName) + "?"
	}
	return brief(v.Name, maxName)
}

// valueText returns the value, or in angle brackets why there is none.
func valueText(v Variable, limit int) string {
	if v.known() {
		return briefValue(v.Value, limit)
	}
	reason := v.Reason
	if reason == "" {
		reason = v.Status
	}
	return "<" + brief(reason, maxValue) + ">"
}

// briefValue shortens a value to limit characters. Of a pointer and what it points to, the pointer stays.
func briefValue(value string, limit int) string {
	if pointer, ok := pointerOf(value); ok && width(value) > limit && width(pointer)+3 <= limit {
		return brief(pointer, limit-3) + ": …"
	}
	return brief(value, limit)
}

// maxPointing is how much of what an argument points to is shown among others, in bytes, with the pointer.
const maxPointing = 120

// pointing is a variable in a list of others: of a pointer, what it points to is left out if it is longer than most.
func pointing(v Variable, most int) Variable {
	if len(v.Value) > most {
		if pointer, ok := pointerOf(v.Value); ok {
			v.Value = pointer + ": …"
		}
	}
	return v
}

// pointerOf returns the pointer in front of what it points to, with the type that an interface has.
func pointerOf(value string) (string, bool) {
	pointer, _, ok := strings.Cut(value, ": ")
	at := strings.LastIndexByte(pointer, ' ') + 1
	return pointer, ok && strings.HasPrefix(pointer[at:], "0x") && !strings.ContainsAny(pointer, `{"`)
}

// differs stands for the value of a variable that the threads of a group do not share.
const differs = "<differs>"

// mergeVariable returns the v-th variable of frame i if it is equal in all threads of a group, else one whose
// value says that it differs.
func mergeVariable(group []*Thread, i, v int, of func(*Frame) []Variable) Variable {
	merged := of(&group[0].Frames[i])[v]
	for _, th := range group[1:] {
		if th.Alike {
			continue
		}
		vars := of(&th.Frames[i])
		if v < len(vars) && vars[v].Same(&merged) {
			continue
		}
		if f := &th.Frames[i]; !merged.known() && len(f.Args) == 0 && len(f.Locals) == 0 {
			continue // not read, and the code decides why there is no value
		}
		merged.Value, merged.Status, merged.Entry = differs, StatusSuccess, ""
		break
	}
	return merged
}

// MaxByThread is the number of threads with the same stack whose own values the text shows where they differ.
const MaxByThread = 8

// byThread writes, below the stack that a group of threads has in common, the values in which each thread
// differs from the others.
func (t *textWriter) byThread(group []*Thread, shown []row) {
	type place struct {
		frame, v int
		of       func(*Frame) []Variable
	}
	var places []place
	for _, r := range shown {
		if !r.alone() {
			continue
		}
		for _, of := range []func(*Frame) []Variable{argsOf, localsOf} {
			for v := range of(&group[0].Frames[r.first]) {
				if mergeVariable(group, r.first, v, of).Value == differs {
					places = append(places, place{r.first, v, of})
				}
			}
		}
	}
	if len(places) == 0 {
		return
	}
	var entries [][]string // of each thread: its number, then the values
	for _, th := range group[:min(len(group), MaxByThread)] {
		entry := []string{taskID(t.kind, th.ID) + ":"}
		last := -1
		for _, p := range places {
			vars := p.of(&th.Frames[p.frame])
			if p.v >= len(vars) {
				continue
			}
			word := variableName(&vars[p.v]) + "=" + valueText(pointing(vars[p.v], 0), t.maxValue)
			if vars[p.v].Entry != "" {
				word += ", @entry=" + brief(vars[p.v].Entry, t.maxValue)
			}
			if len(entry) > 1 {
				entry[len(entry)-1] += ","
			}
			if p.frame != last {
				word = "#" + strconv.Itoa(frameNumber(th.Frames, p.frame)) + " " + word
			}
			last = p.frame
			entry = append(entry, word)
		}
		entries = append(entries, entry)
	}
	t.entries(entries)
	if n := len(group) - MaxByThread; n > 0 {
		t.line(dim, fmt.Sprintf("  %d more threads differ too (--no-fold shows each)", n))
	}
}

// entries writes the values of each thread: in columns if at least two fit side by side, else each from a line of
// its own on.
func (t *textWriter) entries(entries [][]string) {
	const apart = 3
	widest := 0
	for _, e := range entries {
		widest = max(widest, width(strings.Join(e, " ")))
	}
	if columns := (t.width - 2 + apart) / (widest + apart); columns > 1 {
		for i, e := range entries {
			if i%columns == 0 {
				if i > 0 {
					t.end()
				}
				t.gap(2)
			}
			t.put(dim, e[0])
			text := strings.Join(e[1:], " ")
			t.put(plain, " "+text)
			t.gap(widest - width(e[0]) - 1 - width(text) + apart)
		}
		t.end()
		return
	}
	for _, e := range entries {
		t.put(dim, "  "+e[0])
		for i, w := range e[1:] {
			if i > 0 && t.col+1+width(w) > t.width {
				t.end()
				t.gap(5)
			}
			t.gap(1)
			t.put(plain, w)
		}
		t.end()
	}
}
