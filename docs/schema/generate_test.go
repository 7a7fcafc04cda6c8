package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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

var update = flag.Bool("update", false, "rewrite the schemas and the page of keys")

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
	compare(t, "../json.md", bytes.ReplaceAll(page.Bytes(), []byte("(#report)"), []byte("(#"+anchor(whole.title+" "+whole.id)+")")))
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

This page is made from the sources of the structs that are printed (` + "`go test ./docs/schema -update`" + `), and so are
the JSON Schemas in docs/schema, which ` + "`corewalk schema report`, `corewalk schema info` and `corewalk schema triage`" + ` print.
The last is the schema of one line: triage prints a document on each line.

` + "`--format json-lines`" + ` writes the same in another order, for programs with very many goroutines: each task in a line of its own as
soon as its stack is walked, then a last line with the rest of the report. Who holds what a task waits for, deadlocks and
contended objects take the stacks of all tasks: they are in the last line, whose ` + "`tasks`" + ` are those of which more became known
(` + "`holders`, `seconds`, `note`" + ` of their waits). ` + "`corewalk schema report-lines`" + ` prints the schema of a line.

Keys may be added; they are renamed or removed only if the schema's number changes. Addresses are strings of
hexadecimal digits, "0x7f00", because some readers of JSON lose the low bits of large numbers. A key marked
"always" is in every document; if another key is missing, its value is null, false, 0 or empty.

`

// page writes the keys of a document, an object a section, without those that an earlier document has described.
func (g *generator) page(w *bytes.Buffer, title, id string, roots []root, described map[string]bool) {
	fmt.Fprintf(w, "## %s (`%s`)\n", title, id)
	for _, name := range g.order {
		if described[name] {
			continue
		}
		described[name] = true
		def := g.defs[name].(object)
		if len(roots) > 1 || name != roots[0].t.Name() {
			fmt.Fprintf(w, "\n### %s: %s\n", name, def["description"])
		}
		w.WriteString("\n| key | type | when | meaning |\n|---|---|---|---|\n")
		props := def["properties"].(object)
		required, _ := def["required"].([]string)
		for _, key := range g.keys(name) {
			p := props[key].(object)
			when := ""
			if slices.Contains(required, key) {
				when = "always"
			}
			text, _ := p["description"].(string)
			if values := enum(p); values != nil {
				text = strings.TrimPrefix(text+". Values: `"+strings.Join(values, "`, `")+"`", ". ")
			}
			fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", key, typeText(p), when, strings.ReplaceAll(text, "|", `\|`))
		}
	}
	w.WriteByte('\n')
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

func anchor(name string) string { return strings.ToLower(name) }
