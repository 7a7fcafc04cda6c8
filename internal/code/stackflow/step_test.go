package stackflow_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
)

// stepped are the registers that gdb prints at each step.
var stepped = []string{"rip", "rsp", "rbp", "rbx", "r12", "r13", "r14", "r15", "r10", "r11", "rax", "rcx", "rdx"}

// maxSteps limits the instructions stepped through.
const maxSteps = 3000

// TestSingleStep steps through a program and compares the CFA and the callee-saved
// registers of every function, at each instruction, with their values at the function's
// entry. It uses no tables.
func TestSingleStep(t *testing.T) {
	if testing.Short() || runtime.GOARCH != "amd64" {
		t.Skip("single-steps a program of x86-64")
	}
	for i, flags := range []string{"-O1", "-O2 -fno-omit-frame-pointer"} {
		t.Run(flags, func(t *testing.T) {
			if i > 0 {
				fixture.Long(t)
			}
			t.Parallel()
			fixture.Tools(t)
			gcc, err := exec.LookPath("gcc")
			if err != nil {
				t.Skip("gcc is not installed (Debian: gcc)")
			}
			gdb, err := exec.LookPath("gdb")
			if err != nil {
				t.Skip("gdb is not installed (Debian: gdb)")
			}
			format := strings.Repeat("%lx ", len(stepped))
			script := fmt.Sprintf("set $n = 0\nwhile $n < %d\nprintf \"STEP %s\\n\", $%s\nstepi\nset $n = $n + 1\nend\n", maxSteps, format, strings.Join(stepped, ", $"))
			// What gdb says of the same program is the same, and takes it seconds.
			out := fixture.Made(t, []string{flags, script}, []string{"testdata/frames.c", gcc, gdb}, func(dir string) {
				args := append(strings.Fields(flags), "-nostdlib", "-static", "-no-pie", "-fno-asynchronous-unwind-tables", "-o", filepath.Join(dir, "frames"), "testdata/frames.c")
				if text, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
					t.Skipf("gcc: %v: %s", err, text)
				}
				steps(t, gdb, script, dir)
			})
			singleStep(t, out)
		})
	}
}

// steps makes gdb step through the program frames in a directory, and keeps what it printed; this needs ptrace.
func steps(t *testing.T, gdb, script, dir string) {
	t.Helper()
	file := filepath.Join(dir, "script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("timeout", "100", gdb, "-nx", "-batch", "-ex", "set width 0", "-ex", "starti", "-x", file, filepath.Join(dir, "frames")).Output()
	if !bytes.Contains(text, []byte("STEP ")) {
		t.Skipf("gdb cannot step through the program: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "steps"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// singleStep compares each step of the program in a directory with what its code does to the stack.
func singleStep(t *testing.T, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "steps"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "frames")
	im, err := image.NewCache(find.New(context.Background(), find.Options{})).Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := stepper{t: t, im: im, funcs: map[uint64]*stackflow.Func{}}
	sc := bufio.NewScanner(bytes.NewReader(text))
	for sc.Scan() {
		_, line, ok := strings.Cut(sc.Text(), "STEP ")
		if !ok {
			continue
		}
		regs := map[string]uint64{}
		for i, word := range strings.Fields(line) {
			var v uint64
			fmt.Sscanf(word, "%x", &v)
			regs[stepped[i]] = v
		}
		s.at(regs)
	}
	t.Logf("%d steps, %d of them known", s.steps, s.known)
	if s.steps < 1000 || s.known*100 < s.steps*98 {
		t.Errorf("%d of %d steps known", s.known, s.steps)
	}
}

// A stepper tracks a program's calls.
type stepper struct {
	t            *testing.T
	im           *image.Image
	funcs        map[uint64]*stackflow.Func
	calls        []map[string]uint64 // the registers at the entries of the functions under way
	last         disasm.Kind
	steps, known int
}

func (s *stepper) at(regs map[string]uint64) {
	switch {
	case s.last.IsCall(), s.steps == 0:
		s.calls = append(s.calls, regs)
	case s.last == disasm.Ret && len(s.calls) > 1:
		s.calls = s.calls[:len(s.calls)-1]
	}
	s.steps++
	pc := regs["rip"]
	var in disasm.Inst
	if disasm.DecodeInto(&in, arch.AMD64, s.im.Code().CodeAt(pc), pc) != nil {
		s.t.Fatalf("no instruction at %#x", pc)
	}
	s.last = in.Kind
	sym, ok := s.im.SymbolAt(pc)
	if !ok {
		return
	}
	if name, _, cold := strings.Cut(sym.Name(), ".cold"); cold {
		if sym, ok = s.im.SymbolByName(name); !ok {
			return
		}
	}
	entry := s.calls[len(s.calls)-1]
	f := s.funcs[sym.Value]
	if f == nil {
		f, _ = s.im.Flow(arch.AMD64, sym.Value, sym.Value+sym.Size)
		s.funcs[sym.Value] = f
	}
	rows, _ := f.Rows(nil, pc)
	if len(rows) != 1 || rows[0].CFA.Reg == arch.NoReg || rows[0].CFA.Deref {
		return
	}
	base, ok := regs[arch.AMD64.RegName(rows[0].CFA.Reg)]
	if !ok {
		return
	}
	s.known++
	if cfa, want := base+uint64(rows[0].CFA.Off), entry["rsp"]+8; cfa != want {
		s.t.Errorf("CFA at %#x in %s: %#x; want %#x", pc, sym.Name(), cfa, want)
	}
	for _, saved := range rows[0].Saved {
		name := arch.AMD64.RegName(saved.Reg)
		if saved.Loc.Kind == stackflow.InReg && regs[arch.AMD64.RegName(saved.Loc.Reg)]+uint64(saved.Loc.Off) != entry[name] {
			s.t.Errorf("%s at %#x in %s is not the caller's", name, pc, sym.Name())
		}
	}
}
