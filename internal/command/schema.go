package command

import (
	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/docs/schema"
)

const schemaUsage = `corewalk schema prints the JSON Schema of what corewalk prints as JSON.

Usage:
  corewalk schema NAME   NAME is report (of corewalk --format json), report-lines (of each line of corewalk
                         --format json-lines), info (of corewalk info --format json)
                         or triage (of each line of corewalk triage --format json)
`

// runSchema prints a schema.
func runSchema(args []string, e env) int {
	fs := pflag.NewFlagSet("corewalk schema", pflag.ContinueOnError)
	if status, ok := parse(fs, args, schemaUsage, e); !ok {
		return status
	}
	if fs.NArg() != 1 {
		return e.usageError("need the name of a schema: %s", orList(schema.Names()))
	}
	data, err := schema.Get(fs.Arg(0))
	if err != nil {
		return e.usageError("%v", err)
	}
	_, err = e.stdout.Write(data)
	return e.written(err, exitComplete)
}
