package pdb

import (
	"bufio"
	"bytes"
	"debug/pe"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// Sources of the programs: classes, templates, lambdas, nested inlined calls, code from
// other files and without lines.
const (
	cppSource = `extern "C" int _fltused = 0;
volatile int sink;
namespace ns {
struct Widget {
  int v;
  __attribute__((noinline)) int method(int x);
  __attribute__((always_inline)) int twice(int x) { sink = x; return x * v + 1; }
};
int Widget::method(int x) {
  sink++;
  int r = twice(x);
  return r + twice(r + 3);
}
template <class T> __attribute__((always_inline)) T add(T a, T b) {
  sink = a;
  return a + b;
}
}
static __attribute__((noinline)) int helper(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    s = ns::add(s, i);
    if (s > 100)
      sink = s;
  }
  return s;
}
namespace { struct Local { static __attribute__((noinline)) int f(int a) { return ns::add(a, sink) * 7; } }; }
extern "C" int other(int);
extern "C" int start(void) {
  ns::Widget w{3};
  auto l = [&](int q) __attribute__((noinline)) { return w.method(q); };
  return helper(10) + l(2) + other(5) + Local::f(3);
}
`
	cSource = `volatile int sinkc;
static inline __attribute__((always_inline)) int deep(int x) {
  sinkc = x;
  return x * 3;
}
static inline __attribute__((always_inline)) int middle(int x) {
  sinkc++;
  return deep(x) + deep(x + 1);
}
int many(int *p, int n) {
  volatile int room[200];
  for (int i = 0; i < n && i < 200; i++)
    room[i] = middle(p[i]);
  return room[n % 200];
}
int other(int x) {
  int y = middle(x), z[3] = {x, y, x + y};
#line 500 "generated.y"
  sinkc += y;
  y += many(z, 3);
#line 20 "b.c"
  return y;
}
`
)

// A program is a PE with its PDB.
type program struct {
	exe, pdb string
	data     []byte
}

// plain removes the lines of other files: llvm-symbolizer mixes their tables up, as
// llvm-pdbutil shows (TestLineTable).
var plain = strings.NewReplacer("#line 500 \"generated.y\"\n", "", "#line 20 \"b.c\"\n", "")

// build compiles the sources for Windows, without lines of other files if plain is not nil,
// or skips the test.
func build(t testing.TB, plain *strings.Replacer, target string, flags ...string) program {
	t.Helper()
	sources := map[string]string{"a.cpp": cppSource, "b.c": cSource}
	if plain != nil {
		for name, text := range sources {
			sources[name] = plain.Replace(text)
		}
	}
	return buildSources(t, sources, target, flags...)
}

// buildSources compiles sources by their names for Windows, or skips the test.
func buildSources(t testing.TB, sources map[string]string, target string, flags ...string) program {
	t.Helper()
	clang, link := fixture.LLVM(t, "clang"), fixture.LLVM(t, "lld-link")
	names := slices.Sorted(maps.Keys(sources))
	key := slices.Concat([]string{"pdb", target}, flags)
	for _, name := range names {
		key = append(key, name, sources[name])
	}
	dir := fixture.Made(t, key, []string{clang, link}, func(dir string) {
		run := func(name string, args ...string) {
			cmd := exec.Command(name, args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", cmd, err, out)
			}
		}
		args := []string{"/debug", "/nodefaultlib", "/entry:start", "/subsystem:console", "/out:t.exe", "/pdb:t.pdb", "/opt:ref"}
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(sources[name]), 0o666); err != nil {
				t.Fatal(err)
			}
			run(clang, append([]string{"--target=" + target, "-g", "-gcodeview", "-fno-stack-protector", "-mno-stack-arg-probe", "-c", name, "-o", name + ".obj"}, flags...)...)
			args = append(args, name+".obj")
		}
		run(link, args...)
	})
	p := program{exe: filepath.Join(dir, "t.exe"), pdb: filepath.Join(dir, "t.pdb")}
	var err error
	if p.data, err = os.ReadFile(p.pdb); err != nil {
		t.Fatal(err)
	}
	return p
}

// text is the range of RVAs of the .text section.
func (p program) text(t testing.TB) (start, end uint32) {
	t.Helper()
	f, err := pe.Open(p.exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".text")
	return s.VirtualAddress, s.VirtualAddress + s.VirtualSize
}

// TestSymbolizer compares every address with llvm-symbolizer's output.
func TestSymbolizer(t *testing.T) {
	symbolizer := fixture.LLVM(t, "llvm-symbolizer")
	for _, c := range []struct {
		target string
		flags  []string
	}{
		{"x86_64-pc-windows-msvc", []string{"-O0"}},
		{"x86_64-pc-windows-msvc", []string{"-O2"}},
		{"x86_64-pc-windows-msvc", []string{"-O1", "-ffunction-sections"}},
		{"aarch64-pc-windows-msvc", []string{"-O2"}},
	} {
		t.Run(c.target+strings.Join(c.flags, ""), func(t *testing.T) {
			p := build(t, plain, c.target, c.flags...)
			f, err := Open(p.data)
			if err != nil {
				t.Fatal(err)
			}
			start, end := p.text(t)
			want := symbolize(t, symbolizer, p.exe, start, end)
			inlined, bad, padding := 0, 0, 0
			for rva := start; rva < end; rva++ {
				s, ok, err := f.Lookup(rva)
				if err != nil {
					t.Fatal(err)
				}
				if got := describe(s, ok); got != want[rva-start] {
					if !ok && strings.HasSuffix(want[rva-start], " :0|") && strings.Count(want[rva-start], "|") == 1 {
						padding++ // behind a function's end: its name is no answer
						continue
					}
					if bad++; bad < 10 {
						t.Errorf("%#x: %s\nwant %s", rva, got, want[rva-start])
					}
				}
				if len(s.Frames) > 2 {
					inlined++
				}
			}
			if padding > int(end-start)/4 {
				t.Errorf("%d of %d addresses are in no function", padding, end-start)
			}
			if inlined == 0 && c.flags[0] != "-O0" {
				t.Error("no address has a call inlined into an inlined call")
			}
		})
	}
}

func describe(s Symbol, ok bool) string {
	if !ok {
		return "??"
	}
	var b strings.Builder
	for i, f := range s.Frames {
		name := f.Name
		if i == len(s.Frames)-1 && s.Linkage != "" {
			name = s.Linkage
		}
		file := strings.ReplaceAll(f.File, "\\", "/")
		fmt.Fprintf(&b, "%s %s:%d|", name, file[strings.LastIndexByte(file, '/')+1:], f.Line)
	}
	return b.String()
}

func symbolize(t *testing.T, symbolizer, exe string, start, end uint32) []string {
	t.Helper()
	var in bytes.Buffer
	for rva := start; rva < end; rva++ {
		fmt.Fprintf(&in, "%#x\n", rva)
	}
	cmd := exec.Command(symbolizer, "--obj="+exe, "--relative-address", "--no-demangle", "--inlines")
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, part := range strings.Split(strings.TrimSpace(string(out)), "\n\n") {
		lines := strings.Split(part, "\n")
		var b strings.Builder
		for i := 0; i+1 < len(lines); i += 2 {
			at := regexp.MustCompile(`^(.*):(\d+):\d+$`).FindStringSubmatch(lines[i+1])
			file := at[1]
			if file == "??" {
				file = ""
			}
			fmt.Fprintf(&b, "%s %s:%s|", lines[i], file[strings.LastIndexAny(file, `/\`)+1:], at[2])
		}
		s := b.String()
		if strings.HasPrefix(s, "?? ") {
			s = "??"
		}
		list = append(list, s)
	}
	if len(list) != int(end-start) {
		t.Fatalf("%d answers for %d addresses", len(list), end-start)
	}
	return list
}

// TestLineTable compares the lines of a function in two files with the table printed by
// llvm-pdbutil.
func TestLineTable(t *testing.T) {
	util := fixture.LLVM(t, "llvm-pdbutil")
	for _, level := range []string{"-O0", "-O2"} {
		p := build(t, nil, "x86_64-pc-windows-msvc", level)
		f, err := Open(p.data)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(util, "dump", "-l", p.pdb).Output()
		if err != nil {
			t.Fatal(err)
		}
		start, end := p.text(t)
		rows := tableRows(string(out))
		want, checked, generated := "", 0, 0
		for rva := start; rva < end; rva++ {
			if w, ok := rows[rva-start]; ok {
				want = w
			}
			s, ok, err := f.Lookup(rva)
			if err != nil || !ok {
				continue
			}
			last := s.Frames[len(s.Frames)-1]
			got := fmt.Sprint(last.File[strings.LastIndexAny(last.File, `/\`)+1:], ":", last.Line)
			if got != want {
				t.Errorf("%s %#x: %s, want %s", level, rva, got, want)
			}
			checked++
			if strings.HasPrefix(got, "generated.y") {
				generated++
			}
		}
		if checked < 100 || generated < 10 {
			t.Errorf("%d addresses, %d of the other file", checked, generated)
		}
	}
}

// tableRows reads the rows of "llvm-pdbutil dump -l": for each offset in .text,
// the line that begins there.
func tableRows(out string) map[uint32]string {
	rows := make(map[uint32]string)
	file, in := "", false
	for _, line := range strings.Split(out, "\n") {
		if i := strings.Index(line, " ("); i > 0 && line[0] != ' ' {
			file = line[strings.LastIndexAny(line[:i], `/\`)+1 : i]
			continue
		}
		if strings.Contains(line, "line/addr entries") {
			in = strings.HasPrefix(strings.TrimSpace(line), "0001:")
			continue
		}
		words := strings.Fields(line)
		for i := 0; in && i+1 < len(words); i++ {
			off, err := strconv.ParseUint(words[i+1], 16, 32)
			if n, err2 := strconv.Atoi(words[i]); err == nil && err2 == nil && len(words[i+1]) == 8 {
				rows[uint32(off)] = fmt.Sprint(file, ":", n)
			}
		}
	}
	return rows
}

var fpoLine = regexp.MustCompile(`^\s*([0-9A-F]{8}) \|\s+(\d+) \|\s+(\d+) \|\s+(\d+) \|\s+(\d+) \|\s+(\d+) \|\s+(\d+) \|\s+\w+ \|\s+\w+ \|\s+(\w+) \| (.*)$`)

// TestWinFrames compares the FrameData records of 32-bit code with llvm-pdbutil's output.
func TestWinFrames(t *testing.T) {
	util := fixture.LLVM(t, "llvm-pdbutil")
	p := build(t, nil, "i686-pc-windows-msvc", "-O1", "-fomit-frame-pointer")
	f, err := Open(p.data)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(util, "dump", "--fpo", p.pdb).Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		m := fpoLine.FindStringSubmatch(sc.Text())
		if m == nil {
			continue
		}
		n++
		rva, _ := strconv.ParseUint(m[1], 16, 32)
		w, err := f.WinFrame(uint32(rva))
		if err != nil || w == nil {
			t.Errorf("%s: %v, %v", sc.Text(), w, err)
			continue
		}
		got := fmt.Sprint(w.Size, w.Locals, w.Params, w.MaxStack, w.Prolog, w.SavedRegs, w.FunctionHead, " ", w.Program)
		want := strings.Join(m[2:9], " ") + " " + m[9]
		if got != want {
			t.Errorf("%#x: %s\nwant %s", rva, got, want)
		}
	}
	if n < 4 {
		t.Errorf("%d records in\n%s", n, out)
	}
}

// TestInfo compares GUID and age with the executable's own record.
func TestInfo(t *testing.T) {
	p := build(t, nil, "x86_64-pc-windows-msvc", "-O1")
	f, err := Open(p.data)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.ReadFile(p.exe)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(exe, append([]byte("RSDS"), f.GUID[:]...))
	if at < 0 {
		t.Fatalf("GUID %s is not in the executable", f.GUID)
	}
	if age := le.Uint32(exe[at+20:]); age != f.Age || f.Machine != 0x8664 {
		t.Errorf("age %d, want %d; machine %#x", f.Age, age, f.Machine)
	}
}
