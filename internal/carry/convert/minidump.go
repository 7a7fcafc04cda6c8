package convert

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpwrite"
	"github.com/corewalk/corewalk/internal/live/corewrite"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// elfModule begins a CodeView record that is an ELF build-id ("LEpB").
const elfModule = 0x4270454c

// Sizes of a minidump's structures, in bytes.
const (
	threadSize = 48
	moduleSize = 108
	maxParams  = 15 // of an exception
)

// A maker makes a minidump of a core.
type maker struct {
	c   *corestate.ELFCore
	o   Options
	d   *dumpwrite.Dump
	out *Written
	cpu minidump.CPU
	// contexts are where the threads' registers are.
	contexts map[unwind.ThreadID]dumpwrite.Loc
	ids      []unwind.ThreadID
}

// Minidump writes a minidump as Breakpad writes them on Linux, with all that c has of memory.
func Minidump(w io.Writer, c *corestate.ELFCore, o Options) (*Written, error) {
	if o.To == ToCore {
		return nil, fmt.Errorf("a core: %w", ErrSame)
	}
	cpu := minidump.CPUOf(c.Arch())
	if cpu == minidump.CPUUndefined || c.OS() != "Linux" {
		return nil, fmt.Errorf("a core of %s of %s cannot be made a minidump: only those of Linux on x86-64, i386, aarch64 and arm can", c.OS(), archName(c.Arch(), c.ArchName()))
	}
	const streams = 11
	k := &maker{c: c, o: o, d: dumpwrite.New(binary.LittleEndian, streams), out: &Written{Format: ToMinidump, Was: uint64(len(c.Bytes()))}, cpu: cpu,
		contexts: map[unwind.ThreadID]dumpwrite.Loc{}}
	if !o.Time.IsZero() {
		k.d.Time = uint32(o.Time.Unix())
	}
	var ranges []dumpwrite.Range
	total := uint64(0)
	for _, s := range c.Segments() {
		if s.InDump > 0 {
			ranges = append(ranges, dumpwrite.Range{Start: s.Start, Size: s.InDump})
			total += s.InDump
		}
	}
	k.system()
	threads := k.threads()
	k.modules()
	k.exception()
	k.process()
	k.losses()
	k.stacks(threads, ranges)
	head, err := k.d.Head(ranges, total >= 1<<31)
	if err != nil {
		return nil, err
	}
	out := &counter{w: w}
	if _, err := out.Write(head); err != nil {
		return nil, err
	}
	buf := make([]byte, 1<<20)
	mem := c.DumpMemory()
	for _, r := range ranges {
		for at := uint64(0); at < r.Size; {
			b := buf[:min(uint64(len(buf)), r.Size-at)]
			if _, err := mem.ReadMem(r.Start+at, b); err != nil {
				return nil, err
			}
			if _, err := out.Write(b); err != nil {
				return nil, err
			}
			at += uint64(len(b))
		}
	}
	k.out.Size = out.n
	return k.out, nil
}

func (k *maker) stream(t minidump.StreamType, b []byte) dumpwrite.Loc {
	return k.d.Stream(uint32(t), b)
}

func (k *maker) system() {
	b := k.d.U16(nil, uint16(k.cpu), 0, 0)
	b = append(b, 0, 0)
	b = k.d.U32(b, 0, 0, 0, uint32(minidump.LinuxOS), k.d.String(""))
	b = append(b, make([]byte, 56-len(b))...)
	k.stream(minidump.SystemInfoStream, b)

	if pid := k.c.ProcessID(); pid > 0 {
		k.stream(minidump.MiscInfoStream, k.d.U32(nil, 24, minidump.MiscPID, uint32(pid), 0, 0, 0))
	}
}

// threads adds the list of threads, in which stacks adds where the stacks are.
func (k *maker) threads() dumpwrite.Loc {
	ids, _ := k.c.ThreadIDs()
	var list, names []byte
	named := 0
	for _, id := range ids {
		regs, err := k.c.Registers(id)
		if err != nil {
			k.out.lose("thread %d: %v", id, err)
			continue
		}
		loc := k.d.Blob(minidump.EncodeContext(k.cpu, &regs, k.vector(id)))
		k.ids, k.contexts[id] = append(k.ids, id), loc
		list = k.d.U32(list, uint32(id), 0, 0, 0)
		list = k.d.U64(list, k.threadPointer(&regs), 0)
		list = k.d.U32(list, 0, 0, loc.Size, loc.Off)
		if name := k.o.name(id); name != "" {
			names = k.d.U64(k.d.U32(names, uint32(id)), uint64(k.d.String(name)))
			named++
		}
	}
	if named > 0 {
		k.stream(minidump.ThreadNamesStream, append(k.d.U32(nil, uint32(named)), names...))
	}
	return k.stream(minidump.ThreadListStream, append(k.d.U32(nil, uint32(len(k.ids))), list...))
}

// threadPointer returns what Crashpad writes as the address of the thread environment block.
func (k *maker) threadPointer(regs *arch.RegSet) uint64 {
	tp := uint64(0)
	switch k.c.Arch() {
	case arch.AMD64:
		tp, _ = regs.Get(arch.FSBase)
		if base, _ := regs.Get(arch.GSBase); base != 0 {
			k.out.lose("the base of the segment gs")
		}
	case arch.X86:
		tp, _ = regs.Get(arch.X86GSBase)
		if base, _ := regs.Get(arch.X86FSBase); base != 0 {
			k.out.lose("the base of the segment fs")
		}
	}
	return tp
}

// vector returns a thread's vector registers as a CONTEXT record has them; nil if the core has none.
func (k *maker) vector(id unwind.ThreadID) []byte {
	b, _ := k.c.FPRegs(id)
	switch k.c.Arch() {
	case arch.AMD64:
		if len(b) >= fxsave {
			return b[:fxsave]
		}
	case arch.X86:
		if x, _ := k.c.ThreadNote(id, "LINUX", notePRXFPReg); len(x) >= fxsave {
			return x[:fxsave]
		}
	case arch.ARM64: // fpsr and fpcr are the other way round
		if len(b) >= fpsimd {
			return slices.Concat(b[:fpsimd-8], b[fpsimd-4:fpsimd], b[fpsimd-8:fpsimd-4])
		}
	case arch.ARM: // the status comes first, with 64 bits
		if len(b) >= vfp {
			return slices.Concat(b[vfp-4:vfp], make([]byte, 4), b[:vfp-4])
		}
	}
	if len(b) > 0 {
		k.out.lose("floating-point registers")
	}
	return nil
}

// stacks says in the list of threads which memory has their stack pointers.
func (k *maker) stacks(list dumpwrite.Loc, ranges []dumpwrite.Range) {
	at := k.d.Place(ranges)
	offs := make([]uint64, len(ranges))
	for i, r := range ranges {
		offs[i] = at
		at += r.Size
	}
	for i, id := range k.ids {
		regs, err := k.c.Registers(id)
		if err != nil {
			continue
		}
		sp, ok := regs.Get(k.c.Arch().SP)
		n, _ := slices.BinarySearchFunc(ranges, sp, func(r dumpwrite.Range, a uint64) int {
			if r.Start+r.Size-1 < a {
				return -1
			}
			return 1
		})
		if !ok || n == len(ranges) || ranges[n].Start > sp || offs[n] >= 1<<32 || ranges[n].Size >= 1<<32 {
			continue
		}
		entry := list.Off + 4 + uint32(i)*threadSize
		k.d.Put32(entry+24, uint32(ranges[n].Start))
		k.d.Put32(entry+28, uint32(ranges[n].Start>>32))
		k.d.Put32(entry+32, uint32(ranges[n].Size))
		k.d.Put32(entry+36, uint32(offs[n]))
	}
}

// modules adds the list of modules, the program first.
func (k *maker) modules() {
	var libs []*libstate.Library
	if tracker := k.c.LibraryTracker(); tracker != nil {
		all, _ := tracker.Libraries(false)
		libs = slices.Clone(all)
	}
	slices.SortStableFunc(libs, func(a, b *libstate.Library) int {
		switch x, y := a.Kind == libstate.Executable, b.Kind == libstate.Executable; {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	var list []byte
	n := 0
	for _, lib := range libs {
		size := lib.End - lib.Start
		if lib.Kind == libstate.JIT || size == 0 || size >= 1<<32 {
			k.out.lose("module %s", lib.Path)
			continue
		}
		path := lib.Path
		if lib.Kind == libstate.VDSO {
			path = "linux-gate.so" // as Breakpad calls it
		}
		var record dumpwrite.Loc
		if len(lib.BuildID) > 0 {
			record = k.d.Blob(append(k.d.U32(nil, elfModule), lib.BuildID...))
		}
		entry := k.d.U32(k.d.U64(nil, lib.Start), uint32(size), 0, 0, k.d.String(path))
		entry = append(entry, make([]byte, 52)...)
		entry = k.d.U32(entry, record.Size, record.Off)
		list = append(list, append(entry, make([]byte, moduleSize-len(entry))...)...)
		n++
	}
	k.stream(minidump.ModuleListStream, append(k.d.U32(nil, uint32(n)), list...))
}

// exception adds the signal, and says which thread the dump is about.
func (k *maker) exception() {
	id, err := k.c.DefaultThread()
	if err != nil {
		return
	}
	k.stream(minidump.BreakpadInfoStream, k.d.U32(nil, 2, 0, uint32(id)))
	s := k.c.Signal()
	if s.Source == corestate.NoSignal {
		return
	}
	var params []uint64
	addr := uint64(0)
	switch {
	case s.HasAddr:
		addr = s.Addr
	case s.HasSyscall:
		addr, params = s.CallAddr, []uint64{uint64(s.Syscall), uint64(s.AuditArch)}
	case s.HasSender:
		addr = uint64(uint32(s.PID)) | uint64(uint32(s.UID))<<32
		if s.Code == 0 && slices.Contains([]int{4, 5, 7, 8, 11}, s.Signo) {
			k.out.lose("that process %d of user %d sent the signal: readers take that for an address", s.PID, s.UID)
		}
	}
	if s.Source == corestate.CurSig {
		k.out.lose("that the signal's code and address are not known: they are 0")
	}
	if s.HasBounds || s.HasPKey || s.HasValue || s.Errno != 0 {
		k.out.lose("what the signal says besides its number, code and address or sender")
	}
	b := k.d.U32(nil, uint32(id), 0, uint32(s.Signo), uint32(s.Code))
	b = k.d.U32(k.d.U64(b, 0, addr), uint32(len(params)), 0)
	b = k.d.U64(b, params...)
	b = append(b, make([]byte, 8*(maxParams-len(params)))...)
	loc := k.contexts[id]
	k.stream(minidump.ExceptionStream, k.d.U32(b, loc.Size, loc.Off))
}

// process adds what Breakpad copies of /proc/PID.
func (k *maker) process() {
	var maps strings.Builder
	for _, m := range k.c.Mappings() {
		perm := []byte("---p")
		for i, bit := range []libstate.Perm{libstate.Read, libstate.Write, libstate.Exec} {
			if m.Perm&bit != 0 {
				perm[i] = "rwx"[i]
			}
		}
		fmt.Fprintf(&maps, "%08x-%08x %s %08x 00:00 0", m.Start, m.End, perm, m.Offset)
		if m.Path != "" {
			maps.WriteString(" " + escape(m.Path))
		}
		maps.WriteByte('\n')
	}
	k.stream(minidump.LinuxMapsStream, []byte(maps.String()))
	for n := range k.c.Notes() {
		if n.Owner == "CORE" && n.Type == corewrite.Auxv {
			k.stream(minidump.LinuxAuxvStream, n.Data)
			break
		}
	}
	zeros := func(t minidump.StreamType, list []string) {
		if len(list) > 0 {
			k.stream(t, []byte(strings.Join(list, "\x00")+"\x00"))
		}
	}
	zeros(minidump.LinuxCmdLineStream, k.o.Args)
	zeros(minidump.LinuxEnvironStream, k.o.Env)
	var status strings.Builder
	p, ok := k.c.ProcessInfo()
	if ok && p.Name != "" {
		fmt.Fprintf(&status, "Name:\t%s\n", escape(p.Name))
	}
	if pid := k.c.ProcessID(); pid > 0 {
		fmt.Fprintf(&status, "Tgid:\t%d\nPid:\t%d\n", pid, pid)
	}
	if ok {
		fmt.Fprintf(&status, "PPid:\t%d\nUid:\t%d\nGid:\t%d\n", p.PPID, p.UID, p.GID)
	}
	fmt.Fprintf(&status, "Threads:\t%d\n", len(k.ids))
	k.stream(minidump.LinuxProcStatusStream, []byte(status.String()))
}

// losses lists what of the notes has no place in a minidump.
func (k *maker) losses() {
	carried := map[uint32]bool{corewrite.PRStatus: true, corewrite.PRPSInfo: true, corewrite.SigInfo: true, corewrite.Auxv: true, corewrite.File: true}
	switch k.c.Arch() {
	case arch.X86:
		carried[notePRXFPReg], carried[note386TLS] = true, true
	case arch.ARM:
		carried[noteARMVFP] = true
	}
	if k.c.Arch() != arch.X86 {
		carried[corewrite.FPRegSet] = true
	}
	for n := range k.c.Notes() {
		if (n.Owner == "CORE" || n.Owner == "LINUX") && carried[n.Type] {
			continue
		}
		if name := n.Name; name != "" {
			k.out.lose("notes %s", name)
		}
	}
	k.out.lose("signals pending and blocked, and processor time of threads")
	if cut, have, want := k.c.Truncated(); cut {
		k.out.lose("that the core was cut off after %d of %d bytes", have, want)
	}
}
