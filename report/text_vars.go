package report

import (
	"slices"
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
		name := brief(arg.Name, maxName)
		if name != "" {
			b.WriteString(name + "=")
		}
		b.WriteString(valueText(arg, limit))
		if arg.Entry != "" {
			b.WriteString(", " + name + "@entry=" + brief(arg.Entry, limit))
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
	return brief(v.Name, maxName) + " = " + valueText(v, limit)
}

// valueText returns the value, or in angle brackets why there is none.
func valueText(v Variable, limit int) string {
	if v.known() {
		return brief(v.Value, limit)
	}
	reason := v.Reason
	if reason == "" {
		reason = v.Status
	}
	return "<" + brief(reason, maxValue) + ">"
}

// maxMerged is how many different values of one variable are shown for threads with the same stack.
const maxMerged = 3

// mergeVariable returns the v-th variable of frame i with the different values it has in the threads of a
// group: 0x0|0x1|0x2.
func mergeVariable(group []*Thread, i, v int, of func(*Frame) []Variable) Variable {
	merged := of(&group[0].Frames[i])[v]
	if len(group) == 1 {
		return merged
	}
	var values []string
	for _, th := range group {
		vars := of(&th.Frames[i])
		if v >= len(vars) || vars[v].Name != merged.Name {
			continue
		}
		if vars[v].Entry != merged.Entry {
			merged.Entry = "" // differs between the threads
		}
		text := valueText(vars[v], maxValue)
		if !slices.Contains(values, text) {
			values = append(values, text)
		}
		if len(values) > maxMerged {
			values[maxMerged] = "…"
			break
		}
	}
	merged.Value, merged.Status = strings.Join(values, "|"), StatusSuccess
	return merged
}
