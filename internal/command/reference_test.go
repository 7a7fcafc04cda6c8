package command

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

var update = flag.Bool("update", false, "rewrite the pages of flags and exit statuses in docs/reference")

// samePage compares a page of docs/reference with what the code says, or writes it.
func samePage(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(fixture.Root(t), "docs", "reference", name)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != want {
		t.Errorf("%s is not what the code says (go test ./internal/command -run Page -update writes it): %v", path, err)
	}
}

// A documentedProgram is a program with its commands.
type documentedProgram struct {
	name     string
	commands []command
}

// documented lists the commands that people give, with the program's name.
func documented() []documentedProgram {
	return []documentedProgram{{"corewalk", allCommands()}, {"corewalkd", operatorCommands()}}
}

// cell is a text as a cell of a table in Markdown has it.
func cell(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "<", `\<`) }

// defaultOf is what a flag is without being given, "" if its text says it or nothing is to be said.
func defaultOf(c *command, h flagHelp) string {
	if c.flags == nil || h.name == "help" || strings.Contains(h.text, "default") {
		return ""
	}
	if value := c.flags().Lookup(h.name).DefValue; !slices.Contains([]string{"false", "0", "[]", "0s", "-1"}, value) {
		return value
	}
	return ""
}

// flagRow is the row of a flag.
func flagRow(c *command, h flagHelp) string {
	name := "`--" + h.name
	switch {
	case h.optional:
		name += "[=" + h.arg + "]"
	case h.arg != "":
		name += " " + h.arg
	}
	name += "`"
	if h.short != "" {
		name = "`-" + h.short + "` " + name
	}
	text := h.text
	if value := defaultOf(c, h); value != "" {
		text += " (default " + value + ")"
	}
	return "| " + cell(name) + " | " + cell(text) + " |\n"
}

var twoSpaces = regexp.MustCompile(` {2,}`)

// forms lists the forms of a command's line. Lines of a synopsis that do not begin with the program's name continue the line before.
func forms(program string, synopsis []string) string {
	var b strings.Builder
	for i, line := range synopsis {
		if !strings.HasPrefix(line, program) {
			b.WriteString(" " + cell(line))
			continue
		}
		if i > 0 {
			b.WriteString("\n")
		}
		parts := twoSpaces.Split(line, 2)
		b.WriteString("- `" + parts[0] + "`")
		if len(parts) > 1 {
			b.WriteString(": " + cell(parts[1]))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String() + "\n"
}

// TestFlagsPage: docs/reference/flags.md has every command and flag, as the code has them.
func TestFlagsPage(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Commands, flags and variables\n\nMade from the flags of the commands, as `--help`, the manual page and shell completion are\n" +
		"(`go test ./internal/command -run Page -update`). A flag that means the same for all commands is described for the first that has it; `--help` has examples.\n" +
		"[Exit statuses](statuses.md) have a page of their own.\n")
	n := 0
	texts := map[string]map[string]bool{} // what is said of flags of one name
	for _, p := range documented() {
		for _, c := range p.commands {
			for _, h := range c.help() {
				if texts[h.name] == nil {
					texts[h.name] = map[string]bool{}
				}
				texts[h.name][h.text+defaultOf(&c, h)] = true
			}
		}
	}
	shown := map[string]bool{}
	for _, p := range documented() {
		for _, c := range p.commands {
			parts := partsOf(c.usage)
			if c.usage == "" && c.flags == nil || c.name == "report" {
				continue
			}
			fmt.Fprintf(&b, "\n## %s\n", strings.TrimSpace(p.name+" "+c.name))
			if c.name != "" || p.name != "corewalk" { // what lists all commands is of no use here
				b.WriteString(forms(p.name, parts.synopsis))
			}
			for _, text := range parts.text {
				if text != "" {
					b.WriteString("\n" + strings.ReplaceAll(text, "<", `\<`) + "\n")
				}
			}
			var again []string
			rows := ""
			for _, h := range c.help() {
				n++
				if !shown[h.name] || len(texts[h.name]) > 1 { // "as above" would not say which
					shown[h.name] = true
					rows += flagRow(&c, h)
				} else if h.name != "help" {
					again = append(again, "`--"+h.name+"`")
				}
			}
			if rows != "" {
				b.WriteString("\n| flag | meaning |\n|---|---|\n" + rows)
			}
			if again != nil {
				b.WriteString("\nAs above: " + strings.Join(again, ", ") + ".\n")
			}
		}
	}
	b.WriteString("\n## Environment\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range manEnvironment {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(v[0], ", ", "` `"), cell(v[1]))
	}
	if n < 300 {
		t.Errorf("only %d flags", n)
	}
	samePage(t, "flags.md", b.String())
}

// TestStatusPage: docs/reference/statuses.md has the rows that TestStatuses tries, and what each command says of its own.
func TestStatusPage(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Exit statuses\n\nMade from the table that `TestStatuses` tries and from the commands' help (`go test ./internal/command -run Page -update`).\n\n" +
		"0 is a complete report, 1 none, 2 a wrong command line, and 3 a report with gaps. A gap is what could hide why the program died. The same gap gives\n" +
		"the same status, whatever the format; triage looks at dumps, not at gaps in them. `-` is for what a command does not do.\n\n" +
		"| what happened | report | `info` | `live` | `triage` |\n|---|---|---|---|---|\n")
	for _, r := range statusTable {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", strings.ReplaceAll(r.what, "|", `\|`), r.report, r.info, r.live, r.triage)
	}
	b.WriteString("\nThe report goes to standard output. Problems with files go to standard error, one line each. Ctrl-C ends the walk and prints what was found.\n\n" +
		"## What each command says\n\n| command | exit status |\n|---|---|\n")
	for _, p := range documented() {
		for _, c := range p.commands {
			if status := partsOf(c.usage).status; status != "" && c.name != "report" {
				fmt.Fprintf(&b, "| `%s` | %s |\n", strings.TrimSpace(p.name+" "+c.name), cell(strings.Join(strings.Fields(status), " ")))
			}
		}
	}
	samePage(t, "statuses.md", b.String())
}

// flagsOfOthers are flags of other programs that pages name without the program.
var flagsOfOthers = []string{"json", "perf-basic-prof", "perf-prof", "perf-prof-unwinding-info", "abort-on-uncaught-exception", "with-pydebug"}

// TestPagesNameFlags: the flags that pages name in their text are flags of a command.
func TestPagesNameFlags(t *testing.T) {
	known := map[string]bool{"help": true}
	for _, p := range documented() {
		for _, c := range p.commands {
			for _, h := range c.help() {
				known[h.name] = true
			}
		}
	}
	var files []string
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/decisions/*.md", "docs/languages/*.md"} {
		list, err := filepath.Glob(filepath.Join(fixture.Root(t), pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	fenced := regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	named := regexp.MustCompile("`(corewalkd?[^`]* )?--([a-z][a-z-]+)")
	n := 0
	for _, file := range files {
		text := fenced.ReplaceAllString(string(must(os.ReadFile(file))), "")
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			n++
			if !known[m[2]] && !slices.Contains(flagsOfOthers, m[2]) {
				t.Errorf("%s: no command has the flag --%s", filepath.Base(file), m[2])
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d flags named", n)
	}
}
