package native

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestCallNumbers compares the numbers of system calls with the kernel's headers, where they are installed.
func TestCallNumbers(t *testing.T) {
	compared := 0
	for column, files := range [][]string{{"/usr/include/x86_64-linux-gnu/asm/unistd_64.h"}, {"/usr/include/x86_64-linux-gnu/asm/unistd_32.h"}, {"/usr/include/asm-generic/unistd.h"}} {
		header, err := os.ReadFile(files[0])
		if err != nil {
			continue
		}
		numbers := map[string][]string{}
		for line := range strings.Lines(string(header)) {
			if f := strings.Fields(line); len(f) >= 3 && f[0] == "#define" {
				name := strings.TrimPrefix(f[1], "__NR_")
				name = strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(name, "_time64"), "64"), "__NR3264_")
				numbers[strings.TrimPrefix(name, "_new")] = append(numbers[strings.TrimPrefix(name, "_new")], f[2])
			}
		}
		for _, b := range blockings {
			n := b.numbers[column]
			if n == 0xffff {
				n = 0
			} else if n == 0 {
				continue
			}
			compared++
			if want := fmt.Sprint(n); !strings.Contains(" "+strings.Join(numbers[b.name], " ")+" ", " "+want+" ") {
				t.Errorf("%s, column %d: %s is not among %v", b.name, column, want, numbers[b.name])
			}
		}
	}
	if compared == 0 {
		t.Skip("the kernel's headers are not installed: Debian's linux-libc-dev")
	}
}

// TestCalling: futex and poll of each architecture, by the registers of a thread and where it is.
func TestCalling(t *testing.T) {
	code := map[*arch.Arch]string{arch.AMD64: "\x0f\x05", arch.X86: "\xcd\x80", arch.ARM64: "\x01\x00\x00\xd4", arch.ARM: "\x00\xdf", arch.RISCV64: "\x73\x00\x00\x00"}
	const at, first = 0x1000, 0x50000
	for a, code := range code {
		c, ok := conventionOf(a)
		if !ok {
			t.Fatal(a.Name)
		}
		mem := &codeAt{at, code}
		after := at + uint64(len(code))
		for _, number := range []uint64{c.futex[0], uint64(blockings[slices.IndexFunc(blockings, func(b blocking) bool { return b.arg == pollArg && b.numbers[column(a)] != 0 })].numbers[column(a)])} {
			futex := number == c.futex[0]
			find := func(pc uint64, number, result int64) (position, bool) {
				regs := new(arch.RegSet)
				if !c.sameRegister {
					regs.Set(c.addr, first)
				}
				for r, v := range map[arch.Reg]uint64{a.PC: pc, c.result: a.Truncate(uint64(result)), c.op: 0x189, c.val: 7, c.timeout: 0} {
					regs.Set(r, v)
				}
				if number != 0 {
					regs.Set(c.number, a.Truncate(uint64(number)))
				}
				in := callingOf(a, mem, regs)
				if futex {
					call, ok := sleepingIn(a, regs, in)
					if ok && call != (futexCall{addr: first, op: futexWaitBitset, expected: 7}) {
						t.Errorf("%s: %+v", a.Name, call)
					}
					return in.position, ok
				}
				b := blockedIn(a, regs, in)
				return in.position, b != nil && b.arg == pollArg
			}
			type row struct {
				name           string
				pc             uint64
				number, result int64
				position       position
				known          bool
			}
			n := int64(number)
			rows := []row{
				{"elsewhere", 0x2000, n, first, outside, false},
				{"before another call", at, n + 1, first, again, false},
				{"interrupted at once", after, n, -restartBlock, within, true},
				{"without a number", 0x2000, 0, -restartSys, outside, false},
			}
			if c.sameRegister {
				rows[2].known = !futex // its address is lost
				rows = append(rows, row{"to be made again", at, n, first, again, true}, row{"as emulators leave it", after, n, first, behind, true},
					row{"failed", after, n, -eintr, failed, !futex}, row{"has returned 0", after, n, 0, behind, false}, row{"has returned an error", after, n, -11, outside, false},
					row{"has returned 5", after, n, 5, behind, false})
			} else {
				rows[1] = row{"before another call", at, -1, n + 1, again, false}
				for _, result := range []int64{restartSys, restartNoIntr, restartNoHand} {
					rows = append(rows, row{"asleep", 0x2000, n, -result, within, true})
				}
				for _, result := range []int64{0, -11, -110, -515, -517} {
					rows = append(rows, row{"has returned", after, n, result, outside, false})
				}
				rows = append(rows, row{"ended by a signal, not repeated", after, n, -eintr, within, !futex}, row{"to be made again", at, -1, n, again, true},
					row{"a saved context", at, 0, n, again, true}, row{"failed", after, -1, -eintr, failed, false}, row{"a saved context that failed", after, 0, -eintr, failed, false},
					row{"a minidump", after, 0, -restartSys, within, false}, row{"has failed otherwise", after, -1, -11, outside, false})
			}
			for _, r := range rows {
				if got, ok := find(r.pc, r.number, r.result); got != r.position || ok != r.known {
					t.Errorf("%s, call %d, %s: %d %v, want %d %v", a.Name, number, r.name, got, ok, r.position, r.known)
				}
			}
		}
	}
	if _, ok := conventionOf(arch.PPC64LE); ok {
		t.Error("the calls of POWER are not known")
	}
	if in := callingOf(arch.PPC64LE, &codeAt{}, new(arch.RegSet)); in.position != outside {
		t.Error("a thread sleeps in a call that is not known")
	}
}

// A codeAt is memory that has some code.
type codeAt struct {
	start uint64
	code  string
}

func (m *codeAt) ReadMem(addr arch.Address, buf []byte) (int, error) {
	if addr < m.start || addr-m.start >= uint64(len(m.code)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	return copy(buf, m.code[addr-m.start:]), nil
}

func (m *codeAt) ReadWord(addr arch.Address) (uint64, error) {
	return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
}
