package corestate

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// netBSDCore is a core of three threads, the second of which got SIGSEGV.
func netBSDCore() *corebuild.Core {
	b := corebuild.New()
	info := make([]byte, 160)
	for off, v := range map[int]uint32{0: 1, 4: 160, 8: 11, 12: 1, 80: 622, 84: 600, 88: 622, 92: 5, 96: 1000, 108: 100, 120: 3, 156: 2} {
		binary.LittleEndian.PutUint32(info[off:], v)
	}
	copy(info[124:156], "prog")
	b.Note("NetBSD-CORE", 1, info)
	b.Note("NetBSD-CORE", 2, b.Word(nil, 9, 0x401000, 0, 0))
	for lwp := range 3 {
		regs := make([]byte, 26*8)
		for i := range 26 {
			binary.LittleEndian.PutUint64(regs[8*i:], uint64(0x100*(lwp+1)+i))
		}
		owner := "NetBSD-CORE@" + string(rune('1'+lwp))
		b.Note(owner, 33, regs)
		b.Note(owner, 35, []byte{byte(lwp)})
		status := make([]byte, 64) // struct ptrace_lwpstatus
		copy(status[36:], "worker"+string(rune('1'+lwp)))
		binary.LittleEndian.PutUint64(status[56:], uint64(0x7000+lwp))
		b.Note(owner, 24, status)
	}
	return b
}

func TestNetBSD(t *testing.T) {
	c := open(t, netBSDCore())
	ids, _ := c.ThreadIDs()
	if !slices.Equal(ids, []unwind.ThreadID{2, 1, 3}) || c.OS() != "NetBSD" || c.ProcessID() != 622 || c.Name() != "prog" {
		t.Errorf("threads %v, os %s, pid %d, name %q", ids, c.OS(), c.ProcessID(), c.Name())
	}
	if p, ok := c.ProcessInfo(); !ok || p.PPID != 600 || p.UID != 1000 || p.GID != 100 || p.SID != 5 {
		t.Errorf("process %+v, %v", p, ok)
	}
	if s := c.Signal(); s.Signo != 11 || s.Code != 1 || s.Source != CurSig {
		t.Errorf("signal %+v", s)
	}
	regs, err := c.Registers(2)
	for r, want := range map[arch.Reg]uint64{
		arch.RDI: 0x200, arch.R10: 0x206, arch.R15: 0x20b, arch.RBP: 0x20c, arch.RBX: 0x20d, arch.RAX: 0x20e,
		arch.DS: 0x212, arch.RIP: 0x215, arch.CS: 0x216, arch.EFLAGS: 0x217, arch.RSP: 0x218, arch.SS: 0x219,
	} {
		if v, ok := regs.Get(r); !ok || v != want || err != nil {
			t.Errorf("%s = %#x, %v, %v; want %#x", arch.AMD64.RegName(r), v, ok, err, want)
		}
	}
	if th, ok := c.Thread(3); !ok || th.Name != "worker3" {
		t.Errorf("thread %+v, %v", th, ok)
	}
	if v, ok := regs.Get(arch.FSBase); !ok || v != 0x7001 {
		t.Errorf("thread pointer %#x, %v", v, ok)
	}
	if b, ok := c.FPRegs(3); !ok || len(b) != 1 || b[0] != 2 {
		t.Errorf("floating point of 3: %v, %v", b, ok)
	}
	if v, ok := c.Auxv().Get(9); !ok || v != 0x401000 {
		t.Errorf("entry %#x, %v", v, ok)
	}
}

func TestNetBSDShortRegisters(t *testing.T) {
	b := corebuild.New()
	b.Note("NetBSD-CORE@5", 33, make([]byte, 80))
	b.Note("NetBSD-CORE@junk", 33, make([]byte, 80))
	c := open(t, b)
	if _, err := c.Registers(5); err == nil {
		t.Error("registers without a program counter")
	}
	if ids, _ := c.ThreadIDs(); len(ids) != 1 {
		t.Errorf("threads %v", ids)
	}
}
