package command

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/files/debuginfod"
	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/modules"
)

// symbolPathVars are the environment variables with symbol paths; the first one that is
// set counts.
var symbolPathVars = []string{"COREWALK_SYMBOL_PATH", "_NT_SYMBOL_PATH"}

// symbolFlags say where PE images, PDBs and Breakpad symbol files come from.
type symbolFlags struct {
	paths []string

	path   string                // the path in use, from the flag or the environment
	client modules.SymbolFetcher // nil if there is none
	notes  []string              // what was ignored, and why
}

func (f *symbolFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.paths, "symbol-path", nil, "look for PDBs, PE images and Breakpad symbol files by `PATH`, such as 'dir;srv*cache*url' (repeatable; default: COREWALK_SYMBOL_PATH or _NT_SYMBOL_PATH)")
}

// check parses the path of the flag or, without the flag, that of the environment.
// Errors in the flag are usage errors. Errors in the environment are only noted,
// because others may have set it.
func (f *symbolFlags) check(e env, cfg settings.Config) error {
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
		if f.client, err = symbolServers(p.Servers, cfg); err != nil {
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

// symbolServers makes a client of symbol servers.
func symbolServers(servers []find.SymbolServer, cfg settings.Config) (modules.SymbolFetcher, error) {
	c, err := debuginfod.NewSymbols(servers, cfg)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// symbolPathOfEnv returns the path in the environment, and the variable that has it.
func symbolPathOfEnv() (path, name string) {
	for _, v := range symbolPathVars {
		if path, set := os.LookupEnv(v); set {
			return path, v
		}
	}
	return "", ""
}

// absent returns the directories that do not exist, except the stores, which are
// created when needed.
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
