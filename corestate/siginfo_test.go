package corestate

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

func TestSigInfo(t *testing.T) {
	b := corebuild.New()
	ints := b.Ints
	for _, tt := range []struct {
		name        string
		signo, code int
		union       []byte
		want        SignalInfo
	}{
		{"SEGV_MAPERR", 11, 1, b.Word(nil, 0xabc), SignalInfo{HasAddr: true, Addr: 0xabc}},
		{"SEGV_ACCERR", 11, 2, b.Word(nil, 0xabc), SignalInfo{HasAddr: true, Addr: 0xabc}},
		{"SEGV_BNDERR", 11, 3, b.Word(nil, 0xabc, 0, 0x1000, 0x2000),
			SignalInfo{HasAddr: true, Addr: 0xabc, HasBounds: true, Lower: 0x1000, Upper: 0x2000}},
		{"SEGV_PKUERR", 11, 4, append(b.Word(nil, 0xabc, 0), ints(5)...), SignalInfo{HasAddr: true, Addr: 0xabc, HasPKey: true, PKey: 5}},
		{"non-canonical address: SI_KERNEL tells none", 11, 0x80, b.Word(nil, 0), SignalInfo{}},
		{"SIGSEGV sent by kill", 11, 0, ints(77, 1000), SignalInfo{HasSender: true, PID: 77, UID: 1000}},
		{"BUS_ADRERR", 7, 2, b.Word(nil, 0x7000), SignalInfo{HasAddr: true, Addr: 0x7000}},
		{"BUS_MCEERR_AR", 7, 4, append(b.Word(nil, 0x7000), 12, 0), SignalInfo{HasAddr: true, Addr: 0x7000, AddrLSB: 12}},
		{"ILL_ILLOPN", 4, 2, b.Word(nil, 0x401000), SignalInfo{HasAddr: true, Addr: 0x401000}},
		{"FPE_INTDIV", 8, 1, b.Word(nil, 0x401000), SignalInfo{HasAddr: true, Addr: 0x401000}},
		{"TRAP_BRKPT", 5, 1, b.Word(nil, 0x401000), SignalInfo{HasAddr: true, Addr: 0x401000}},
		{"int3", 5, 0x80, b.Word(nil, 0), SignalInfo{}},
		{"abort: tgkill", 6, -6, ints(77, 1000, 9, 9), SignalInfo{HasSender: true, PID: 77, UID: 1000}},
		{"sigqueue", 10, -1, append(ints(77, 1000), b.Word(nil, 42)...), SignalInfo{HasSender: true, PID: 77, UID: 1000, HasValue: true, Value: 42}},
		{"timer", 14, -2, append(ints(3, 1), b.Word(nil, 42)...), SignalInfo{HasValue: true, Value: 42}},
		{"SYS_SECCOMP", 31, 1, append(b.Word(nil, 0x7f00), ints(59, 0xc000003e)...),
			SignalInfo{HasSyscall: true, CallAddr: 0x7f00, Syscall: 59, AuditArch: 0xc000003e}},
		{"child", 17, 1, ints(77, 1000), SignalInfo{HasSender: true, PID: 77, UID: 1000}},
	} {
		core := corebuild.New()
		core.Thread(1, tt.signo, make([]byte, 27*8))
		core.SignalInfo(tt.signo, tt.code, tt.union)
		tt.want.Source, tt.want.Signo, tt.want.Code = FullSigInfo, tt.signo, tt.code
		if got := open(t, core).Signal(); got != tt.want {
			t.Errorf("%s:\n%+v, want\n%+v", tt.name, got, tt.want)
		}
	}
}

func TestSigInfoOf32BitsAndOfMIPS(t *testing.T) {
	b := corebuild.New32(elffile.EM_386, binary.LittleEndian)
	b.Thread(1, 11, make([]byte, 68))
	b.SignalInfo(11, 3, b.Word(nil, 0x1234, 0, 0x1000, 0x2000))
	if s := open(t, b).Signal(); s.Addr != 0x1234 || s.Lower != 0x1000 || s.Upper != 0x2000 {
		t.Errorf("i386: %+v", s)
	}
	b = corebuild.New32(elffile.EM_MIPS, binary.BigEndian)
	b.Thread(1, 10, make([]byte, 180))
	desc := b.Ints(10, 2, 0, 0x1234) // signal, code, error: MIPS swaps the last two
	b.Note("CORE", corebuild.SigInfo, append(desc, make([]byte, 112)...))
	if s := open(t, b).Signal(); s.Signo != 10 || s.Code != 2 || s.Errno != 0 || !s.HasAddr || s.Addr != 0x1234 {
		t.Errorf("SIGBUS of MIPS: %+v", s)
	}
}

func TestSigInfoCutShort(t *testing.T) {
	for n := range 17 {
		b := corebuild.New()
		b.Thread(1, 11, make([]byte, 27*8))
		desc := append(b.Ints(11, 0, 1, 0), b.Word(nil, 0xabc)...)
		b.Note("CORE", corebuild.SigInfo, desc[:n])
		s := open(t, b).Signal()
		if s.Signo != 11 || s.HasAddr {
			t.Errorf("%d bytes: %+v", n, s)
		}
	}
}
