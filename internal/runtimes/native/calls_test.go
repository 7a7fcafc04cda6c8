package native

import (
	"fmt"
	"os"
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

// TestSleeping: futex calls of each architecture, by the registers of a thread that sleeps and of one that a signal interrupted.
func TestSleeping(t *testing.T) {
	code := map[*arch.Arch][]byte{arch.AMD64: {0x0f, 0x05}, arch.X86: {0xcd, 0x80}, arch.ARM64: {1, 0, 0, 0xd4}}
	for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.ARM64} {
		c, ok := conventionOf(a)
		if !ok {
			t.Fatal(a.Name)
		}
		call := func(result int64) *arch.RegSet {
			regs := new(arch.RegSet)
			regs.Set(c.result, a.Truncate(uint64(result)))
			for r, v := range map[arch.Reg]uint64{c.number: c.futex[0], c.op: 0x189, c.val: 7, c.timeout: 0} {
				regs.Set(r, v)
			}
			if !c.sameRegister {
				regs.Set(c.addr, 0x5000)
			}
			return regs
		}
		want := futexCall{addr: 0x5000, op: futexWaitBitset, expected: 7}
		if c.sameRegister { // the registers are set up to repeat the call
			if got, ok := sleeping(a, call(0x5000)); !ok || got != want {
				t.Errorf("%s: %+v %v", a.Name, got, ok)
			}
			if got, ok := sleeping(a, call(-restartSys)); ok {
				t.Errorf("%s: the address is lost, yet %+v", a.Name, got)
			}
		} else {
			for _, result := range []int64{restartSys, restartNoIntr, restartNoHand, restartBlock} {
				if got, ok := sleeping(a, call(-result)); !ok || got != want {
					t.Errorf("%s, result -%d: %+v %v", a.Name, result, got, ok)
				}
			}
			for _, result := range []int64{0, -4, -11, -110, -515, -517} {
				if got, ok := sleeping(a, call(result)); ok {
					t.Errorf("%s: it has returned %d, yet %+v", a.Name, result, got)
				}
			}
		}
		// A signal: the pc is at the call, with its number back, or after it, with EINTR.
		mem := &codeAt{0x1000, code[a]}
		n := uint64(len(code[a]))
		again, failed := call(0x5000), call(-4)
		if !c.sameRegister {
			again = call(int64(c.futex[0]))
		}
		again.Set(a.PC, 0x1000)
		failed.Set(a.PC, 0x1000+n)
		if got, ok := interrupted(a, mem, again); !ok || got != want {
			t.Errorf("%s, to be repeated: %+v %v", a.Name, got, ok)
		}
		if got, ok := interrupted(a, mem, failed); ok != !c.sameRegister || ok && got != want {
			t.Errorf("%s, failed: %+v %v", a.Name, got, ok)
		}
		over := call(0)
		over.Set(a.PC, 0x1000+n)
		elsewhere := call(int64(c.futex[0]))
		elsewhere.Set(a.PC, 0x2000)
		for name, regs := range map[string]*arch.RegSet{"returned": over, "elsewhere": elsewhere} {
			if got, ok := interrupted(a, mem, regs); ok {
				t.Errorf("%s, %s: %+v", a.Name, name, got)
			}
		}
	}
	if _, ok := conventionOf(arch.RISCV64); ok {
		t.Error("the calls of RISC-V are not known")
	}
	if _, ok := sleeping(arch.RISCV64, new(arch.RegSet)); ok {
		t.Error("a thread sleeps in a call that is not known")
	}
}

// A codeAt is memory that has some code.
type codeAt struct {
	start uint64
	code  []byte
}

func (m *codeAt) ReadMem(addr arch.Address, buf []byte) (int, error) {
	if addr != m.start {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	return copy(buf, m.code), nil
}

func (m *codeAt) ReadWord(addr arch.Address) (uint64, error) {
	return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
}
