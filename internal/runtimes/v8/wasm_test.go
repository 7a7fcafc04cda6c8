package v8_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// wasmKinds are what the program does, and how WebAssembly is compiled.
var wasmKinds = [][]string{
	{"two"}, {"hot"}, {"plain"}, {"many"},
	{"two", "--no-liftoff"}, {"plain", "--no-liftoff"}, {"many", "--no-liftoff"}, {"hot", "--liftoff-only"},
	{"hot", "--no-liftoff", "--experimental-wasm-inlining"}, {"hot", "--no-liftoff", "--wasm-inlining"}, {"many", "--no-liftoff", "--experimental-wasm-inlining"},
}

// TestWasm compares the functions of WebAssembly on the stack with the lines that V8 wrote of them just before: name, function, place.
func TestWasm(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("testdata/wasm.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes(t) {
		inlined := 0
		for i, k := range wasmKinds {
			if i > 1 && !fixture.IsLong(t) {
				break
			}
			t.Run(version(t, node)+" "+strings.Join(k, ""), func(t *testing.T) {
				dir := t.TempDir()
				program := filepath.Join(dir, "wasm.js")
				if err := os.WriteFile(program, source, 0o644); err != nil {
					t.Fatal(err)
				}
				cmd := fixture.Dies(dir, node, append(slices.Clone(k[1:]), program, k[0])...)
				var errs strings.Builder
				cmd.Stderr = &errs
				printed, _ := cmd.Output()
				if strings.Contains(errs.String(), "bad option") {
					t.Skipf("this Node has no %s", k[1:])
				}
				want := strings.Split(strings.TrimSpace(string(printed)), "\n")
				target, err := corewalk.Open(t.Context(), fixture.CoreIn(t, dir), files())
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				r, err := target.Analyze(t.Context(), corewalk.AnalyzeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				var got []report.Frame
				for _, th := range r.Threads {
					for _, f := range th.Frames {
						if f.Language == "wasm" {
							got = append(got, f)
						}
					}
				}
				if len(got) != len(want) || len(want) < 9 {
					t.Fatalf("%d functions, want %q", len(got), want)
				}
				for i, f := range got {
					if f.Inlined {
						inlined++
					}
					line := f.Function + " (" + f.Source.File + ")"
					if !strings.Contains(want[i], " (") { // V8 does not write by which name a function is exported
						line = strings.TrimSuffix(strings.TrimPrefix(line, "export of last ("), ")")
					}
					if line != want[i] {
						t.Errorf("call %d is %s, want %s", i, line, want[i])
					}
				}
				record(t, target)
			})
		}
		t.Logf("%s: %d calls were inlined", node, inlined)
	}
}
