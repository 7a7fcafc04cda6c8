package corestate

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// open opens a core that is built in memory.
func open(t testing.TB, b *corebuild.Core) *ELFCore {
	t.Helper()
	c, err := openBytes("core", b.Bytes(), nil)
	if err != nil && !errors.Is(err, ErrUnsupportedArch) {
		t.Fatal(err)
	}
	return c
}

// kernelOrder writes the notes of a process of two threads as kernels do: those
// of the process among those of the thread that died.
func kernelOrder(b *corebuild.Core, regs []byte) {
	b.Thread(101, 11, regs)
	b.PSInfo(100, "prog", "./prog arg ")
	b.SignalInfo(11, 1, b.Word(nil, 0x1234))
	b.AuxVector(libstate.ATPageSize, 4096, libstate.ATEntry, 0x401000)
	b.Files(
		corebuild.Mapping{Start: 0x400000, End: 0x402000, Offset: 0, Path: "/bin/prog"},
		corebuild.Mapping{Start: 0x402000, End: 0x403000, Offset: 0x2000, Path: "/bin/prog"},
	)
	b.Note("CORE", corebuild.FPRegSet, []byte("fp of 101"))
	b.Note("LINUX", corebuild.XState, []byte("xstate of 101"))
	b.Thread(100, 11, regs)
	b.Note("CORE", corebuild.FPRegSet, []byte("fp of 100"))
	b.Note("LINUX", 0x205, []byte("layout"))
}

var layouts = []struct {
	name string
	core func() *corebuild.Core
}{
	{"x86-64", corebuild.New},
	{"s390x", func() *corebuild.Core {
		b := corebuild.New()
		b.Order, b.Machine = binary.BigEndian, elffile.EM_S390
		return b
	}},
	{"i386", func() *corebuild.Core { return corebuild.New32(elffile.EM_386, binary.LittleEndian) }},
	{"ppc", func() *corebuild.Core { return corebuild.New32(elffile.EM_PPC, binary.BigEndian) }},
	{"m68k", func() *corebuild.Core { return corebuild.New32(elffile.EM_68K, binary.BigEndian) }},
	{"x32", func() *corebuild.Core { return corebuild.New32(elffile.EM_X86_64, binary.LittleEndian) }},
}

// Zeros where notes should be are passed over, and cost no more than a page.
func TestBlankNotes(t *testing.T) {
	for _, tc := range []struct {
		name    string
		zeros   int
		threads int
		warning bool
	}{
		{"a few", 12 * 20, 2, false},
		{"a page", 4096 - 4096%12, 2, false},
		{"many", 64 << 20, 1, true}, // the thread after them is lost
	} {
		c := corebuild.New()
		c.Thread(7, 11, nil)
		c.RawNotes(make([]byte, tc.zeros))
		c.Thread(8, 0, nil)
		core, err := openBytes("", c.Bytes(), nil)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		notes, n := core.countNotes(), 0
		for range core.Notes() {
			n++
		}
		if len(core.threads) != tc.threads || notes > 12 || n != notes {
			t.Errorf("%s: %d threads, %d and %d notes", tc.name, len(core.threads), notes, n)
		}
		if got := strings.Contains(strings.Join(core.Warnings(), "\n"), "zeros instead"); got != tc.warning {
			t.Errorf("%s: warnings %q", tc.name, core.Warnings())
		}
		start := time.Now()
		for range 100 {
			core.countNotes()
		}
		if d := time.Since(start); d > time.Second { // a few milliseconds
			t.Errorf("%s: 100 passes over the notes take %v", tc.name, d)
		}
	}
}

func TestFactsOfEveryLayout(t *testing.T) {
	for _, tt := range layouts {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.core()
			kernelOrder(b, make([]byte, 27*8))
			b.Load(0x400000, elffile.PF_R, 0x2000, []byte("text"))
			c, err := openBytes("core", b.Bytes(), nil)
			if err != nil || c.Arch() == nil || c.Arch().Name != tt.name {
				t.Errorf("error %v, architecture %v; want %s", err, c.Arch(), tt.name)
			}
			checkFacts(t, c)
		})
	}
}

func checkFacts(t *testing.T, c *ELFCore) {
	ids, err := c.ThreadIDs()
	if err != nil || !slices.Equal(ids, []unwind.ThreadID{101, 100}) {
		t.Errorf("threads %v, %v", ids, err)
	}
	if tid, err := c.DefaultThread(); tid != 101 || err != nil {
		t.Errorf("default thread %d, %v", tid, err)
	}
	if c.ProcessID() != 100 || c.Name() != "prog" || c.Command() != "./prog arg" || c.OS() != "Linux" || c.Kind() != KernelCore {
		t.Errorf("pid %d, name %q, command %q, os %q, kind %v", c.ProcessID(), c.Name(), c.Command(), c.OS(), c.Kind())
	}
	p, ok := c.ProcessInfo()
	if !ok || p.State != 'R' || p.UID != 1000 || p.GID != 1001 || p.PPID != 99 || p.PGRP != 100 || p.SID != 1 || p.Flags != 0x400600 {
		t.Errorf("process %+v, %v", p, ok)
	}
	s := c.Signal()
	if s.Source != FullSigInfo || s.Signo != 11 || s.Code != 1 || !s.HasAddr || s.Addr != 0x1234 || s.HasSender {
		t.Errorf("signal %+v", s)
	}
	if s, ok := c.ThreadSignal(100); !ok || s.Source != CurSig || s.Signo != 11 || s.HasAddr {
		t.Errorf("signal of the other thread %+v, %v", s, ok)
	}
	if v, ok := c.Auxv().Get(libstate.ATEntry); !ok || v != 0x401000 {
		t.Errorf("AT_ENTRY %#x, %v", v, ok)
	}
	if path := c.ExecutablePath(); path != "/bin/prog" {
		t.Errorf("executable %q", path)
	}
	files := c.FileMappings()
	want := []libstate.Mapping{
		{Start: 0x400000, End: 0x402000, Path: "/bin/prog"},
		{Start: 0x402000, End: 0x403000, Offset: 0x2000, Path: "/bin/prog"},
	}
	if !slices.Equal(files, want) {
		t.Errorf("files %+v", files)
	}
	for tid, want := range map[unwind.ThreadID]string{101: "fp of 101", 100: "fp of 100"} {
		if b, ok := c.FPRegs(tid); !ok || string(b) != want {
			t.Errorf("floating point of %d: %q, %v", tid, b, ok)
		}
	}
	if b, ok := c.XState(101); !ok || string(b) != "xstate of 101" {
		t.Errorf("xstate of 101: %q, %v", b, ok)
	}
	if b, ok := c.XState(100); ok {
		t.Errorf("xstate of 100: %q", b)
	}
	if w := c.Warnings(); len(w) > 0 {
		t.Errorf("warnings %q", w)
	}
}

func TestNotesNameTypesAndThreads(t *testing.T) {
	b := corebuild.New()
	kernelOrder(b, make([]byte, 27*8))
	b.Note("GDB", 0xff000000, []byte("<target/>"))
	b.Note("ACME", 77, nil)
	var got []string
	for n := range open(t, b).Notes() {
		got = append(got, strings.TrimSpace(n.Owner+" "+n.Name+" "+map[unwind.ThreadID]string{100: "100", 101: "101"}[n.Thread]))
	}
	want := []string{
		"CORE NT_PRSTATUS 101", "CORE NT_PRPSINFO", "CORE NT_SIGINFO 101", "CORE NT_AUXV", "CORE NT_FILE",
		"CORE NT_FPREGSET 101", "LINUX NT_X86_XSTATE 101", "CORE NT_PRSTATUS 100", "CORE NT_FPREGSET 100",
		"LINUX NT_X86_XSAVE_LAYOUT", "GDB NT_GDB_TDESC", "ACME",
	}
	if !slices.Equal(got, want) {
		t.Errorf("notes:\n%q\nwant\n%q", got, want)
	}
}

func TestRegisters(t *testing.T) {
	b := corebuild.New()
	b.Thread(7, 6, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RIP: 0x401234, arch.RSP: 0x7ffe0010, arch.RBX: 3}))
	b.Note("CORE", corebuild.PRStatus, b.Status(8, 6, make([]byte, 40))[:140])
	c := open(t, b)
	regs, err := c.Registers(7)
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range map[arch.Reg]uint64{arch.RIP: 0x401234, arch.RSP: 0x7ffe0010, arch.RBX: 3} {
		if v, ok := regs.Get(r); !ok || v != want {
			t.Errorf("%s = %#x, %v", arch.AMD64.RegName(r), v, ok)
		}
	}
	if same, err := c.Registers(unwind.NullThread); err != nil || same != regs {
		t.Errorf("the null thread is not the default thread: %v", err)
	}
	if _, err := c.Registers(8); err == nil {
		t.Error("a block without a program counter was accepted")
	}
	if _, err := c.Registers(9); !errors.Is(err, unwind.ErrNoThread) {
		t.Errorf("unknown thread: %v", err)
	}
}

func TestThreadTimesAndMasks(t *testing.T) {
	b := corebuild.New()
	desc := b.Status(7, 6, make([]byte, 27*8))
	binary.LittleEndian.PutUint64(desc[16:], 0x10)
	binary.LittleEndian.PutUint64(desc[24:], 0x20)
	binary.LittleEndian.PutUint32(desc[36:], 5)
	binary.LittleEndian.PutUint64(desc[48:], 2)
	binary.LittleEndian.PutUint64(desc[56:], 500000)
	binary.LittleEndian.PutUint64(desc[72:], 250)
	b.Note("CORE", corebuild.PRStatus, desc)
	got, ok := open(t, b).Thread(7)
	if !ok || got.Signal != 6 || got.SigPend != 0x10 || got.SigHold != 0x20 || got.PPID != 5 ||
		got.UserTime.Milliseconds() != 2500 || got.SystemTime.Microseconds() != 250 {
		t.Errorf("%+v, %v", got, ok)
	}
}

func TestWhoCrashed(t *testing.T) {
	regs := make([]byte, 27*8)
	for _, tt := range []struct {
		name    string
		signals []int // of threads 1, 2, 3
		want    unwind.ThreadID
	}{
		{"kernel: all have the signal", []int{11, 11, 11}, 1},
		{"qemu: the first has it", []int{11, 0, 0}, 1},
		{"lldb: one has it", []int{0, 0, 6}, 3},
		{"gcore in gdb: the others were stopped", []int{19, 11, 19}, 2},
		{"gcore of a live process", []int{0, 0, 0}, 1},
		{"only stopped", []int{0, 19, 0}, 2},
	} {
		b := corebuild.New()
		for i, s := range tt.signals {
			b.Thread(i+1, s, regs)
		}
		c := open(t, b)
		ids, _ := c.ThreadIDs()
		if tid, _ := c.DefaultThread(); tid != tt.want || ids[0] != tt.want || len(ids) != 3 {
			t.Errorf("%s: thread %d of %v", tt.name, tid, ids)
		}
	}
}

// Where the threads' states do not tell who died, NT_SIGINFO does.
func TestWhoHasTheSignal(t *testing.T) {
	regs := make([]byte, 27*8)
	for _, tt := range []struct {
		name           string
		signals, infos []int // of threads 1, 2, 3; 0 in infos for no NT_SIGINFO, -1 for one of no signal
		want           unwind.ThreadID
		signo          int
		source         SignalSource
	}{
		{"kernel", []int{11, 11, 11}, []int{11, 0, 0}, 1, 11, FullSigInfo},
		{"gdb: all have the signal", []int{11, 11, 11}, []int{0, 0, 11}, 3, 11, FullSigInfo},
		{"gdb: all have the signal, the others were stopped", []int{11, 11, 11}, []int{19, 11, 19}, 2, 11, FullSigInfo},
		{"gdb: none has the signal", []int{0, 0, 0}, []int{-1, 6, -1}, 2, 6, FullSigInfo},
		{"gdb, before it wrote NT_SIGINFO", []int{0, 11, 0}, []int{0, 0, 0}, 2, 11, CurSig},
		{"gdb, before it wrote NT_SIGINFO, to all", []int{11, 11, 11}, []int{0, 0, 0}, 1, 11, CurSig},
		{"another signal", []int{11, 11, 11}, []int{0, 6, 0}, 1, 11, CurSig},
		{"one has the signal, another the information", []int{0, 11, 0}, []int{11, 0, 0}, 2, 11, CurSig},
		{"all stopped", []int{19, 19, 19}, []int{19, 19, 19}, 1, 0, NoSignal},
		{"alive", []int{0, 0, 0}, []int{0, 19, -1}, 1, 0, NoSignal},
	} {
		b := corebuild.New()
		for i, s := range tt.signals {
			b.Thread(i+1, s, regs)
			if n := tt.infos[i]; n != 0 {
				b.SignalInfo(max(n, 0), 1, nil)
			}
		}
		c := open(t, b)
		tid, _ := c.DefaultThread()
		if s := c.Signal(); tid != tt.want || s.Signo != tt.signo || s.Source != tt.source {
			t.Errorf("%s: thread %d, %+v", tt.name, tid, s)
		}
	}
}

func TestKinds(t *testing.T) {
	regs := make([]byte, 27*8)
	gcore := corebuild.New()
	gcore.PSInfo(1, "prog", "prog")
	gcore.Thread(1, 19, regs)
	gcore.SignalInfo(19, 0x80, nil)
	sections := corebuild.New()
	sections.Thread(1, 0, regs)
	sections.Sections = 3
	qemu := corebuild.New()
	qemu.Thread(1, 11, regs)
	qemu.PSInfo(1, "prog", "prog")
	qemu.AuxVector(libstate.ATPageSize, 4096)
	qemu.Load(0x400000, elffile.PF_R|elffile.PF_X, 0x1000, nil)
	for name, tt := range map[string]struct {
		b    *corebuild.Core
		want Kind
	}{"gcore": {gcore, GCore}, "sections": {sections, GCore}, "qemu": {qemu, QemuCore}} {
		c := open(t, tt.b)
		if c.Kind() != tt.want {
			t.Errorf("%s: kind %v", name, c.Kind())
		}
		if s := c.Signal(); name == "gcore" && (s.Source != NoSignal || s.Signo != 0) {
			t.Errorf("a live process that gdb stopped has the signal %+v", s)
		}
	}
}

func TestFileNote(t *testing.T) {
	b := corebuild.New()
	b.Thread(1, 11, make([]byte, 27*8))
	b.Files(
		corebuild.Mapping{Start: 0x5000, End: 0x6000, Path: "/second"}, // in disorder
		corebuild.Mapping{Start: 0x1000, End: 0x3000, Path: "/first"},
		corebuild.Mapping{Start: 0x2000, End: 0x4000, Offset: 0x1000, Path: "/overlaps"},
		corebuild.Mapping{Start: 0x2000, End: 0x2800, Path: "/inside"},
		corebuild.Mapping{Start: 0x9000, End: 0x8000, Path: "/backwards"},
	)
	want := []libstate.Mapping{
		{Start: 0x1000, End: 0x3000, Path: "/first"},
		{Start: 0x3000, End: 0x4000, Offset: 0x2000, Path: "/overlaps"},
		{Start: 0x5000, End: 0x6000, Path: "/second"},
	}
	if got := open(t, b).FileMappings(); !slices.Equal(got, want) {
		t.Errorf("files %+v", got)
	}
	b = corebuild.New()
	b.Thread(1, 11, make([]byte, 27*8))
	b.Note("CORE", corebuild.File, b.Word(nil, 1<<60, 4096, 0x1000, 0x2000, 0))
	c := open(t, b)
	if len(c.FileMappings()) != 0 || len(c.Warnings()) == 0 {
		t.Errorf("an absurd count: files %v, warnings %q", c.FileMappings(), c.Warnings())
	}
}

func TestMappingsJoinSegmentsAndFiles(t *testing.T) {
	b := corebuild.New()
	b.Thread(1, 11, make([]byte, 27*8))
	b.Files(
		corebuild.Mapping{Start: 0x2000, End: 0x5000, Offset: 0x10000, Path: "/lib"}, // over the end of a segment
		corebuild.Mapping{Start: 0x8000, End: 0x9000, Path: "/only-here"},
	)
	b.Load(0x1000, elffile.PF_R, 0x2000, nil)
	b.Load(0x3000, elffile.PF_R|elffile.PF_X, 0x1000, nil)
	b.Load(0x6000, elffile.PF_R|elffile.PF_W, 0x1000, nil)
	want := []libstate.Mapping{
		{Start: 0x1000, End: 0x2000, Perm: libstate.Read},
		{Start: 0x2000, End: 0x3000, Offset: 0x10000, Path: "/lib", Perm: libstate.Read},
		{Start: 0x3000, End: 0x4000, Offset: 0x11000, Path: "/lib", Perm: libstate.Read | libstate.Exec},
		{Start: 0x4000, End: 0x5000, Offset: 0x12000, Path: "/lib", Perm: libstate.Unknown},
		{Start: 0x6000, End: 0x7000, Perm: libstate.Read | libstate.Write},
		{Start: 0x8000, End: 0x9000, Path: "/only-here", Perm: libstate.Unknown},
	}
	if got := open(t, b).Mappings(); !slices.Equal(got, want) {
		t.Errorf("mappings\n%+v\nwant\n%+v", got, want)
	}
}

func TestDamagedNotes(t *testing.T) {
	b := corebuild.New()
	b.Thread(1, 11, make([]byte, 27*8))
	b.Thread(1, 11, make([]byte, 27*8)) // twice the same
	b.Note("CORE", corebuild.PRStatus, []byte("short"))
	b.Note("CORE", corebuild.PRPSInfo, []byte("short"))
	b.Note("CORE", corebuild.SigInfo, []byte("short"))
	b.Note("CORE", corebuild.Auxv, []byte("short"))
	b.RawNotes([]byte{5, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 'C', 'O', 'R', 'E', 0, 0, 0, 0, 1, 2, 3})
	c := open(t, b)
	ids, _ := c.ThreadIDs()
	if len(ids) != 1 || c.Signal().Signo != 11 || c.Signal().Source != CurSig {
		t.Errorf("threads %v, signal %+v", ids, c.Signal())
	}
	if _, ok := c.ProcessInfo(); ok || c.Auxv() != nil {
		t.Error("short notes were believed")
	}
	for _, want := range []string{"twice", "a thread is lost", "of its 4294967295 bytes"} {
		if !strings.Contains(strings.Join(c.Warnings(), "\n"), want) {
			t.Errorf("no warning says %q: %q", want, c.Warnings())
		}
	}
}
