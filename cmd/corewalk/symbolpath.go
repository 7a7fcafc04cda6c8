package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/debuginfod"
	"github.com/corewalk/corewalk/internal/files/find"
)

// symbolPathVars are the environment's symbol paths, of which the first that is set
// counts.
var symbolPathVars = []string{"COREWALK_SYMBOL_PATH", "_NT_SYMBOL_PATH"}

// symbolFlags say where PE images, PDBs and Breakpad symbol files come from.
type symbolFlags struct {
	paths []string

	path   string                   // what counts of flag and environment
	client *debuginfod.SymbolClient // nil for none
	notes  []string                 // what is not heeded, and why
}

func (f *symbolFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.paths, "symbol-path", nil, "look for PDBs, PE images and Breakpad symbol files by `PATH`, such as 'dir;srv*cache*url' (repeatable; default: COREWALK_SYMBOL_PATH or _NT_SYMBOL_PATH)")
}

// check takes the path of the flag apart, which must make sense, or that of the
// environment, which others have set: what is wrong in that is noted.
func (f *symbolFlags) check(cfg debuginfod.Config) error {
	name := "--symbol-path"
	if f.path = strings.Join(f.paths, ";"); len(f.paths) == 0 {
		f.path, name = symbolPathOfEnv()
	}
	p := find.ParseSymbolPath(f.path)
	problems := p.Notes
	if len(f.paths) > 0 {
		problems = append(problems, absent(p)...)
	}
	if len(p.Servers) > 0 {
		var err error
		if f.client, err = debuginfod.NewSymbols(p.Servers, cfg); err != nil {
			problems = append(problems, err.Error())
		}
	}
	switch {
	case len(problems) == 0:
	case len(f.paths) > 0:
		return fmt.Errorf("%s: %s", name, problems[0])
	default:
		for _, text := range problems {
			f.notes = append(f.notes, name+": "+text)
		}
	}
	return nil
}

// symbolPathOfEnv is the path of the environment, and the variable that has it.
func symbolPathOfEnv() (path, name string) {
	for _, v := range symbolPathVars {
		if path, set := os.LookupEnv(v); set {
			return path, v
		}
	}
	return "", ""
}

// absent tells which directories are not there, of those that nobody makes.
func absent(p find.SymbolPath) []string {
	var list []string
	for _, dir := range p.Dirs {
		if slices.Contains(p.Stores, dir) {
			continue
		}
		if st, err := os.Stat(dir); err != nil {
			list = append(list, fmt.Sprintf("%s: %v", dir, plainError(err)))
		} else if !st.IsDir() {
			list = append(list, dir+": not a directory")
		}
	}
	return list
}

// options are those of corewalk.Open.
func (f *symbolFlags) options(e env) []corewalk.Option {
	for _, n := range f.notes {
		e.say("%s", n)
	}
	if f.path == "" {
		return nil
	}
	opts := []corewalk.Option{corewalk.WithSymbolPath(f.path)}
	if f.client != nil {
		opts = append(opts, corewalk.WithSymbolFetcher(f.client))
	}
	return opts
}
