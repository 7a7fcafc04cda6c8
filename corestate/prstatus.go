package corestate

import (
	"time"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Thread is what a core has of one thread besides its registers.
type Thread struct {
	ID              unwind.ThreadID
	Name            string // "" if the system does not record it, like Linux
	Signal          int    // pr_cursig: the signal it was handling or stopped by; 0 for none
	PPID, PGRP, SID int
	SigPend         uint64        // pending signals: bit n-1 for signal n, the first word
	SigHold         uint64        // blocked signals
	UserTime        time.Duration // used so far
	SystemTime      time.Duration
}

// A thread is what is kept of a thread after the notes are read.
type thread struct {
	id      unwind.ThreadID
	pos     notePos // of its first note
	status  []byte  // NT_PRSTATUS, or the registers' note of NetBSD and OpenBSD
	cursig  int
	name    string       // of NetBSD and FreeBSD
	private arch.Address // the thread pointer, of NetBSD; 0 when not known
}

// prLayout has the offsets of the fields of struct elf_prstatus (kernel,
// include/linux/elfcore.h). They depend on the word size, and m68k aligns to two bytes.
type prLayout struct {
	word, sigpend, pid, times, regs int // bytes
}

func (c *ELFCore) prLayout() prLayout {
	switch {
	case c.elf.Class == 64:
		return prLayout{word: 8, sigpend: 16, pid: 32, times: 48, regs: 112}
	case c.elf.Machine == elffile.EM_68K:
		return prLayout{word: 4, sigpend: 14, pid: 22, times: 38, regs: 70}
	}
	return prLayout{word: 4, sigpend: 16, pid: 24, times: 40, regs: 72}
}

// curSigOffset is where pr_cursig is, after the three ints of pr_info.
const curSigOffset = 12

// addPRStatus adds the thread of an NT_PRSTATUS.
func (c *ELFCore) addPRStatus(pos notePos, desc []byte) {
	lay := c.prLayout()
	cur := binbuf.New(desc, curSigOffset, c.big)
	sig := int(int16(cur.U16()))
	cur.Seek(lay.pid)
	pid := int32(cur.U32())
	if cur.Error != nil {
		c.warnf("NT_PRSTATUS has %d bytes, want %d: a thread is lost", len(desc), lay.regs)
		return
	}
	c.addThread(thread{id: unwind.ThreadID(pid), pos: pos, status: desc, cursig: sig})
}

func (c *ELFCore) addThread(t thread) {
	if _, dup := c.byID[t.id]; dup {
		c.warnf("thread %d is in the core twice: the first is used", t.id)
		return
	}
	c.addID(t.id)
	c.threads = append(c.threads, t)
}

func (c *ELFCore) thread(tid unwind.ThreadID) (*thread, bool) {
	i, ok := c.index(tid)
	if !ok {
		return nil, false
	}
	return &c.threads[i], true
}

// Thread returns what the core has of a thread; on systems other than Linux, only its name
// and signal.
func (c *ELFCore) Thread(tid unwind.ThreadID) (Thread, bool) {
	t, ok := c.thread(tid)
	if !ok {
		return Thread{}, false
	}
	info := Thread{ID: t.id, Name: t.name, Signal: t.cursig}
	if c.os != osLinux {
		return info, true
	}
	lay := c.prLayout()
	cur := binbuf.New(t.status, lay.sigpend, c.big)
	info.SigPend, info.SigHold = cur.Uint(lay.word), cur.Uint(lay.word)
	cur.Seek(lay.pid + 4)
	info.PPID, info.PGRP, info.SID = int(int32(cur.U32())), int(int32(cur.U32())), int(int32(cur.U32()))
	cur.Seek(lay.times)
	info.UserTime, info.SystemTime = timeval(&cur, lay.word), timeval(&cur, lay.word)
	return info, true
}

// timeval reads a struct timeval: seconds and microseconds.
func timeval(cur *binbuf.Cursor, word int) time.Duration {
	sec, usec := cur.Int(word), cur.Int(word)
	return time.Duration(sec)*time.Second + time.Duration(usec)*time.Microsecond
}

// registerBlock is the general registers of a thread as the kernel lays them out.
func (c *ELFCore) registerBlock(t *thread) []byte {
	off := 0
	switch c.os {
	case osNetBSD, osOpenBSD:
	case osFreeBSD:
		off = c.freeBSDLayout().regs
	default:
		off = c.prLayout().regs
	}
	return t.status[min(off, len(t.status)):]
}

// chooseCrashed finds the thread that died. The kernel writes it first, and writes the
// signal into every thread; gdb, lldb and qemu write the signal into one thread only. Some
// releases of gdb write the signal, or none, into all of them, in an order of their own:
// then the thread has it whose NT_SIGINFO does.
func (c *ELFCore) chooseCrashed() {
	stop := signalNumbers(c.elf.Machine).stop // with these, debuggers stop a live process
	same := true
	stopped, killed := -1, -1
	for i := range c.threads {
		sig := c.threads[i].cursig
		same = same && sig == c.threads[0].cursig
		if sig != 0 && stopped < 0 {
			stopped = i
		}
		if sig != 0 && sig != stop && killed < 0 {
			killed = i
		}
	}
	switch {
	case c.os == osNetBSD && c.siglwp != 0:
		if i, ok := c.byID[c.siglwp]; ok {
			c.crashed = i
		}
	case same:
		c.crashed = c.signalled()
	case killed >= 0:
		c.crashed = killed
	case stopped >= 0:
		c.crashed = stopped
	}
}

// signalled returns the first thread with an NT_SIGINFO of the signal that all threads have, or of any if they have
// none; the first thread if there is no such one.
func (c *ELFCore) signalled() int {
	for i := range c.threads {
		t := &c.threads[i]
		desc, ok := c.noteOf(t, "CORE", ntSigInfo)
		if !ok || len(desc) < 12 {
			continue
		}
		s := c.sigInfo(desc)
		if s.Signo != 0 && s.Signo != signalNumbers(c.elf.Machine).stop && (t.cursig == 0 || s.Signo == t.cursig) {
			return i
		}
	}
	return 0
}
