package livecore

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/live/corewrite"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Notes of a thread besides NT_PRSTATUS, in the kernel's order (struct user_regset_view of each architecture),
// without CORE's NT_FPREGSET, which comes first on all of them.
var threadNotes = lazy.Value[map[*arch.Arch][]uint32]{Make: func() map[*arch.Arch][]uint32 {
	return map[*arch.Arch][]uint32{
		arch.AMD64: {corewrite.XState},
		arch.X32:   {corewrite.XState},
		arch.X86:   {0x46e62b7f, corewrite.XState, 0x200}, // NT_PRXFPREG, NT_386_TLS
		arch.ARM64: {0x401, 0x404, 0x405, 0x406},          // NT_ARM_TLS, _SYSTEM_CALL, _SVE, _PAC_MASK
		arch.ARM:   {0x400},                               // NT_ARM_VFP
	}
}}

// notes adds all notes: the default thread's registers, the process's notes, the default thread's other
// registers, then the other threads.
func (w *writer) notes(areas []area) error {
	ids, err := w.p.ThreadIDs()
	if err != nil {
		return err
	}
	first, err := w.p.DefaultThread()
	if err != nil {
		return err
	}
	if w.death != nil && slices.Contains(ids, w.death.Thread) {
		first = w.death.Thread
	}
	order := []unwind.ThreadID{first}
	for _, id := range ids {
		if id != first {
			order = append(order, id)
		}
	}
	proc := readStat(w.pid, w.pid)
	process := func() { w.process(proc, areas) }
	for _, id := range order {
		if w.thread(id, proc, process) {
			process = func() {}
		}
	}
	if len(w.out.Lost) == len(order) {
		return errNoThreads
	}
	return nil
}

// thread adds one thread's notes. It calls process after the first of them to add the notes of the process.
func (w *writer) thread(id unwind.ThreadID, proc stat, process func()) bool {
	regs, err := w.p.RegisterBlock(id)
	if err != nil {
		w.out.Lost = append(w.out.Lost, id)
		return false
	}
	w.stackPointer(id)
	fp, hasFP := w.p.ThreadNote(id, "CORE", corewrite.FPRegSet)
	st := readStat(w.pid, int(id))
	w.core.Note("CORE", corewrite.PRStatus, w.core.Status(corewrite.Status{
		TID: int(id), Signal: w.signal().Signo, SigPend: st.sigPend, SigHold: st.sigHold,
		PPID: proc.ppid, PGRP: proc.pgrp, SID: proc.sid, User: st.user, System: st.system,
		Regs: regs, HasFPRegs: hasFP,
	}))
	process()
	if hasFP {
		w.core.Note("CORE", corewrite.FPRegSet, fp)
	}
	for _, typ := range threadNotes.Get()[w.p.Arch()] {
		if b, ok := w.p.ThreadNote(id, "LINUX", typ); ok {
			w.core.Note("LINUX", typ, b)
		}
	}
	return true
}

// process adds the notes of the process.
func (w *writer) process(proc stat, areas []area) {
	w.core.PSInfo(corewrite.PSInfo{
		State: 'R', Nice: proc.nice, Flags: proc.flags, UID: proc.uid, GID: proc.gid,
		PID: w.pid, PPID: proc.ppid, PGRP: proc.pgrp, SID: proc.sid, Name: proc.comm, Args: w.arguments(),
	})
	w.sigInfo()
	var auxv []uint64
	for _, e := range w.p.Auxv() {
		auxv = append(auxv, uint64(e.Key), e.Value)
	}
	w.core.AuxVector(auxv...)
	w.core.Files(files(areas)...)
}

// arguments returns the command line, with a space after each argument.
func (w *writer) arguments() string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", w.pid))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(b), "\x00", " ")
}

// sigInfo adds what is known of the signal that is about to end the process.
func (w *writer) sigInfo() {
	s := w.signal()
	if s.Source == corestate.NoSignal {
		return
	}
	int32s := func(vs ...uint32) (b []byte) {
		for _, v := range vs {
			b = append(b, 0, 0, 0, 0)
			w.core.Order.PutUint32(b[len(b)-4:], v)
		}
		return b
	}
	b := int32s(uint32(s.Signo), 0, uint32(int32(s.Code)))
	if w.core.Machine == elffile.EM_MIPS {
		b = int32s(uint32(s.Signo), uint32(int32(s.Code)), 0)
	}
	if w.core.Class == 64 {
		b = append(b, 0, 0, 0, 0)
	}
	if s.HasAddr {
		b = w.core.Word(b, s.Addr)
	} else {
		b = append(b, int32s(uint32(s.PID), uint32(s.UID))...)
	}
	w.core.Note("CORE", corewrite.SigInfo, append(b, make([]byte, 128-len(b))...))
}

// A stat is what /proc says about a thread.
type stat struct {
	comm             string
	ppid, pgrp, sid  int
	nice             int
	flags            uint64
	uid, gid         int
	user, system     time.Duration
	sigPend, sigHold uint64
}

// tick is the unit of times in /proc (USER_HZ) on all machines except Alpha and IA-64.
const tick = time.Second / 100

func readStat(pid, tid int) (s stat) {
	dir := fmt.Sprintf("/proc/%d/task/%d/", pid, tid)
	if b, err := os.ReadFile(dir + "stat"); err == nil {
		s.parse(string(b))
	}
	b, _ := os.ReadFile(dir + "status")
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		f := strings.Fields(value)
		if len(f) == 0 {
			continue
		}
		switch key {
		case "Uid":
			s.uid, _ = strconv.Atoi(f[0])
		case "Gid":
			s.gid, _ = strconv.Atoi(f[0])
		case "SigPnd":
			s.sigPend, _ = strconv.ParseUint(f[0], 16, 64)
		case "SigBlk":
			s.sigHold, _ = strconv.ParseUint(f[0], 16, 64)
		}
	}
	return s
}

// parse reads a line of proc_pid_stat(5). The name, in parentheses, may contain anything.
func (s *stat) parse(line string) {
	i, j := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if i < 0 || j < i {
		return
	}
	s.comm = line[i+1 : j]
	f := strings.Fields(line[j+1:])
	number := func(n int) int { // numbered as in the manual, where the state is 3
		if n-3 >= len(f) {
			return 0
		}
		v, _ := strconv.Atoi(f[n-3])
		return v
	}
	s.ppid, s.pgrp, s.sid, s.flags = number(4), number(5), number(6), uint64(number(9))
	s.user, s.system, s.nice = time.Duration(number(14))*tick, time.Duration(number(15))*tick, number(19)
}

// programFile reads the ELF header of the program's file.
func programFile(pid int) (*elffile.File, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := f.ReadAt(head, 0)
	return elffile.Parse(head[:n])
}
