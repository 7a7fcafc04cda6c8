package v8_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// held is what the function show of variables.js has.
var held = []string{
	"this=undefined", "a=14", "b={ n: 7, plain: 'in a register', rest: [] }",
	"sum=14.5", "big=-123456789012345678901234567890n", `text='hi "there"\n'`, "wide='naïve 漢字'",
	"array=[ 1, 2.5, 'x', null, undefined, true ]", "doubles=[ 1.5, 2.5 ]", "hole=[ 1, <empty item>, 3 ]", "long=[ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... ]",
	"map=Map(2) { 'a' => 1, 2 => 'b' }", "set=Set(2) { 1, 'q' }", "arrow=[Function: arrow]", "re=/ab+c/gi", "date=1970-01-02T00:00:00.000Z",
	"symbol=Symbol(sy)", "dict={ k: 1, 'two words': 2 }", "promise=Promise { 3 }", "waits=Promise { <pending> }", "err=[TypeError: bad]",
	"small=-7", "zero=-0", "huge=1e+21", "nan=NaN", "nested={ 0: 'el', a: { b: { c: { d: [Object] } } }, acc: [Getter], [Symbol(sy)]: 5 }",
	"circle={ name: 'c', self: [Circular] }", "weak=WeakMap { <items unknown> }", "bytes=Uint8Array of 3 bytes",
	"sliced='3456789012345678901234567890123456789'", "joined='aaaaaaaaaaaaaaaaaaaa14'", "secret=Secret { #field: 5, '#text': 6 }", "slow=[RangeError: slow]",
	"inner='in a block'", "later=undefined", "r0=[Function: uses]",
}

// TestVariables: what functions have is shown as Node's own inspect writes it, in interpreted and baseline frames.
func TestVariables(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("testdata/variables.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes(t) {
		for _, option := range []string{"--no-opt", "--always-sparkplug"} {
			t.Run(version(t, node)+option, func(t *testing.T) {
				dir := t.TempDir()
				program := filepath.Join(dir, "variables.js")
				if err := os.WriteFile(program, source, 0o644); err != nil {
					t.Fatal(err)
				}
				_, _ = fixture.Dies(dir, node, option, program).Output()
				target, err := corewalk.Open(context.Background(), fixture.CoreIn(t, dir), files())
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, For: report.Whole{Trees: true}})
				if err != nil {
					t.Fatal(err)
				}
				got := map[string][]string{}
				for _, f := range r.Threads[0].Frames {
					if f.Language == "" || filepath.Base(f.Source.File) != "variables.js" {
						continue
					}
					for _, v := range slices.Concat(f.Args, f.Locals) {
						got[f.Function] = append(got[f.Function], v.Name+"="+v.Value)
						if f.Function == "show" && v.Name == "nested" {
							tree(t, v.Data)
						}
					}
				}
				for function, want := range map[string][]string{
					"show":     held,
					"doubled":  {"this=Point { x: 7, y: 4 }", "self={ n: 7, plain: 'in a register', rest: [] }"},
					"outer":    {"this=undefined", "n=7"},
					"defaults": {"this=undefined", "first=7", "second=2"},
					"single":   {"this=undefined", "given=7"},
				} {
					for _, w := range want {
						if !slices.Contains(got[function], w) {
							t.Errorf("%s has no %s, but\n%s", function, w, strings.Join(got[function], "\n"))
							break
						}
					}
				}
				if slices.ContainsFunc(got["show"], func(s string) bool { return strings.HasPrefix(s, "never=") }) {
					t.Error("a variable before its declaration has a value")
				}
				if !slices.Contains(got["outer"], "r3='in a register'") {
					t.Errorf("registers of outer: %q", got["outer"])
				}
				record(t, target)
			})
		}
	}
}

// tree: a value is a tree, too, for those who open its parts.
func tree(t *testing.T, d *report.Data) {
	if d == nil || d.Kind != "struct" || len(d.Children) != 4 || d.Children[1].Name != "a" || d.Children[1].Data.Children[0].Name != "b" || d.Address == 0 {
		t.Errorf("nested is %+v", d)
	}
}
