package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
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
  corewalk info --at 0x5605626908a0 core  # what is at an address: variable, heap block, stack, mapping
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
	at      []string
	limits  limitFlags
}

func (f *infoFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk info", pflag.ContinueOnError)
	f.register(fs, formatText, formatJSON)
	f.sandbox.register(fs, sandboxOff)
	fs.StringVar(&f.missing, "missing", "", "list only the files to fetch, by their build-ids or their names on symbol servers: of all modules, or of those `WHERE`: on the stack")
	fs.Lookup("missing").NoOptDefVal = missingAll
	choose(fs, "missing", missingAll, missingOnStack)
	fs.StringArrayVar(&f.at, "at", nil, "say only what is at the `ADDRESS`: a variable, a block of the heap and who points at it, a stack, a mapping (may be repeated)")
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
	addresses, err := f.addresses()
	if err == nil {
		err = f.limits.check()
	}
	if err != nil {
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
	if err == nil && len(addresses) > 0 {
		if in.At, err = placesAt(e.ctx, t, addresses); err != nil {
			return e.fail(err)
		}
	}
	switch {
	case len(in.At) > 0 && f.format != formatJSON:
		for i := range in.At {
			if _, err = fmt.Fprintln(e.stdout, report.Clean(in.At[i].String())); err != nil {
				break
			}
		}
	case f.missing != "":
		err = report.WriteMissing(e.stdout, in.Modules)
	case f.format == formatJSON:
		err = report.WriteInfoJSON(e.stdout, in)
	default:
		err = report.WriteInfoText(e.stdout, in, report.TextOptions{Color: f.colored(e.stdout)})
	}
	return e.written(err, status)
}

// addresses are those of --at.
func (f *infoFlags) addresses() (list []uint64, err error) {
	for _, text := range f.at {
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return nil, fmt.Errorf("--at %.40q: must be an address such as 0x7f10a0b3c4d0", text)
		}
		list = append(list, n)
	}
	return list, nil
}

// placesAt says what is at addresses.
func placesAt(ctx context.Context, t *corewalk.Target, addresses []uint64) (all []report.Place, err error) {
	facts, err := t.Facts(corewalk.FactsOptions{})
	if err != nil {
		return nil, err
	}
	defer facts.Close()
	defer facts.Ask(ctx)()
	for _, addr := range addresses {
		p, err := facts.At(ctx, unwind.Address(addr))
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
