package convert

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/internal/live/corewrite"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// page is how much of a module's file is taken for its headers, in bytes: what kernels dump.
const page = 4096

// A builder makes an ELF core of a minidump.
type builder struct {
	m    *corestate.Minidump
	f    *minidump.File
	o    Options
	core *corewrite.Core
	out  *Written
}

// Core writes an ELF core as the Linux kernel does. Memory of the process that the minidump has not is in the note that slim
// cores have, so that it is told from memory that was not mapped. The headers of modules are taken from their files, if those
// were found by build-id.
func Core(w io.Writer, m *corestate.Minidump, o Options) (*Written, error) {
	if o.To == ToMinidump {
		return nil, fmt.Errorf("a minidump: %w", ErrSame)
	}
	f := minidump.Of(m)
	machine, class := machineOf(m.Arch())
	switch {
	case f.System.Known && !f.System.Platform.Linux():
		return nil, fmt.Errorf("a minidump of %s cannot be made an ELF core: %w", m.OS(), ErrSystem)
	case machine == 0 || f.Big:
		return nil, fmt.Errorf("a minidump of %s cannot be made an ELF core: only those of x86-64, i386, aarch64 and arm can", archName(m.Arch(), m.ArchName()))
	}
	k := &builder{m: m, f: f, o: o, out: &Written{Format: ToCore, Was: uint64(len(f.Data))}, core: &corewrite.Core{
		Class: class, Order: binary.LittleEndian, Type: elffile.ET_CORE, Machine: machine, NoteAlign: 4, LoadAlign: page}}
	spans := k.spans()
	parts, note := k.parts(spans)
	if err := k.threads(); err != nil {
		return nil, err
	}
	k.core.Note(slimnote.Owner, slimnote.Type, note.Bytes(k.core.Order))
	k.core.Note(slimnote.Owner, slimnote.TypeModules, k.modules().Bytes(k.core.Order))
	for _, p := range parts {
		k.core.Segment(p.Start, p.flags, p.size, uint64(len(p.Data)))
	}
	head, tail, offsets, size := k.core.Layout()
	out := &counter{w: w}
	if _, err := out.Write(head); err != nil {
		return nil, err
	}
	for i, p := range parts {
		if len(p.Data) > 0 && out.n != offsets[i] {
			return nil, fmt.Errorf("memory at %#x belongs at %#x of the file, not at %#x", p.Start, offsets[i], out.n)
		}
		if _, err := out.Write(p.Data); err != nil {
			return nil, err
		}
	}
	if _, err := out.Write(tail); err != nil {
		return nil, err
	}
	k.losses()
	k.out.Size = size
	return k.out, nil
}

// modules returns the list of modules, for readers that walk where their code is not available.
func (k *builder) modules() *slimnote.Modules {
	list := &slimnote.Modules{Mapped: k.m.KnowsMappings(), Files: len(k.f.Linux.Maps) > 0}
	for i := range k.f.Modules {
		m := &k.f.Modules[i]
		list.List = append(list.List, slimnote.Module{Base: m.Base, Size: m.Size, BuildID: m.BuildID, Partial: m.PartialID, Path: m.Path,
			DebugID: m.DebugID(), CodeID: m.CodeID(), DebugFile: cmp.Or(m.DebugFile, m.Path), Version: m.Version})
		if lib := k.library(m.Base); lib != nil && !lib.BiasGuessed {
			e := &list.List[len(list.List)-1]
			e.Bias, e.HasBias = lib.LoadBias, true
		}
	}
	return list
}

// library returns the library at an address.
func (k *builder) library(addr arch.Address) *libstate.Library {
	if tracker := k.m.LibraryTracker(); tracker != nil {
		if lib, ok := tracker.LibraryAt(addr); ok {
			return lib
		}
	}
	return nil
}

// spans returns the memory of the dump, ascending and disjoint, with the headers of modules whose files were found.
func (k *builder) spans() []minidump.Span {
	spans := k.f.Memory.Spans()
	var added []minidump.Span
	var libs []*libstate.Library
	if tracker := k.m.LibraryTracker(); tracker != nil {
		libs, _ = tracker.Libraries(false)
	}
	lost := 0
	for _, lib := range libs {
		i, _ := slices.BinarySearchFunc(spans, lib.Start, func(s minidump.Span, a uint64) int {
			if s.Start+uint64(len(s.Data))-1 < a {
				return -1
			}
			return 1
		})
		if i < len(spans) && spans[i].Start < lib.Start+page {
			continue // it is in the dump
		}
		b := make([]byte, page)
		if n, _ := k.m.ReadMem(lib.Start, b); n < page || string(b[:4]) != "\x7fELF" {
			if len(lib.BuildID) > 0 {
				lost++
			}
			continue
		}
		added = append(added, minidump.Span{Start: lib.Start, Data: b})
	}
	if lost > 0 {
		k.out.lose("build-ids of %d modules, for other tools: their headers are neither in the dump nor in a file that was found", lost)
	}
	spans = append(spans, added...)
	slices.SortFunc(spans, func(a, b minidump.Span) int { return cmp.Compare(a.Start, b.Start) })
	out := spans[:0]
	for _, s := range spans { // libraries may begin in one page
		if n := len(out); n == 0 || out[n-1].Start+uint64(len(out[n-1].Data))-1 < s.Start {
			out = append(out, s)
		}
	}
	return out
}

// A part is memory that gets a program header: size bytes, of which the core has Data or none.
type part struct {
	minidump.Span
	size  uint64
	flags uint32
}

// parts returns the spans, cut at the ends of mappings, and between them what files have of memory that was not writable.
func (k *builder) parts(spans []minidump.Span) (parts []part, note *slimnote.Note) {
	note = &slimnote.Note{}
	last := arch.Address(0)
	for _, m := range k.m.Mappings() {
		if m.Start = max(m.Start, last); m.Start >= m.End { // a damaged list overlaps
			continue
		}
		last = m.End
		f := flags(m.Perm)
		gap := func(lo, hi uint64) {
			if lo < hi && strings.HasPrefix(m.Path, "/") && f&elffile.PF_W == 0 {
				parts = append(parts, part{minidump.Span{Start: lo}, hi - lo, f})
			}
		}
		note.Ranges = append(note.Ranges, slimnote.Range{Start: m.Start, End: m.End, Claim: m.Start, Have: m.Start, Flags: noteFlags(m.Perm)})
		at := m.Start
		for len(spans) > 0 && spans[0].Start < m.End {
			s := spans[0]
			end := s.Start + uint64(len(s.Data))
			if end > at {
				lo, hi := max(at, s.Start), min(end, m.End)
				gap(at, lo)
				parts = append(parts, part{minidump.Span{Start: lo, Data: s.Data[lo-s.Start : hi-s.Start]}, hi - lo, f})
				at = hi
			}
			if end > m.End {
				break
			}
			spans = spans[1:]
		}
		gap(at, m.End)
	}
	return parts, note
}

// threads adds the notes, the crashed thread's first, as kernels do.
func (k *builder) threads() error {
	ids, _ := k.m.ThreadIDs()
	ids = slices.Clone(ids)
	if first, err := k.m.DefaultThread(); err == nil {
		slices.SortStableFunc(ids, func(a, b unwind.ThreadID) int {
			switch {
			case a == b:
				return 0
			case a == first:
				return -1
			case b == first:
				return 1
			}
			return 0
		})
	}
	sig := k.m.Signal()
	written := 0
	for _, id := range ids {
		regs, err := k.m.Registers(id)
		if err != nil {
			k.out.lose("thread %d: %v", id, err)
			continue
		}
		vec, hasVec := k.m.FPRegs(id)
		k.core.Note("CORE", corewrite.PRStatus, k.core.Status(corewrite.Status{TID: int(id), Signal: sig.Signo, Regs: k.m.Arch().EncodeGRegSet(&regs), HasFPRegs: hasVec}))
		if written == 0 {
			k.process(sig)
		}
		written++
		k.vector(vec, &regs)
		if k.o.name(id) != "" {
			k.out.lose("names of threads: Linux cores have none")
		}
	}
	if written == 0 {
		return fmt.Errorf("no thread has registers")
	}
	return nil
}

func (k *builder) number(field string) int {
	word, _, _ := strings.Cut(strings.TrimSpace(k.f.Linux.StatusField(field)), "\t")
	n, _ := strconv.Atoi(word)
	return n
}

// process adds the notes about the whole process.
func (k *builder) process(sig corestate.SignalInfo) {
	k.core.PSInfo(corewrite.PSInfo{State: 'R', UID: k.number("Uid"), GID: k.number("Gid"), PID: k.m.ProcessID(), PPID: k.number("PPid"),
		Name: k.m.Name(), Args: strings.Join(k.m.CommandLine(), " ")})
	switch {
	case sig.Source == corestate.FullSigInfo:
		k.core.Note("CORE", corewrite.SigInfo, k.sigInfo(sig))
	case sig.HasAddr && sig.Addr != 0:
		k.out.lose("the address of the signal, %#x: the dump does not say its code", sig.Addr)
	}
	if aux := k.f.Linux.Auxv; len(aux) > 0 {
		k.core.Note("CORE", corewrite.Auxv, aux)
	}
	var files []corewrite.Mapping
	for _, m := range k.m.Mappings() {
		if strings.HasPrefix(m.Path, "/") && !strings.Contains(m.Path, "\x00") {
			files = append(files, corewrite.Mapping{Start: m.Start, End: m.End, Offset: m.Offset, Path: m.Path})
		}
	}
	if len(files) > 0 {
		k.core.Files(files...)
	}
}

// sigInfo makes a siginfo_t, which has 128 bytes.
func (k *builder) sigInfo(s corestate.SignalInfo) []byte {
	b := make([]byte, 128)
	order := k.core.Order
	for i, v := range []int{s.Signo, s.Errno, s.Code} {
		order.PutUint32(b[4*i:], uint32(v))
	}
	at := 12
	if k.core.Class == 64 {
		at = 16 // the union is aligned to pointers
	}
	switch {
	case s.HasAddr:
		copy(b[at:], k.core.Word(nil, s.Addr))
	case s.HasSyscall:
		b := k.core.Word(b[:at], s.CallAddr)
		order.PutUint32(b[len(b):len(b)+4], uint32(s.Syscall))
		order.PutUint32(b[len(b)+4:len(b)+8], s.AuditArch)
	case s.HasSender:
		order.PutUint32(b[at:], uint32(s.PID))
		order.PutUint32(b[at+4:], uint32(s.UID))
	}
	return b
}

// vector adds the notes with a thread's other registers. vec is as in its CONTEXT record.
func (k *builder) vector(vec []byte, regs *arch.RegSet) {
	order := k.core.Order
	switch k.m.Arch() {
	case arch.AMD64:
		if len(vec) == fxsave {
			k.core.Note("CORE", corewrite.FPRegSet, vec)
		}
	case arch.X86:
		if len(vec) == fxsave {
			k.core.Note("LINUX", notePRXFPReg, vec)
		}
		sel, ok := regs.Get(arch.X86GS)
		if base, known := regs.Get(arch.X86GSBase); known && ok {
			b := make([]byte, 16) // struct user_desc: number, base, limit, flags
			for i, v := range []uint32{uint32(sel&0xffff) >> 3, uint32(base), 0xfffff, 0x51} {
				order.PutUint32(b[4*i:], v)
			}
			k.core.Note("LINUX", note386TLS, b)
		}
	case arch.ARM64:
		if n := fpsimd; len(vec) == n {
			k.core.Note("CORE", corewrite.FPRegSet, slices.Concat(vec[:n-8], vec[n-4:n], vec[n-8:n-4], make([]byte, fpsimdNote-n)))
		}
		if mask := k.m.CodeMask(); mask != 0 {
			k.core.Note("LINUX", notePACMask, k.core.Word(nil, mask, mask))
		}
	case arch.ARM:
		if len(vec) >= vfp+4 {
			k.core.Note("LINUX", noteARMVFP, slices.Concat(vec[8:8+vfp-4], vec[:4]))
		}
	}
}

// losses lists the streams that have no place in a core.
func (k *builder) losses() {
	for _, s := range k.f.Streams {
		switch s.Type {
		case 0, minidump.ThreadListStream, minidump.ModuleListStream, minidump.MemoryListStream, minidump.Memory64ListStream, minidump.ExceptionStream,
			minidump.SystemInfoStream, minidump.MiscInfoStream, minidump.BreakpadInfoStream, minidump.LinuxAuxvStream, minidump.LinuxMapsStream,
			minidump.LinuxCmdLineStream, minidump.ThreadNamesStream:
			continue
		}
		k.out.lose("stream %s", s.Type)
	}
	if !k.m.KnowsMappings() {
		k.out.lose("that memory may have been mapped that the dump does not mention")
	}
	if cut, have, want := k.m.Truncated(); cut {
		k.out.lose("that the minidump was cut off after %d of %d bytes", have, want)
	}
}
