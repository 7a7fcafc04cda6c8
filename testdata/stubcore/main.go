// Command stubcore runs a program under a qemu-user that writes no cores, by its
// debugger's interface, and writes one when its last signal comes: the general and
// floating-point registers, the stack, the program's writable segments, and the
// pages that any of these point into. Like qemu's own cores, what it writes has
// no NT_FILE and no NT_SIGINFO.
//
//	stubcore -arch riscv64 -signals 1 -o core qemu-riscv64 ./program
package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// A machine says how the interface's registers make the kernel's blocks.
type machine struct {
	elf   uint16
	regs  []int // numbers at the interface, in the block's order; -1 for zero
	fregs []int
	sp    int // the stack pointer's number
	order binary.ByteOrder
	size  int    // of a register, in bytes; 8 unless set
	up    bool   // the stack grows up
	half  [2]int // which registers have half the size at the interface: first, and one past the last
}

// class is the ELF class: 32 or 64.
func (m *machine) class() int {
	if m.size == 4 {
		return 32
	}
	return 64
}

var machines = map[string]machine{
	"riscv64":     {elf: elffile.EM_RISCV, regs: append([]int{32}, run(1, 31)...), fregs: append(run(33, 64), -1), sp: 2, order: binary.LittleEndian},
	"loongarch64": {elf: elffile.EM_LOONGARCH, regs: append(run(0, 34), zeros(10)...), fregs: append(run(35, 66), -1, -1), sp: 3, order: binary.LittleEndian},
	// g, o, l, i, tstate, pc, npc, y.
	"sparc64": {elf: elffile.EM_SPARCV9, regs: append(run(0, 31), 82, 80, 81, 85), sp: 14, order: binary.BigEndian, half: [2]int{32, 64}},
	// r0 to r30, pc, the thread pointer.
	"alpha": {elf: elffile.EM_ALPHA, regs: append(run(0, 30), 64, 66), sp: 30, order: binary.LittleEndian},
	// gr, sr, iaoq, iasq, sar, iir, isr, ior, cr22 and cr0, cr24 to cr31, cr8 to cr13.
	"hppa": {elf: elffile.EM_PARISC, regs: concat(run(0, 31), zeros(8), []int{33, 35, 34, 36, 32, 38, 39, 40}, zeros(5), []int{60}, zeros(26)),
		sp: 30, order: binary.BigEndian, size: 4, up: true},
}

func concat(lists ...[]int) []int { return slices.Concat(lists...) }

func run(first, last int) (list []int) {
	for n := first; n <= last; n++ {
		list = append(list, n)
	}
	return list
}

func zeros(n int) (list []int) {
	for range n {
		list = append(list, -1)
	}
	return list
}

func main() {
	name := flag.String("arch", "", "architecture")
	out := flag.String("o", "core", "the core's file")
	signals := flag.Int("signals", 1, "which of the signals that the program gets is the last one")
	flag.Parse()
	m, ok := machines[*name]
	if !ok || flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: stubcore -arch ARCHITECTURE -o core QEMU PROGRAM")
		os.Exit(2)
	}
	if err := dump(m, *out, *signals, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "stubcore:", err)
		os.Exit(1)
	}
}

// dump runs the program until its last signal, and writes the core.
func dump(m machine, out string, signals int, qemu, program string) error {
	dir, err := os.MkdirTemp("", "stubcore")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "gdb")
	cmd := exec.Command(qemu, "-g", socket, program)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	var conn net.Conn
	for range 100 {
		if conn, err = net.Dial("unix", socket); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	s := newStub(conn)
	signal, err := s.runToSignal(signals)
	if err != nil {
		return err
	}
	core, err := build(m, s, signal, program, cmd.Process.Pid)
	if err != nil {
		return err
	}
	return os.WriteFile(out, core, 0o644)
}

// build asks for everything that the core holds.
func build(m machine, s *stub, signal int, program string, pid int) ([]byte, error) {
	c := corebuild.New()
	c.Machine, c.Order, c.Class = m.elf, m.order, m.class()
	if m.size != 0 {
		s.size = m.size
	}
	s.half = m.half
	regs, err := s.registers(m.regs)
	if err != nil {
		return nil, err
	}
	c.Thread(pid, signal, regs)
	if fregs, err := s.registers(m.fregs); err == nil && len(fregs) > 0 {
		c.Note("CORE", 2, fregs)
	}
	c.PSInfo(pid, filepath.Base(program), "./"+filepath.Base(program))
	if auxv, err := s.auxv(); err == nil {
		c.Note("CORE", 6, auxv)
	}
	sp, err := s.register(m.sp)
	if err != nil {
		return nil, err
	}
	pages := newPages(s, m.order)
	pages.segments(program)
	at := pages.word(sp) &^ (pageSize - 1)
	if m.up && !pages.downwards(at) || !m.up && !pages.upwards(at) {
		return nil, errors.New("the stack cannot be read")
	}
	pages.pointedAt(regs)
	pages.load(c)
	return c.Bytes(), nil
}
