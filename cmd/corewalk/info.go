package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/report"
)

const infoUsage = `corewalk info shows what is in a core: notes, mappings, and modules with their build-ids and the
files found for them.

Usage:
  corewalk info [flags] CORE [BINARY]

Examples:
  corewalk info core.4242
  corewalk info --missing core.4242            # BUILD-ID PATH of each file that is wanted, a line each
  corewalk info --format json core | jq '.modules[].build_id'
`

func runInfo(args []string, e env) int {
	var f fileFlags
	var missing bool
	fs := pflag.NewFlagSet("corewalk info", pflag.ContinueOnError)
	f.register(fs)
	fs.BoolVar(&missing, "missing", false, "list only the build-ids of modules whose binary or debug information was not found")
	if status, ok := parse(fs, args, infoUsage, e); !ok {
		return status
	}
	core, binary, err := operands(fs.Args())
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return e.usageError("%v", err)
	}
	t, err := openCore(core, e, f.options(binary))
	if t == nil {
		return e.fail(err)
	}
	defer t.Close()
	if err != nil { // what is in the file can still be shown
		fmt.Fprintf(e.stderr, "corewalk: %v\n", err)
	}
	in := t.Info()
	var werr error
	switch {
	case missing:
		werr = report.WriteMissing(e.stdout, in.Modules)
	case f.format == "json":
		werr = report.WriteInfoJSON(e.stdout, in)
	default:
		werr = report.WriteInfoText(e.stdout, in, report.TextOptions{Color: f.colored(e.stdout)})
	}
	switch {
	case werr != nil:
		return e.fail(werr)
	case err != nil || in.Dump.Truncated:
		return exitIncomplete
	}
	return exitComplete
}
