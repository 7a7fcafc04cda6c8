package corestate

import (
	"iter"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/unwind"
)

// Note types under the names "CORE" and "LINUX" (kernel,
// include/uapi/linux/elf.h).
const (
	ntPRStatus   = 1
	ntFPRegSet   = 2
	ntPRPSInfo   = 3
	ntTaskStruct = 4
	ntAuxv       = 6
	ntFile       = 0x46494c45
	ntSigInfo    = 0x53494749
	ntPRXFPReg   = 0x46e62b7f
	nt386TLS     = 0x200
	nt386IOPerm  = 0x201
	ntX86XState  = 0x202
	ntARMVFP     = 0x400
	ntARMPACMask = 0x406
	ntRISCVTags  = 0x902
	ntX86SHStk   = 0x204
	ntX86XSaveL  = 0x205
	ntGDBTDesc   = 0xff000000
)

// maxNotes limits the notes to look at: a thread has about six.
const maxNotes = 1 << 22

// maxBlank is how many consecutive notes of zeros are skipped, two pages: a file may
// have lost one page. After more of them, the rest of the segment has no notes: it was
// not written, or was lost.
const maxBlank = 2 * 4096 / 12

// A Note is one entry of a core's notes.
type Note struct {
	Owner     string          // "CORE", "LINUX", "GDB" ...
	Type      uint32          // meaning per owner
	Name      string          // the type's name, "NT_PRSTATUS"; "" when not known
	Size      uint64          // bytes it says it has
	Data      []byte          // those that the file has, not copied
	Truncated bool            // the file ends inside it
	Thread    unwind.ThreadID // whom it belongs to; unwind.NullThread for the process
}

// notePos is the position of a note: the index of its program header, and its offset in
// that segment.
type notePos struct {
	prog int
	off  int
}

// blank reports whether a note consists of zeros only.
func blank(n *elffile.Note) bool { return len(n.Name) == 0 && n.Type == 0 && n.DescSize == 0 }

// rawNotes iterates over the notes of the core from a position. It leaves out blank
// notes and, after maxBlank of them in a row, the rest of their segment.
func (c *ELFCore) rawNotes(from notePos) iter.Seq2[notePos, elffile.Note] {
	return func(yield func(notePos, elffile.Note) bool) {
		left := maxNotes
		first, _ := slices.BinarySearch(c.noteProgs, from.prog)
		for _, i := range c.noteProgs[first:] {
			p := &c.elf.Progs[i]
			data, base := c.elf.SegmentData(p), 0
			if i == from.prog {
				base = min(from.off, len(data))
			}
			blanks := 0
			for n := range elffile.Notes(data[base:], c.elf.Order, int(min(p.Align, 8))) {
				if left--; left < 0 {
					return
				}
				if !blank(&n) {
					blanks = 0
					if !yield(notePos{i, base + n.Off}, n) {
						return
					}
				} else if blanks++; blanks >= maxBlank {
					break
				}
			}
		}
	}
}

// Notes iterates over all notes in the file's order, to list them. Other methods decode
// them.
func (c *ELFCore) Notes() iter.Seq[Note] {
	return func(yield func(Note) bool) {
		tid := unwind.NullThread
		next := 0
		for pos, n := range c.rawNotes(notePos{}) {
			for next < len(c.threads) && !pos.before(c.threads[next].pos) {
				tid = c.threads[next].id
				next++
			}
			note := Note{
				Owner: string(n.Name), Type: n.Type, Size: uint64(n.DescSize),
				Data: n.Desc, Truncated: n.Truncated, Thread: tid,
			}
			note.Name = noteName(note.Owner, note.Type)
			if c.processNote(note.Owner, n.Type) {
				note.Thread = unwind.NullThread
			}
			if !yield(note) {
				return
			}
		}
	}
}

func (p notePos) before(q notePos) bool {
	return p.prog < q.prog || p.prog == q.prog && p.off < q.off
}

// processNote reports whether a note describes the whole process, wherever it is:
// kernels write these notes among the first thread's.
func (c *ELFCore) processNote(owner string, typ uint32) bool {
	switch owner {
	case "CORE":
		return typ == ntPRPSInfo || typ == ntAuxv || typ == ntFile || typ == ntTaskStruct
	case "LINUX":
		return typ == ntX86XSaveL
	}
	if owner == osFreeBSD {
		return typ == ntPRPSInfo || typ >= freeBSDProc && typ <= freeBSDAuxv
	}
	return !strings.Contains(owner, "@")
}

// ThreadNote returns the descriptor (the contents) of a thread's first note with an owner and a type; false if it has none.
// A thread's notes are those from its registers (NT_PRSTATUS) up to the next thread's.
func (c *ELFCore) ThreadNote(tid unwind.ThreadID, owner string, typ uint32) ([]byte, bool) {
	t, ok := c.thread(tid)
	if !ok {
		return nil, false
	}
	return c.noteOf(t, owner, typ)
}

func (c *ELFCore) noteOf(t *thread, owner string, typ uint32) ([]byte, bool) {
	for pos, n := range c.rawNotes(t.pos) {
		if pos != t.pos && c.beginsThread(n, t) {
			break
		}
		if n.Type == typ && string(n.Name) == owner {
			return n.Desc, true
		}
	}
	return nil, false
}

// beginsThread reports whether n is the first note of a thread other than t.
func (c *ELFCore) beginsThread(n elffile.Note, t *thread) bool {
	owner := string(n.Name)
	switch c.os {
	case osNetBSD:
		lwp, ok := lwpOf(owner, netBSDOwner)
		return ok && lwp != t.id
	case osOpenBSD:
		tid, ok := lwpOf(owner, osOpenBSD)
		return ok && tid != t.id
	case osFreeBSD:
		return n.Type == ntPRStatus && owner == osFreeBSD
	}
	return n.Type == ntPRStatus && owner == "CORE"
}

// scanNotes goes through all notes once, and records the threads and the facts about
// the process.
func (c *ELFCore) scanNotes() {
	first, last := "", map[int]int{}
	for pos, n := range c.rawNotes(notePos{}) {
		last[pos.prog] = pos.off + n.DescOff - n.Off + len(n.Desc)
		owner := string(n.Name)
		if first == "" {
			first = noteName(owner, n.Type)
		}
		if n.Truncated {
			c.warnf("note of %q, type %#x, at offset %#x is cut off: the file has %d of its %d bytes",
				clip(owner), n.Type, c.elf.Progs[pos.prog].Off+uint64(pos.off), len(n.Desc), n.DescSize)
		}
		c.scanNote(pos, owner, n)
	}
	c.guessKind(first)
	c.warnBlank(last)
}

// warnBlank warns about segments that end in zeros instead of notes. last is the end of
// the last note of each segment that has any.
func (c *ELFCore) warnBlank(last map[int]int) {
	for _, i := range c.noteProgs {
		p := &c.elf.Progs[i]
		data := c.elf.SegmentData(p)
		if end := min(last[i], len(data)); len(data)-end >= 12*maxBlank && allZero(data[end:end+12*maxBlank]) {
			c.blankNotes = true
			c.warnf("the file has zeros instead of notes from offset %#x on", p.Off+uint64(end))
		}
	}
}

func (c *ELFCore) scanNote(pos notePos, owner string, n elffile.Note) {
	switch {
	case owner == "CORE":
		c.os = osLinux
		switch n.Type {
		case ntPRStatus:
			c.addPRStatus(pos, n.Desc)
		case ntPRPSInfo:
			keepFirst(&c.psinfo, n.Desc)
		case ntAuxv:
			keepFirst(&c.auxv, n.Desc)
		case ntFile:
			keepFirst(&c.fileNote, n.Desc)
		case ntFPRegSet:
			c.hasFPRegs = true
		}
	case owner == slimnote.Owner && n.Type == slimnote.Type:
		c.readSlim(n.Desc)
	case owner == slimnote.Owner && n.Type == slimnote.TypeModules:
		c.readModules(n.Desc)
	case owner == "GDB":
		c.kind = GCore
	case owner == "VMCOREINFO", owner == "QEMU":
		c.kernel = owner
	case owner == osFreeBSD:
		c.os = osFreeBSD
		c.scanFreeBSD(pos, n)
	case owner == osOpenBSD || strings.HasPrefix(owner, osOpenBSD+"@"):
		c.os = osOpenBSD
		c.scanOpenBSD(pos, owner, n)
	case strings.HasPrefix(owner, netBSDOwner):
		c.os = osNetBSD
		c.scanNetBSD(pos, owner, n)
	}
}

func keepFirst(dst *[]byte, b []byte) {
	if *dst == nil {
		*dst = b
	}
}

// clip shortens a name for messages, because hostile input may make it long.
func clip(s string) string {
	if len(s) > 32 {
		return s[:32] + "..."
	}
	return s
}
