package dwarfvars_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// A languageCase is a program of a language, and what expressions in the frame of a function of it are, as its source has them.
type languageCase struct {
	compiler, source string
	flags            [][]string
	function         string
	want             map[string]string
}

var languageCases = []languageCase{
	{"gfortran", "languages/nested.f90", [][]string{{"-g", "-gdwarf-4"}, {"-g", "-gdwarf-5"}}, "stock::count", map[string]string{
		"quad": "-1.5", "turn": "1 + -2i", "shared": "42", "label": `"common"`, "sized": `"hi"`, "none": "not allocated", "some(-1)": "4", "section": "{9, 6, 3}", "section(1)": "9",
		"shelf": "{{3, 2}, {3, 4}, {5, 6}}", "text": `"some text"`,
	}},
	{"gfortran", "languages/extended.f90", [][]string{{"-g", "-gdwarf-4"}, {"-g", "-gdwarf-5"}}, "parts::show", map[string]string{
		"it%id": "7", "it%next%id": "42", "IT%NEXT%ID": "42", "it%base%id": "7", "it%weight": "2.5"}},
	{"gfortran", "languages/nested.f90", [][]string{{"-g", "-gdwarf-5"}}, "stock::count::inner", map[string]string{
		"n + depth": "5", "shelf(2,3)": "6", "sized": `"hi"`, "SOME": "{4, 5, 6}", "turn": "1 + -2i", "label": `"common"`,
		"depth + shelf(1,1)": "6", "depth + some(0)": "error: it is of the call of stock::count in frame N: no variable is called depth",
	}},
	{"gfortran", "languages/nested.f90", [][]string{{"-g", "-O2", "-gdwarf-4"}, {"-g", "-O2", "-gdwarf-5"}}, "stock::count", map[string]string{"label": `"common"`, "shared": "42"}},
	{"gfortran", "languages/unread.f90", [][]string{{"-g", "-O2", "-fno-inline"}, {"-g", "-O2", "-fno-inline", "-gdwarf-4"}}, "unread::look", map[string]string{"backwards": "{6, 4, 2}", "column": "<length not known: optimised out>"}},
	{"gfortran", "languages/absent.f90", [][]string{{"-g", "-fno-inline"}}, "absent::some", map[string]string{
		"number": "error: absent", "list": "error: absent", "text": "error: absent", "sized": "error: absent", "given": "5", "nowhere": "not associated", "pieces": "{5, 3, 3}"}},
	{"gfortran", "languages/absent.f90", [][]string{{"-g", "-O2", "-fno-inline"}, {"-g", "-O2", "-fno-inline", "-gdwarf-4"}}, "absent::some", map[string]string{
		"number": "error: absent", "list": "error: absent", "nowhere": "not associated", "pieces": "<length not known: optimised out>"}},
	{"gnatmake", "languages/shapes.adb", [][]string{{"-q", "-g"}, {"-q", "-g", "-gdwarf-4"}}, "shapes__draw", map[string]string{
		"c": "green", "f": "-2.5", "m": "12.34", "d": "1.5", "p": "{r = {red, blue, green}, a = true, c = blue}", "p.c": "blue", "f * 2": "-5", "s1": "{k = square, id = 1, side = 4, diagonal = 5.5}", "s2.text": `"abcd"`, "S1.Side": "4", "s.radius": "1.5",
		"t.short": "5", "t.name": `"var"`, "c = Green": "true", "s1.radius": "error: an object of type shapes.shape has no member radius; it has k, id",
	}},
	{"gdc", "languages/slices.d", [][]string{{"-g"}}, "slices.look", map[string]string{
		"s": `"param"`, "list": "{9, 8}", "list[1]": "8", "list[2]": "error: element 2 of", "wide": `"wide"`, "names": `{"a", "bc"}`, "none": "{}", "bytes[4]": "8", "ages": `int[string] with 1 element = {["one"] = 1}`,
		`ages["one"]`: "1", "back[1]": `"x"`, "nothing": "null", "b.a": "1",
	}},
	{"fpc", "languages/sets.pas", [][]string{{"-gw3"}}, "look", map[string]string{"some": "[red, blue]", "letters": "['a'..'c', 'z']", "n": "4", "N": "4"}},
	{"gcc", "languages/nested.c", [][]string{{"-g", "-O0"}}, "inner", map[string]string{"z": "5", "local": "30", "local + z": "35", "n": "3"}},
	{"fpc", "languages/sets.pas", [][]string{{"-gw2"}}, "look", map[string]string{"some": "[RED, BLUE]", "letters": "['a'..'c', 'z']", "n": "4"}},
	{"rustc", "languages/library.rs", [][]string{{"-g", "--crate-name=library"}}, "look", map[string]string{
		"os": `"os"`, "path": `"/tmp/path"`, "borrowed": `"/etc/hosts"`, "c": `"c string"`, "long": "1.5s", "short": "250ns", "then": "2023-11-14 22:13:20 UTC",
		"rc": "Rc(strong=1, weak=1) = {value = 5}", "weak": "Weak(strong=1, weak=1) = {value = 5}", "none": "Weak(dangling)", "gone": "Weak(strong=0, weak=1)", "tx": "Sender(40 messages, 1 sender, 1 receiver)", "rx": "Receiver(40 messages, 1 sender, 1 receiver)",
		"bounded": "SyncSender(1 message of 3, 1 sender, 1 receiver)", "mutex": "Mutex(locked) = {data = Vec(size=2) = [1, 2]}", "free": "Mutex(unlocked) = {data = 7}", "rw": "RwLock(1 reader) = {data = 3}",
		"cell": "Cell {value: 3}", "refs": "RefCell(borrow_mut=1) = {value = 4}", "flag": "true", "counter": "77", "nonzero": "Some(6)", "range": "1..5", "closed": "1..=5",
		"later": notSet("LazyLock"), "once": notSet("OnceLock"), "list": "LinkedList(size=2) = [1, 2]", "heap": "BinaryHeap(size=3) = [5, 1, 2]", "heap.len()": "3", "list[1]": "2",
	}},
	{"clang++", "languages/library.cc", [][]string{{"-g", "-std=c++17", "-stdlib=libc++"}}, "look", anyValues},
	{"clang++", "languages/library.cc", [][]string{{"-g", "-std=c++17"}}, "look", anyValues},
	{"g++", "languages/library.cc", [][]string{{"-g", "-std=c++17"}, {"-g", "-std=c++17", "-gdwarf-4"}}, "look", anyValues},
}

var anyValues = map[string]string{
	"s": `"param"`, "local": `"short"`, "far": `"a much longer string than fits in the object"`, "number": "std::any containing int = {[contained value] = 5}",
	"text": `std::any containing std::string = {[contained value] = "any string"}`, "nothing": "std::any [no contained value]", "big": `std::any containing Big = {[contained value] = {text = "big", k = 4}}`,
	"bits": "1010110011", "none": `""`, "empty": "{}", "method": "&virtual Device::id(int)", "derived": "&virtual Sub::id(int)", "inherited": "&virtual Device::name(char *, int)",
}

// Programs of several languages, compiled here, have the values that their sources give them.
func TestLanguages(t *testing.T) {
	fixture.Tools(t)
	for _, c := range languageCases {
		for _, flags := range c.flags {
			t.Run(c.compiler+" "+c.function+" "+strings.Join(flags, " "), func(t *testing.T) {
				exe := compileLanguage(t, &c, flags)
				target, err := corewalk.Open(context.Background(), fixture.Crash(t, nil, exe), corewalk.WithExecutable(exe))
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				w, err := target.NewWalker()
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				stack, _ := w.WalkStack(unwind.NullThread)
				r := target.Variables()
				var names []string
				for i, f := range stack.Frames {
					fn, err := r.FunctionForFrame(f)
					if err == nil {
						names = append(names, fn.Name)
					}
					if err != nil || !strings.EqualFold(fn.Name, c.function) && !strings.HasPrefix(fn.Name, c.function+"(") && !strings.HasPrefix(fn.LinkageName, "_D6slices4look") {
						continue
					}
					for expr, want := range c.want {
						got := numbered.ReplaceAllString(shownValue(r, stack.Frames, i, expr), "$1 N")
						if got != want && !(strings.HasPrefix(want, "error: ") && strings.HasPrefix(got, want)) {
							t.Errorf("%s: got %s, want %s", expr, got, want)
						}
					}
					return
				}
				t.Errorf("no frame of %s: %s", c.function, strings.Join(names, ", "))
			})
		}
	}
}

var numbered = regexp.MustCompile(`(frame|state) \d+`)

// compileLanguage builds the program of a case. Some compilers leave files where they run, or have their own ways to say where to write.
func compileLanguage(t *testing.T, c *languageCase, flags []string) string {
	t.Helper()
	path, err := exec.LookPath(c.compiler)
	if err != nil {
		t.Skipf("%s is not installed (Debian: gfortran, gnat, gdc, fp-compiler, clang, libc++-dev)", c.compiler)
	}
	source := filepath.Join(fixture.Root(t), "testdata", "src", c.source)
	return filepath.Join(fixture.Made(t, append([]string{c.source}, flags...), []string{path, source}, func(dir string) {
		to := []string{"-o", "program", source}
		if c.compiler == "fpc" {
			to = []string{"-oprogram", "-FU" + dir, "-FE" + dir, source}
		}
		cmd := exec.Command(c.compiler, append(slices.Clip(flags), to...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%s %v: %v: %s", c.compiler, flags, err, out)
		}
	}), "program")
}

// shownValue is the value of an expression without its type.
func shownValue(r *dwarfvars.Reader, frames []*unwind.Frame, frame int, expr string) string {
	ob, err := r.Evaluate(frames, frame, dwarfvars.AllCalls, expr)
	if err != nil {
		return "error: " + err.Error()
	}
	return ob.Read(dwarfvars.Options{}).String()
}

// notSet is how something of Rust's library is shown of which is not known whether it has a value.
func notSet(name string) string { return name + " in state N (whether it is set is not known)" }
