package hotspot_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/hotspot"
	"github.com/corewalk/corewalk/report"
)

// TestAgainstItsErrorReport compares the stack of a crashed thread with the one that the virtual machine wrote into
// its own error report of the same process: methods, order, addresses, who compiled them, lines of bytecodes.
func TestAgainstItsErrorReport(t *testing.T) {
	fixture.Long(t)
	all := os.Getenv("COREWALK_MOMENTS") != ""
	total, same := 0, 0
	for _, home := range homes(t) {
		classes, library := withLibrary(t, home, "testdata/Fatal.java", "testdata/fatal.c", "-g", "-O0", "-fno-omit-frame-pointer")
		lines := map[string]lineTable{}
		n := 0
		for _, how := range []string{"native", "unsafe", "back", "held"} {
			for _, where := range []string{"plain", "virtual"} {
				for _, options := range [][]string{nil, {"-Xint"}, {"-Xcomp"}, {"-Xcomp", "-XX:TieredStopAtLevel=1"}, {"-XX:TieredStopAtLevel=1"},
					{"-XX:-TieredCompilation", "-XX:-BackgroundCompilation"}, {"-XX:+UseSerialGC", "-XX:-UseCompressedOops"}} {
					if n++; !all && n%5 != 1 { // all of them take minutes
						continue
					}
					t.Run(strings.Join(append([]string{filepath.Base(home), how, where}, options...), " "), func(t *testing.T) {
						s, of := fatal(t, home, classes, library, lines, how, where, options)
						same, total = same+s, total+of
					})
				}
			}
		}
	}
	t.Logf("%d of %d frames are the same", same, total)
}

func fatal(t *testing.T, home, classes, library string, tables map[string]lineTable, how, where string, options []string) (same, total int) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	rounds := "30000"
	if slices.Contains(options, "-Xint") || slices.Contains(options, "-Xcomp") {
		rounds = "10"
	}
	args := append([]string{"-Xmx64m", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+CreateCoredumpOnCrash", "-XX:ErrorFile=" + filepath.Join(dir, "hs.log"), "-cp", classes}, options...)
	out, _ := fixture.Dies(dir, filepath.Join(home, "bin/java"), append(args, "Fatal", library, how, where, rounds)...).CombinedOutput()
	if strings.Contains(string(out), "NoSuchMethodException: java.lang.Thread.startVirtualThread") {
		t.Skip("this version has no virtual threads")
	}
	text, err := os.ReadFile(filepath.Join(dir, "hs.log"))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	target, err := corewalk.Open(ctx, fixture.CoreIn(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first := slices.IndexFunc(r.Threads[0].Frames, func(f report.Frame) bool { return f.Language == "java" })
	for _, f := range r.Threads[0].Frames[max(first, 0):] {
		if !f.Folded && (filepath.Base(f.Module) == "libjvm.so" || f.Function == "<call stub>") {
			t.Errorf("the text shows %s between Java calls", f.Function)
		}
	}
	java := javaOf(t, target)
	read := linesOf(home, classes, tables)
	sections, found := []string{"Java frames", "Native frames"}, 0
	for _, section := range sections {
		want := written(string(text), section)
		if found += len(want); section == sections[1] && found < 10 { // it has no Java frames if it is in one
			t.Fatalf("the error report has %d frames", found)
		}
		var got []string
		for i := range r.Threads[0].Frames {
			if s := asWritten(&r.Threads[0].Frames[i], java, section == "Java frames"); s != "" {
				got = append(got, s)
			}
		}
		first := -1
		if len(want) > 0 {
			first = slices.Index(got, want[0].text)
		}
		for i, w := range want {
			total++
			g := "nothing"
			if first >= 0 && first+i < len(got) {
				g = got[first+i]
			}
			if g != w.text {
				t.Errorf("%s: entry %d is %s, want %s", section, i, g, w.text)
				t.Logf("stack:\n%s\nwant:\n%s", strings.Join(got, "\n"), text[strings.Index(string(text), section):][:4000])
				break
			}
			same++
		}
	}
	// What the report says of bytecodes in words of lines.
	want := written(string(text), "Java frames")
	if len(want) == 0 {
		want = written(string(text), "Native frames")
	}
	i := 0
	for _, f := range r.Threads[0].Frames {
		if f.Language != "java" || f.Kind != report.KindInterpreted {
			continue
		}
		for i < len(want) && want[i].bci < 0 {
			i++
		}
		if i == len(want) {
			break
		}
		w := want[i]
		i++
		if line, ok := read(w.method, w.bci); ok && (f.Symbol != w.method || f.Source.Line != line) {
			t.Errorf("%s is at line %d, want %s at %d", f.Symbol, f.Source.Line, w.method, line)
		}
	}
	return same, total
}

// javaOf is the Java of a target.
func javaOf(t *testing.T, target *corewalk.Target) *hotspot.Java {
	t.Helper()
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, s := range w.StepperGroup().Steppers() {
		if j, ok := s.(*hotspot.Java); ok {
			return j
		}
	}
	t.Fatal("no stepper for Java")
	return nil
}

// A line of the stack in an error report.
type writtenFrame struct {
	text   string // what can be compared
	method string
	bci    int // of interpreted methods; else -1
}

var (
	interpretedLine = regexp.MustCompile(`^j  (\S+)\+(\d+)`)
	compiledLine    = regexp.MustCompile(`^J \d+%?\s+([cC][12] )?(\S+\)\S+) .*@ 0x([0-9a-f]+) `)
	stubLine        = regexp.MustCompile(`^v  ~(.*)`)
	libraryLine     = regexp.MustCompile(`^[CV]  \[(\S+)\+0x([0-9a-f]+)\]`)
	codeSuffix      = regexp.MustCompile(` 0x[0-9a-f]+$`)
)

// written reads a list of frames of an error report.
func written(text, section string) (out []writtenFrame) {
	i := strings.Index(text, "\n"+section)
	if i < 0 {
		return nil
	}
	for l := range strings.Lines(text[i+1:]) {
		l = strings.TrimRight(l, "\n")
		switch {
		case strings.HasPrefix(l, section):
		case l == "" || strings.HasPrefix(l, "...") || strings.HasPrefix(l, "Java frames"):
			return out
		case interpretedLine.MatchString(l):
			m := interpretedLine.FindStringSubmatch(l)
			bci, _ := strconv.Atoi(m[2])
			out = append(out, writtenFrame{"interpreted " + m[1], m[1], bci})
		case compiledLine.MatchString(l):
			m := compiledLine.FindStringSubmatch(l)
			text := "native " + m[2] // its address is the one noted before the call
			if m[1] != "" {
				text = fmt.Sprintf("%s%s %s", strings.ToLower(m[1]), m[2], strings.TrimLeft(m[3], "0"))
			}
			out = append(out, writtenFrame{text, m[2], -1})
		case stubLine.MatchString(l):
			name := codeSuffix.ReplaceAllString(stubLine.FindStringSubmatch(l)[1], "")
			if n, ok := strings.CutPrefix(name, "RuntimeStub::"); ok {
				name = "<" + n + ">"
			} else if strings.HasPrefix(name, "StubRoutines::") { // which one, not every version says
				name = "<call stub>"
			}
			out = append(out, writtenFrame{"stub " + name, "", -1})
		case libraryLine.MatchString(l):
			m := libraryLine.FindStringSubmatch(l)
			out = append(out, writtenFrame{m[1] + "+" + m[2], "", -1})
		default:
			out = append(out, writtenFrame{l, "", -1})
		}
	}
	return out
}

// asWritten writes a frame as written reads those of an error report; "" if that has none for it.
func asWritten(f *report.Frame, java *hotspot.Java, only bool) string {
	if f.Inlined || f.Tail {
		return ""
	}
	switch {
	case f.Language == "java" && f.Symbol == "":
		return "stub " + f.Function
	case f.Language == "java" && f.Kind == report.KindInterpreted:
		return "interpreted " + f.Symbol
	case f.Language == "java" && java.Compiler(uint64(f.Lookup)) == "native":
		return "native " + f.Symbol
	case f.Language == "java":
		return fmt.Sprintf("%s %s %x", java.Compiler(uint64(f.Lookup)), f.Symbol, uint64(f.PC))
	case only || f.Module == "":
		return ""
	}
	return fmt.Sprintf("%s+%x", filepath.Base(f.Module), uint64(f.Offset))
}

// A lineTable has the lines of a class's methods: bytecodes and lines, by the method with its signature.
type lineTable map[string][][2]int

// linesOf returns what answers which line a bytecode of a method has, as javap writes it.
func linesOf(home, classes string, tables map[string]lineTable) func(method string, bci int) (int, bool) {
	return func(method string, bci int) (int, bool) {
		open := strings.IndexByte(method, '(')
		if open < 0 || strings.Contains(method, "+0x") {
			return 0, false
		}
		dot := strings.LastIndexByte(method[:open], '.')
		class, name := method[:dot], method[dot+1:]
		table, known := tables[class]
		if !known {
			text, _ := exec.Command(filepath.Join(home, "bin/javap"), "-l", "-p", "-s", "-cp", classes, class).Output()
			table = javap(string(text), class)
			tables[class] = table
		}
		best, line := -1, 0
		for _, e := range table[name] {
			if e[0] <= bci && e[0] > best {
				best, line = e[0], e[1]
			}
		}
		return line, best >= 0
	}
}

// javap reads what javap wrote of a class.
func javap(text, class string) lineTable {
	out := lineTable{}
	name, method := "", ""
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		switch {
		case l == "static {};":
			name = "<clinit>"
		case strings.HasSuffix(l, ";") && strings.Contains(l, "("):
			before := l[:strings.IndexByte(l, '(')]
			if name = before[strings.LastIndexByte(before, ' ')+1:]; name == class {
				name = "<init>"
			}
		case strings.HasPrefix(l, "descriptor: "):
			method = name + strings.TrimPrefix(l, "descriptor: ")
		case strings.HasPrefix(l, "line "):
			a, b, _ := strings.Cut(strings.TrimPrefix(l, "line "), ": ")
			line, _ := strconv.Atoi(a)
			bci, _ := strconv.Atoi(b)
			out[method] = append(out[method], [2]int{bci, line})
		}
	}
	return out
}
