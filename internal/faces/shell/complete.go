package shell

import (
	"context"
	"strings"
	"time"
)

// Complete returns how a line may go on at a position in bytes: what stands before and after the word there, and the words
// that may take its place. Names are those of commands, and of the frame's variables and their members.
func (sh *Shell) Complete(ctx context.Context, line string, pos int) (before string, words []string, after string) {
	pos = min(max(pos, 0), len(line))
	head, after := line[:pos], line[pos:]
	first, rest, more := strings.Cut(strings.TrimLeft(head, " "), " ")
	if !more {
		all, _ := Words()
		return head[:len(head)-len(first)], beginning(all, first), after
	}
	switch name, _, _ := strings.Cut(first, "/"); name {
	case "info", "i":
		if !strings.Contains(rest, " ") {
			_, infos := Words()
			return head[:len(head)-len(rest)], beginning(infos, rest), after
		}
	case "help", "h":
		all, _ := Words()
		return head[:len(head)-len(rest)], beginning(all, rest), after
	case "set", "show":
		return head[:len(head)-len(rest)], beginning(append([]string{"listsize", "print pretty on", "print pretty off", "print address off", "output-radix 16", "backtrace limit"}, strings.Fields(without)...), rest), after
	case "thread", "t":
		return head[:len(head)-len(rest)], beginning([]string{"apply all bt", "find"}, rest), after
	case "p", "print", "x", "inspect", "output", "display", "ptype", "whatis", "printf", "find":
		from := strings.LastIndexFunc(rest, func(r rune) bool { return strings.ContainsRune(" ()[]*&+-/%|^~!<>=,:@", r) && r != '>' }) + 1
		word := rest[from:]
		if i := strings.LastIndex(rest, "->"); i >= 0 && i+2 >= from {
			return sh.members(ctx, head[:len(head)-len(rest)+i+2], rest[:i], rest[i+2:], after)
		}
		if i := strings.LastIndexByte(word, '.'); i >= 0 {
			at := len(rest) - len(word) + i
			return sh.members(ctx, head[:len(head)-len(rest)+at+1], rest[:at], word[i+1:], after)
		}
		list := beginning(sh.variables(ctx), word)
		if len(list) == 0 {
			list = append(sh.ofProgram(ctx, word, true), sh.ofProgram(ctx, word, false)...)
		}
		return head[:len(head)-len(word)], list, after
	case "list", "l", "disassemble", "disas", "frame", "f":
		word := rest[strings.LastIndexAny(rest, " ,")+1:]
		return head[:len(head)-len(word)], sh.ofProgram(ctx, word, false), after
	}
	return head, nil, after
}

// Limits on names of the program: how many are proposed, how many characters tell enough of one to look for it, and how long
// somebody waits for files that are fetched. How much is looked at has its own limit, lest the answer depend on the machine.
const (
	maxProposed = 50
	leastLooked = 2
	patience    = 5 * time.Second
)

// ofProgram lists the program's variables, or its functions, whose names begin so.
func (sh *Shell) ofProgram(ctx context.Context, word string, variables bool) []string {
	if len(word) < leastLooked || !sh.has {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	names, err := sh.s.Proposed(ctx, sh.frame.Module, variables, word, maxProposed)
	if err != nil {
		return nil
	}
	return names
}

// Variables returns the frame's variables whose names begin so.
func (sh *Shell) Variables(ctx context.Context, word string) []string {
	return beginning(sh.variables(ctx), word)
}

func beginning(list []string, with string) (out []string) {
	for _, w := range list {
		if strings.HasPrefix(w, with) {
			out = append(out, w)
		}
	}
	return out
}

// variables lists the names of the frame's variables.
func (sh *Shell) variables(ctx context.Context) (names []string) {
	if !sh.has {
		return nil
	}
	scopes, err := sh.s.Scopes(ctx, sh.frame.ID)
	if err != nil {
		return nil
	}
	for _, sc := range scopes {
		list, _, err := sh.s.Children(ctx, sc.Ref, 0, max(sc.Count, 1))
		if err != nil {
			continue
		}
		for i := range list {
			if name := list[i].Expression; name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// maxMembers is how many members are offered.
const maxMembers = 200

// members completes the name of a member of what an expression names.
func (sh *Shell) members(ctx context.Context, before, expr, word, after string) (string, []string, string) {
	if !sh.has {
		return before + word, nil, after
	}
	// What stands before the expression may be an operator: the longest end that has a value counts.
	for from := 0; from < len(expr); from++ {
		v, err := sh.s.Evaluate(ctx, sh.frame.ID, expr[from:])
		if err != nil || v.Ref == 0 {
			continue
		}
		list, _, err := sh.s.Children(ctx, v.Ref, 0, maxMembers)
		if err != nil {
			break
		}
		var names []string
		for i := range list {
			if name := list[i].Name; name != "" && name[0] != '[' && name[0] != '{' && name[0] != '<' {
				names = append(names, name)
			}
		}
		return before, beginning(names, word), after
	}
	return before + word, nil, after
}
