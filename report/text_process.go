package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// How much of a command line, and of one argument, the text shows.
const (
	maxCommand  = 300
	maxArgument = 60
)

// started writes the command line, and who ran it where.
func (t *textWriter) started() {
	p := t.r.Process
	if p == nil {
		return
	}
	var parts []string
	label := "command"
	if len(p.Arguments) > 0 {
		args := p.Arguments
		if strings.Contains(args[0], " ") && !slices.ContainsFunc(args[1:], func(a string) bool { return a != "" }) {
			args = args[:1] // the state of a daemon, which has written it over all of them
		}
		words := make([]string, 0, len(args))
		for _, a := range args {
			if p.ArgumentsJoined {
				a = clean(a) // where quotes belong is not known
			} else {
				a = shellWord(a)
			}
			if !t.opts.Wide {
				a = cut(a, maxArgument)
			}
			words = append(words, a)
		}
		line := strings.Join(words, " ")
		if !t.opts.Wide && width(line) > maxCommand {
			line = line[:runeOffset(line, maxCommand-1)] + "…"
		}
		if p.ArgumentsCut {
			line += " …"
		}
		parts = append(parts, line)
	} else if p.Executable != "" {
		label = "program" // its arguments are not known
		parts = append(parts, brief(p.Executable, maxPath))
	}
	var by []string
	if p.UID != nil {
		by = append(by, "user "+strconv.Itoa(*p.UID))
	}
	if p.Host != "" {
		by = append(by, "host "+brief(p.Host, maxName))
	}
	if p.Container != "" {
		by = append(by, "in "+brief(p.Container, maxName))
	}
	if !p.Started.IsZero() {
		by = append(by, "since "+p.Started.Format("2006-01-02 15:04:05"))
	}
	if len(by) > 0 {
		parts = append(parts, "("+strings.Join(by, ", ")+")")
	}
	if len(parts) > 0 {
		t.put(plain, "  "+label+": ")
		t.wrap(plain, 4, strings.Join(parts, " "))
	}
}

// shellWord writes an argument as a shell would need it.
func shellWord(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n'\"\\$`&|;<>()#~!") {
		s = "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return clean(s)
}

// environment writes the variables that the process was started with.
func (t *textWriter) environment() {
	p := t.r.Process
	if p == nil || len(p.Environment) == 0 {
		return
	}
	masked := 0
	for i := range p.Environment {
		if p.Environment[i].Masked {
			masked++
		}
	}
	t.end()
	t.put(bold, fmt.Sprintf("Environment: %d variables", len(p.Environment)))
	if masked > 0 {
		t.put(plain, fmt.Sprintf(", %d masked (--env=all shows them)", masked))
	}
	t.end()
	for i := range p.Environment {
		v := &p.Environment[i]
		t.line(plain, "  "+t.fit(clean(v.Name)+"="+clean(v.Value), 2))
	}
}
