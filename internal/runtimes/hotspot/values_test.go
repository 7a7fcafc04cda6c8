package hotspot_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// shown are the variables of Values.show.
var shown = []string{
	`this=Values{field=11}`, "number=14", "big=1099511627776", `text="text"`, "ratio=0.5", "yes=true", "letter='x'", "small=-1", "brief=-300", "single=1.25",
	`rest=Object[3] {1, "two", Object[0] {}}`,
	`order=Values$Order{id=7, name="base", total=12345678901, color=Values$Color.GREEN, next=Values$Order{...}, prices=double[2] {1.5, 2.0}, nothing=null}`,
	"ints=int[3] {1, -2, 3}", "bytes=byte[300] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ...}", `words=String[3] {"a", "naïve 漢字", null}`, "grid=int[2][] {int[2] {1, 2}, int[1] {3}}",
	"list=ArrayList(3) [1, 2, 3]", `linked=LinkedList(2) ["x", "y"]`, "deque=ArrayDeque(2) [4, 5]", `map=HashMap(1) {"k"=1}`, `ordered=LinkedHashMap(2) {"z"=1, "a"='c'}`,
	`tree=TreeMap(30) {1="t1", 2="t2", 3="t3", 4="t4", 5="t5", 6="t6", 7="t7", 8="t8", 9="t9", 10="t10", ...}`, `set=HashSet(1) ["s"]`,
	`concurrent=ConcurrentHashMap {"c"=true}`, "boxed=42", "none=null", `builder="built1"`, "type=Values$Order.class", "primitive=int[].class",
	"huge=-123456789012345678901234567890", "error=java.lang.IllegalStateException: bad state", `thread=Thread "main"`, "atomic=AtomicInteger{value=9}",
	`quoted="say \"hi\"\n"`, "inf=Infinity", "wide=-9223372036854775808",
}

// object is the Order of compiled code.
const object = `Values$Order{id=7, name="base", total=12345678901, color=Values$Color.GREEN, next=null, prices=double[2] {1.5, 2.0}, nothing=null}`

// TestValues: arguments and local variables are those that the program has, in interpreted and compiled frames, however
// references and classes are stored.
func TestValues(t *testing.T) {
	fixture.Long(t)
	compiled := map[string][]string{
		"Values.within(int, long, Values$Order)":      {"c=" + object},
		"Values.hot(int, long, Values$Order, String)": {"step=5", "of=" + object, `label="label"`, "half=7.0"},
	}
	interpreted := map[string][]string{"Values.show(int, long, String, double, boolean, char, byte, short, float, Object[])": shown}
	for _, c := range []struct {
		name    string
		options []string
		want    map[string][]string
	}{
		{"interpreted", nil, interpreted},
		{"wide", []string{"-Xint", "-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers"}, interpreted},
		{"compact", []string{"-XX:+UseCompactObjectHeaders"}, interpreted},
		{"ZGC", []string{"-XX:+UseZGC"}, interpreted},
		{"Parallel", []string{"-XX:+UseParallelGC"}, interpreted},
		{"C1", []string{"-XX:TieredStopAtLevel=1"}, compiled},
		{"C2", []string{"-XX:-TieredCompilation"}, compiled},
	} {
		for _, home := range homes(t) {
			t.Run(filepath.Base(home)+" "+c.name, func(t *testing.T) {
				got := valuesOf(t, home, c.options, len(c.want) > 1)
				for function, want := range c.want {
					for _, w := range want {
						if !slices.Contains(got[function], w) {
							t.Errorf("%s has no %s, but\n%s", function, w, strings.Join(got[function], "\n"))
							break
						}
					}
				}
				for _, v := range slices.Concat(got["Values.within(int, long, Values$Order)"], got["Values.hot(int, long, Values$Order, String)"]) {
					if wrong := []string{"a=0", "count=0", "sum=0", "c=null", "fresh=0"}; slices.Contains(wrong, v) {
						t.Errorf("%s is not what the variable has", v)
					}
				}
			})
		}
	}
}

// valuesOf runs Values and returns what each of its functions has.
func valuesOf(t *testing.T, home string, options []string, hot bool) map[string][]string {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	classes := javac(t, home, "testdata/Values.java", "-encoding", "UTF-8", "-XDignore.symbol.file", "-nowarn")
	args := append([]string{"-Xmx64m", "-XX:+UnlockExperimentalVMOptions", "-XX:+UnlockDiagnosticVMOptions", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+CreateCoredumpOnCrash",
		"-XX:-BackgroundCompilation", "-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Values.die", "-cp", classes}, options...)
	args = append(args, "Values")
	if hot {
		args = append(args, "hot")
	}
	_, _ = fixture.Dies(dir, filepath.Join(home, "bin/java"), args...).Output()
	target, err := corewalk.Open(ctx, fixture.CoreIn(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, For: report.Whole{Trees: true}})
	if err != nil {
		t.Fatal(err)
	}
	record(t, target, true, false)
	got := map[string][]string{}
	for _, f := range r.Threads[0].Frames {
		for _, v := range slices.Concat(f.Args, f.Locals) {
			got[f.Function] = append(got[f.Function], v.Name+"="+v.Value)
			if v.Name == "order" {
				orderTree(t, v.Data)
			}
		}
	}
	return got
}

// orderTree: a value is a tree, too, for those who open its parts.
func orderTree(t *testing.T, d *report.Data) {
	if d == nil || d.Kind != "struct" || len(d.Children) != 7 || d.Children[5].Name != "prices" || d.Children[5].Data.Children[1].Data.Text != "2.0" || d.Address == 0 {
		t.Errorf("order is %+v", d)
	}
}

// TestRemoved: objects that the second compiler does without are shown as they would be in memory.
func TestRemoved(t *testing.T) {
	fixture.Long(t)
	want := []string{
		"three=int[3] {20, 21, -20}", "wide=long[2] {60, -1}",
		`inner=Removed$Order{total=210000000000, count=22, tiny=-109, paid=true, letter='a', small=1, part=10.5, ratio=5.25, name="label", next=null, ...}`,
		`order=Removed$Order{total=200000000000, count=21, tiny=-110, paid=true, letter='c', small=0, part=10.0, ratio=5.0, name="outer", next=Removed$Order{total=210000000000, ...}, ...}`,
		`pair=Removed$Pair{first="label", second=100000000000}`, `nested=Removed$Pair{first=Removed$Pair{first="label", second=100000000000}, second=1}`,
		"boxed=1020", "big=10000000020", `either=Removed$Pair{first="even", second=2}`,
	}
	for _, home := range homes(t) {
		dir := javac(t, home, "testdata/Removed.java", "-XDignore.symbol.file", "-nowarn")
		for _, options := range [][]string{{"-Xint"}, nil, {"-XX:+UseZGC"}, {"-XX:+UseSerialGC", "-XX:-UseCompressedOops"}, {"-XX:+UseCompactObjectHeaders"}} {
			t.Run(filepath.Base(home)+" "+strings.Join(options, " "), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
				defer cancel()
				dies := t.TempDir()
				args := append([]string{"-Xmx64m", "-XX:+UnlockExperimentalVMOptions", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+CreateCoredumpOnCrash", "-XX:-BackgroundCompilation",
					"-XX:-TieredCompilation", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Removed.stop"}, options...)
				rounds := "30000"
				if slices.Contains(options, "-Xint") {
					rounds = "5"
				}
				_ = fixture.Dies(dies, filepath.Join(home, "bin/java"), append(args, "-cp", dir, "Removed", rounds)...).Run()
				target, err := corewalk.Open(ctx, fixture.CoreIn(t, dies))
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, For: report.Whole{Trees: true}})
				if err != nil {
					t.Fatal(err)
				}
				record(t, target, true, false)
				var got []string
				removed := 0
				for _, f := range r.Threads[0].Frames {
					if f.Function != "Removed.hot(int, String)" {
						continue
					}
					for _, v := range f.Locals {
						got = append(got, v.Name+"="+v.Value)
						if v.Data != nil && v.Data.Address == 0 {
							removed++
						}
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if len(options) == 0 && removed < 5 {
					t.Errorf("%d of them were removed", removed)
				}
			})
		}
	}
}
