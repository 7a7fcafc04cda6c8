package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// registerScript prints gdb's physical frames of each thread: pc, where the frame begins,
// and the registers that are named.
const registerScript = `
import gdb, re
def value(frame, name):
    try:
        v = frame.read_register(name)
        if v.is_optimized_out:
            return "?"
        if v.type.strip_typedefs().code == gdb.TYPE_CODE_UNION:
            v = v[[f.name for f in v.type.strip_typedefs().fields() if f.name in ("u", "u64", "i64", "l", "uint64", "long")][0]]
        return v.format_string(format="x", raw=True)
    except Exception as e:
        return "-"
for thread in gdb.selected_inferior().threads():
    thread.switch()
    print("thread", thread.ptid[1])
    frame, n = gdb.newest_frame(), 0
    while frame is not None and n < %d:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            frame.select()
            at = re.search(r"frame at (0x[0-9a-f]+)", gdb.execute("info frame", to_string=True))
            kind = "signal" if frame.type() == gdb.SIGTRAMP_FRAME else "normal"
            print("frame", hex(frame.pc()), at.group(1) if at else "-", kind, *[name + "=" + value(frame, name) for name in "%s".split()])
            n += 1
        try:
            frame = frame.older()
        except gdb.error:
            break
`

// A registerFrame is a frame as gdb tells it. Registers that gdb takes for lost are not
// known.
type registerFrame struct {
	pc, at uint64
	signal bool
	regs   map[string]uint64
	lost   map[string]bool
}

// gdbRegisters asks gdb for the registers of the first frames of every thread.
func gdbRegisters(t *testing.T, c fixture.Case, frames int, names []string) map[unwind.ThreadID][]registerFrame {
	t.Helper()
	script := filepath.Join(t.TempDir(), "registers.py")
	if err := os.WriteFile(script, fmt.Appendf(nil, registerScript, frames, strings.Join(names, " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	stacks := map[unwind.ThreadID][]registerFrame{}
	thread := unwind.ThreadID(0)
	for line := range strings.Lines(string(askGDB(t, c, "source "+script))) {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[0] == "thread":
			n, _ := strconv.Atoi(words[1])
			thread = unwind.ThreadID(n)
		case len(words) >= 4 && words[0] == "frame":
			f := registerFrame{signal: words[3] == "signal", regs: map[string]uint64{}, lost: map[string]bool{}}
			f.pc, _ = strconv.ParseUint(words[1], 0, 64)
			f.at, _ = strconv.ParseUint(words[2], 0, 64)
			for _, w := range words[4:] {
				name, text, _ := strings.Cut(w, "=")
				if v, err := strconv.ParseUint(text, 0, 64); err == nil {
					f.regs[name] = v
				} else if text == "?" {
					f.lost[name] = true
				}
			}
			stacks[thread] = append(stacks[thread], f)
		}
	}
	return stacks
}

// gdbNames are gdb's names of registers, by architecture and our names, where they differ:
// its fp is where it takes the frame to begin, and its numbers of temporaries are those
// of the n64 ABI.
var gdbNames = map[string]string{
	"mips fp": "s8", "mipsel fp": "s8", "mips64 fp": "s8", "mips64el fp": "s8",
	"mips64 t0": "a4", "mips64 t1": "a5", "mips64 t2": "a6", "mips64 t3": "a7",
	"mips64 t4": "t0", "mips64 t5": "t1", "mips64 t6": "t2", "mips64 t7": "t3",
	"mips64el t0": "a4", "mips64el t1": "a5", "mips64el t2": "a6", "mips64el t3": "a7",
	"mips64el t4": "t0", "mips64el t5": "t1", "mips64el t6": "t2", "mips64el t7": "t3",
}

// registerDifferences are the registers of which gdb 13 says something else, and why.
var registerDifferences = map[string]string{
	"amd64-pascal rbx":        "the function saves it in its frame and nothing but the code says so, where gdb does not look",
	"amd64-pascal-dwarf2 rbx": "as before",
	"eflags":                  "of what a signal interrupted gdb gives the flags that the handler has; the kernel saved others",
}

// TestWalkRegisters compares the CFA and the registers of the frames of TestGoldenWalks
// with gdb's: those frames that TestGDBParity compares, and no others.
func TestWalkRegisters(t *testing.T) {
	fixture.Long(t)
	var n struct{ frames, cfas, registers, differ int }
	for _, c := range fixture.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			fixture.Tools(t)
			if _, err := exec.LookPath(c.GDB()); err != nil {
				t.Skipf("%s is not installed (make deps installs it on Debian): nothing to compare with", c.GDB())
			}
			if listed(c.Name, "", "-") {
				t.Skip("gdb is known to be wrong about the whole stack")
			}
			stacks := distinctStacks(t, openCase(t, c))
			a := stacks[0].Frames[0].Walker().ProcessState().Arch()
			names := make([]string, a.NumRegs()) // gdb's
			for r := range names {
				names[r] = a.RegName(arch.Reg(r))
				if other, ok := gdbNames[a.Name+" "+names[r]]; ok {
					names[r] = other
				}
			}
			theirs := gdbRegisters(t, c, walkFirst+1, names)
			for _, s := range stacks {
				id, theirs := s.Thread, theirs[s.Thread]
				for i, f := range s.Frames {
					if i == walkFirst || i >= len(theirs) || theirs[i].pc != f.RA() {
						break
					}
					n.frames++
					p := &theirs[i]
					for r, name := range names {
						v, at, ok := f.Reg(arch.Reg(r))
						w, known := p.regs[name]
						switch {
						case !ok || !known && !p.lost[name]:
						case known && a.Truncate(v) == a.Truncate(w):
							n.registers++
						case registerDifferences[name] != "", registerDifferences[c.Name+" "+name] != "":
							n.differ++
						default:
							t.Errorf("thread %d frame %d, pc %#x: %s is %#x, %s; gdb has %#x, known: %v", id, i, p.pc, name, v, at.Describe(a), w, known)
						}
					}
					if i+1 == len(s.Frames) || i+1 == len(theirs) || theirs[i+1].pc != s.Frames[i+1].RA() {
						break // gdb goes on otherwise, if at all
					}
					cfa, known := f.CFA()
					caller := s.Frames[i+1].Trust()
					switch {
					case p.signal:
					case !known && (caller == unwind.TrustFramePointer || caller == unwind.TrustScan): // nobody knows, gdb guesses
					default:
						if n.cfas++; cfa != p.at {
							t.Errorf("thread %d frame %d, pc %#x: CFA %#x; gdb has %#x", id, i, p.pc, cfa, p.at)
						}
					}
				}
			}
		})
	}
	if !t.Failed() && n.registers == 0 {
		t.Skip("nothing was compared")
	}
	t.Logf("%d frames, %d CFAs and %d registers are gdb's; %d differ for known reasons", n.frames, n.cfas, n.registers, n.differ)
}
