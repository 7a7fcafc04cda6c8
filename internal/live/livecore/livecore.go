// Package livecore writes the core of a running process: the file that the kernel would write if the process
// died now, with the same notes and, following its coredump_filter, the same memory. The process must be
// stopped meanwhile.
//
// Memory that was never written becomes holes in the file, so that the core takes no more disk space than the
// process takes memory.
package livecore

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/live/corewrite"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/unwind"
)

// Options limit what is written.
type Options struct {
	// MaxMemory is how many bytes of memory are written at most; 0 for no limit. If there is more memory,
	// mappings with threads' stacks come first, then the smallest mappings. The first pages of files are always
	// written.
	MaxMemory uint64
}

// A Result describes the core written.
type Result struct {
	Size    uint64 // of the file in bytes, including holes
	Written uint64 // of these, bytes of memory that are not holes
	LeftOut uint64 // bytes of memory left out because of MaxMemory
	// Unreadable is how many bytes could not be read. The file has zeros for them.
	Unreadable uint64
	// Lost lists the threads whose registers could not be read.
	Lost []unwind.ThreadID
}

// A File is what a core with holes can be written to: an *os.File.
type File interface {
	io.WriterAt
	Truncate(size int64) error
}

const pageSize = 4096

// A segment is a mapping, or a part of one, that goes into the core.
type segment struct {
	*area
	start, end uint64
	size       uint64 // bytes in the file
}

// Write writes the core of p to f, which must be empty. All threads of p must be stopped.
func Write(f File, p *livestate.Process, o Options) (*Result, error) {
	w := &writer{f: f, p: p, pid: p.ProcessID(), out: &Result{}}
	if err := w.write(o); err != nil {
		return nil, fmt.Errorf("write core: %w", err)
	}
	return w.out, nil
}

// A Death says of what a process is dying that no signal is ending.
type Death struct {
	Thread unwind.ThreadID // in which it dies
	Signal corestate.SignalInfo
}

// Head returns the headers and the notes of the core of p, with which a core begins. The process is dying as d says. All threads
// of p must be stopped.
func Head(p *livestate.Process, d Death) ([]byte, error) {
	w := &writer{p: p, pid: p.ProcessID(), out: &Result{}, death: &d}
	if err := w.describe(Options{}); err != nil {
		return nil, fmt.Errorf("describe process: %w", err)
	}
	head, _, _, _ := w.core.Layout()
	return head, nil
}

type writer struct {
	f     File
	p     *livestate.Process
	pid   int
	death *Death // nil for what p itself says
	core  *corewrite.Core
	out   *Result
	sps   []uint64 // stack pointers of the threads
	segs  []segment
}

// describe makes the core without its memory.
func (w *writer) describe(o Options) error {
	if err := w.begin(); err != nil {
		return err
	}
	areas, err := readAreas(w.pid)
	if err != nil {
		return err
	}
	if len(areas) == 0 {
		return livestate.ErrExited
	}
	if err := w.notes(areas); err != nil {
		return err
	}
	w.plan(areas, o)
	for _, s := range w.segs {
		w.core.Segment(s.start, progFlags(s.perms), s.end-s.start, s.size)
	}
	return nil
}

// signal returns the signal that ends the process.
func (w *writer) signal() corestate.SignalInfo {
	if w.death != nil {
		return w.death.Signal
	}
	return w.p.Signal()
}

func (w *writer) write(o Options) error {
	if err := w.describe(o); err != nil {
		return err
	}
	head, tail, offsets, size := w.core.Layout()
	w.out.Size = size
	if err := w.f.Truncate(int64(size)); err != nil {
		return err
	}
	if _, err := w.f.WriteAt(head, 0); err != nil {
		return err
	}
	for i := range w.segs {
		if err := w.memory(&w.segs[i], offsets[i]); err != nil {
			return err
		}
	}
	_, err := w.f.WriteAt(tail, int64(size)-int64(len(tail)))
	return err
}

// begin starts a core of the same class, byte order and machine as the program's own file.
func (w *writer) begin() error {
	f, err := programFile(w.pid)
	if err != nil {
		return fmt.Errorf("cannot read the program's file: %w", err)
	}
	w.core = &corewrite.Core{Class: f.Class, Order: f.Order, Type: elffile.ET_CORE, Machine: f.Machine, NoteAlign: 4, LoadAlign: pageSize}
	return nil
}

func progFlags(perms string) (flags uint32) {
	for i, f := range []uint32{elffile.PF_R, elffile.PF_W, elffile.PF_X} {
		if perms[i] != '-' {
			flags |= f
		}
	}
	return flags
}

// plan decides which memory is written.
func (w *writer) plan(areas []area, o Options) {
	filter := readFilter(w.pid)
	for i := range areas {
		a := &areas[i]
		s := segment{area: a, start: a.start, end: a.end}
		switch a.dumped(filter) {
		case whole:
			if s.size = a.end - a.start; a.name == "[vsyscall]" && !w.readable(a.start) {
				s.size = 0 // the kernel includes it but does not let it be read
			}
		case header:
			if w.isELF(a.start) {
				s.size = pageSize
			}
		}
		w.segs = append(w.segs, s)
	}
	if o.MaxMemory > 0 {
		w.limit(o.MaxMemory)
	}
}

func (w *writer) readable(addr uint64) bool {
	_, err := w.p.ReadMem(addr, make([]byte, 1))
	return err == nil
}

func (w *writer) isELF(addr uint64) bool {
	var magic [4]byte
	_, err := w.p.ReadMem(addr, magic[:])
	return err == nil && string(magic[:]) == "\x7fELF"
}

// If a mapping is too large, this much is written around each thread's stack pointer, in bytes: below it for
// the red zone and the remains of calls, above it for frames.
const (
	stackBelow = 16 << 10
	stackAbove = 1 << 20
)

// limit leaves memory out until at most most bytes are written, not counting the surroundings of stack
// pointers, nor the first pages of files, which prove which files they are.
func (w *writer) limit(most uint64) {
	order := make([]int, len(w.segs))
	for i := range order {
		order[i] = i
	}
	hasStack := func(s *segment) bool {
		return slices.ContainsFunc(w.sps, func(sp uint64) bool { return sp >= s.start && sp < s.end })
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &w.segs[a], &w.segs[b]
		if sx, sy := hasStack(x), hasStack(y); sx != sy {
			if sx {
				return -1
			}
			return 1
		}
		return int(int64(min(x.resident, 1<<62)) - int64(min(y.resident, 1<<62)))
	})
	left := most
	cut := map[int]bool{}
	for _, i := range order {
		s := &w.segs[i]
		if s.size < s.end-s.start {
			continue // a first page, or nothing
		}
		cost := min(s.resident, s.size)
		if cost > left {
			cut[i] = true
			w.out.LeftOut += cost
			continue
		}
		left -= cost
	}
	if len(cut) == 0 {
		return
	}
	var out []segment
	for i, s := range w.segs {
		if cut[i] {
			out = append(out, w.around(s)...)
		} else {
			out = append(out, s)
		}
	}
	w.segs = out
}

// around splits a mapping into the surroundings of stack pointers, which are written, and the rest, which is
// not.
func (w *writer) around(s segment) []segment {
	var out []segment
	at := s.start
	part := func(end uint64, data bool) {
		if end > at {
			p := segment{area: s.area, start: at, end: end}
			if data {
				p.size = end - at
			}
			out = append(out, p)
			at = end
		}
	}
	for _, sp := range w.sps { // ascending
		if sp < s.start || sp >= s.end {
			continue
		}
		lo, hi := s.start, s.end
		if sp-s.start > stackBelow {
			lo = (sp - stackBelow) &^ (pageSize - 1)
		}
		if s.end-sp > stackAbove {
			hi = (sp + stackAbove) &^ (pageSize - 1)
		}
		part(lo, false)
		part(hi, true)
	}
	part(s.end, false)
	return out
}

// readSize is how much memory is read at a time, in bytes.
const readSize = 1 << 20

var zeros [pageSize]byte

// memory writes the bytes of a segment at an offset in the file.
func (w *writer) memory(s *segment, offset uint64) error {
	buf := make([]byte, min(readSize, s.size))
	used, err := w.presence(s)
	if err != nil {
		return err
	}
	for at := uint64(0); at < s.size; {
		n := min(uint64(len(buf)), s.size-at)
		if used != nil {
			skip, run := used.next(at/pageSize, (s.size+pageSize-1)/pageSize)
			if at = skip * pageSize; at >= s.size {
				break
			}
			n = min(n, run*pageSize, s.size-at)
		}
		w.read(s.start+at, buf[:n])
		if err := w.put(buf[:n], offset+at); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// read reads memory, and zeros where it cannot.
func (w *writer) read(addr uint64, buf []byte) {
	for n := 0; n < len(buf); {
		got, err := w.p.ReadMem(addr+uint64(n), buf[n:])
		n += got
		if err == nil || n >= len(buf) {
			continue
		}
		next := min(len(buf), int((addr+uint64(n))&^(pageSize-1)+pageSize-addr))
		clear(buf[n:next])
		w.out.Unreadable += uint64(next - n)
		n = next
	}
}

// put writes the pages of buf that are not all zeros.
func (w *writer) put(buf []byte, offset uint64) error {
	page := func(i int) []byte { return buf[i:min(i+pageSize, len(buf))] }
	for i := 0; i < len(buf); {
		if string(page(i)) == string(zeros[:len(page(i))]) {
			i += pageSize
			continue
		}
		j := i
		for j < len(buf) && string(page(j)) != string(zeros[:len(page(j))]) {
			j += pageSize
		}
		j = min(j, len(buf))
		if _, err := w.f.WriteAt(buf[i:j], int64(offset)+int64(i)); err != nil {
			return err
		}
		w.out.Written += uint64(j - i)
		i = j
	}
	return nil
}

// stackPointer records the stack pointer of a thread.
func (w *writer) stackPointer(tid unwind.ThreadID) {
	regs, err := w.p.Registers(tid)
	if err != nil {
		return
	}
	if sp, ok := regs.Get(w.p.Arch().SP); ok {
		i, _ := slices.BinarySearch(w.sps, sp)
		w.sps = slices.Insert(w.sps, i, sp)
	}
}

var errNoThreads = errors.New("cannot read the registers of any thread")

// files lists the mapped files for NT_FILE.
func files(areas []area) []corewrite.Mapping {
	var out []corewrite.Mapping
	for i := range areas {
		if a := &areas[i]; a.file() {
			out = append(out, corewrite.Mapping{Start: a.start, End: a.end, Offset: a.offset, Path: a.name})
		}
	}
	return out
}
