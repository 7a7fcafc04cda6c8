package command

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

const infoUsage = `corewalk info shows the contents of a core: notes, mappings, and modules with their build-ids and the
files found for them; of a minidump also its streams, system, threads, memory, handles and annotations.

Usage:
  corewalk info [flags] CORE [BINARY]

Examples:
  corewalk info core.4242
  corewalk info --missing core.4242       # BUILD-ID PATH of each file to fetch, one per line
  corewalk info --missing=stack core.4242 # of the modules on the stacks only
  corewalk info --missing crash.dmp       # for PE files NAME/ID/NAME, as on symbol servers
  corewalk info --memory crash.dmp        # with every range of memory
  corewalk info --missing core.4242 | while read -r id path; do debuginfod-find debuginfo "$id"; done
  corewalk info --format json core | jq '.modules[].build_id'

Exit status: 0 all was read; 1 the file is not a core; 2 wrong usage; 3 there are gaps (a truncated
core, one of a kind whose stacks cannot be walked, a file from a different build).
`

// Values of --missing.
const (
	missingAll     = "all"
	missingOnStack = "stack"
)

// infoFlags are the flags of corewalk info.
type infoFlags struct {
	fileFlags
	missing string // "" for all that a core contains
	limits  limitFlags
}

func (f *infoFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk info", pflag.ContinueOnError)
	f.register(fs, formatText, formatJSON)
	f.sandbox.register(fs, sandboxOff)
	fs.StringVar(&f.missing, "missing", "", "list only the files to fetch, by their build-ids or their names on symbol servers: of all modules, or of those `WHERE`: on the stack")
	fs.Lookup("missing").NoOptDefVal = missingAll
	f.limits.register(fs, defaultDeadline, "list a minidump's memory ranges, and the pages that it describes")
	return fs
}

func runInfo(args []string, e env) int {
	var f infoFlags
	fs := f.set()
	if status, ok := parse(fs, args, infoUsage, e); !ok {
		return status
	}
	if err := f.check(e); err != nil {
		return e.wrong(err)
	}
	if !slices.Contains([]string{"", missingAll, missingOnStack}, f.missing) {
		return e.usageError("--missing=%s: want %s or %s", f.missing, missingAll, missingOnStack)
	}
	if err := f.limits.check(); err != nil {
		return e.usageError("%v", err)
	}
	f.memoryLimit = f.limits.memory.limit
	e, status, done := f.sandboxed(e, []string{"info"}, args, fs.Args())
	if done {
		return status
	}
	e, stop := f.limits.watch(e)
	defer stop()
	o, t, status, err := f.target(e, fs.Args())
	if t == nil {
		return status
	}
	defer t.Close()
	if err != nil { // the contents of the file can still be shown
		e.say("%v", err)
	}
	in := t.InfoWith(corewalk.InfoOptions{Memory: f.limits.memory.show, OnStack: f.missing == missingOnStack})
	mismatched := slices.ContainsFunc(in.Modules, func(m report.Module) bool { return m.Status == report.ModuleMismatched })
	if e.unused(o, in.Modules) || err != nil || in.Dump.Truncated || mismatched {
		status = exitIncomplete
	}
	for _, w := range in.Warnings {
		if w.Code == report.WarnChanged {
			e.say("%s", w.Message)
			status = exitIncomplete
		}
	}
	switch {
	case f.missing != "":
		err = report.WriteMissing(e.stdout, in.Modules)
	case f.format == formatJSON:
		err = report.WriteInfoJSON(e.stdout, in)
	default:
		err = report.WriteInfoText(e.stdout, in, report.TextOptions{Color: f.colored(e.stdout)})
	}
	return e.written(err, status)
}
