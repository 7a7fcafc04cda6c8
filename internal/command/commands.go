package command

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/docs/schema"
)

// A command is one of corewalk's commands. Help, completion and the manual page are made of
// these.
type command struct {
	name  string // "" for the report, "info", "triage list"
	run   func(args []string, e env) int
	flags func() *pflag.FlagSet // nil if it has none
	usage string                // "" if that of the command before covers it
	words []string              // its operands, if they are words and not files
}

// allCommands lists all commands. Those of two words follow the one of the first word.
func allCommands() []command {
	query := func(name string) func() *pflag.FlagSet {
		return func() *pflag.FlagSet { return new(queryFlags).set(name) }
	}
	return []command{
		{name: "", run: runReport, flags: of[reportFlags], usage: usageText},
		{name: "report", run: runReport, flags: of[reportFlags], usage: usageText},
		{name: "info", run: runInfo, flags: of[infoFlags], usage: infoUsage},
		{name: "memory", run: runMemory, flags: of[memoryFlags], usage: memoryUsage},
		{name: "triage", run: runTriage, flags: of[triageFlags], usage: triageUsage},
		{name: "triage list", run: runTriageList, flags: query("list")},
		{name: "triage show", run: runTriageShow, flags: query("show")},
		{name: "triage diff", run: runTriageDiff, flags: query("diff")},
		{name: "triage export", run: runTriageExport, flags: query("export")},
		{name: "print", run: runPrint, flags: of[printFlags], usage: printUsage},
		{name: "shell", run: runShell, flags: of[shellFlags], usage: shellUsage},
		{name: "dap", run: runDAP, flags: of[dapFlags], usage: dapUsage},
		{name: "mcp", run: runMCP, flags: of[mcpFlags], usage: mcpUsage},
		{name: "serve", run: runServe, flags: of[serveFlags], usage: serveUsage},
		{name: "serve token", run: runServeToken, flags: of[tokenFlags]},
		{name: "serve account", run: runServeAccount, flags: of[accountFlags]},
		{name: "serve backup", run: runServeBackup, flags: of[backupFlags]},
		{name: "serve restore", run: runServeRestore, flags: of[backupFlags]},
		{name: "serve import", run: runServeImport, flags: of[importFlags]},
		{name: "live", run: runLive, flags: of[liveFlags], usage: liveUsage},
		{name: "slim", run: runSlim, flags: of[slimFlags], usage: slimUsage},
		{name: "convert", run: runConvert, flags: of[convertFlags], usage: convertUsage},
		{name: "pack", run: runPack, flags: of[packFlags], usage: packUsage},
		{name: "handle", run: runHandle, flags: of[handleFlags], usage: handleUsage},
		{name: "cache", run: runCache, flags: of[cacheFlags], usage: cacheUsage},
		{name: "schema", run: runSchema, usage: schemaUsage, words: schema.Names()},
		{name: "completion", run: runCompletion, usage: completionUsage, words: shells()},
		{name: "man", run: runMan, usage: manUsage},
		{name: "version", run: func(_ []string, e env) int { return runReport([]string{"--version"}, e) }},
		{name: "help", run: runHelp, words: withHelp()},
	}
}

// of makes the flags of a command. A method of a value would have that value made for every command of the list.
func of[T any, P interface {
	*T
	set() *pflag.FlagSet
}]() *pflag.FlagSet {
	return P(new(T)).set()
}

// withHelp lists the commands that help describes.
func withHelp() []string {
	return []string{"info", "memory", "triage", "print", "shell", "dap", "mcp", "serve", "live", "slim", "convert", "pack", "handle", "cache", "schema", "completion", "man"}
}

// findCommand returns the command with a name.
func findCommand(name string) (command, bool) {
	for _, c := range allCommands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

// names lists the words that may follow a command of one word, or those that may come first
// on the command line if it is "".
func names(first string) []string {
	var list []string
	for _, c := range allCommands() {
		before, last, two := strings.Cut(c.name, " ")
		switch {
		case two && before == first:
			list = append(list, last)
		case !two && first == "" && c.name != "":
			list = append(list, c.name)
		}
	}
	return list
}

// choices is the annotation of a flag with its values.
const choices = "choices"

// choose records the values that a flag may have.
func choose(fs *pflag.FlagSet, flag string, values ...string) {
	fs.Lookup(flag).Annotations = map[string][]string{choices: values}
}
