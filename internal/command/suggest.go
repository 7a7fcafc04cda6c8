package command

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// runHelp prints the usage of the command, or of a subcommand.
func runHelp(args []string, e env) int {
	if len(args) == 0 || args[0] == "help" {
		return runReport([]string{"--help"}, e)
	}
	if len(args) > 1 || !slices.Contains(withHelp(), args[0]) {
		return e.usageError("no help for %q: subcommands are %s", strings.Join(args, " "), orList(withHelp()))
	}
	sub, _ := findCommand(args[0])
	return sub.run([]string{"--help"}, e)
}

// misspelt returns the subcommand that the first word of a command line probably means, "" if the word is a file or
// like no subcommand.
func misspelt(word string) string {
	if strings.HasPrefix(word, "-") {
		return ""
	}
	if _, err := os.Lstat(word); err == nil {
		return ""
	}
	return nearest(word, names(""))
}

// suggestFlag adds to the error for an unknown flag the one that is probably meant.
func suggestFlag(fs *pflag.FlagSet, err error) string {
	text := err.Error()
	name, ok := strings.CutPrefix(text, "unknown flag: --")
	if !ok {
		return text
	}
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := nearest(name, names); near != "" {
		text += "; did you mean --" + near + "?"
	}
	return text
}

// nearest returns the name that differs from word by the fewest edits: at most two, and at most a third of the word;
// "" if there is none, and the first of the alphabet of several.
func nearest(word string, names []string) string {
	best, least := "", min(2, len(word)/3)+1
	for _, name := range names {
		if d := distance(word, name, least); d < least || d == least && best != "" && name < best {
			best, least = name, d
		}
	}
	return best
}

// distance returns how many characters have to be inserted, deleted, replaced or exchanged with their neighbour to
// make b of a (the optimal string alignment distance), or limit+1 if more than limit.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	before, last, row := rows[0], rows[1], rows[2]
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
