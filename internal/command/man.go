package command

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/lazy"
)

const manUsage = `corewalk man prints corewalk's manual page.

Usage:
  corewalk man

Examples:
  corewalk man | man -l -
  corewalk man > /usr/local/share/man/man1/corewalk.1
`

// runMan prints the manual page.
func runMan(args []string, e env) int {
	fs := pflag.NewFlagSet("corewalk man", pflag.ContinueOnError)
	if status, ok := parse(fs, args, manUsage, e); !ok {
		return status
	}
	if fs.NArg() > 0 {
		return e.usageError("man has no operands")
	}
	_, err := fmt.Fprint(e.stdout, manPage())
	return e.written(err, exitComplete)
}

// usageParts are the parts of a usage text.
type usageParts struct {
	text     []string // paragraphs
	synopsis []string // lines
	examples []string // lines
	status   string
}

// partsOf takes a usage text apart.
func partsOf(usage string) (p usageParts) {
	for para := range strings.SplitSeq(strings.TrimSpace(usage), "\n\n") {
		title, rest, _ := strings.Cut(para, "\n")
		switch {
		case title == "Usage:":
			p.synopsis = lines(rest)
		case title == "Examples:":
			p.examples = lines(rest)
		case strings.HasPrefix(para, "Exit status: "):
			p.status = strings.TrimPrefix(para, "Exit status: ")
		default:
			p.text = append(p.text, para)
		}
	}
	return p
}

func lines(s string) (list []string) {
	for line := range strings.Lines(s) {
		list = append(list, strings.TrimSpace(line))
	}
	return list
}

// A roff is a manual page in the making.
type roff struct{ strings.Builder }

// roffEscape makes text that roff prints as it is. Hyphens are ASCII's, so that examples can
// be copied.
var roffEscape = lazy.Value[*strings.Replacer]{Make: func() *strings.Replacer {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)
}}

func (r *roff) line(s string) {
	s = roffEscape.Get().Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	r.WriteString(s + "\n")
}

func (r *roff) paragraph(s string) {
	r.WriteString(".PP\n")
	for line := range strings.Lines(s) {
		r.line(strings.TrimRight(line, "\n"))
	}
}

// verbatim writes lines that are not filled.
func (r *roff) verbatim(list []string) {
	r.WriteString(".PP\n.nf\n")
	for _, s := range list {
		r.line(s)
	}
	r.WriteString(".fi\n")
}

func (r *roff) flag(f flagHelp) {
	r.WriteString(".TP\n")
	if f.short != "" {
		fmt.Fprintf(r, `\fB\-%s\fR, `, f.short)
	}
	fmt.Fprintf(r, `\fB\-\-%s\fR`, roffEscape.Get().Replace(f.name))
	switch {
	case f.optional:
		fmt.Fprintf(r, `[=\fI%s\fR]`, f.arg)
	case f.arg != "":
		fmt.Fprintf(r, ` \fI%s\fR`, f.arg)
	}
	r.WriteString("\n")
	r.line(f.text)
}

// manEnvironment are the variables that corewalk reads.
var manEnvironment = [][2]string{
	{"DEBUGINFOD_URLS", "servers to fetch binaries and debug files from, if set; docs/symbols.md has the variables that go with it"},
	{"COREWALK_SYMBOL_PATH, _NT_SYMBOL_PATH", "the symbol path, unless --symbol-path is given"},
	{"COLUMNS", "how wide text is, instead of the terminal's width"},
	{"NO_COLOR", "no colours, if it is set"},
	{"TMPDIR", "where compressed dumps are unpacked"},
	{"XDG_CACHE_HOME", "where fetched files are kept, in directories of their own"},
	{"XDG_STATE_HOME", "where triage keeps its ledger"},
}

// manPage makes the manual page of the usage texts and flags of all commands.
func manPage() string {
	var r roff
	fmt.Fprintf(&r, ".TH COREWALK 1 \"\" \"corewalk %s\" \"User Commands\"\n", version())
	top := partsOf(usageText)
	r.WriteString(".SH NAME\ncorewalk \\- say why a program died, from its core\n.SH SYNOPSIS\n")
	r.verbatim(top.synopsis)
	r.WriteString(".SH DESCRIPTION\n")
	for _, p := range top.text {
		r.paragraph(p)
	}
	r.WriteString(".SH OPTIONS\n")
	shown := map[string]bool{}
	flags := func(c command) {
		for _, f := range c.help() {
			// A flag is told of once; those of other commands are for these only.
			if text := f.name + f.text; !shown[text] {
				shown[text] = true
				r.flag(f)
			}
		}
	}
	var subs []command
	for _, c := range allCommands() {
		if c.name == "" {
			flags(c)
		} else {
			subs = append(subs, c)
		}
	}
	r.WriteString(".SH COMMANDS\n")
	for _, c := range subs {
		if c.usage == "" && c.flags == nil {
			continue
		}
		fmt.Fprintf(&r, ".SS corewalk %s\n", c.name)
		p := partsOf(c.usage)
		for _, text := range p.text {
			if text != "" {
				r.paragraph(text)
			}
		}
		if p.synopsis != nil {
			r.verbatim(p.synopsis)
		}
		before := r.Len()
		flags(c)
		if r.Len() > before && c.usage != "" && c.flags != nil {
			r.paragraph("Of the options above it has those that corewalk " + c.name + " --help lists.")
		}
		if p.examples != nil {
			r.paragraph("Examples:")
			r.verbatim(p.examples)
		}
		if p.status != "" {
			r.paragraph("Exit status: " + p.status)
		}
	}
	r.WriteString(".SH EXAMPLES\n")
	r.verbatim(top.examples)
	r.WriteString(".SH EXIT STATUS\n")
	r.paragraph(top.status)
	r.WriteString(".SH ENVIRONMENT\n")
	for _, v := range manEnvironment {
		r.WriteString(".TP\n\\fB" + roffEscape.Get().Replace(v[0]) + "\\fR\n")
		r.line(v[1])
	}
	r.WriteString(".SH SEE ALSO\n.BR core (5),\n.BR coredumpctl (1),\n.BR gdb (1),\n.BR debuginfod\\-find (1)\n")
	return r.String()
}
