package session_test

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// The sources of a program of two units that dies. What the first has variables of, the second defines.
var indexedUnits = map[string]string{
	"uses.cpp": `
namespace shop { struct Order; class Basket; } struct Plain; struct Never;
shop::Order *newest(); shop::Basket &basket(); Plain *plain(); extern int counter; namespace shop { extern long total; }
static int mine = 5; Never *never;
__attribute__((noinline)) int die(shop::Order *o, shop::Basket &b, Plain *p, Never *n) { *(volatile int *)n = mine + counter + (int)shop::total; return (o != 0) + (p != 0) + (&b != 0); }
int main() { return die(newest(), basket(), plain(), never); }
`,
	"has.cpp": `
namespace shop { struct Order { long number; struct Line { int n; const char *text; } line; }; class Basket { public: int items[3]; Order *first; }; enum Kind { Small = 1, Large }; long total = 44; static const int limit = 9; Kind kind = Large; }
struct Plain { int a, b; static int shared; }; int Plain::shared = 6; int counter = 3; namespace { int hidden = 8; namespace deep { int low = 7; } }
typedef unsigned long id_type; id_type last_id = 77; template<class T> T same; template<> int same<int> = 12; thread_local int own = 4;
shop::Order order{12, {3, "three"}}; shop::Basket all{{1, 2, 3}, &order}; Plain two{1, 2};
shop::Order *newest() { return &order; } shop::Basket &basket() { return all; } Plain *plain() { return &two; }
int sums() { static int calls = 2; return calls + hidden + deep::low + shop::limit + same<int> + own; }
`,
}

// What is asked of the first frame.
var indexedQuestions = []string{"*o", "b", "*p", "*n", "mine", "counter", "::counter", "shop::total", "total", "hidden", "deep::low", "low", "shop::limit", "limit", "Plain::shared", "shared",
	"last_id", "same<int>", "own", "calls", "shop::kind", "order.line", "all.first->line.text", "(shop::Order *)o", "*(Plain *)p", "*(struct Plain *)p", "(id_type)5", "(shop::Kind)1", "sizeof(shop::Order::Line)",
	"sizeof(shop::Basket)", "sizeof(Never)", "nothing", "shop::nothing", "(Nothing *)o"}

// Reports and the values of expressions are the same with an index of names and after it was removed.
func TestIndexedReports(t *testing.T) {
	t.Parallel()
	fixture.Tools(t)
	objcopy, err := exec.LookPath("objcopy")
	if err != nil {
		t.Skip("objcopy is not installed: no index can be removed (Debian: binutils)")
	}
	for _, x := range []struct {
		name, section, compiler string
		flags, link, after      []string
	}{
		{"clang -gpubnames", ".debug_names", "clang++", []string{"-gdwarf-5", "-gpubnames"}, []string{"-fuse-ld=lld"}, nil},
		{"clang -gpubnames -O2, lld --debug-names", ".debug_names", "clang++", []string{"-gdwarf-5", "-gpubnames", "-O2"}, []string{"-fuse-ld=lld", "-Wl,--debug-names"}, nil},
		{"clang, lld --gdb-index", ".gdb_index", "clang++", []string{"-gdwarf-4", "-ggnu-pubnames"}, []string{"-fuse-ld=lld", "-Wl,--gdb-index"}, nil},
		{"g++, gold --gdb-index", ".gdb_index", "g++", []string{"-ggnu-pubnames"}, []string{"-fuse-ld=gold", "-Wl,--gdb-index"}, nil},
		{"g++, gdb-add-index", ".gdb_index", "g++", nil, nil, []string{"gdb-add-index"}},
		{"g++, gdb-add-index -dwarf-5", ".debug_names", "g++", nil, nil, []string{"gdb-add-index", "-dwarf-5"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.name != "clang -gpubnames" && x.name != "g++, gold --gdb-index" { // one of each sort of index, and of each compiler
				fixture.Long(t)
			}
			compiler := x.compiler
			if strings.HasPrefix(compiler, "clang") {
				compiler = fixture.LLVM(t, compiler)
			}
			run := func(dir string, args ...string) {
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Skipf("%v: %v: %.500s (Debian: g++, clang-19, lld, binutils, gdb)", args, err, out)
				}
			}
			fixture.Tools(t)
			path, err := exec.LookPath(compiler)
			if err != nil {
				t.Skipf("%s is not installed (Debian: g++, clang-19)", compiler)
			}
			key := slices.Concat([]string{"indexed", compiler}, x.flags, []string{"link"}, x.link, []string{"after"}, x.after, []string{indexedUnits["uses.cpp"], indexedUnits["has.cpp"]})
			made := fixture.Made(t, key, []string{path}, func(dir string) {
				for source, text := range indexedUnits {
					if err := os.WriteFile(filepath.Join(dir, source), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
					run(dir, slices.Concat([]string{compiler, "-g", "-fPIE", "-c", source}, x.flags)...)
				}
				run(dir, slices.Concat([]string{compiler, "-pie", "uses.o", "has.o", "-o", "program"}, x.link)...)
				if x.after != nil {
					run(dir, slices.Concat(x.after, []string{"program"})...)
				}
			})
			dir := t.TempDir()
			built, err := os.ReadFile(filepath.Join(made, "program"))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "program"), built, 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(dir, "program")
			f, err := elf.Open(program)
			if err != nil {
				t.Fatal(err)
			}
			has := f.Section(x.section) != nil
			f.Close()
			if !has {
				t.Skipf("the tools wrote no %s", x.section)
			}
			core := fixture.Crash(t, nil, program)
			with := everything(t, core, program)
			run(dir, objcopy, "-R", x.section, "program")
			if without := everything(t, core, program); with != without {
				t.Errorf("with %s:\n%s\nwithout:\n%s", x.section, with, without)
			}
			for _, want := range []string{"counter = 3\n", "shop::total = 44\n", "deep::low = 7\n", "last_id = 77\n", "order.line = {n = 3, "} {
				if !strings.Contains(with, want) {
					t.Errorf("no %q in\n%s", want, with)
				}
			}
		})
	}
}

// everything returns the report of a core, as text and JSON, and the answers to all questions.
func everything(t *testing.T, core, program string) string {
	t.Helper()
	ctx := context.Background()
	target, err := corewalk.Open(ctx, core, corewalk.WithExecutable(program))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{For: report.Whole{Trees: true}, Include: corewalk.Include{Details: true}, Locals: corewalk.LocalsAll})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteText(&b, r, report.TextOptions{AllLocals: true}); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	s := session.New(target, session.Options{})
	defer s.Close()
	for _, n := range []int{0, 1} {
		f := frame(t, s, n)
		for _, q := range indexedQuestions {
			v, err := s.Evaluate(ctx, f, q)
			if err != nil {
				fmt.Fprintf(&b, "%s: %v\n", q, err)
				continue
			}
			fmt.Fprintf(&b, "%s = %s\n", q, v.Value)
			fmt.Fprintf(&b, "  %s %s %s %d\n", v.Type, v.Status, v.Reason, v.Size)
		}
	}
	return b.String()
}
