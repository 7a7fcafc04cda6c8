package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/report"
)

// settings are what set changes.
type settings struct {
	pretty   bool // print pretty: a line for each member
	object   bool // print object: what a pointer or a reference to a class is one to
	bare     bool // print address off: addresses are left out of values
	radix    int  // output-radix: 8 or 16, in which print writes integers; 0 is 10
	frames   int  // backtrace limit: how many frames bt shows; 0 is as many as usual
	values   dwarfvars.Options
	listSize int // lines of list
	accepted map[string]string
}

// maxAccepted is how many settings are kept that change nothing.
const maxAccepted = 200

// without are settings of gdb's that change nothing here, but that scripts make: what they ask for is so already, or is of a program that runs.
// A last * stands for any word.
const without = `pagination confirm height width verbose logging complaints python style auto-load auto-solib-add backtrace breakpoint can-use-hw-watchpoints
 charset host-charset target-charset target-wide-charset code-cache stack-cache coerce-float-to-double cp-abi data-directory debug debug-file-directory debuginfod
 demangle-style detach-on-fork disable-randomization disassembler-options disassembly-flavor disassemble-next-line editing exec-done-display exec-wrapper extended-prompt
 filename-display follow-exec-mode follow-fork-mode frame-filter history index-cache inferior-tty input-radix output-radix radix language libthread-db-search-path
 line-editing max-completions max-user-call-depth max-value-size mi-async non-stop observer opaque-type-resolution osabi overload-resolution multiple-symbols print
 print-symbol-loading prompt remote* schedule-multiple scheduler-locking script-extension startup-with-shell solib-search-path source step-mode stop-on-solib-events
 substitute-path suppress-cli-notifications sysroot solib-absolute-prefix tcp trace-commands tui unwindonsignal unwind-on-signal use-coredump-filter use-deprecated-index-sections
 watchdog write annotate architecture endian case-sensitive circular-trace-buffer check
 ada agent args auto-connect-native-target basenames-may-differ compile-args compile-gcc cwd dcache default-collect directories disconnected-dprintf disconnected-tracing
 displaced-stepping dprintf-channel dprintf-function dprintf-style dump-excluded-mappings environment exec-direction exec-file-mismatch extension-language fortran gnutarget guile
 interactive-mode may-call-functions may-insert-breakpoints may-insert-fast-tracepoints may-insert-tracepoints may-interrupt may-write-memory may-write-registers mem mpx
 range-stepping ravenscar rec record serial startup-quietly struct-convention target-file-system-kind tdesc trace-buffer-size trace-notes trace-stop-notes trace-user
 trust-readonly-sections unwind-on-terminating-exception processor`

// elsewhere is what to use in place of a setting: a flag when the core is opened, say; "" if there is nothing.
func elsewhere(name string) string {
	switch name {
	case "sysroot", "solib-absolute-prefix":
		return "--sysroot DIR"
	case "solib-search-path", "debug-file-directory":
		return "--search DIR"
	case "substitute-path":
		return "--source-map FROM=TO"
	}
	return ""
}

// set changes a setting, as scripts of gdb do. Those that mean nothing here are taken and change nothing; what would change the process is refused.
func (sh *Shell) set(ctx context.Context, args string) error {
	name, rest, _ := strings.Cut(args, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case strings.HasPrefix(args, "$"), strings.HasPrefix(args, "var $"), strings.HasPrefix(args, "variable $"):
		left, right, ok := strings.Cut(args[strings.IndexByte(args, '$')+1:], "=")
		if !ok || strings.HasPrefix(right, "=") {
			return errors.New("set $NAME = EXPR: the value is missing")
		}
		return sh.assign(ctx, left, right)
	case args == "":
		return errors.New("set what? set print pretty on, set listsize 20")
	case name == "var" || name == "variable" || strings.Contains(args, "=") && !known(name):
		return fmt.Errorf("%q would change the process, which is only read", "set "+args)
	case name == "listsize":
		n, err := strconv.Atoi(rest)
		if rest == "unlimited" || n == 0 && err == nil {
			n, err = maxLines, nil
		}
		if err != nil || n < 0 {
			return fmt.Errorf("set listsize N: %q is no number of lines", rest)
		}
		sh.settings.listSize = min(n, maxLines)
		return nil
	case name == "radix" || name == "input-radix" || name == "output-radix":
		return sh.setRadix(name, rest)
	case name == "backtrace" && strings.HasPrefix(rest, "limit"):
		n, err := limit(rest, strings.TrimSpace(strings.TrimPrefix(rest, "limit")), 0)
		if err == nil {
			sh.settings.frames = n
		}
		return err
	case name == "print" || name == "p" || name == "pr":
		name = "print"
		if done, err := sh.setPrint(rest); done || err != nil {
			return err
		}
	}
	if flag := elsewhere(name); flag != "" {
		return fmt.Errorf("set %s changes nothing here: it is %s", name, flag)
	}
	if !known(name) {
		return fmt.Errorf("no setting is called %q", name)
	}
	if sh.settings.accepted == nil {
		sh.settings.accepted = map[string]string{}
	}
	if len(sh.settings.accepted) < maxAccepted {
		key, value := name, rest
		if i := strings.LastIndexByte(rest, ' '); i > 0 {
			key, value = name+" "+rest[:i], rest[i+1:]
		}
		sh.settings.accepted[key] = value
	}
	if soAlready(name, rest) {
		return nil
	}
	return sh.printf("set %s changes nothing here\n", report.Clean(strings.TrimSpace(name+" "+rest)))
}

// printings are settings of print that change nothing here: what they ask for is so already, or has its own letter or word.
const printings = `array array-indexes asm-demangle demangle entry-values finish frame-arguments frame-info inferior-events max-symbolic-offset memory-tag-violations nibbles
 null-stop pascal_static-members raw-frame-arguments repeats sevenbit-strings source-and-line static-members symbol symbol-filename symbol-loading thread-events type union vtbl`

// unlimited is what a limit is that somebody takes away: nothing that is read has more than some memory.
const unlimited = 1 << 16

// setPrint changes a setting of print. done is false for those that change nothing.
func (sh *Shell) setPrint(args string) (done bool, err error) {
	name, value, _ := strings.Cut(args, " ")
	value = strings.TrimSpace(value)
	v := sh.settings.values
	switch name {
	case "pretty":
		on, err := onOff(value)
		if err == nil {
			sh.settings.pretty = on
		}
		return true, err
	case "object":
		on, err := onOff(value)
		if err == nil {
			sh.settings.object = on
		}
		return true, err
	case "address":
		on, err := onOff(value)
		if err == nil {
			sh.settings.bare = !on
		}
		return true, err
	case "raw-values":
		v.Raw, err = onOff(value)
	case "elements":
		v.MaxElements, err = limit(args, value, 0)
		v.MaxString = v.MaxElements
	case "characters":
		if value == "elements" {
			v.MaxString = v.MaxElements
			break
		}
		v.MaxString, err = limit(args, value, 0)
	case "max-depth":
		v.MaxDepth, err = limit(args, value, -1)
	default:
		if !slices.Contains(strings.Fields(printings), name) {
			return true, fmt.Errorf("no setting is called %q", "print "+name)
		}
		return false, nil
	}
	if err != nil {
		return true, err
	}
	v.MaxParts = max(10*v.MaxElements, 2000)
	sh.applyValues(v)
	return true, nil
}

func (sh *Shell) applyValues(v dwarfvars.Options) {
	sh.settings.values = v
	sh.s.SetValues(v)
}

// limit reads a number that limits what is printed. none is the number that means no limit, besides the word.
func limit(args, value string, none int) (int, error) {
	n, err := strconv.Atoi(value)
	switch {
	case value == "unlimited" || err == nil && n == none:
		return unlimited, nil
	case err != nil || n < 0:
		return 0, fmt.Errorf("set print %s: a number is expected, or unlimited", args)
	case n == 0:
		return 1, nil
	}
	return min(n, unlimited), nil
}

func known(name string) bool {
	for w := range strings.FieldsSeq(without) {
		prefix, open := strings.CutSuffix(w, "*")
		if w == name || open && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func onOff(s string) (bool, error) {
	switch s {
	case "", "on", "1", "enable", "yes":
		return true, nil
	case "off", "0", "disable", "no":
		return false, nil
	}
	return false, fmt.Errorf(`"on" or "off" is expected, not %q`, s)
}

// with runs a command with another setting: with SETTING [VALUE] -- COMMAND.
func (sh *Shell) with(ctx context.Context, args string) error {
	setting, command, ok := strings.Cut(args+" ", " -- ")
	if command = strings.TrimSpace(command); !ok || command == "" || strings.TrimSpace(setting) == "" {
		return errors.New("with SETTING [VALUE] -- COMMAND: the command is missing")
	}
	before := sh.settings
	before.accepted = maps.Clone(before.accepted)
	if err := sh.set(ctx, strings.TrimSpace(setting)); err != nil {
		return err
	}
	with := sh.settings
	with.accepted = maps.Clone(with.accepted)
	defer func() { // what the command itself set stays
		at := &sh.settings
		restore(&at.pretty, before.pretty, with.pretty)
		restore(&at.object, before.object, with.object)
		restore(&at.bare, before.bare, with.bare)
		restore(&at.radix, before.radix, with.radix)
		restore(&at.frames, before.frames, with.frames)
		restore(&at.listSize, before.listSize, with.listSize)
		restore(&at.values, before.values, with.values)
		if !maps.Equal(before.accepted, with.accepted) {
			at.accepted = before.accepted
		}
		sh.applyValues(at.values)
	}()
	return sh.Run(ctx, command)
}

// restore gives a setting back what it was before, if it was changed since.
func restore[T comparable](at *T, before, with T) {
	if with != before {
		*at = before
	}
}

// showSetting says what a setting is.
func (sh *Shell) showSetting(_ context.Context, args string) error {
	switch args {
	case "":
		return errors.New("show what? show print pretty, show listsize")
	case "listsize":
		return sh.printf("%d lines\n", sh.settings.listSize)
	case "print pretty":
		return sh.printf("%s\n", map[bool]string{true: "on", false: "off"}[sh.settings.pretty])
	case "print object":
		return sh.printf("%s\n", map[bool]string{true: "on", false: "off"}[sh.settings.object])
	case "print address":
		return sh.printf("%s\n", map[bool]string{false: "on", true: "off"}[sh.settings.bare])
	case "output-radix":
		return sh.printf("%d\n", cmp.Or(sh.settings.radix, 10))
	case "input-radix":
		return sh.printf("10\n")
	case "backtrace limit":
		return sh.printf("%s\n", shownLimit(sh.settings.frames, allFrames))
	case "print elements":
		return sh.printf("%s\n", shownLimit(sh.settings.values.MaxElements, 200))
	case "print characters":
		return sh.printf("%s\n", shownLimit(sh.settings.values.MaxString, 200))
	case "print max-depth":
		return sh.printf("%s\n", shownLimit(sh.settings.values.MaxDepth, 8))
	case "print raw-values":
		return sh.printf("%s\n", map[bool]string{true: "on", false: "off"}[sh.settings.values.Raw])
	case "version":
		return errors.New("corewalk --version tells it")
	}
	if value, ok := sh.settings.accepted[args]; ok {
		return sh.printf("%s, which changes nothing here\n", value)
	}
	name, _, _ := strings.Cut(args, " ")
	if !known(name) {
		return fmt.Errorf("no setting is called %q", name)
	}
	return sh.printf("not set; it changes nothing here\n")
}

// shownLimit writes a limit; 0 is the usual one.
func shownLimit(n, usual int) string {
	switch n {
	case 0:
		n = usual
	case unlimited:
		return "unlimited"
	}
	return strconv.Itoa(n)
}
