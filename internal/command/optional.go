package command

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// joinValues lets people write "--memory 512MiB" and "--sandbox off", though the value of these flags may be left out: the argument after such a flag is its
// value if it can be one, and no file has that name.
func joinValues(fs *pflag.FlagSet, args []string) []string {
	for i, a := range args {
		if a == "--" {
			break
		}
		name, long := strings.CutPrefix(a, "--")
		if !long || i+1 >= len(args) || !canBe(fs.Lookup(name), args[i+1]) {
			continue
		}
		if _, err := os.Lstat(args[i+1]); err == nil {
			continue
		}
		joined := append([]string{}, args[:i]...)
		joined = append(joined, a+"="+args[i+1])
		return append(joined, joinValues(fs, args[i+2:])...)
	}
	return args
}

// canBe reports whether a text can be the value of a flag whose value may be left out.
func canBe(f *pflag.Flag, text string) bool {
	if f == nil || f.NoOptDefVal == "" {
		return false
	}
	switch f.Name {
	case "memory":
		_, err := parseSize(text)
		return err == nil
	case "debuginfod":
		return text == noServers || text == serversOfEnv || strings.Contains(text, "://")
	}
	return slices.Contains(f.Annotations[choices], text)
}
