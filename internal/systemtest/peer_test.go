package systemtest

import (
	"bytes"
	"context"
	"errors"
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

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// maxPeerFrames bounds what is compared of one stack; gdb takes a millisecond a
// frame.
const maxPeerFrames = 400

// A peerDifference is a difference from gdb 13 where gdb is wrong, or where both
// are right.
type peerDifference struct {
	fixture string
	after   string // frames beyond this function are not compared; "-" for the whole stack
	frame   string // or: this function alone is not compared
	why     string
}

var peerDifferences = []peerDifference{
	{fixture: "aarch64-pac-crash-O0", after: "-", why: "gdb takes the instruction that says that the return address is signed for SPARC's, and gives up"},
	{fixture: "aarch64-pac-crash-O1", after: "-", why: "gdb takes the instruction that says that the return address is signed for SPARC's, and gives up"},
	{fixture: "aarch64-pac-signal", after: "-", why: "gdb does not end where the signal frame is qemu's"},
	{fixture: "aarch64-pac-notables", after: "-", why: "gdb makes up frames where there are neither tables nor symbols"},
	{fixture: "aarch64-tagged", after: "on_stack", why: "gdb does not go on from a stack to one that is below it"},
	{fixture: "aarch64-signal", after: "-", why: "gdb does not end where the signal frame is qemu's"},
	{fixture: "arm-signal", after: "on_alternate", why: "gdb does not know the signal frames of qemu"},
	{fixture: "arm-thumb-signal", after: "on_alternate", why: "gdb does not know the signal frames of qemu"},
	{fixture: "arm-threads", after: "-", why: "gdb ends in a function of the library that has no name"},
	{fixture: "arm-notables", after: "-", why: "gdb makes up frames where there are neither tables nor symbols"},
	{fixture: "arm-thumb-notables", after: "-", why: "gdb makes up frames where there are neither tables nor symbols"},
	{fixture: "aarch64-notables", after: "-", why: "gdb makes up frames where there are neither tables nor symbols"},
	{fixture: "amd64-asm-between", after: "each_item", why: "gdb cannot pass assembly without unwind tables"},
	{fixture: "amd64-crash-breakpoint", frame: "way_breakpoint", why: "gdb looks up the pc, which is behind the breakpoint instruction"},
	{fixture: "amd64-epilogue-no-cfi", after: "leave_late", why: "gdb does not know that rbp was popped already"},
	{fixture: "amd64-filter-0x01", after: "-", why: "gdb does not place the program without its headers"},
	{fixture: "amd64-filter-none", after: "-", why: "gdb does not place the program without its headers"},
	{fixture: "amd64-split-dwarf", after: "-", why: "gdb looks for a .dwo file only where it was compiled"},
	{fixture: "amd64-split-dwp", after: "-", why: "gdb dies of a clang DWARF 5 package"},
	{fixture: "amd64-musl-abort", after: "raise", why: "gdb makes up callers in a libc without unwind tables"},
	{fixture: "amd64-no-tables-fp", after: "fold", why: "gdb guesses the frame's size from the prologue"},
	{fixture: "amd64-no-tables-omit-fp", after: "fold", why: "gdb guesses the frame's size from the prologue"},
	{fixture: "amd64-smash-return", after: "copy_name", why: "gdb goes on with words of the overwritten stack"},
	{fixture: "amd64-smash-return-canonical", after: "-", why: "gdb goes on with words of the overwritten stack"},
	{fixture: "amd64-crash-seccomp", frame: "way_seccomp", why: "as of amd64-vars-cxx-O2: the line of the inlined system call, after it"},
	{fixture: "i386-crash-seccomp", frame: "way_seccomp", why: "as of amd64-vars-cxx-O2: the line of the inlined system call, after it"},
	{fixture: "amd64-fiber", after: "-", why: "gdb goes on past makecontext's start with words of the stack"},
	{fixture: "amd64-filter-all", after: "libc_start_main_stage2", why: "gdb does not know where a musl program begins"},
	{fixture: "amd64-musl-static", after: "libc_start_main_stage2", why: "gdb does not know where a musl program begins"},
	{fixture: "amd64-musl", after: "main", why: "gdb does not know where a musl program begins"},
	{fixture: "amd64-go-cgo", after: "runtime.asmcgocall", why: "gdb follows words of the goroutine switch"},
	{fixture: "amd64-go-cgo", after: "crosscall1", why: "gdb takes saved registers for return addresses"},
	{fixture: "amd64-go-cgo", after: "runtime.mcall", why: "gdb follows words of the goroutine switch"},
	{fixture: "amd64-go-nil", after: "runtime.goexit", why: "gdb does not know the bottom of a goroutine"},
	{fixture: "amd64-go-nil", after: "runtime.clone", why: "gdb does not know the bottom of a thread of Go"},
	{fixture: "amd64-go-nil", after: "runtime.mcall", why: "gdb does not know the bottom of a thread of Go"},
	{fixture: "amd64-go-nil", frame: "main.(*queue).pop", why: "gdb takes the faulting instruction, to which sigpanic returns, for a call"},
	{fixture: "aarch64-go-stripped", after: "-", why: "gdb does not read Go's pc-line table, all that a stripped Go program has"},
	{fixture: "amd64-go-stripped", after: "-", why: "gdb does not read Go's pc-line table, all that a stripped Go program has"},
	{fixture: "amd64-go-stripped-118", after: "-", why: "gdb does not read Go's pc-line table, all that a stripped Go program has"},
	{fixture: "amd64-go-stripped-pie", after: "-", why: "gdb does not read Go's pc-line table, all that a stripped Go program has"},
	{fixture: "i386-go-stripped", after: "-", why: "gdb does not read Go's pc-line table, all that a stripped Go program has"},
	{fixture: "amd64-haskell-back", after: "die", why: "gdb does not know that Haskell's stack is in rbp"},
	{fixture: "amd64-haskell-safe", after: "die", why: "gdb does not know that Haskell's stack is in rbp"},
	{fixture: "amd64-haskell-unsafe", after: "die", why: "gdb does not know that Haskell's stack is in rbp"},
	{fixture: "amd64-jit-dump", after: "-", why: "gdb does not read what compilers record of the code that they made"},
	{fixture: "amd64-jit-map", after: "-", why: "gdb does not read what compilers record of the code that they made"},
	{fixture: "amd64-jit-unwind", after: "-", why: "gdb does not read what compilers record of the code that they made"},
	{fixture: "amd64-relro-omitted", after: "main", why: "gdb reads .data.rel.ro of a library from a core that left it out as zeros"},
	{fixture: "amd64-rust-unwrap", frame: "__rustc::rust_begin_unwind", why: "two names of one function: the linkage name, and that of the attribute behind it"},
	{fixture: "amd64-vars-go-O0", after: "runtime.goexit", why: "gdb does not know the bottom of a goroutine"},
	{fixture: "amd64-vars-go-O0", after: "runtime.clone", why: "gdb does not know the bottom of a thread of Go"},
	{fixture: "amd64-vars-go-O0", after: "runtime.mcall", why: "gdb does not know the bottom of a thread of Go"},
	{fixture: "amd64-vars-go-O0", frame: "main.stop", why: "gdb takes the faulting instruction, to which sigpanic returns, for a call"},
	{fixture: "amd64-vars-c-dwp-O1", after: "-", why: "gdb dies of a DWARF 5 package"},
	{fixture: "amd64-vars-cxx-split-O2", frame: "containers<int>", why: "as of amd64-vars-cxx-O2"},
	{fixture: "amd64-vars-cxx-O2", frame: "containers<int>", why: "of several lines at one address gdb takes the one that begins a statement, of a function inlined there"},
	{fixture: "amd64-musl-tls", frame: "_start_c", why: "gdb takes the zero above the first frame for a return address"},
	{fixture: "amd64-wrong-cfi", after: "decoy", why: "gdb goes on to a return address of zero"},
	{fixture: "amd64-rewritten-probe", after: "inner_dyninst", why: "gdb does not know instrumentation"},
	{fixture: "amd64-rewritten-nopoint", after: "work_dyninst", why: "gdb does not know instrumentation"},
	{fixture: "amd64-rewritten-copy", after: "-", why: "gdb has no unwind tables for relocated code"},
	{fixture: "amd64-rewritten-tramp", after: "work_dyninst", why: "gdb does not know instrumentation"},
	{fixture: "mips-signal", frame: "on_fault", why: "of several lines at one address gdb takes the one that begins a statement"},
	{fixture: "mipsel-signal", frame: "on_fault", why: "of several lines at one address gdb takes the one that begins a statement"},
	{fixture: "mips64el-signal", frame: "on_fault", why: "of several lines at one address gdb takes the one that begins a statement"},
	{fixture: "riscv64-signal", frame: "on_fault", why: "of several lines at one address gdb takes the one that begins a statement"},
	{fixture: "loongarch64-crash-O0", after: "-", why: "gdb 13 does not read the registers of a LoongArch core"},
	{fixture: "mipsn32-n32-crash-O0", after: "-", why: "gdb 13 dies of a core of qemu's n32"},
	{fixture: "mipsn32-n32-crash-O1", after: "-", why: "gdb 13 dies of a core of qemu's n32"},
	{fixture: "mipsn32-n32-signal", after: "-", why: "gdb 13 dies of a core of qemu's n32"},
	{fixture: "mipsn32-n32-notables", after: "-", why: "gdb 13 dies of a core of qemu's n32"},
	{fixture: "mips64-eb-signal", frame: "on_fault", why: "of several lines at one address gdb takes the one that begins a statement"},
	{fixture: "mipsn32el-n32-crash-O0", after: "-", why: "gdb 13 dies of a core of qemu's n32"},
	{fixture: "loongarch64-crash-O1", after: "-", why: "gdb 13 does not read the registers of a LoongArch core"},
	{fixture: "mipsn32el-n32-crash-O1", after: "-", why: "gdb 13 dies of a core of qemu's n32"},
	{fixture: "loongarch64-signal", after: "-", why: "gdb 13 does not read the registers of a LoongArch core"},
	{fixture: "mipsn32el-n32-signal", after: "-", why: "gdb 13 dies of a core of qemu's n32"},
	{fixture: "loongarch64-notables", after: "-", why: "gdb 13 does not read the registers of a LoongArch core"},
	{fixture: "mipsn32el-n32-notables", after: "-", why: "gdb 13 dies of a core of qemu's n32"},
	{fixture: "ppc-signal", frame: "on_fault", why: "of several lines at one address gdb takes the one that begins a statement"},
	{fixture: "ppc-notables", after: "-", why: "gdb takes a leaf that keeps its return address in LR for one that saved it"},
	{fixture: "ppc-threads", after: "__libc_start_main", why: "gdb goes on to a return address of zero"},
	{fixture: "ppc64-threads", after: "__libc_start_main", why: "gdb goes on to a return address of zero"},
	{fixture: "ppc64le-threads", after: "__libc_start_main", why: "gdb goes on to a return address of zero"},
	{fixture: "ppc64-crash-O0", frame: "_start", why: "gdb puts a dot before the name of code that a descriptor leads to"},
	{fixture: "ppc64-crash-O1", frame: "_start", why: "gdb puts a dot before the name of code that a descriptor leads to"},
	{fixture: "ppc64-threads", frame: "clone", why: "gdb puts a dot before the name of code that a descriptor leads to"},
	{fixture: "ppc64-threads", frame: "__libc_start_main", why: "gdb puts a dot before the name of code that a descriptor leads to"},
	{fixture: "ppc64-signal", after: "on_alternate", why: "gdb does not know the signal frames of qemu"},
	{fixture: "ppc64le-signal", after: "on_alternate", why: "gdb does not know the signal frames of qemu"},
	{fixture: "s390x-crash-O0", after: "middle", why: "gdb ends where a stack pointer is in a register that the core has not, and does not compute it from the CFA"},
	{fixture: "s390x-crash-O1", after: "middle", why: "gdb ends where a stack pointer is in a register that the core has not, and does not compute it from the CFA"},
	{fixture: "s390x-notables", after: "-", why: "gdb gives no frame where it does not find a program counter"},
	{fixture: "s390x-signal", after: "-", why: "gdb gives no frame where it does not find a program counter"},
	{fixture: "alpha-crash-O0", after: "-", why: "gdb finds no registers in a core of this architecture"},
	{fixture: "alpha-crash-O1", after: "-", why: "gdb finds no registers in a core of this architecture"},
	{fixture: "alpha-signal", after: "-", why: "gdb finds no registers in a core of this architecture"},
	{fixture: "sparc64-crash-O0", after: "-", why: "gdb finds no registers in a core of this architecture"},
	{fixture: "sparc64-crash-O1", after: "-", why: "gdb finds no registers in a core of this architecture"},
	{fixture: "sparc64-signal", after: "-", why: "gdb finds no registers in a core of this architecture"},
	{fixture: "sparc64-notables", after: "-", why: "gdb finds no registers in a core of this architecture"},
	{fixture: "hppa-crash-O1", after: "-", why: "gdb finds no registers in a core of this architecture"},
	{fixture: "m68k-crash-O0", after: "-", why: "gdb does not read cores of m68k"},
	{fixture: "m68k-crash-O1", after: "-", why: "gdb does not read cores of m68k"},
	{fixture: "m68k-signal", after: "-", why: "gdb does not read cores of m68k"},
	{fixture: "m68k-notables", after: "-", why: "gdb does not read cores of m68k"},
	{fixture: "i386-signal", frame: "on_fault", why: "of several lines at one address gdb takes the one that begins a statement"},
	{fixture: "i386-threads", after: "-", why: "gdb ends in a function of the library that has no name"},
	{fixture: "i386-notables", after: "-", why: "gdb makes up frames where there are neither tables nor symbols"},
	{fixture: "amd64-raised-assert", after: "abort", why: "gdb leaves out the library's Core_Dump, which has no call sites and left by a jump to abort"},
	{fixture: "amd64-raised-index", after: "abort", why: "gdb leaves out the library's Core_Dump, which has no call sites and left by a jump to abort"},
	{fixture: "amd64-raised-null", after: "abort", why: "gdb leaves out the library's Core_Dump, which has no call sites and left by a jump to abort"},
	{fixture: "amd64-raised-second", after: "abort", why: "gdb leaves out the library's Core_Dump, which has no call sites and left by a jump to abort"},
	{fixture: "amd64-raised-full", frame: "__gnat_Unwind_RaiseException", why: "gdb leaves it out: it has no call sites, and left by a jump"},
	{fixture: "amd64-raised-full", after: "__gnat_Unwind_RaiseException", why: "gdb leaves it out: it has no call sites, and left by a jump"},
	{fixture: "amd64-raised-task", frame: "__gnat_Unwind_RaiseException", why: "gdb leaves it out: it has no call sites, and left by a jump"},
	{fixture: "amd64-raised-task", after: "__gnat_Unwind_RaiseException", why: "gdb leaves it out: it has no call sites, and left by a jump"},
	{fixture: "amd64-raised-task", frame: "pthread_cond_timedwait", why: "gdb leaves it out: it has no call sites, and left by a jump"},
	{fixture: "amd64-raised-task", after: "pthread_cond_timedwait", why: "gdb leaves it out: it has no call sites, and left by a jump"},
	{fixture: "amd64-tail-bad-O2", after: "-", why: "gdb leaves out main, which was called and left by a jump through a pointer"},
	{fixture: "amd64-tail-ambiguous-O2", after: "sink", why: "gdb leaves out start, through which every one of the possible ways goes"},
	{fixture: "amd64-tail-main-O2", after: "crash", why: "gdb does not follow tail calls from what was called through a value: it leaves out main"},
	{fixture: "amd64-tail-main-clang", after: "fclose", why: "as of amd64-tail-main-O2"},
	{fixture: "amd64-tail-main-musl", after: "work", why: "as of amd64-tail-main-O2"},
	{fixture: "amd64-vars-c-clang-O2", after: "numbers", why: "as of amd64-tail-main-O2"},
	{fixture: "amd64-switched-call", frame: "switch_stack", why: "gdb takes what switches stacks for a signal's handler, as its unwind rules say"},
	{fixture: "amd64-switched-call", frame: "middle", why: "gdb looks up the caller of a signal's handler where it was interrupted, one instruction too far"},
	{fixture: "amd64-switched-inside", frame: "switch_stack", why: "as of amd64-switched-call"},
	{fixture: "amd64-switched-inside", frame: "middle", why: "as of amd64-switched-call"},
	{fixture: "amd64-musl-tls", after: "_start_c", why: "gdb takes the zero above the first frame for a return address"},
	{fixture: "amd64-crystal", frame: "Shop::Circle#crash", why: "gdb names methods without their classes"},
	{fixture: "amd64-pascal", frame: "TCircle.Crash", why: "gdb names methods without their classes"},
	{fixture: "amd64-pascal", after: "SYSTEM.SYSENTRY", why: "gdb takes the zero above it for a return address: the function that called has no frame pointer"},
	{fixture: "amd64-pascal-dwarf2", frame: "TCIRCLE.CRASH", why: "gdb names methods without their classes"},
	{fixture: "amd64-pascal-dwarf2", after: "SYSTEM.SYSENTRY", why: "as of amd64-pascal"},
	{fixture: "amd64-pascal-stripped", after: "-", why: "gdb does not follow frame pointers where there are neither tables nor symbols"},
	{fixture: "amd64-nim-symbols", frame: "crash", why: "gdb has the symbols' numbers in the names"},
	{fixture: "amd64-nim-symbols", frame: "main", why: "gdb has the symbols' numbers in the names"},
	{fixture: "amd64-ocaml", after: "crash_stub", why: "gdb leaves out caml_c_call, which left by a jump to the function of C"},
	{fixture: "amd64-zig", frame: "callMain", why: "gdb puts the file before the names of functions"},
	{fixture: "amd64-zig", frame: "initEventLoopAndCallMain", why: "gdb puts the file before the names of functions"},
	{fixture: "amd64-zig", frame: "callMainWithArgs", why: "gdb puts the file before the names of functions"},
	{fixture: "amd64-merged-text", frame: "given", why: "gdb names the place of two that the compiler left at the call; the conditions of the jumps tell the other one"},
	{fixture: "amd64-merged-clang", frame: "main", why: "gdb gives no file where there is no line"},
}

// paritySample are the fixtures that every run compares: each way to make a frame once.
var paritySample = []string{"amd64-abort", "amd64-clang", "amd64-cxx-sort", "amd64-go-nil", "amd64-inline-tail-O2", "amd64-musl-static",
	"amd64-rust-segv", "amd64-signal-altstack", "amd64-threads", "amd64-vars-cxx-O2", "i386-crash-O1"}

// TestGDBParity compares every thread of every fixture with gdb, frame by frame:
// addresses, functions, files and lines, inlined and tail-called functions. gdb takes
// half a minute for them all, so without COREWALK_LONG=1 it is asked about a sample.
func TestGDBParity(t *testing.T) {
	t.Parallel()
	cases := fixture.Cases(t)
	for _, d := range peerDifferences {
		if !slices.ContainsFunc(cases, func(c fixture.Case) bool { return c.Name == d.fixture }) {
			t.Errorf("peerDifferences names %s, which is no fixture", d.fixture)
		}
	}
	for _, name := range paritySample {
		fixture.Get(t, name)
	}
	frames, stacks := 0, 0
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if !slices.Contains(paritySample, c.Name) {
				fixture.Long(t)
			}
			fixture.Tools(t)
			if _, err := exec.LookPath(c.GDB()); err != nil {
				t.Skipf("%s is not installed (make deps installs it on Debian): nothing to compare with", c.GDB())
			}
			if listed(c.Name, "", "-") {
				t.Skip("gdb is known to be wrong about the whole stack")
			}
			target := openCase(t, c)
			r := analyzeCase(t, c)
			theirs := runGDB(t, c)
			if len(theirs) == 0 {
				t.Fatal("gdb gave no stack")
			}
			for i := range r.Threads {
				stacks++
				frames += comparePeer(t, c, target, &r.Threads[i], theirs[r.Threads[i].ID])
			}
		})
	}
	t.Logf("%d frames of %d stacks compared", frames, stacks)
}

// A peerFrame is what gdb tells of one frame.
type peerFrame struct {
	pc                   uint64
	function, file, line string
}

func (p peerFrame) String() string {
	return fmt.Sprintf("%#x %s at %s:%s", p.pc, p.function, p.file, p.line)
}

var (
	gdbThread = regexp.MustCompile(`^Thread \d+ .*\bLWP (\d+)\)`)
	gdbField  = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// runGDB returns gdb's stacks by thread.
func runGDB(t *testing.T, c fixture.Case) map[int][]peerFrame {
	t.Helper()
	return parseGDB(askGDB(t, c, fmt.Sprintf(`thread apply all interpreter-exec mi "-stack-list-frames 0 %d"`, maxPeerFrames-1)))
}

// askGDB opens a fixture in gdb and returns what a command prints.
func askGDB(t *testing.T, c fixture.Case, command string) []byte {
	t.Helper()
	debugDir := c.Dir // where gdb looks for split debug information, and is not this machine's own
	for i := 0; i+1 < len(c.Args); i += 2 {
		if c.Args[i] == "--debug-dir" {
			debugDir = filepath.Join(c.Dir, c.Args[i+1])
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.GDB(), "-nx", "-q", "-batch",
		"-iex", "set debuginfod enabled off", "-iex", "set auto-load off",
		"-ex", "set width 0", "-ex", "set height 0", "-ex", "set backtrace past-main on", "-ex", "set print entry-values no",
		"-ex", "set sysroot "+c.Sysroot(t), "-ex", "set debug-file-directory "+debugDir, "-ex", "set solib-search-path "+c.Dir,
		"-ex", "file "+c.Binary(t), "-ex", "core-file "+c.Core(t),
		"-ex", command)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out
}

func parseGDB(out []byte) map[int][]peerFrame {
	stacks := map[int][]peerFrame{}
	thread := 0
	for _, line := range bytes.Split(out, []byte("\n")) {
		if m := gdbThread.FindSubmatch(line); m != nil {
			thread, _ = strconv.Atoi(string(m[1]))
		}
		if !bytes.HasPrefix(line, []byte("^done,stack=")) {
			continue
		}
		for _, rec := range bytes.Split(line, []byte("frame={level="))[1:] {
			var f peerFrame
			for _, m := range gdbField.FindAllSubmatch(rec, -1) {
				switch v := string(m[2]); string(m[1]) {
				case "addr":
					f.pc, _ = strconv.ParseUint(v, 0, 64)
				case "func":
					f.function = strings.ReplaceAll(v, `\"`, `"`)
				case "file":
					f.file = v
				case "line":
					f.line = v
				}
			}
			stacks[thread] = append(stacks[thread], f)
		}
	}
	return stacks
}

// comparePeer compares one stack and returns how many frames were compared.
func comparePeer(t *testing.T, c fixture.Case, symbols unwindTarget, th *report.Thread, theirs []peerFrame) int {
	t.Helper()
	for i := range min(len(theirs), maxPeerFrames) {
		if i >= len(th.Frames) {
			if th.End == report.EndBottom && theirs[i].pc == 0 {
				return i // gdb takes the zero above the oldest frame for a return address
			}
			t.Errorf("thread %d ends after %d frames (%s %s); gdb goes on with %v", th.ID, len(th.Frames), th.End, th.EndDetail, theirs[i])
			return i
		}
		f, p := &th.Frames[i], theirs[i]
		if diff := peerDiff(symbols, f, p); diff != "" && !listed(c.Name, f.Function, "") {
			t.Errorf("thread %d frame %d: %s: %s; gdb has %v", th.ID, i, diff, frameText(f), p)
			if diff == "address" {
				return i
			}
		}
		if listed(c.Name, "", f.Function) {
			return i
		}
	}
	// What only the function's code tells is beyond gdb where that has no tables.
	if n := len(theirs); n > 0 && n < len(th.Frames) && th.Frames[n].Trust == "analysis" {
		t.Logf("thread %d: gdb ends after %d frames; %s is by analysis", th.ID, n, frameText(&th.Frames[n]))
		return n
	}
	if len(theirs) < len(th.Frames) && len(theirs) < maxPeerFrames {
		t.Errorf("thread %d: gdb ends after %d frames; here follows %s", th.ID, len(theirs), frameText(&th.Frames[len(theirs)]))
	}
	return len(theirs)
}

// listed reports whether peerDifferences has the frame, or the end after it.
func listed(fixture, frame, after string) bool {
	for _, d := range peerDifferences {
		if d.fixture == fixture && (frame != "" && d.frame == frame || after != "" && d.after == after) {
			return true
		}
	}
	return false
}

type unwindTarget interface {
	ProcessState() unwind.ProcessState
	SymbolLookup() unwind.SymbolLookup
}

// peerDiff says what differs; "" when nothing does.
func peerDiff(target unwindTarget, f *report.Frame, p peerFrame) string {
	if p.function == "<signal handler called>" {
		if f.Signal == "" {
			return "signal"
		}
		return ""
	}
	switch {
	case !f.Tail && uint64(f.PC) != p.pc:
		return "address"
	case f.Signal != "":
		return "signal"
	case !sameFunction(target, f, p.function):
		return "function"
	case filepath.Base(f.Source.File) != filepath.Base(p.file):
		return "file"
	case f.Source.Line != 0 && strconv.Itoa(f.Source.Line) != p.line:
		return "line"
	}
	return ""
}

// sameFunction compares names, without what debuggers write in their own ways:
// template arguments, parameters, the scopes of local names. Two names of one
// address are one function.
func sameFunction(target unwindTarget, f *report.Frame, theirs string) bool {
	if theirs == "??" {
		return f.Function == ""
	}
	if a, b := plainName(f.Function), plainName(ornaments.ReplaceAllString(theirs, "")); a == b {
		return true
	}
	if strings.ReplaceAll(adaOrnaments.ReplaceAllString(f.Function, ""), "__", ".") == theirs { // as gdb writes names of Ada
		return true
	}
	syms, ok := target.SymbolLookup().(unwind.SymbolReader)
	lib, found := target.ProcessState().LibraryTracker().LibraryAt(uint64(f.Lookup))
	if !ok || !found {
		return false
	}
	b, ok := syms.SymbolByName(lib, theirs)
	if !ok {
		return false
	}
	a, ok := syms.SymbolAt(lib, uint64(f.Lookup))
	return ok && a.Addr == b.Addr
}

// ornaments are what gdb leaves at the end of names that are known from symbols only:
// the hash of Rust's, and what compilers call the copies of a function.
var ornaments = regexp.MustCompile(`::h[0-9a-f]{16}$|\.(constprop|isra|part)(\.[0-9]+)*$`)

// adaOrnaments are what GNAT puts at the end of linkage names: that a function is of a package's body or nested, and numbers.
var adaOrnaments = regexp.MustCompile(`(?:X[bn]*|__[0-9]+|\.[0-9]+)+$`)

// bracketed are the texts in names that look like brackets and are none.
var bracketed = strings.NewReplacer("operator()", "operator_call", "operator<<", "operator_ls", "operator<", "operator_lt",
	"operator->", "operator_arrow", "operator>>", "operator_rs", "operator>", "operator_gt",
	"{closure#0}", "closure", "{{closure}}", "closure", "{closure_env#0}", "closure")

// plainName is the last part of a qualified name, without anything in brackets.
func plainName(name string) string {
	var out []byte
	depth := 0
	for _, c := range []byte(bracketed.Replace(name)) {
		switch c {
		case '<', '(', '{', '[':
			depth++
		case '>', ')', '}', ']':
			depth--
		default:
			if depth == 0 {
				out = append(out, c)
			}
		}
	}
	s := strings.TrimSuffix(string(out), " const")
	s = strings.TrimRight(s, ": ") // Rust's f::<T>
	return s[strings.LastIndexAny(s, ": ")+1:]
}
