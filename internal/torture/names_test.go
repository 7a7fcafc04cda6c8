package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/stranger"
	"github.com/corewalk/corewalk/report"
)

// evil is a hostile text as a name, which a zero byte ends.
var evil = strings.TrimSuffix(strings.ReplaceAll(stranger.Text, "\x00", ""), "\n")

// harmless writes a report in all ways, and checks that the hostile names in it are shown as escapes: as each of want.
func harmless(t *testing.T, dump string, want []string, opts ...corewalk.Option) {
	t.Helper()
	target, err := corewalk.Open(context.Background(), dump, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.AnalyzeWith(context.Background(), corewalk.FactsOptions{Explain: true}, corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, For: report.Whole{Trees: true},
		Include: corewalk.Include{Source: 2, Code: true, Memory: true, Environment: corewalk.EnvironmentMasked, Details: true}})
	if err != nil {
		t.Fatal(err)
	}
	var text, colour, json bytes.Buffer
	report.WriteText(&text, r, report.TextOptions{AllLocals: true, Explain: true})
	report.WriteText(&colour, r, report.TextOptions{Color: true, Width: 60})
	report.WriteJSON(&json, r)
	if err := stranger.Lines(text.String(), false); err != nil {
		t.Errorf("text: %v", err)
	}
	if err := stranger.Lines(colour.String(), true); err != nil {
		t.Errorf("text in colour: %v", err)
	}
	if err := stranger.JSON(json.Bytes()); err != nil {
		t.Errorf("JSON: %v", err)
	}
	var stackwalk, info bytes.Buffer
	report.WriteStackwalk(&stackwalk, r)
	report.WriteInfoText(&info, target.Info(), report.TextOptions{})
	if err := stranger.JSON(stackwalk.Bytes()); err != nil {
		t.Errorf("JSON of minidump-stackwalk: %v", err)
	}
	if err := stranger.Lines(info.String(), false); err != nil {
		t.Errorf("info: %v", err)
	}
	for _, w := range want {
		if !strings.Contains(text.String()+json.String(), w) {
			t.Errorf("no %q:\n%s", w, text.String())
		}
	}
}

// Names of functions, variables, types, members, enumerators and files in DWARF.
func TestHostileNamesInDWARF(t *testing.T) {
	e, d := newELF(), newDWARF()
	name := func(kind string) []byte { return str(kind + evil) }
	typ := d.die(0x24, false, 0x03, 0x08, name("base"), 0x0b, 0x0b, []byte{4}, 0x3e, 0x0b, []byte{5})
	record := d.die(0x13, true, 0x03, 0x08, name("record"), 0x0b, 0x0b, []byte{8})
	d.die(0x0d, false, 0x03, 0x08, name("member"), 0x49, 0x13, ref(typ), 0x38, 0x0b, []byte{0})
	d.end(1)
	enum := d.die(0x04, true, 0x03, 0x08, name("enum"), 0x49, 0x13, ref(typ), 0x0b, 0x0b, []byte{4})
	for i := range 256 { // one of them is the value
		d.die(0x28, false, 0x03, 0x08, name("enumerator"), 0x1c, 0x0b, []byte{byte(i)})
	}
	d.end(1)
	d.die(0x2e, true, 0x03, 0x08, name("function"), 0x11, 0x01, u64(madeText), 0x12, 0x07, u64(madeEnd-madeText), 0x40, 0x18, block(0x9c), 0x27, 0x19, []byte(nil))
	d.variable(0x05, "parameter"+evil, record)
	d.variable(0x34, "local"+evil, enum)
	d.variable(0x34, "constant"+evil, enum, 0x31, 0x9f) // DW_OP_lit1, DW_OP_stack_value
	d.end(2)
	d.into(e)
	dir := t.TempDir()
	core, exe := filepath.Join(dir, "core"), filepath.Join(dir, "program")
	if err := os.WriteFile(core, newCore(3).bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, e.bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	harmless(t, core, []string{"functionx", `\x1b[31m`, "parameterx", "localx", "constantx", "memberx", "enumeratorx"}, corewalk.WithExecutable(exe), corewalk.WithSysroot(dir), corewalk.WithDebugDir(dir))
}

// Names of functions in a symbol file of Breakpad, whose lines nothing can leave.
func TestHostileNamesInSymbolFile(t *testing.T) {
	tb := tb{dir: t.TempDir()}
	c := fixture.Get(t, symCases[0])
	text, err := symbolFile(tb, c)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.NewReplacer("\n", "", "\r", "").Replace(evil)
	text = bytes.ReplaceAll(text, []byte("function"), []byte("function"+line))
	text = bytes.ReplaceAll(text, []byte(" a.c\n"), []byte(" "+line+".c\n"))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program.sym"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	harmless(t, c.Core(t), []string{"functionx", `\x1b[31m`}, corewalk.WithSearch(dir), corewalk.WithSysroot(tb.dir), corewalk.WithDebugDir(tb.dir))
}

// Names in a PDB, changed in place.
func TestHostileNamesInPDB(t *testing.T) {
	c := fixture.Get(t, "amd64-clang-O0-deep")
	dir := t.TempDir()
	for _, rel := range caseFiles(c) {
		data, err := os.ReadFile(original(tb{dir: dir}, c, rel))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(rel) == ".pdb" {
			for from, to := range map[string]string{"recurse": "\n" + stranger.Mark, "middle": "\x1b[31m\r", "worker": "\xe2\x80\xae\x9b\xff\a"} {
				data = bytes.ReplaceAll(data, []byte(from), []byte(to))
			}
		}
		path := filepath.Join(dir, rel)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var opts []corewalk.Option
	for _, set := range c.Images {
		opts = append(opts, corewalk.WithSearch(filepath.Join(dir, set)))
	}
	harmless(t, c.Core(t), []string{`\n` + stranger.Mark, `\x1b[31m`, `\u{202e}`}, opts...)
}
