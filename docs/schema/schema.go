// Package schema has the JSON Schemas (draft 2020-12) of what corewalk prints as JSON. They are made from the
// structs of packages report and render by this package's test.
package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed *.json
var files embed.FS

// Names lists the schemas in alphabetical order: "info", "memory", "memory-diff", "report", "report-lines", "triage".
func Names() []string {
	var names []string
	entries, _ := fs.ReadDir(files, ".")
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	slices.Sort(names) // files are in another order
	return names
}

// Get returns a schema by its name. The error lists the names that there are.
func Get(name string) ([]byte, error) {
	data, err := files.ReadFile(name + ".json")
	if err != nil {
		return nil, fmt.Errorf("no schema %q: must be one of %s", name, strings.Join(Names(), ", "))
	}
	return data, nil
}
