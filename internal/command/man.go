package command

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/lazy"
)

const manUsage = `corewalk man prints corewalk's manual page; corewalkd man prints that of corewalkd.

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
	page := manPage
	if e.fleet != nil {
		page = daemonManPage
	}
	_, err := fmt.Fprint(e.stdout, page())
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

// daemonEnvironment are the variables that corewalkd reads.
var daemonEnvironment = [][2]string{
	{"PGPASSWORD", "the password of the database"},
	{"AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY", "the key of the object storage"},
	{"AWS_REGION, AWS_ENDPOINT_URL", "where the object storage is, unless --objects says it"},
	{smtpPassword, "the password of the mail server"},
	{"XDG_STATE_HOME", "where --dir is, unless it is given"},
}

// A manual is a program's page.
type manual struct {
	program, about, usage string
	commands              []command
	environment           [][2]string
	also                  []string // pages, with their sections
}

// manPage makes corewalk's page.
func manPage() string {
	m := manual{"corewalk", "say why a program died, from its core", usageText, allCommands(), manEnvironment, []string{"core (5)", "coredumpctl (1)", "gdb (1)", "debuginfod-find (1)"}}
	return m.page()
}

// daemonManPage makes corewalkd's.
func daemonManPage() string {
	m := manual{"corewalkd", "a crash service on many machines", daemonUsage, operatorCommands(), daemonEnvironment, []string{"corewalk (1)"}}
	return m.page()
}

// page makes the page of the usage texts and flags of all commands.
func (m *manual) page() string {
	var r roff
	fmt.Fprintf(&r, ".TH %s 1 \"\" \"corewalk %s\" \"User Commands\"\n", strings.ToUpper(m.program), version())
	top := partsOf(m.usage)
	fmt.Fprintf(&r, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", m.program, m.about)
	r.verbatim(top.synopsis)
	r.WriteString(".SH DESCRIPTION\n")
	for _, p := range top.text {
		r.paragraph(p)
	}
	if len(m.commands) > 0 && m.commands[0].name == "" {
		r.WriteString(".SH OPTIONS\n")
	}
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
	for _, c := range m.commands {
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
		fmt.Fprintf(&r, ".SS %s %s\n", m.program, c.name)
		p := partsOf(c.usage)
		if c.usage == m.usage { // it is above
			p = usageParts{}
		}
		for _, text := range p.text {
			if text != "" {
				r.paragraph(text)
			}
		}
		if p.synopsis != nil {
			r.verbatim(p.synopsis)
		}
		before, above := r.Len(), len(shown)
		flags(c)
		if r.Len() > before && above > 0 && c.usage != "" && c.flags != nil {
			r.paragraph("Of the options above it has those that " + m.program + " " + c.name + " --help lists.")
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
	for _, v := range m.environment {
		r.WriteString(".TP\n\\fB" + roffEscape.Get().Replace(v[0]) + "\\fR\n")
		r.line(v[1])
	}
	r.WriteString(".SH SEE ALSO\n.BR " + roffEscape.Get().Replace(strings.Join(m.also, ",\n.BR ")) + "\n")
	return r.String()
}
