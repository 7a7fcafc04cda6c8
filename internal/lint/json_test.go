package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// plainJSON lists the files that may write JSON with encoding/json itself, and why: nobody sees it on a terminal. All others
// write with report.JSON, or by hand as package report does: encoding/json leaves characters as they are that turn the
// direction of a line, or are commands of terminals (U+202E, U+009B).
var plainJSON = map[string]string{
	"report/anyjson.go":                       "report.JSON itself, which escapes",
	"report/addr.go":                          "a place: a register's name or an address, in documents that are escaped",
	"report/stackwalk_process.go":             "true, false and null",
	"crashself/start_linux.go":                "settings for the watcher, in memory that only it reads",
	"internal/files/broker/pipe.go":           "questions and answers of two processes, in a pipe",
	"internal/triage/protocol.go":             "questions and answers of two processes, in a pipe; strings keep their bytes",
	"internal/triage/triage.go":               "settings for such a process",
	"internal/command/handle_linux.go":        "a row from the process that makes a report, in a file that has no name",
	"internal/command/serving/embedded.go":    "the log, whose writer escapes",
	"internal/sqlite/db.go":                   "a list for a query",
	"internal/service/store/tables/tables.go": "a column of the database; the service answers with report.JSON",
	"internal/service/backup/backup.go":       "the file that says what a backup is, for restore alone",
	"internal/live/corecheck/compare.go":      "values that are compared; what differs is cleaned",
}

// TestJSONIsShownEscaped: what people read is escaped in one way.
func TestJSONIsShownEscaped(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || slices.Contains(testRooms, s.room) {
			continue
		}
		for _, at := range plainWriters(s.parsed) {
			if plainJSON[s.file] == "" {
				t.Errorf("%s: encoding/json writes here; what may be shown is written by report.JSON", sourceSet.Position(at))
			}
			used[s.file] = true
		}
	}
	for _, file := range slices.Sorted(maps.Keys(plainJSON)) {
		if !used[file] {
			t.Errorf("%s writes no JSON: it need not be listed", file)
		}
	}
}

// writers are the functions that write JSON without escapes, of each package: what is not named here reads.
var writers = map[string][]string{
	"encoding/json":            {"Marshal", "MarshalIndent", "NewEncoder", "Encoder"},
	"encoding/json/v2":         {"Marshal", "MarshalWrite", "MarshalEncode"},
	"encoding/json/jsontext":   {"NewEncoder", "Encoder"},
	"log/slog":                 {"NewJSONHandler"},
	"github.com/google/go-dap": {"WriteProtocolMessage"},
}

// plainWriters returns where a file uses such a function, whatever it calls the package.
func plainWriters(f *ast.File) []token.Pos {
	names := map[string][]string{}
	var out []token.Pos
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		list := writers[path]
		if list == nil {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		switch name {
		case "go-dap":
			name = "dap"
		case "v2":
			name = "json"
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		if name == "." {
			out = append(out, i.Pos()) // what it uses is not known
		}
		names[name] = list
	}
	if len(names) == 0 {
		return out
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(names[pkg.Name], sel.Sel.Name) {
				out = append(out, sel.Pos())
			}
		}
		return true
	})
	return out
}

// TestPlainWriters: the law sees what breaks it, and nothing else.
func TestPlainWriters(t *testing.T) {
	for text, want := range map[string]int{
		`import "encoding/json"; func f() { json.Marshal(1) }`:                                1,
		`import "encoding/json"; var f = json.MarshalIndent`:                                  1,
		`import j "encoding/json"; func f() { j.NewEncoder(nil).Encode(1) }`:                  1,
		`import "encoding/json"; type f struct { e *json.Encoder }`:                           1,
		`import . "encoding/json"; func f() { Marshal(1) }`:                                   1,
		`import "encoding/json/v2"; func f() { json.Marshal(1) }`:                             1,
		`import "github.com/google/go-dap"; func f() { dap.WriteProtocolMessage(nil, nil) }`:  1,
		`import "encoding/json"; func f() { json.Unmarshal(nil, nil); json.NewDecoder(nil) }`: 0,
		`import "encoding/json"; func f(m json.RawMessage) { json.Valid(m) }`:                 0,
		`import "encoding/xml"; func f() { xml.Marshal(1) }`:                                  0,
		`import "example.com/json"; func f() { json.Marshal(1) }`:                             0,
		`import "github.com/corewalk/corewalk/report"; func f() { report.JSON(1, "") }`:       0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x; "+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(plainWriters(f)); got != want {
			t.Errorf("%s: %d, not %d", text, got, want)
		}
	}
}
