package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

const completionUsage = `corewalk completion prints a script with which a shell completes corewalk's commands, flags and
their values.

Usage:
  corewalk completion SHELL   SHELL is bash, zsh or fish

Examples:
  source <(corewalk completion bash)                                     # in ~/.bashrc
  corewalk completion zsh > ~/.zfunc/_corewalk                           # a directory in fpath
  corewalk completion fish > ~/.config/fish/completions/corewalk.fish
`

// shells lists the shells for which there is completion.
func shells() []string { return []string{"bash", "zsh", "fish"} }

// runCompletion prints the script for a shell.
func runCompletion(args []string, e env) int {
	fs := pflag.NewFlagSet("corewalk completion", pflag.ContinueOnError)
	if status, ok := parse(fs, args, completionUsage, e); !ok {
		return status
	}
	script := ""
	switch fs.Arg(0) {
	case "bash":
		script = bashCompletion()
	case "zsh":
		script = zshCompletion()
	case "fish":
		script = fishCompletion()
	}
	if fs.NArg() != 1 || script == "" {
		return e.usageError("need the name of a shell: %s", orList(shells()))
	}
	_, err := fmt.Fprint(e.stdout, script)
	return e.written(err, exitComplete)
}

// A flagHelp is what completion and the manual page tell of a flag.
type flagHelp struct {
	name, short string
	text        string
	arg         string   // what its value is called, "DIR"; "" if it has none
	values      []string // all values, if they are few
	optional    bool     // the value may be left out
	repeatable  bool
}

// help lists the flags of a command that are not hidden.
func (c *command) help() []flagHelp {
	list := []flagHelp{{name: "help", short: "h", text: "print the flags with examples"}}
	if c.flags == nil {
		return list
	}
	c.flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		h := flagHelp{name: f.Name, short: f.Shorthand, values: f.Annotations[choices]}
		h.arg, h.text = pflag.UnquoteUsage(f)
		_, h.repeatable = f.Value.(pflag.SliceValue)
		h.optional = h.arg != "" && f.NoOptDefVal != ""
		list = append(list, h)
	})
	slices.SortFunc(list, func(a, b flagHelp) int { return strings.Compare(a.name, b.name) })
	return list
}

// hasFiles reports whether the operands of a command may be files.
func (c *command) hasFiles() bool { return c.flags != nil }

// operands are the words that may follow a command.
func (c *command) operands() []string { return append(names(c.name), c.words...) }

// bashFlags lists the flags of a command, and of these the ones with a directory, with a value
// that nothing completes, and with few values, each with these.
func (c *command) bashFlags() (all, dirs, none []string, values [][2]string) {
	for _, f := range c.help() {
		flag := "--" + f.name
		all = append(all, flag)
		switch {
		case f.arg == "" || f.optional:
		case f.values != nil:
			values = append(values, [2]string{flag, strings.Join(f.values, " ")})
		case f.arg == "DIR":
			dirs = append(dirs, flag)
		case f.arg != "FILE":
			none = append(none, flag)
		}
	}
	return all, dirs, none, values
}

// bashCompletion writes a function that finds the command, then what a flag's value may be,
// then flags, then words. Bash itself completes files where the function finds nothing.
func bashCompletion() string {
	var b strings.Builder
	b.WriteString(`# bash completion for corewalk
_corewalk() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd= flags= words=
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    COMPREPLY=()
`)
	chooseCommand := func(at int, list []string, value string) {
		fmt.Fprintf(&b, "    if ((COMP_CWORD > %d)); then\n        case ${COMP_WORDS[%d]} in\n        %s) cmd=%s ;;\n        esac\n    fi\n", at, at, strings.Join(list, "|"), value)
	}
	chooseCommand(1, names(""), "${COMP_WORDS[1]}")
	for _, first := range names("") {
		if list := names(first); len(list) > 0 {
			fmt.Fprintf(&b, "    if [[ $cmd == %s ]]; then\n", first)
			chooseCommand(2, list, `"$cmd ${COMP_WORDS[2]}"`)
			b.WriteString("    fi\n")
		}
	}
	b.WriteString("    case \"$cmd $prev\" in\n")
	for _, c := range allCommands() {
		_, dirs, none, values := c.bashFlags()
		at := func(flags []string) string {
			for i, f := range flags {
				flags[i] = `"` + c.name + " " + f + `"`
			}
			return strings.Join(flags, "|")
		}
		for _, v := range values {
			fmt.Fprintf(&b, "    %s) words='%s' ;;\n", at([]string{v[0]}), v[1])
		}
		if len(dirs) > 0 {
			fmt.Fprintf(&b, "    %s)\n        compopt -o filenames 2>/dev/null\n        mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n        return ;;\n", at(dirs))
		}
		if len(none) > 0 {
			fmt.Fprintf(&b, "    %s)\n        compopt +o default 2>/dev/null\n        return ;;\n", at(none))
		}
	}
	b.WriteString("    esac\n    if [[ $words ]]; then\n        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n        return\n    fi\n    case $cmd in\n")
	for _, c := range allCommands() {
		all, _, _, _ := c.bashFlags()
		fmt.Fprintf(&b, "    '%s') flags='%s' words='%s' ;;\n", c.name, strings.Join(all, " "), strings.Join(c.operands(), " "))
	}
	b.WriteString(`    esac
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$cur")
    elif [[ $words && $prev != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    fi
}
complete -o bashdefault -o default -F _corewalk corewalk
`)
	return b.String()
}

// zshCompletion writes a function that leaves the work to _arguments.
func zshCompletion() string {
	var b strings.Builder
	b.WriteString(`#compdef corewalk
_corewalk() {
    local cmd=
    local -i n=0 # words of the command
    if ((CURRENT > 2)); then
        case $words[2] in
        ` + strings.Join(names(""), "|") + `) cmd=$words[2] n=1 ;;
        esac
    fi
`)
	for _, first := range names("") {
		if list := names(first); len(list) > 0 {
			fmt.Fprintf(&b, "    if [[ $cmd == %s ]] && ((CURRENT > 3)); then\n        case $words[3] in\n        %s) cmd=\"$cmd $words[3]\" n=2 ;;\n        esac\n    fi\n", first, strings.Join(list, "|"))
		}
	}
	b.WriteString(`    # The command's words are no operands.
    if ((n)); then
        words=("$words[1]" "${(@)words[n+2,-1]}")
        ((CURRENT -= n))
    fi
    case $cmd in
`)
	for _, c := range allCommands() {
		fmt.Fprintf(&b, "    '%s')\n        _arguments -S", c.name)
		for _, f := range c.help() {
			b.WriteString(" \\\n            " + quote(zshFlag(f, "--"+f.name)))
			if f.short != "" {
				b.WriteString(" \\\n            " + quote(zshFlag(f, "-"+f.short)))
			}
		}
		words := strings.Join(c.operands(), " ")
		switch {
		case c.hasFiles() && words != "":
			// Words come first only.
			b.WriteString(" \\\n            " + quote("1:command or file:{ compadd "+words+"; _files }") + " \\\n            '*:file:_files'")
		case c.hasFiles():
			b.WriteString(" \\\n            '*:file:_files'")
		case words != "":
			b.WriteString(" \\\n            " + quote("1:name:("+words+")"))
		}
		b.WriteString("\n        ;;\n")
	}
	b.WriteString("    esac\n}\nif [[ $funcstack[1] == _corewalk ]]; then\n    _corewalk \"$@\"\nelse\n    compdef _corewalk corewalk\nfi\n")
	return b.String()
}

// zshFlag is a flag as _arguments wants it.
func zshFlag(f flagHelp, flag string) string {
	spec := ""
	if f.repeatable {
		spec = "*"
	}
	spec += flag
	switch {
	case f.arg == "":
	case f.optional:
		spec += "=-"
	case strings.HasPrefix(flag, "--"):
		spec += "="
	default:
		spec += "+"
	}
	spec += "[" + strings.NewReplacer("[", "(", "]", ")", ":", ";", `\`, "").Replace(f.text) + "]"
	if f.arg == "" {
		return spec
	}
	spec += ":"
	if f.optional {
		spec += ":"
	}
	spec += f.arg
	switch {
	case f.values != nil:
		return spec + ":(" + strings.Join(f.values, " ") + ")"
	case f.arg == "DIR":
		return spec + ":_files -/"
	case f.arg == "FILE":
		return spec + ":_files"
	}
	return spec + ": "
}

// fishCompletion writes a line for each flag and word, under the condition that its command is
// on the line.
func fishCompletion() string {
	var b strings.Builder
	b.WriteString(`# fish completion for corewalk
function __corewalk_is
    set -l words (commandline -opc)
    set -l cmd
    if set -q words[2]; and contains -- $words[2] ` + strings.Join(names(""), " ") + `
        set cmd $words[2]
    end
`)
	for _, first := range names("") {
		if list := names(first); len(list) > 0 {
			fmt.Fprintf(&b, "    if test \"$cmd\" = %s; and set -q words[3]; and contains -- $words[3] %s\n        set cmd \"%s $words[3]\"\n    end\n", first, strings.Join(list, " "), first)
		}
	}
	b.WriteString("    test \"$cmd\" = \"$argv\"\nend\n")
	for _, c := range allCommands() {
		when := fmt.Sprintf("complete -c corewalk -n '__corewalk_is %s'", c.name)
		for _, f := range c.help() {
			b.WriteString(when + " -l " + f.name)
			if f.short != "" {
				b.WriteString(" -s " + f.short)
			}
			switch {
			case f.arg == "" || f.optional:
			case f.values != nil:
				fmt.Fprintf(&b, " -x -a '%s'", strings.Join(f.values, " "))
			case f.arg == "DIR":
				b.WriteString(" -x -a '(__fish_complete_directories)'")
			case f.arg == "FILE":
				b.WriteString(" -r")
			default:
				b.WriteString(" -x")
			}
			b.WriteString(" -d " + quote(f.text) + "\n")
		}
		if words := c.operands(); len(words) > 0 {
			fmt.Fprintf(&b, "%s -a '%s'\n", when, strings.Join(words, " "))
		}
		if !c.hasFiles() {
			b.WriteString(when + " -f\n")
		}
	}
	return b.String()
}

// quote puts s in single quotes, which fish and zsh read alike if they hold neither quotes nor
// backslashes.
func quote(s string) string {
	return "'" + strings.NewReplacer("'", "’", `\`, "").Replace(s) + "'"
}
