package command

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/unwind"
)

// fileFlags say where files are and how to print. Every subcommand has them.
type fileFlags struct {
	memoryLimit                 uint64 // of a sandboxed process, in bytes; 0 for defaultMemory
	sysroots, debugDirs, search []string
	sourceMaps                  []string
	fetch                       fetchFlags
	sandbox                     sandboxFlags
	keep                        keepFlags
	force                       bool
	format                      string
	formats                     []string // those that the subcommand has
	color                       string
}

// The values of --format.
const (
	formatText = "text"
	formatJSON = "json"
	// formatLines is JSON with a line for each task, written as soon as it is known.
	formatLines = "json-lines"
	// formatStackwalk is the JSON of rust-minidump's minidump-stackwalk.
	formatStackwalk = "minidump-stackwalk-json"
	stackwalkAlias  = "minidump-stackwalk"
)

// register adds the flags; formats are those that the subcommand can print.
func (f *fileFlags) register(fs *pflag.FlagSet, formats ...string) {
	f.formats = formats
	fs.StringArrayVar(&f.sysroots, "sysroot", nil, "look up the dump's paths below `DIR`, or in an image: tar, OCI layout or docker save; this machine's own files are then used only where their build-id is the dump's (repeatable)")
	fs.StringArrayVar(&f.debugDirs, "debug-dir", nil, "look for separate debug files in `DIR` instead of /usr/lib/debug (repeatable)")
	fs.StringArrayVar(&f.search, "search", nil, "look for binaries, debug files, PDBs and Breakpad symbol files anywhere below `DIR` (repeatable)")
	fs.StringArrayVar(&f.sourceMaps, "source-map", nil, "look below TO for source files recorded below FROM: `FROM=TO` (repeatable)")
	f.fetch.register(fs)
	f.keep.register(fs)
	fs.BoolVar(&f.force, "force-mismatched", false, "use files from a different build where the right one is not found; frames say so")
	fs.StringVar(&f.format, "format", formatText, "print `FORMAT`: "+orList(formats))
	fs.StringVar(&f.color, "color", "auto", "colour the text: `WHEN` is auto (on a terminal, unless NO_COLOR is set), always or never")
	choose(fs, "format", formats...)
	choose(fs, "color", "auto", "always", "never")
}

// check checks what the flag parser cannot.
func (f *fileFlags) check(e env) error {
	if f.format == stackwalkAlias {
		f.format = formatStackwalk
	}
	if !slices.Contains(f.formats, f.format) {
		return fmt.Errorf("--format %s: must be %s", f.format, orList(f.formats))
	}
	if !slices.Contains([]string{"auto", "always", "never"}, f.color) {
		return fmt.Errorf("--color %s: must be auto, always or never", f.color)
	}
	for _, d := range []struct {
		flag string
		dirs []string
	}{{"sysroot", f.sysroots}, {"debug-dir", f.debugDirs}, {"search", f.search}} {
		for _, dir := range d.dirs {
			if st, err := os.Stat(dir); err == nil && d.flag == "sysroot" {
				if err := find.CheckSysroot(dir); err != nil {
					return fmt.Errorf("--sysroot %s: %w", dir, plainError(err))
				}
			} else if err != nil {
				return fmt.Errorf("--%s %s: %w", d.flag, dir, plainError(err))
			} else if !st.IsDir() {
				return fmt.Errorf("--%s %s: not a directory", d.flag, dir)
			}
		}
	}
	for _, m := range f.sourceMaps {
		if from, to, ok := strings.Cut(m, "="); !ok || from == "" || to == "" {
			return fmt.Errorf("--source-map %s: must be FROM=TO, two directories", m)
		}
	}
	if err := f.sandbox.check(); err != nil {
		return err
	}
	return f.fetch.check(e)
}

// orList returns "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// options turns the flags into options for corewalk.Open.
func (f *fileFlags) options(e env, binary string) []corewalk.Option {
	opts := append(f.fetch.options(e), f.keep.options(f.sandbox.when == sandboxInside)...)
	for _, d := range f.sysroots {
		opts = append(opts, corewalk.WithSysroot(d))
	}
	for _, d := range f.debugDirs {
		opts = append(opts, corewalk.WithDebugDir(d))
	}
	for _, d := range f.search {
		opts = append(opts, corewalk.WithSearch(d))
	}
	for _, m := range f.sourceMaps {
		from, to, _ := strings.Cut(m, "=")
		opts = append(opts, corewalk.WithSourceMap(from, to))
	}
	if f.force {
		opts = append(opts, corewalk.WithForceMismatched())
	}
	if binary != "" {
		opts = append(opts, corewalk.WithExecutable(binary))
	}
	return opts
}

// colored decides whether to use colours in the output.
func (f *fileFlags) colored(out any) bool {
	switch f.color {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(out)
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) // /dev/null is a device, and none
}

// threadIDs parses the values of --thread.
func threadIDs(values []string) ([]unwind.ThreadID, error) {
	var ids []unwind.ThreadID
	for _, v := range values {
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("--thread %s: not a thread number", v)
		}
		ids = append(ids, unwind.ThreadID(n))
	}
	return ids, nil
}

// target opens the core that the operands name. If it returns no target, it has printed
// why, and status is the command's exit status. If it returns a target and an error,
// the error says why the core cannot be walked.
func (f *fileFlags) target(e env, args []string, more ...corewalk.Option) (o operands, t *corewalk.Target, status int, err error) {
	if o, err = e.operands(args); err != nil {
		return o, nil, e.wrong(err), err
	}
	if t, err = e.open(o, append(f.options(e, o.binary), more...)); t == nil {
		return o, nil, e.failOpen(err), err
	}
	return o, t, exitComplete, err
}
