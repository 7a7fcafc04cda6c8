package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/triage/render"
	"github.com/corewalk/corewalk/report"
)

var update = flag.Bool("update", false, "rewrite the schemas, and the pages of keys, kinds and warnings")

// source is what the sources of packages report and render say of their structs.
type source struct {
	types  map[string]*ast.StructType
	docs   map[string]string   // of types
	values map[string][]string // "Crash.Kind": the constants' values
}

func readSource(t *testing.T) *source {
	t.Helper()
	var files []string
	for _, dir := range []string{"report", "internal/triage/render", "internal/triage/ledger"} {
		list, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil || len(list) == 0 {
			t.Fatalf("no sources in %s: %v", dir, err)
		}
		files = append(files, list...)
	}
	s := &source{types: map[string]*ast.StructType{}, docs: map[string]string{}, values: map[string][]string{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			if g.Tok == token.CONST {
				s.constants(g)
			}
			for _, spec := range g.Specs {
				ts, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				if st, ok := ts.Type.(*ast.StructType); ok && f.Name.Name != "ledger" { // its structs are not printed
					s.types[ts.Name.Name] = st
					s.docs[ts.Name.Name] = words(g.Doc.Text())
				}
			}
		}
	}
	return s
}

// valuesOf matches the comment above a group of constants that are the values of fields.
var (
	valuesOf  = regexp.MustCompile(`^The values of ((?:[A-Z]\w+\.[A-Z]\w+(?: and )?)+)`)
	fieldName = regexp.MustCompile(`[A-Z]\w+\.[A-Z]\w+`)
)

func (s *source) constants(g *ast.GenDecl) {
	m := valuesOf.FindStringSubmatch(words(g.Doc.Text()))
	if m == nil {
		return
	}
	var list []string
	for _, spec := range g.Specs {
		for _, v := range spec.(*ast.ValueSpec).Values {
			if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				list = append(list, text)
			}
		}
	}
	for _, field := range fieldName.FindAllString(m[1], -1) {
		s.values[field] = list
	}
}

// words is a comment on one line.
func words(comment string) string { return strings.Join(strings.Fields(comment), " ") }

// inJSON replaces Go's words by those of JSON.
func inJSON(text string) string { return strings.ReplaceAll(text, "nil", "null") }

// sentence matches one sentence of a comment.
var sentence = regexp.MustCompile(`.+?[.?](?: |$)`)

// comments returns what the source says of each field of a struct: the comments above and beside it, and those
// sentences above an earlier field that name it. Fields go by their keys.
func (s *source) comments(name string) map[string]string {
	out, keys := map[string]string{}, map[string]string{}
	above := ""
	for _, f := range s.types[name].Fields.List {
		tag, _ := strconv.Unquote(f.Tag.Value)
		field := f.Names[0].Name
		keys[field], _, _ = strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		doc := words(f.Doc.Text())
		if doc != "" {
			above = doc
		} else {
			var mine []string
			for _, one := range sentence.FindAllString(above, -1) {
				if regexp.MustCompile(`\b` + field + `\b`).MatchString(one) {
					mine = append(mine, strings.TrimSpace(one))
				}
			}
			doc = strings.Join(mine, " ")
		}
		if line := words(f.Comment.Text()); line != "" {
			doc = strings.TrimSpace(line + ". " + doc)
		}
		out[field] = inJSON(strings.TrimSuffix(doc, "."))
	}
	for field := range out {
		for other, key := range keys {
			out[field] = regexp.MustCompile(`\b`+other+`\b`).ReplaceAllLiteralString(out[field], key)
		}
	}
	return out
}

// A generator makes schemas of Go types.
type generator struct {
	source *source
	defs   map[string]any
	order  []string
	bare   []string // fields without a word about them
}

type object = map[string]any

// of returns the schema of a type.
func (g *generator) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[report.Addr]():
		return object{"type": "string", "pattern": "^0x[0-9a-f]+$"}
	case reflect.TypeFor[report.Location]():
		return object{"type": "string"}
	case reflect.TypeFor[json.RawMessage]():
		return object{"type": "object"}
	case reflect.TypeFor[report.Registers]():
		return object{"type": "object", "additionalProperties": g.of(reflect.TypeFor[report.Addr]())}
	}
	if t.PkgPath() == "time" {
		return object{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": g.of(t.Elem())}
	case reflect.Struct:
		g.define(t)
		return object{"$ref": "#/$defs/" + t.Name()}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Uint64, reflect.Uint32, reflect.Uint8, reflect.Uint:
		return object{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int64, reflect.Int32:
		return object{"type": "integer"}
	}
	panic(fmt.Sprintf("no schema for %v", t))
}

func (g *generator) define(t reflect.Type) {
	if _, ok := g.defs[t.Name()]; ok {
		return
	}
	g.defs[t.Name()] = nil // types may hold themselves
	g.order = append(g.order, t.Name())
	g.defs[t.Name()] = g.structure(t)
}

func (g *generator) structure(t reflect.Type) object {
	props, required := object{}, []string{}
	comments := g.source.comments(t.Name())
	for i := range t.NumField() {
		f := t.Field(i)
		key, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "-" {
			continue
		}
		p := g.of(f.Type)
		if values := g.source.values[t.Name()+"."+f.Name]; values != nil {
			if f.Type.Kind() == reflect.Slice {
				p["items"].(object)["enum"] = values
			} else {
				p["enum"] = values
			}
			if option == "" && f.Type.Kind() == reflect.String && !slices.Contains(values, "") {
				p["enum"] = append(slices.Clone(values), "")
			}
		}
		if f.Type.Kind() == reflect.Pointer && option == "" {
			p = object{"anyOf": []any{p, object{"type": "null"}}}
		}
		if c := comments[f.Name]; c != "" {
			p["description"] = c
		}
		if p["description"] == nil && p["enum"] == nil && !strings.Contains(fmt.Sprint(p), "$defs") {
			g.bare = append(g.bare, t.Name()+"."+f.Name)
		}
		props[key] = p
		if option == "" {
			required = append(required, key)
		}
	}
	s := object{"type": "object", "properties": props, "description": g.source.docs[t.Name()]}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

var documents = []struct {
	name, id, title string
	roots           []root
}{
	{"report", report.Schema, "The report of corewalk --format json", []root{{t: reflect.TypeFor[report.Report]()}}},
	{"report-lines", report.Schema, "A line of corewalk --format json-lines", []root{{reflect.TypeFor[report.TaskLine](), "task"}, {reflect.TypeFor[report.ReportLine](), "report"}}},
	{"info", report.InfoSchema, "The output of corewalk info --format json", []root{{t: reflect.TypeFor[report.Info]()}}},
	{"memory", report.MemorySchema, "The output of corewalk memory --format json", []root{{t: reflect.TypeFor[report.Memory]()}}},
	{"memory-diff", report.MemoryDiffSchema, "The output of corewalk memory --diff --format json", []root{{t: reflect.TypeFor[report.MemoryDiff]()}}},
	{"triage", render.Schema, "A line of corewalk triage --format json", []root{{reflect.TypeFor[render.DumpLine](), "dump"},
		{reflect.TypeFor[render.GroupLine](), "group"}, {reflect.TypeFor[render.ChangeLine](), "change"}}},
}

// A root is what a document, or a line of one, may be.
type root struct {
	t    reflect.Type
	kind string // value of its key "type", if it has that
}

// TestSchemas compares the schemas and the page of keys with the sources.
func TestSchemas(t *testing.T) {
	src := readSource(t)
	var page bytes.Buffer
	page.WriteString(pageHead)
	described := map[string]bool{}
	for _, d := range documents {
		g := &generator{source: src, defs: map[string]any{}}
		doc := object{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": d.title, "$defs": g.defs}
		var choice []any
		for _, r := range d.roots {
			g.define(r.t)
			props := g.defs[r.t.Name()].(object)["properties"].(object)
			props["schema"] = object{"const": d.id, "description": "names this schema; the number changes only if a key has to be renamed or removed"}
			if r.kind != "" {
				props["type"] = object{"const": r.kind, "description": "tells lines apart"}
			}
			choice = append(choice, object{"$ref": "#/$defs/" + r.t.Name()})
		}
		if doc["oneOf"] = choice; len(choice) == 1 {
			delete(doc, "oneOf")
			doc["$ref"] = "#/$defs/" + d.roots[0].t.Name()
		}
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(doc); err != nil {
			t.Fatal(err)
		}
		compare(t, d.name+".json", out.Bytes())
		g.page(&page, d.title, d.id, d.roots, described)
		if len(g.bare) > 0 {
			t.Errorf("%s: no comment says what these are: %s", d.name, strings.Join(g.bare, " "))
		}
	}
	whole := documents[0] // it has a heading of its own
	compare(t, "../reference/json.md", bytes.ReplaceAll(page.Bytes(), []byte("(#report)"), []byte("(#"+anchor(whole.title+" "+whole.id)+")")))
}

func compare(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
		t.Errorf("%s is not what the sources say (go test ./docs/schema -update writes it): %v", path, err)
	}
}

const pageHead = `# Every key of the JSON

Made from the structs that are printed: ` + "`go test ./docs/schema -update`" + ` writes this page and the JSON Schemas that ` + "`corewalk schema NAME`" + `
prints. [In a script](../scripts.md) has examples for jq.

- Keys may be added; they are renamed or removed only if the number in ` + "`schema`" + ` changes.
- A key in **bold** is in every document. If another key is missing, its value is null, false, 0 or empty.
- Addresses are strings of hexadecimal digits, "0x7f00": some readers of JSON lose the low bits of large numbers.
- ` + "`--format json-lines`" + ` writes each task in a line of its own as soon as its stack is walked, then the rest of the report in a last line: who
  holds what a task waits for, deadlocks and contended objects take the stacks of all tasks. The ` + "`tasks`" + ` of the last line are those of which
  more became known (` + "`holders`, `seconds`, `note`" + ` of their waits).

`

// page writes the keys of a document, an object a section, without those that an earlier document has described.
// Keys one after the other of which one thing is said share a row.
func (g *generator) page(w *bytes.Buffer, title, id string, roots []root, described map[string]bool) {
	fmt.Fprintf(w, "## %s (`%s`)\n", title, id)
	for _, name := range g.order {
		if described[name] {
			continue
		}
		described[name] = true
		def := g.defs[name].(object)
		if len(roots) > 1 || name != roots[0].t.Name() {
			fmt.Fprintf(w, "\n### %s\n\n%s\n", name, def["description"])
		}
		w.WriteString("\n| key | type | meaning |\n|---|---|---|\n")
		props := def["properties"].(object)
		required, _ := def["required"].([]string)
		var keys, types []string
		keyList := g.keys(name)
		for i, key := range keyList {
			cell := "`" + key + "`"
			if slices.Contains(required, key) {
				cell = "**" + cell + "**"
			}
			keys = append(keys, cell)
			if kind := typeText(props[key].(object)); !slices.Contains(types, kind) {
				types = append(types, kind)
			}
			text := meaning(name, key, props, keyList)
			if i+1 < len(keyList) && text != "" && text == meaning(name, keyList[i+1], props, keyList) {
				continue
			}
			fmt.Fprintf(w, "| %s | %s | %s |\n", strings.Join(keys, " "), strings.Join(types, ", "), strings.ReplaceAll(text, "|", `\|`))
			keys, types = nil, nil
		}
	}
	w.WriteByte('\n')
}

// meaning is what the page says of a key: its description, without the sentences that are about another key, which has them too.
func meaning(name, key string, props object, keys []string) string {
	p := props[key].(object)
	text, _ := p["description"].(string)
	var mine []string
	for _, one := range sentence.FindAllString(text+".", -1) {
		first, _, _ := strings.Cut(one, " ")
		other, ok := props[first].(object)
		if ok && first != key && slices.Contains(keys, first) && !regexp.MustCompile(`\b`+key+`\b`).MatchString(one) {
			if said, _ := other["description"].(string); strings.Contains(said, strings.TrimRight(one, ". ")) {
				continue
			}
		}
		mine = append(mine, one)
	}
	if whole := strings.TrimSpace(strings.Join(mine, "")); len(mine) > 0 && len(whole) < len(text) {
		text = strings.TrimSuffix(whole, ".")
	}
	text = strings.TrimPrefix(text, key+" is ") // the row says that already
	values := enum(p)
	switch {
	case name == "Crash" && key == "kind":
		return "what happened, one of [the kinds](kinds.md)"
	case values != nil:
		return strings.TrimPrefix(text+". Values: `"+strings.Join(values, "`, `")+"`", ". ")
	}
	return text
}

// TestKindsPage compares the page of the kinds of crashes with the comments of the constants.
func TestKindsPage(t *testing.T) {
	const comment = "The values of Crash.Kind"
	var page bytes.Buffer
	page.WriteString("# Crash kinds\n\nMade from `report/crashkind.go` (`go test ./docs/schema -update`). `crash.kind` of the JSON is one of these words, the same on every\n" +
		"system and processor. No word changes its meaning. `-access` means that the direction is not known, `-call` that an instruction was fetched: by\n" +
		"a call, a jump or a return. [Why a program died](../crash.md#what-led-to-it) says what else a report says of it.\n\n| kind | what happened |\n|---|---|\n")
	f, err := parser.ParseFile(token.NewFileSet(), "../../report/crashkind.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || !strings.HasPrefix(g.Doc.Text(), comment) {
			continue
		}
		var row []string
		text := ""
		flush := func() {
			if row != nil {
				fmt.Fprintf(&page, "| %s | %s |\n", strings.Join(row, " "), text)
			}
			row, text = nil, ""
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			value, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			above, beside := words(v.Doc.Text()), words(v.Comment.Text())
			listed = append(listed, value)
			if beside != "" || above != "" {
				flush()
				text = strings.TrimSuffix(beside+above, ".")
				text = strings.Replace(text, "An ", "an ", 1)
			}
			row = append(row, "`"+value+"`")
			if text == "" {
				t.Errorf("no comment says what %s is", value)
			}
			if beside != "" { // it is about this one alone
				flush()
			}
		}
		flush()
	}
	if !slices.Equal(listed, report.CrashKinds()) {
		t.Errorf("the constants are %q, CrashKinds lists %q", listed, report.CrashKinds())
	}
	compare(t, "../reference/kinds.md", page.Bytes())
}

// warnings says what the codes of warnings mean that have no constant with a comment.
var warnings = map[string]string{
	"core":               "a part of the dump is damaged or missing; the message says which",
	"jit":                "code that the process made: what GDB's JIT interface lists of it, or a perf map or jitdump file, could not be read, or nothing proves that it is this process's",
	"libraries":          "the list of the process's libraries is incomplete",
	"list":               "`info` lists only the first of very many",
	"module-file":        "a module's file, or one that belongs to it, is damaged or could not be read",
	"module-forced":      "`--force-mismatched`: a file is used that is not, or may not be, from the right build; frames in it may be wrong",
	"module-missing":     "no file was found for a module in which frames are",
	"no-modules":         "the dump does not say which modules the process had",
	"no-threads":         "the dump has no threads that can be walked",
	"not-stopped":        "live process: a thread is in uninterruptible sleep; only its program counter and stack pointer are known",
	"not-walkable":       "the stacks of this kind of dump cannot be walked",
	"server-unreachable": "a server could not be reached, or was too slow, and was not asked again",
	"source-missing":     "`--source`: source files were not found",
	"source-unusable":    "`--source`: a source file could not be shown",
	"symbols-unusable":   "a compressed file of a symbol store, or an image given as sysroot, could not be unpacked",
}

// TestWarningsPage compares the page of the codes of warnings with the sources: constants and literals.
func TestWarningsPage(t *testing.T) {
	meanings, used := map[string]string{}, map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		literal := func(e ast.Expr) {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				code, _ := strconv.Unquote(lit.Value)
				used[code] = true
			}
		}
		ofWarnings := map[string]bool{} // variables of the function that are warnings
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				clear(ofWarnings)
			case *ast.ValueSpec:
				if f.Name.Name == "report" && strings.HasPrefix(n.Names[0].Name, "Warn") && len(n.Values) == 1 {
					code, _ := strconv.Unquote(n.Values[0].(*ast.BasicLit).Value)
					meanings[code] = words(n.Comment.Text())
				}
			case *ast.AssignStmt:
				for i, right := range n.Rhs {
					if lit, ok := right.(*ast.CompositeLit); ok && isWarning(lit.Type) {
						if name, ok := n.Lhs[i].(*ast.Ident); ok {
							ofWarnings[name.Name] = true
						}
					}
					if sel, ok := n.Lhs[i].(*ast.SelectorExpr); ok && sel.Sel.Name == "Code" {
						if name, ok := sel.X.(*ast.Ident); ok && ofWarnings[name.Name] {
							literal(right)
						}
					}
				}
			case *ast.CompositeLit:
				if !isWarning(n.Type) {
					break
				}
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == "Code" {
						literal(kv.Value)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for code := range used {
		if _, constant := meanings[code]; !constant {
			meanings[code] = warnings[code]
		}
	}
	for code := range warnings {
		if !used[code] {
			t.Errorf("nothing warns with the code %s", code)
		}
	}
	var page bytes.Buffer
	page.WriteString("# Warning codes\n\nMade from the sources (`go test ./docs/schema -update`). `warnings[].code` of a report in JSON is one of these; its `message` is for people and may\n" +
		"change. Codes may be added. A warning with *3* makes the exit status 3.\n\n| code | | what is wrong |\n|---|---|---|\n")
	for _, code := range slices.Sorted(maps.Keys(meanings)) {
		if meanings[code] == "" {
			t.Errorf("what does the warning %s mean? Say it in warnings", code)
		}
		status := ""
		if r := (&report.Report{Warnings: []report.Warning{{Code: code}}}); !r.Complete() {
			status = "*3*"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", code, status, meanings[code])
	}
	if len(meanings) < 20 {
		t.Errorf("only %d codes found", len(meanings))
	}
	compare(t, "../reference/warnings.md", page.Bytes())
}

// isWarning reports whether a type is report's Warning.
func isWarning(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		pkg, ok := e.X.(*ast.Ident)
		return ok && pkg.Name == "report" && e.Sel.Name == "Warning"
	case *ast.Ident:
		return e.Name == "Warning"
	}
	return false
}

func enum(p object) []string {
	if items, ok := p["items"].(object); ok {
		p = items
	}
	var values []string
	list, _ := p["enum"].([]string)
	for _, v := range list {
		if v != "" {
			values = append(values, v)
		}
	}
	return values
}

// keys lists the keys of a struct in the order of its fields.
func (g *generator) keys(name string) []string {
	var list []string
	for _, f := range g.source.types[name].Fields.List {
		tag, _ := strconv.Unquote(f.Tag.Value)
		key, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if key != "-" {
			list = append(list, key)
		}
	}
	return list
}

// typeText names the type of a key for people.
func typeText(p object) string {
	if choice, ok := p["anyOf"].([]any); ok {
		return typeText(choice[0].(object)) + " or null"
	}
	if ref, ok := p["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		return fmt.Sprintf("[%s](#%s)", name, anchor(name))
	}
	if c, ok := p["const"].(string); ok {
		return "`" + c + "`"
	}
	switch p["type"] {
	case "array":
		return "list of " + typeText(p["items"].(object))
	case "object":
		values, ok := p["additionalProperties"].(object)
		if !ok {
			return "object"
		}
		return "object of " + typeText(values)
	case "string":
		if p["pattern"] != nil {
			return "address"
		}
		if p["format"] != nil {
			return "time"
		}
	}
	return p["type"].(string)
}

// anchor is what a heading is linked by.
func anchor(name string) string {
	return strings.NewReplacer(" ", "-", "/", "").Replace(strings.ToLower(name))
}
