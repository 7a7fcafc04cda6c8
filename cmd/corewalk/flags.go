package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
)

// fileFlags say where files are; every subcommand has them.
type fileFlags struct {
	sysroots, debugDirs, search []string
	force                       bool
	format                      string
	color                       string
}

func (f *fileFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.sysroots, "sysroot", nil, "look the dump's paths up below `DIR`, not on this machine (repeatable)")
	fs.StringArrayVar(&f.debugDirs, "debug-dir", nil, "look for separate debug files in `DIR` instead of /usr/lib/debug (repeatable)")
	fs.StringArrayVar(&f.search, "search", nil, "look for binaries and debug files anywhere below `DIR`, by build-id (repeatable)")
	fs.BoolVar(&f.force, "force-mismatched", false, "use files of another build where the right one is not found; frames say so")
	fs.StringVar(&f.format, "format", "text", "`text|json`")
	fs.StringVar(&f.color, "color", "auto", "`auto|always|never`: colour the text; auto does on a terminal")
}

// check validates what the flag parser cannot.
func (f *fileFlags) check() error {
	if !slices.Contains([]string{"text", "json"}, f.format) {
		return fmt.Errorf("--format %s: text or json is wanted", f.format)
	}
	if !slices.Contains([]string{"auto", "always", "never"}, f.color) {
		return fmt.Errorf("--color %s: auto, always or never is wanted", f.color)
	}
	for _, dirs := range [][]string{f.sysroots, f.debugDirs, f.search} {
		for _, d := range dirs {
			if st, err := os.Stat(d); err != nil {
				return err
			} else if !st.IsDir() {
				return fmt.Errorf("%s is not a directory", d)
			}
		}
	}
	return nil
}

// options turns the flags into options of corewalk.Open.
func (f *fileFlags) options(binary string) []corewalk.Option {
	var opts []corewalk.Option
	for _, d := range f.sysroots {
		opts = append(opts, corewalk.WithSysroot(d))
	}
	for _, d := range f.debugDirs {
		opts = append(opts, corewalk.WithDebugDir(d))
	}
	for _, d := range f.search {
		opts = append(opts, corewalk.WithSearch(d))
	}
	if f.force {
		opts = append(opts, corewalk.WithForceMismatched())
	}
	if binary != "" {
		opts = append(opts, corewalk.WithExecutable(binary))
	}
	return opts
}

// colored decides whether to colour what goes to out.
func (f *fileFlags) colored(out any) bool {
	switch f.color {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(out)
}

// isTerminal reports whether a stream is a character device, as terminals are.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// operands takes CORE [BINARY] off the command line.
func operands(args []string) (core, binary string, err error) {
	switch len(args) {
	case 0:
		return "", "", fmt.Errorf("a core is wanted")
	case 1:
		return args[0], "", nil
	case 2:
		return args[0], args[1], nil
	}
	return "", "", fmt.Errorf("%d files given; one core, and the binary that made it, are wanted", len(args))
}
