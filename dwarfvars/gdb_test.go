package dwarfvars_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// gdbScript prints every variable of every frame, one JSON object a line. The
// value stands there twice where gdb's printers change it.
const gdbScript = `
import gdb, json, sys
how = dict(max_elements=200, repeat_threshold=10, symbols=True, static_members=True, deref_refs=True)
def text(sym, frame):
    try:
        v = sym.value(frame)
        if v.is_optimized_out: return "<optimized out>", ""
        pretty = v.format_string(**how)
    except BaseException as e: # an internal error of gdb's is none of Exception
        return "<error: %s>" % e, ""
    try:
        raw = v.format_string(raw=True, **how)
    except BaseException as e:
        raw = ""
    return pretty, raw if raw != pretty else ""
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
                    pretty, raw = text(s, f)
                    rec["vars"].append({"name": s.name, "text": pretty, "raw": raw})
            if b.function is not None: break
            b = b.superblock
        print("VARS " + json.dumps(rec))
        try:
            f = f.older()
        except Exception:
            f = None
        n += 1
print("END")
`

// A gdbFrame is what gdb says of one frame.
type gdbFrame struct {
	Thread   int
	Kind     string // inline, tail, signal, normal
	PC       uint64
	Function string
	Vars     []gdbVar
}

// A gdbVar is a variable as gdb prints it.
type gdbVar struct {
	Name string
	Text string
	Raw  string // without gdb's printers, "" where they change nothing
}

// runGDB answers gdb's frames of each thread. It answers false when gdb died.
func runGDB(t *testing.T, s *subject) (map[int][]gdbFrame, bool) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "vars.py")
	if err := os.WriteFile(script, []byte(gdbScript), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	// An internal error then ends a command, and not gdb.
	args := []string{"-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off",
		"-iex", "maint set internal-error quit no", "-iex", "maint set internal-error corefile no",
		"-ex", "set width 0", "-ex", "set height 0", "-ex", "set print entry-values no", "-ex", "set charset UTF-8",
		"-ex", "set sysroot " + s.sysroot, "-ex", "set debug-file-directory " + s.debugDir + ":" + s.dir, "-ex", "set solib-search-path " + s.dir,
		"-ex", "file " + s.binary, "-ex", "core-file " + s.core}
	args = append(args, printers()...)
	args = append(args, "-ex", "source "+script)
	cmd := exec.CommandContext(ctx, "gdb", args...)
	cmd.Dir = filepath.Dir(script)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C.UTF-8")
	out, _ := cmd.Output()
	stacks, ended := map[int][]gdbFrame{}, false
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, 1<<26)
	for sc.Scan() {
		ended = ended || sc.Text() == "END"
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
	return stacks, ended
}

// gdbVersion is the version of the gdb that runs, such as 13.1.
func gdbVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("gdb", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return regexp.MustCompile(`[0-9][0-9.]*[0-9]$`).FindString(strings.TrimSpace(line))
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
