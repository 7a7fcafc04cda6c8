package dwarfvars_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

var (
	showAll  = flag.Bool("show", false, "print every variable compared with gdb")
	update   = flag.Bool("update", false, "rewrite the golden files")
	onlyCase = flag.String("case", "", "compare only cases whose names hold this")
)

// gdbScript prints every variable of every frame, one JSON object a line.
const gdbScript = `
import gdb, json, sys
def text(sym, frame):
    try:
        v = sym.value(frame)
        if v.is_optimized_out: return "<optimized out>"
        return v.format_string(max_elements=200, repeat_threshold=10, symbols=True, static_members=True, deref_refs=True)
    except Exception as e:
        return "<error: %s>" % e
limit = 30
inf = gdb.selected_inferior()
for th in inf.threads():
    th.switch()
    f, n = gdb.newest_frame(), 0
    while f is not None and n < limit:
        f.select()
        kind = {gdb.INLINE_FRAME: "inline", gdb.TAILCALL_FRAME: "tail", gdb.SIGTRAMP_FRAME: "signal"}.get(f.type(), "normal")
        rec = {"thread": th.ptid[1], "kind": kind, "pc": f.pc(), "function": f.name(), "vars": []}
        try:
            b = f.block()
        except Exception:
            b = None
        while b is not None:
            for s in b:
                if s.is_argument or (s.is_variable and s.addr_class != gdb.SYMBOL_LOC_UNRESOLVED) or s.addr_class == gdb.SYMBOL_LOC_CONST:
                    if s.addr_class in (gdb.SYMBOL_LOC_TYPEDEF, gdb.SYMBOL_LOC_BLOCK, gdb.SYMBOL_LOC_LABEL): continue
                    rec["vars"].append([s.name, bool(s.is_argument), text(s, f)])
            if b.function is not None: break
            b = b.superblock
        print("VARS " + json.dumps(rec))
        try:
            f = f.older()
        except Exception:
            f = None
        n += 1
`

// A gdbFrame is what gdb says of one frame.
type gdbFrame struct {
	Thread   int
	Kind     string // inline, tail, signal, normal
	PC       uint64
	Function string
	Vars     [][3]any // name, whether it is an argument, value
}

func runGDB(t *testing.T, c fixture.Case) map[int][]gdbFrame {
	t.Helper()
	debugDir := c.Dir
	for i := 0; i+1 < len(c.Args); i += 2 {
		if c.Args[i] == "--debug-dir" {
			debugDir = filepath.Join(c.Dir, c.Args[i+1])
		}
	}
	script := filepath.Join(t.TempDir(), "vars.py")
	if err := os.WriteFile(script, []byte(gdbScript), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	args := []string{"-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off",
		"-ex", "set width 0", "-ex", "set height 0", "-ex", "set print entry-values no", "-ex", "set charset UTF-8",
		"-ex", "set sysroot " + c.Sysroot(t), "-ex", "set debug-file-directory " + debugDir, "-ex", "set solib-search-path " + c.Dir,
		"-ex", "file " + c.Binary(t), "-ex", "core-file " + c.Core(t)}
	args = append(args, printers()...)
	args = append(args, "-ex", "source "+script)
	cmd := exec.CommandContext(ctx, "gdb", args...)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C.UTF-8")
	out, _ := cmd.Output()
	stacks := map[int][]gdbFrame{}
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, 1<<26)
	for sc.Scan() {
		line, ok := strings.CutPrefix(sc.Text(), "VARS ")
		if !ok {
			continue
		}
		var f gdbFrame
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		stacks[f.Thread] = append(stacks[f.Thread], f)
	}
	return stacks
}

// printers are the commands that load the C++ library's printers, where they are
// installed.
func printers() []string {
	const dir = "/usr/share/gcc/python"
	if _, err := os.Stat(dir + "/libstdcxx"); err != nil {
		return nil
	}
	return []string{"-ex", "python import sys; sys.path.insert(0, '" + dir + "'); from libstdcxx.v6 import register_libstdcxx_printers; register_libstdcxx_printers(None)"}
}

// openCase opens a fixture as its case.json says.
func openCase(t testing.TB, c fixture.Case) *corewalk.Target {
	t.Helper()
	opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t)), corewalk.WithSearch(c.Dir)}
	debug := t.TempDir()
	for i := 0; i+1 < len(c.Args); i += 2 {
		dir := filepath.Join(c.Dir, c.Args[i+1])
		switch c.Args[i] {
		case "--debug-dir":
			debug = dir
		case "--search":
			opts = append(opts, corewalk.WithSearch(dir))
		}
	}
	target, err := corewalk.Open(c.Core(t), append(opts, corewalk.WithDebugDir(debug))...)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	t.Cleanup(func() { target.Close() })
	return target
}

// A tally counts how values compare.
type tally map[string]int

func (n tally) String() string {
	var keys []string
	all := 0
	for k, v := range n {
		keys = append(keys, k)
		all += v
	}
	sort.Strings(keys)
	var b strings.Builder
	fmt.Fprintf(&b, "%d variables:", all)
	for _, k := range keys {
		fmt.Fprintf(&b, " %s %d;", k, n[k])
	}
	return b.String()
}

// TestGDBParity compares every variable of every frame of every fixture with gdb.
func TestGDBParity(t *testing.T) {
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("gdb is not installed: nothing to compare with")
	}
	if testing.Short() {
		t.Skip("gdb takes half a minute")
	}
	groups := map[string]*parity{}
	for _, c := range fixture.Cases(t) {
		if !strings.Contains(c.Name, *onlyCase) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			target := openCase(t, c)
			w, err := target.NewWalker()
			if err != nil {
				t.Skip(err)
			}
			defer w.Close()
			reader := target.Variables()
			total := groups[groupOf(c.Name)]
			if total == nil {
				total = newParity()
				groups[groupOf(c.Name)] = total
			}
			crashed, err := target.ProcessState().DefaultThread()
			if err != nil {
				t.Fatal(err)
			}
			for tid, theirs := range runGDB(t, c) {
				total.inCrash = tid == int(crashed)
				stack, _ := w.WalkStack(unwind.ThreadID(tid))
				compareStack(t, c.Name, reader, stack.Frames, theirs, total)
			}
		})
	}
	total := logParity(t, groups)
	if c := total.crash; *onlyCase == "" && c.ours < c.gdb {
		t.Errorf("fewer variables of the crashing threads have a value than gdb shows: %v", c)
	}
	for name, p := range groups {
		if c := p.crash; c.ours < c.gdb-c.gdbWrong {
			t.Errorf("%s: fewer variables of the crashing threads have a value than gdb knows: %v", name, c)
		}
	}
}

// compareStack compares the frames of one stack.
func compareStack(t *testing.T, name string, r *dwarfvars.Reader, frames []*unwind.Frame, theirs []gdbFrame, total *parity) {
	t.Helper()
	var group []gdbFrame
	physical := 0
	for i, f := range theirs {
		if f.Kind == "tail" {
			group = nil
			continue
		}
		group = append(group, f)
		if f.Kind == "inline" {
			continue
		}
		if physical >= len(frames) || frames[physical].RA() != f.PC {
			total.uncompared += len(theirs) - i
			return // the walks differ: another test's business
		}
		compareFrame(t, name, r, frames, physical, group, total)
		total.frames += len(group)
		physical++
		group = nil
	}
}

func compareFrame(t *testing.T, name string, r *dwarfvars.Reader, frames []*unwind.Frame, n int, group []gdbFrame, total *parity) {
	t.Helper()
	a, err := r.At(frames, n)
	if err != nil {
		for _, g := range group {
			if len(g.Vars) > 0 {
				t.Errorf("frame %d %s: %v; gdb has %v", n, g.Function, err, g.Vars)
			}
		}
		return
	}
	defer a.Close()
	scopes := a.Live()
	if len(scopes) != len(group) {
		t.Logf("frame %d: %d scopes, gdb has %d", n, len(scopes), len(group))
		total.verdicts["other inlining"]++
		return
	}
	for i, g := range group {
		compareScope(t, fmt.Sprintf("%s #%d %s", name, n, g.Function), a, scopes[i], g, total)
	}
}

func compareScope(t *testing.T, where string, a *dwarfvars.Activation, s *dwarfvars.Scope, g gdbFrame, total *parity) {
	t.Helper()
	ours := map[string][]string{}
	for _, list := range [][]*dwarfvars.LocalVar{s.Params, s.Locals} {
		for _, v := range list {
			ours[v.Name] = append(ours[v.Name], a.Read(v, dwarfvars.Options{}).String())
		}
	}
	for _, v := range g.Vars {
		name, theirs := v[0].(string), v[2].(string)
		have := ours[name]
		if len(have) == 0 {
			total.count("missing", where, name, "", theirs)
			t.Errorf("%s: %s is missing; gdb has %s", where, name, theirs)
			continue
		}
		ours[name] = have[1:]
		verdict := compareValues(have[0], theirs)
		if verdict == "differs" || verdict == "no value" {
			if why := knownDifference(where, name, have[0], theirs); why != "" {
				verdict = why
			}
		}
		total.count(verdict, where, name, have[0], theirs)
		if verdict == "differs" || verdict == "no value" {
			t.Errorf("%s: %s: %s\n  ours %s\n  gdb  %s", where, name, verdict, have[0], theirs)
		} else if *showAll {
			t.Logf("%s: %s: %s: %s | %s", where, name, verdict, have[0], theirs)
		}
	}
	for name, left := range ours {
		for _, v := range left {
			total.count("more than gdb", where, name, v, "")
			if *showAll {
				t.Logf("%s: more than gdb: %s = %s", where, name, v)
			}
		}
	}
}

// peerDifferences are variables of which gdb 13 shows less, or what is not so.
var peerDifferences = []struct{ where, name, why string }{
	{"vars-c-O0 ", "empty", "an array of no elements has no first one to point to"},
	{"vars-c-clang-O0 ", "empty", "an array of no elements has no first one to point to"},
	{"vars-c-O2 ", "words", "the string that a pointer without an address points to is known"},
	{"vars-c-clang-O2 ", "text", "characters that were optimised out are not zeros"},
	{"vars-c-clang-O2 ", "reals", "elements that were optimised out"},
	{"vars-c-clang-O2 ", "wide", "characters that were optimised out are not zeros"},
	{"vars-c-dwarf4-O1 #4", "got", "rax is what the callee left in it"},
	{"vars-cxx-O2 #0", "why", "gdb takes the caller's rax to be the callee's"},
	{"vars-libcxx", "fixed", "the elements are all there is of std::array"},
	{"vars-libcxx", "unit", "an empty tuple"},
	{"vars-cxx-", "fixed", "the elements are all there is of std::array"},
	{"vars-cxx-O2 ", "null", "a null pointer is one whatever its size"},
	{"vars-cxx-", "callable", "what a std::function calls is in its invoker's name"},
	{"vars-cxx-O2 ", "both", "an address that cannot be read"},
	{"vars-cxx-O2 ", "moved", "an address that cannot be read"},
}

// peerHabits are differences of one kind.
var peerHabits = []struct {
	where, ours, why string
	pattern          *regexp.Regexp // of gdb's
}{
	{"", `^<(rax|rcx|rdx|rsi|rdi|r8|r9|r10|r11|[xs]t?mm\d+|xmm\d+) not recovered>$`, "gdb takes what a callee left in a register", nil},
	{"", `^\{_M_current = `, "gdb shows what an iterator points to, also at the end", nil},
	{"", `calling 0x`, "std::function by what it calls", nil},
	{"", `<memory not in the dump: `, "gdb reads zeros where the core has nothing", nil},
	{"-go", ``, "values of Go as Go has them", regexp.MustCompile(`_type = |array = |tab = |^0x[0-9a-f]+$|\{void \(|str = |^-?\d+ '|0x[0-9a-f]+ "`)},
	{"-libcxx", `std::|^@?L?u?"|: "|= "|\{"`, "libc++ by what it means", regexp.MustCompile(`__`)},
	{"-rust-", `^[^<]`, "values of Rust as Rust has them", nil},
}

// knownDifference says why a difference is one where gdb is not right, or says
// it in other words; "" when it is none.
func knownDifference(where, name, ours, theirs string) string {
	for _, d := range peerDifferences {
		if strings.Contains(where, d.where) && d.name == name {
			return "gdb is wrong"
		}
	}
	for _, h := range peerHabits {
		if strings.Contains(where, h.where) && regexp.MustCompile(h.ours).MatchString(ours) && (h.pattern == nil || h.pattern.MatchString(theirs)) {
			return h.why
		}
	}
	return ""
}

// compareValues says how two texts of a value compare.
func compareValues(ours, theirs string) string {
	a, b := normal(ours), normal(theirs)
	unknown := strings.HasPrefix(b, "<optimized out>") || strings.HasPrefix(b, "<error:") || strings.HasPrefix(b, "<synthetic") ||
		strings.HasPrefix(b, "<no memory>")
	switch {
	case a == b, plain(a) == plain(b):
		return "same"
	case strings.HasPrefix(a, "<") && unknown:
		return "same"
	case unknown:
		return "better"
	case strings.HasPrefix(a, "<"):
		return "no value"
	}
	return "differs"
}
