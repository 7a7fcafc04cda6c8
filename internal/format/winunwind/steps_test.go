package winunwind_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/pefile"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// stackWords is a stack by word address; words missing in the record are zero.
type stackWords struct {
	words map[uint64]uint64
	low   uint64 // the stack pointer: nothing below is the program's
}

func (s *stackWords) ReadWord(addr arch.Address) (uint64, error) {
	if addr < s.low || addr%8 != 0 {
		return 0, fmt.Errorf("%#x is not on the stack: %w", addr, arch.ErrUnmapped)
	}
	return s.words[addr], nil
}

func (s *stackWords) ReadMem(addr arch.Address, buf []byte) (int, error) {
	for n := 0; n < len(buf); n += 8 {
		v, err := s.ReadWord(addr + uint64(n))
		if err != nil {
			return n, err
		}
		copy(buf[n:], binary.LittleEndian.AppendUint64(nil, v))
	}
	return len(buf), nil
}

// A call in progress: its return address, and the registers that the callee must preserve.
type call struct {
	ret, cfa uint64
	regs     arch.RegSet
}

// At every instruction of arm64 programs that were single-stepped, including prologues and
// epilogues, the tables give all callers and the registers that calls preserve. The records
// come from testdata/src/windows/stepper.py, in stepper.c's format.
func TestStepsARM64(t *testing.T) {
	dir := fixture.Images(t, "steps-arm64")
	for _, name := range []string{"O0", "O2"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, name+".exe"))
			if err != nil {
				t.Fatal(err)
			}
			f, err := pefile.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			tab, err := winunwind.New(arch.ARM64, f.Pdata(), f)
			if err != nil {
				t.Fatal(err)
			}
			record, err := os.ReadFile(filepath.Join(dir, name+".steps"))
			if err != nil {
				t.Fatal(err)
			}
			steps := 0
			var regs arch.RegSet
			var calls []call
			stack := &stackWords{words: map[uint64]uint64{}}
			for n, line := range strings.Split(strings.TrimSpace(string(record)), "\n") {
				w := strings.Fields(line + " 0 0")
				a, _ := strconv.ParseUint(w[1], 16, 64)
				b, _ := strconv.ParseUint(w[2], 16, 64)
				switch w[0] {
				case "r":
					r, ok := arch.ARM64.RegByName(w[1])
					if !ok {
						t.Fatal(line)
					}
					regs.Set(r, b)
				case "m":
					stack.words[a] = b
				case "c":
					calls = append(calls, call{a, b, regs})
				case "t":
					calls = calls[:len(calls)-1]
				case "i":
					regs.Set(arch.ARM64.PC, a)
					stack.low, _ = regs.Get(arch.ARM64.SP)
					if err := unwindAll(tab, regs, stack, f.ImageBase, calls); err != nil {
						t.Errorf("line %d: %s: %v", n+1, line, err)
					}
					steps++
				}
			}
			if steps < 300 || len(calls) > 0 {
				t.Errorf("%d instructions, %d calls that did not return", steps, len(calls))
			}
		})
	}
}

// unwindAll compares the callers with the calls.
func unwindAll(tab *winunwind.Table, regs arch.RegSet, mem arch.Memory, base uint64, calls []call) error {
	f := winunwind.Frame{Regs: regs}
	for depth := range calls {
		want := &calls[len(calls)-1-depth]
		if err := tab.Step(&f, mem, base, depth == 0); err != nil {
			return fmt.Errorf("frame %d: %w", depth+1, err)
		}
		if pc, _ := f.Regs.Get(arch.ARM64.PC); pc != want.ret || f.CFA != want.cfa {
			return fmt.Errorf("frame %d at %#x with stack pointer %#x, want %#x with %#x", depth+1, pc, f.CFA, want.ret, want.cfa)
		}
		for m := winunwind.Nonvolatile(arch.ARM64) &^ arch.Mask(arch.ARM64.PC, arch.ARM64.SP, arch.ARM64.RA); m != 0; m &= m - 1 {
			v, _ := want.regs.Get(m.First())
			if got, ok := f.Regs.Get(m.First()); !ok || got != v {
				return fmt.Errorf("frame %d: %s is %#x, want %#x", depth+1, arch.ARM64.RegName(m.First()), got, v)
			}
		}
	}
	return nil
}
