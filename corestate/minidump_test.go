package corestate

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	onX86, onAMD64, onARM64      = 0, 9, 12
	windowsNT, linuxOS, macOSNum = 2, 0x8201, 0x8101
)

func openMade(t *testing.T, d *dumpbuild.Dump) *Minidump {
	t.Helper()
	m, err := OpenMinidumpBytes("test.dmp", d.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// crashDump is a small dump of Windows: thread 20 died, thread 10 wrote it.
func crashDump() *dumpbuild.Dump {
	d := dumpbuild.New(false)
	d.Time = 1700000000
	d.System(onAMD64, windowsNT, 10, 0, 19045, "")
	d.Misc(1, 4321, 0)
	d.Threads(false,
		dumpbuild.Thread{ID: 10, Context: d.Blob(d.AMD64(0x10001f, 0x7ffe00001000, 0x9000, 0))},
		dumpbuild.Thread{ID: 20, TEB: 0x30000, Context: d.Blob(d.AMD64(0x10001f, 0x7ffe00002000, 0x8800, 0))},
		dumpbuild.Thread{ID: 30},
	)
	d.ThreadNames([]uint32{20}, []string{"worker"})
	d.Modules(dumpbuild.Module{Base: 0x140000000, Size: 0x3000, Stamp: 0x5f000000, Name: `C:\prog\a.exe`, CodeView: d.PDB70(1, 2, 3, [8]byte{4}, 1, `C:\b\a.pdb`)},
		dumpbuild.Module{Base: 0x7ffe00000000, Size: 0x10000, Name: `C:\Windows\System32\ntdll.dll`})
	d.Exception(dumpbuild.Exception{Thread: 20, Code: 0xc0000005, Address: 0x140001234, Params: []uint64{1, 0x20}, Context: d.Blob(d.AMD64(0x10001f, 0x140001234, 0x8000, 0x8100))})
	d.MemoryList(
		dumpbuild.Memory{Start: 0x8000, Data: d.W().U64(0x1111, 0x2222).B},
		dumpbuild.Memory{Start: 0x8010, Data: d.W().U64(0x3333).B[:4]},
		dumpbuild.Memory{Start: 0x8014, Data: make([]byte, 0x100)},
		dumpbuild.Memory{Start: 0x30000, Data: d.W().U64(0, 0x9000, 0x7000).Pad(0x68).U32(5).B},
		dumpbuild.Memory{Start: 0x140001200, Data: make([]byte, 0x80)},
	)
	return d
}

func TestMinidumpProcess(t *testing.T) {
	m := openMade(t, crashDump())
	ids, err := m.ThreadIDs()
	if want := []unwind.ThreadID{20, 10, 30}; !slices.Equal(ids, want) || err != nil {
		t.Errorf("threads %v %v, want %v", ids, err, want)
	}
	if id, _ := m.DefaultThread(); id != 20 || m.Arch() != arch.AMD64 || m.OS() != "Windows" || m.ProcessID() != 4321 || m.ExecutablePath() != `C:\prog\a.exe` || m.Name() != "a.exe" {
		t.Errorf("%d %v %s %d %s %s", id, m.Arch(), m.OS(), m.ProcessID(), m.ExecutablePath(), m.Name())
	}
	if !m.Time().Equal(time.Unix(1700000000, 0)) {
		t.Error(m.Time())
	}
	for id, want := range map[unwind.ThreadID]uint64{20: 0x140001234, 10: 0x7ffe00001000, unwind.NullThread: 0x140001234} {
		regs, err := m.Registers(id)
		if pc, _ := regs.Get(arch.RIP); pc != want || err != nil {
			t.Errorf("thread %d: pc %#x %v, want %#x", id, pc, err, want)
		}
	}
	regs, _ := m.Registers(20)
	if gs, _ := regs.Get(arch.GSBase); gs != 0x30000 {
		t.Errorf("gs_base %#x", gs)
	}
	if _, err := m.Registers(30); err == nil || !strings.Contains(err.Error(), "no registers in the dump") {
		t.Errorf("thread without context: %v", err)
	}
	if _, err := m.Registers(99); !errors.Is(err, unwind.ErrNoThread) {
		t.Error(err)
	}
	th, ok := m.Thread(20)
	if !ok || th.Name != "worker" || th.StackHigh != 0x9000 || th.StackLow != 0x7000 || !th.HasLastError || th.LastError != 5 || m.ThreadName(20) != "worker" {
		t.Errorf("%+v", th)
	}
	if low, high, ok := m.StackBounds(20); !ok || low != 0x7000 || high != 0x9000 {
		t.Errorf("stack from %#x to %#x, %t", low, high, ok)
	}
	if _, _, ok := m.StackBounds(21); ok {
		t.Error("bounds of a stack of no thread")
	}
	e, ok := m.Exception()
	if !ok || e.Code != 0xc0000005 || e.Address != 0x140001234 || !slices.Equal(e.Params, []uint64{1, 0x20}) || e.Thread != 20 {
		t.Errorf("%+v", e)
	}
	if s := m.Signal(); s.Source != NoSignal {
		t.Errorf("a signal on Windows: %+v", s)
	}
	if w := m.Warnings(); len(w) != 1 || !strings.Contains(w[0], "thread 30: no registers") {
		t.Errorf("%q", w)
	}
}

func TestMinidumpMemory(t *testing.T) {
	m := openMade(t, crashDump())
	for addr, want := range map[uint64]uint64{0x8000: 0x1111, 0x8008: 0x2222, 0x8010: 0x3333, 0x800c: 0x333300000000} {
		if v, err := m.ReadWord(addr); v != want || err != nil {
			t.Errorf("word at %#x: %#x %v, want %#x", addr, v, err, want)
		}
	}
	for addr, want := range map[uint64]error{0x8114: arch.ErrNotInDump, 0x140000000: arch.ErrNotInDump, 0x10: arch.ErrUnmapped, 0xffffffffffffffff: arch.ErrNotInDump} {
		_, err := m.ReadWord(addr)
		var me *arch.MemError
		if !errors.Is(err, want) || !errors.As(err, &me) || me.Addr != addr {
			t.Errorf("at %#x: %v, want %v", addr, err, want)
		}
	}
	buf := make([]byte, 32)
	if n, err := m.ReadMem(0x8110, buf); n != 4 || !errors.Is(err, arch.ErrNotInDump) {
		t.Errorf("%d bytes at the end, %v", n, err)
	}
	if n := m.InDump(0, 0x9000); n != 0x114 {
		t.Errorf("%#x bytes in the dump", n)
	}
	if testing.AllocsPerRun(100, func() { m.ReadWord(0x8000) }) != 0 {
		t.Error("reading a word allocates")
	}
}

func TestMinidumpLibraries(t *testing.T) {
	m := openMade(t, crashDump())
	if m.LibraryTracker() != nil {
		t.Error("libraries before they were built")
	}
	table, warnings := m.BuildLibraries(nil)
	l, ok := table.LibraryAt(0x140001234)
	if !ok || l.Kind != libstate.Executable || l.LoadBias != 0x140000000 || l.Module.DebugID != "00000001000200030400000000000000"+"1" ||
		l.Module.CodeID != "5F0000003000" || l.Module.Format != libstate.FormatPE || l.Module.DebugFile != `C:\b\a.pdb` || len(warnings) != 0 {
		t.Errorf("%+v %+v %q", l, l.Module, warnings)
	}
	if m.LibraryTracker() == nil {
		t.Error("no libraries after they were built")
	}
	maps := m.Mappings()
	for i := range maps {
		if maps[i].Start >= maps[i].End || i > 0 && maps[i].Start < maps[i-1].End {
			t.Errorf("mappings out of order at %d: %+v", i, maps)
		}
	}
	if mp, ok := m.MappingAt(0x8000); !ok || mp.Perm&libstate.Write == 0 || mp.Perm&libstate.Exec != 0 || mp.Perm&libstate.Unknown == 0 {
		t.Errorf("stack: %+v", mp)
	}
	if mp, ok := m.MappingAt(0x140002fff); !ok || mp.Path != `C:\prog\a.exe` {
		t.Errorf("module: %+v", mp)
	}
	if _, ok := m.MappingAt(0x140003000); ok {
		t.Error("a mapping behind the module")
	}
}

// With a list of regions it is known what was mapped, and how.
func TestMinidumpRegions(t *testing.T) {
	d := crashDump()
	d.MemoryInfo(48,
		dumpbuild.Region{Base: 0x7000, Size: 0x1000, State: 0x1000, Protect: 0x104, Type: 0x20000}, // guard page
		dumpbuild.Region{Base: 0x8000, Size: 0x1000, State: 0x1000, Protect: 4, Type: 0x20000},
		dumpbuild.Region{Base: 0x10000, Size: 0x10000, State: 0x10000, Protect: 1},
		dumpbuild.Region{Base: 0x140001000, Size: 0x1000, State: 0x1000, Protect: 0x20, Type: 0x1000000},
	)
	m := openMade(t, d)
	for addr, want := range map[uint64]string{0x7000: "---", 0x8000: "rw-", 0x140001000: "r-x"} {
		if mp, ok := m.MappingAt(addr); !ok || mp.Perm.String() != want {
			t.Errorf("%#x: %+v %v, want %s", addr, mp, ok, want)
		}
	}
	if mp, _ := m.MappingAt(0x140001800); mp.Path != `C:\prog\a.exe` || mp.Offset != 0x1000 {
		t.Errorf("%+v", mp)
	}
	if _, err := m.ReadWord(0x18000); !errors.Is(err, arch.ErrUnmapped) {
		t.Errorf("free memory: %v", err)
	}
	if _, err := m.ReadWord(0x8f00); !errors.Is(err, arch.ErrNotInDump) {
		t.Errorf("left out: %v", err)
	}
}

func TestMinidumpOfLinux(t *testing.T) {
	d := dumpbuild.New(false)
	d.System(onAMD64, linuxOS, 5, 4, 0, "")
	d.Threads(false, dumpbuild.Thread{ID: 7, TEB: 0x7f0000900740, Context: d.Blob(d.AMD64(0x10000b, 1, 2, 3))})
	d.Exception(dumpbuild.Exception{Thread: 7, Code: 11, Flags: 1, Address: 0x45, Context: d.Blob(d.AMD64(0x10000b, 0x401d72, 0x7ffe00000000, 0))})
	d.Modules(dumpbuild.Module{Base: 0x400000, Size: 0x2000, Name: "/bin/a", CodeView: d.BuildID([]byte{1, 2, 3})},
		dumpbuild.Module{Base: 0x7f0000000000, Size: 0x2000, Name: "/lib/libc-2.31.so", CodeView: d.BuildID([]byte{4, 5, 6})})
	d.Stream(0x47670004, []byte("Name:\ta\nPid:\t77\n"))
	d.Stream(0x47670006, []byte("./a\x00-x\x00"))
	d.Stream(0x47670008, d.W().U64(3, 0x400040, 9, 0x401000, 0, 0).B)
	d.Stream(0x47670009, []byte("00400000-00401000 r-xp 00000000 08:01 1 /bin/a\n00401000-00402000 rw-p 00001000 08:01 1 /bin/a\n"+
		"7f0000000000-7f0000002000 r-xp 00000000 08:01 2 /lib/libc-2.31.so\n7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0 [stack]\n"))
	m := openMade(t, d)
	if s := m.Signal(); s.Source != FullSigInfo || s.Signo != 11 || s.Code != 1 || !s.HasAddr || s.Addr != 0x45 {
		t.Errorf("%+v", s)
	}
	regs, _ := m.Registers(7)
	if fs, _ := regs.Get(arch.FSBase); fs != 0x7f0000900740 {
		t.Errorf("fs_base %#x", fs)
	}
	table, _ := m.BuildLibraries(nil)
	if l, ok := table.AOut(); !ok || l.Path != "/bin/a" || string(l.BuildID) != "\x01\x02\x03" || len(l.Mappings) != 2 || l.Module.Format != libstate.FormatELF {
		t.Errorf("program: %+v", l)
	}
	if l, ok := table.Libc(); !ok || string(l.BuildID) != "\x04\x05\x06" {
		t.Errorf("libc: %+v", l)
	}
	if mp, ok := m.MappingAt(0x7ffe00000800); !ok || mp.Perm.String() != "rw-" || mp.Path != "" {
		t.Errorf("stack: %+v", mp)
	}
	if _, err := m.ReadWord(0x500000); !errors.Is(err, arch.ErrUnmapped) {
		t.Error(err)
	}
	if m.ProcessID() != 77 || !slices.Equal(m.CommandLine(), []string{"./a", "-x"}) || m.ExecutablePath() != "/bin/a" {
		t.Errorf("%d %q %s", m.ProcessID(), m.CommandLine(), m.ExecutablePath())
	}
}

func TestMinidumpSignals(t *testing.T) {
	for _, tt := range []struct {
		code, flags uint32
		addr        uint64
		want        SignalInfo
	}{
		{11, 1, 0x45, SignalInfo{Source: FullSigInfo, Signo: 11, Code: 1, HasAddr: true, Addr: 0x45}},
		{11, 0, 0x45, SignalInfo{Source: CurSig, Signo: 11, HasAddr: true, Addr: 0x45}}, // the code was left out
		{6, 0xfffffffa, 0x4d14400005be6, SignalInfo{Source: FullSigInfo, Signo: 6, Code: -6, HasSender: true, PID: 0x5be6, UID: 0x4d144}},
		{11, 0xffffffff, 5, SignalInfo{Source: FullSigInfo, Signo: 11, Code: -1, HasSender: true, PID: 5}},
		{0xffffffff, 0, 0, SignalInfo{}}, // asked for
		{0, 0, 0, SignalInfo{}},
	} {
		d := dumpbuild.New(false)
		d.System(onAMD64, linuxOS, 5, 4, 0, "")
		d.Threads(false, dumpbuild.Thread{ID: 7, Context: d.Blob(d.AMD64(0x10000b, 1, 2, 3))})
		d.Exception(dumpbuild.Exception{Thread: 7, Code: tt.code, Flags: tt.flags, Address: tt.addr})
		if got := openMade(t, d).Signal(); got != tt.want {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

// A debugger stores where the thread was in place of an address, or says why it stopped.
func TestMinidumpSignalsOfLLDB(t *testing.T) {
	const (
		pc      = 0x400010
		flagged = 0x4c4c4442
	)
	for _, tt := range []struct {
		name        string
		code, flags uint32
		addr        uint64
		said        string
		want        SignalInfo
	}{
		{"an access by code that runs", 11, 0, pc, "", SignalInfo{Source: CurSig, Signo: 11}},
		{"of a page of a file", 7, 0, pc, "", SignalInfo{Source: CurSig, Signo: 7}},
		{"an access elsewhere", 11, 0, 0x400018, "", SignalInfo{Source: CurSig, Signo: 11, HasAddr: true, Addr: 0x400018}},
		{"with a code", 11, 2, pc, "", SignalInfo{Source: FullSigInfo, Signo: 11, Code: 2, HasAddr: true, Addr: pc}},
		{"an instruction", 4, 0, pc, "", SignalInfo{Source: CurSig, Signo: 4, HasAddr: true, Addr: pc}},
		{"sent", 6, 0, pc, "", SignalInfo{Source: CurSig, Signo: 6}},
		{"sent by a process", 6, 0, 0x4d14400005be6, "", SignalInfo{Source: CurSig, Signo: 6, HasSender: true, PID: 0x5be6, UID: 0x4d144}},
		{"said", 11, flagged, pc, "signal SIGSEGV: address not mapped to object (fault address: 0x18)", SignalInfo{Source: CurSig, Signo: 11, HasAddr: true, Addr: 0x18}},
		{"said otherwise", 11, flagged, pc, "signal SIGSEGV: invalid permissions for mapped object (fault address=0xffffffffff600010)", SignalInfo{Source: CurSig, Signo: 11, HasAddr: true, Addr: 0xffffffffff600010}},
		{"not said", 11, flagged, 0x18, "signal SIGSEGV", SignalInfo{Source: CurSig, Signo: 11}},
		{"no number", 11, flagged, pc, "fault address: 0x18181818181818181", SignalInfo{Source: CurSig, Signo: 11}},
		{"sent, said", 6, flagged, pc + 1, "signal SIGABRT", SignalInfo{Source: CurSig, Signo: 6}},
	} {
		d := dumpbuild.New(false)
		d.System(onAMD64, linuxOS, 5, 4, 0, "")
		d.Threads(false, dumpbuild.Thread{ID: 7, Context: d.Blob(d.AMD64(0x10000b, pc, 2, 3))})
		d.Stream(0x47670009, []byte("00400000-00401000 r-xp 00000000 08:01 1 /bin/a\n"))
		text := make([]byte, 120)
		copy(text, tt.said)
		e := dumpbuild.Exception{Thread: 7, Code: tt.code, Flags: tt.flags, Address: tt.addr}
		for i := 0; i < len(text) && tt.said != ""; i += 8 {
			e.Params = append(e.Params, binary.LittleEndian.Uint64(text[i:]))
		}
		d.Exception(e)
		if got := openMade(t, d).Signal(); got != tt.want {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	// Where nothing may run, a jump failed there.
	d := dumpbuild.New(false)
	d.System(onAMD64, linuxOS, 5, 4, 0, "")
	d.Threads(false, dumpbuild.Thread{ID: 7, Context: d.Blob(d.AMD64(0x10000b, pc, 2, 3))})
	d.Stream(0x47670009, []byte("00400000-00401000 rw-p 00000000 08:01 1 /bin/a\n"))
	d.Exception(dumpbuild.Exception{Thread: 7, Code: 11, Address: pc})
	if got := openMade(t, d).Signal(); !got.HasAddr || got.Addr != pc {
		t.Errorf("a jump to data: %+v", got)
	}
}

// Crashpad writes si_code of every signal, so that 0 is SI_USER: no address, but a sender.
func TestMinidumpSignalsOfCrashpad(t *testing.T) {
	for _, tt := range []struct {
		code, flags uint32
		addr        uint64
		params      []uint64
		want        SignalInfo
	}{
		{11, 1, 0x45, nil, SignalInfo{Source: FullSigInfo, Signo: 11, Code: 1, HasAddr: true, Addr: 0x45}},
		{11, 0, 0x3e8_00003bb8, nil, SignalInfo{Source: FullSigInfo, Signo: 11, HasSender: true, PID: 0x3bb8, UID: 1000}},
		{6, 0, 0, []uint64{0x3bb8, 1000, 0}, SignalInfo{Source: FullSigInfo, Signo: 6, HasSender: true, PID: 0x3bb8, UID: 1000}},
		{6, 0xfffffffa, 0, []uint64{0x3bb8, 1000, 0}, SignalInfo{Source: FullSigInfo, Signo: 6, Code: -6, HasSender: true, PID: 0x3bb8, UID: 1000}},
		{6, 0xfffffffa, 0, nil, SignalInfo{Source: FullSigInfo, Signo: 6, Code: -6}},
	} {
		d := dumpbuild.New(false)
		d.System(onAMD64, linuxOS, 5, 4, 0, "")
		d.Threads(false, dumpbuild.Thread{ID: 7, Context: d.Blob(d.AMD64(0x10000b, 1, 2, 3))})
		d.Exception(dumpbuild.Exception{Thread: 7, Code: tt.code, Flags: tt.flags, Address: tt.addr, Params: tt.params})
		d.Stream(0x43500001, d.W().U32(1).Zeros(32).Zeros(16).U32(0).U64(0).B)
		if got := openMade(t, d).Signal(); got != tt.want {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

func TestMinidumpCodeMask(t *testing.T) {
	d := dumpbuild.New(false)
	d.System(onARM64, macOSNum, 12, 0, 0, "")
	d.Threads(false, dumpbuild.Thread{ID: 7, Context: d.Blob(d.Context(912).Put(0, 4, 0x400003).Put(0x108, 8, 0x7f80_0001_0000_4000).B)})
	d.Stream(0x43500001, d.W().U32(1).Zeros(32).Zeros(16).U32(0).U64(0xffff800000000000).B)
	m := openMade(t, d)
	regs, err := m.Registers(7)
	if pc, _ := regs.Get(arch.ARM64PC); pc != 0x100004000 || err != nil || m.CodeMask() != 0xffff800000000000 {
		t.Errorf("pc %#x %v, mask %#x", pc, err, m.CodeMask())
	}
}

func TestMinidumpWOW64(t *testing.T) {
	const teb, reserved = 0x2000, 0x80000
	d := dumpbuild.New(false)
	d.System(onAMD64, windowsNT, 10, 0, 0, "")
	d.Modules(dumpbuild.Module{Base: 0x400000, Size: 0x1000, Name: `C:\a.exe`}, dumpbuild.Module{Base: 0x74000000, Size: 0x1000, Name: `C:\Windows\System32\wow64cpu.dll`})
	d.Threads(false, dumpbuild.Thread{ID: 1, Context: d.Blob(d.AMD64(0x10001f, 0x74000500, 0x9000, 0))},
		dumpbuild.Thread{ID: 2, TEB: teb, Context: d.Blob(d.AMD64(0x10001f, 0x74000500, 0x9000, 0))})
	d.MemoryList(dumpbuild.Memory{Start: teb + 0x1488, Data: d.W().U64(reserved).B},
		dumpbuild.Memory{Start: reserved, Data: d.W().U16(0, 0x14c).Bytes(d.X86(0x1003f, 0x401234, 0x7000, 0x7100)).B},
		dumpbuild.Memory{Start: 0x7000, Data: d.W().U32(0xaaaa, 0xbbbb).B})
	m := openMade(t, d)
	if len(m.Warnings()) != 1 || !strings.Contains(m.Warnings()[0], "32-bit process") {
		t.Errorf("%q", m.Warnings())
	}
	w, ok := m.WOW64()
	if !ok {
		t.Fatal("no 32-bit side")
	}
	ids, _ := w.ThreadIDs()
	regs, err := w.Registers(2)
	pc, _ := regs.Get(arch.EIP)
	word, err2 := w.ReadWord(0x7000)
	if !slices.Equal(ids, []unwind.ThreadID{2}) || pc != 0x401234 || err != nil || word != 0xaaaa || err2 != nil || w.Arch() != arch.X86 {
		t.Errorf("threads %v, pc %#x %v, word %#x %v", ids, pc, err, word, err2)
	}
	if at, ok := regs.Get(arch.X86FSBase); ok {
		t.Errorf("the 32-bit side has the block of the 64-bit side, at %#x", at)
	}
	// A thread that crashed ran 32-bit code: its registers are those of the exception.
	d.Exception(dumpbuild.Exception{Thread: 1, Code: 0xc0000005, Context: d.Blob(d.Context(1232).Put(0x30, 4, 0x10001f).Put(0x38, 2, 0x23).
		Put(0xf8, 8, 0x401999).Put(0x98, 8, 0x7004).Put(0x78, 8, 0xffffffff00000001).B)})
	w, ok = openMade(t, d).WOW64()
	if !ok {
		t.Fatal("no 32-bit side")
	}
	ids, _ = w.ThreadIDs()
	regs, err = w.Registers(1)
	pc, _ = regs.Get(arch.EIP)
	eax, _ := regs.Get(arch.EAX)
	if !slices.Equal(ids, []unwind.ThreadID{1, 2}) || pc != 0x401999 || eax != 1 || err != nil {
		t.Errorf("crashed: threads %v, pc %#x eax %#x %v", ids, pc, eax, err)
	}
	if _, ok := w.WOW64(); ok {
		t.Error("the 32-bit side has one")
	}
	if _, ok := openMade(t, crashDump()).WOW64(); ok {
		t.Error("an ordinary dump has a 32-bit side")
	}
}

func TestMinidumpRefused(t *testing.T) {
	bare := dumpbuild.New(false)
	bare.System(onAMD64, windowsNT, 10, 0, 0, "")
	unknown := dumpbuild.New(false)
	unknown.System(6, windowsNT, 10, 0, 0, "")
	unknown.Threads(false, dumpbuild.Thread{ID: 1})
	anonymous := dumpbuild.New(false)
	anonymous.Threads(false, dumpbuild.Thread{ID: 1})
	for _, tt := range []struct {
		name string
		data []byte
		want error
		text string
		open bool
	}{
		{"empty", nil, ErrEmpty, "is empty", false},
		{"elf", []byte("\x7fELF" + strings.Repeat("\x00", 100)), ErrNotMinidump, "is not a minidump", false},
		{"kernel", append([]byte("PAGEDU64"), make([]byte, 200)...), ErrKernelDump, "Windows kernel crash dump (64-bit), not the dump of a process: use WinDbg", false},
		{"kernel, stopped", append(append([]byte("PAGEDU64"), make([]byte, 0x30)...), 0x16, 1, 0, 0), ErrKernelDump, "use WinDbg (stop code 0x116, VIDEO_TDR_FAILURE)", false},
		{"kernel, unknown code", append(append([]byte("PAGEDU64"), make([]byte, 0x30)...), 0, 0, 0, 0x7f), ErrKernelDump, "use WinDbg (stop code 0x7f000000)", false},
		{"kernel, 32 bits, stopped", append(append([]byte("PAGEDUMP"), make([]byte, 0x20)...), 0xa, 0, 0, 0), ErrKernelDump, "use WinDbg (stop code 0xa, IRQL_NOT_LESS_OR_EQUAL)", false},
		{"kernel, 32 bits", append([]byte("PAGEDUMP"), make([]byte, 200)...), ErrKernelDump, "Windows kernel crash dump (32-bit)", false},
		{"header", []byte("MDMP\x93\xa7\x00\x00"), ErrTruncatedHeader, "truncated in its headers", false},
		{"no threads", bare.Bytes(), ErrNoThreads, "without threads", true},
		{"Itanium", unknown.Bytes(), ErrUnsupportedArch, "ia64", true},
		{"no SystemInfo", anonymous.Bytes(), ErrUnsupportedArch, "does not name its processor", true},
		{"log without a microdump", []byte("google-breakpad: nothing"), ErrNotMinidump, "no microdump", false},
	} {
		m, err := OpenMinidumpBytes("x", tt.data)
		var oe *OpenError
		if !errors.Is(err, tt.want) || !errors.As(err, &oe) || oe.Path != "x" || !strings.Contains(err.Error(), tt.text) || (m != nil) != tt.open {
			t.Errorf("%s: %v, %v", tt.name, m != nil, err)
		}
		if strings.Contains(err.Error(), "stop code") != strings.Contains(tt.text, "stop code") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if m != nil {
			useMinidump(m)
			m.Close()
		}
	}
}

func TestOpenMinidump(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.dmp")
	whole := crashDump().Bytes()
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := OpenMinidump(context.Background(), path)
	if err != nil || m.Path() != path {
		t.Fatal(err)
	}
	if cut, have, want := m.Truncated(); cut || have != want || have != int64(len(whole)) {
		t.Errorf("%v %d %d", cut, have, want)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)-100], 0o600); err != nil {
		t.Fatal(err)
	}
	m, err = OpenMinidump(context.Background(), path)
	if m == nil {
		t.Fatal(err)
	}
	defer m.Close()
	if cut, have, want := m.Truncated(); !cut || want <= have {
		t.Errorf("cut off: %v %d %d", cut, have, want)
	}
	if _, err := OpenMinidump(context.Background(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := OpenMinidump(context.Background(), t.TempDir()); err == nil {
		t.Error("a directory is opened")
	}
}

func FuzzMinidump(f *testing.F) {
	f.Add(crashDump().Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if !isMinidump(data) {
			return
		}
		m, _ := OpenMinidumpBytes("fuzz", data)
		if m == nil {
			return
		}
		defer m.Close()
		useMinidump(m)
		maps := m.Mappings()
		for i := range maps {
			if maps[i].Start >= maps[i].End || i > 0 && maps[i].Start < maps[i-1].End {
				t.Fatalf("mapping %d out of order: %+v", i, maps)
			}
		}
	})
}

// The dynamic linker's list tells load biases where no header is in the dump.
func TestMinidumpLinkMap(t *testing.T) {
	d := dumpbuild.New(false)
	d.System(onAMD64, linuxOS, 5, 4, 0, "")
	d.Threads(false, dumpbuild.Thread{ID: 7, Context: d.Blob(d.AMD64(0x10000b, 1, 2, 3))})
	d.Modules(dumpbuild.Module{Base: 0x400000, Size: 0x2000, Name: "/bin/a"}, dumpbuild.Module{Base: 0x7f0000001000, Size: 0x2000, Name: "/lib/x.so"},
		dumpbuild.Module{Base: 0x7f0000009000, Size: 0x1000, Name: "/lib/y.so"})
	links := d.Blob(d.W().U64(0x7f0000000000).U32(d.String("/lib/x.so")).U64(0x7f0000002f00).U64(0).U32(d.String("")).U64(0x401e00).B)
	d.Stream(0x4767000a, d.W().U32(1, links.Off, 2).U64(1, 2, 0x401e00).Zeros(16).B)
	table, _ := openMade(t, d).BuildLibraries(nil)
	for addr, want := range map[uint64]struct {
		bias    uint64
		guessed bool
	}{0x400000: {0, false}, 0x7f0000001000: {0x7f0000000000, false}, 0x7f0000009000: {0x7f0000009000, true}} {
		if l, ok := table.LibraryAt(addr); !ok || l.LoadBias != want.bias || l.BiasGuessed != want.guessed {
			t.Errorf("at %#x: %+v", addr, l)
		}
	}
}

// What refers to each other in a dump must not cost the product of both.
func TestMinidumpManyOfEach(t *testing.T) {
	const n = 60000
	d := dumpbuild.New(false)
	d.System(onAMD64, linuxOS, 5, 4, 0, "")
	d.Threads(false, dumpbuild.Thread{ID: 7, Context: d.Blob(d.AMD64(0x10000b, 1, 2, 3))})
	name := d.String("x")
	mods, regions, links := d.W().U32(n), d.W().U32(16, 48).U64(n), d.W()
	for i := range uint64(n) {
		mods.U64(i<<12).U32(0x7fffffff, 0, 0, name).Zeros(52 + 32)
		regions.U64(i<<12, i<<12).U32(4, 0).U64(0x1000).U32(0x1000, 4, 0x1000000, 0)
		links.U64(i).U32(0).U64(i << 12)
	}
	d.Stream(4, mods.B)
	d.Stream(16, regions.B)
	at := d.Blob(links.B)
	d.Stream(0x4767000a, d.W().U32(1, at.Off, n).U64(1, 2, 3).Zeros(16).B)
	m := openMade(t, d)
	if table, _ := m.BuildLibraries(nil); len(m.Mappings()) == 0 || table == nil {
		t.Error("nothing is known")
	}
}
