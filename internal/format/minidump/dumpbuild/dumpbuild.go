// Package dumpbuild makes minidumps for tests, including dumps that no program writes: with
// truncated or disordered streams, or from obsolete machines.
//
// It follows minidumpapiset.h and the headers of Breakpad and Crashpad, and shares no code
// with the parser.
package dumpbuild

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// Space for the directory, which follows the header: a truncated full dump still has it.
const (
	headerSize = 32
	maxStreams = 32
	dirEntry   = 12
)

// A Dump is a minidump being built. Use New; the zero value is not usable.
type Dump struct {
	Order   binary.ByteOrder
	Version uint32
	Time    uint32
	Flags   uint64

	buf     []byte
	streams []entry
	added   string // to every text
}

type entry struct{ kind, size, off uint32 }

// A Loc is the position of bytes in the dump: a LOCATION_DESCRIPTOR.
type Loc struct{ Size, Off uint32 }

// New begins a dump.
func New(big bool) *Dump {
	d := &Dump{Order: binary.LittleEndian, Version: 0xa793, buf: make([]byte, headerSize+maxStreams*dirEntry)}
	if big {
		d.Order = binary.BigEndian
	}
	return d
}

// A Writer encodes numbers in a dump's byte order.
type Writer struct {
	order binary.ByteOrder
	B     []byte
}

// W begins a structure.
func (d *Dump) W() *Writer { return &Writer{order: d.Order} }

func (w *Writer) U8(v ...uint8) *Writer { w.B = append(w.B, v...); return w }

func (w *Writer) U16(vs ...uint16) *Writer {
	for _, v := range vs {
		w.B = append(w.B, 0, 0)
		w.order.PutUint16(w.B[len(w.B)-2:], v)
	}
	return w
}

func (w *Writer) U32(vs ...uint32) *Writer {
	for _, v := range vs {
		w.B = append(w.B, 0, 0, 0, 0)
		w.order.PutUint32(w.B[len(w.B)-4:], v)
	}
	return w
}

func (w *Writer) U64(vs ...uint64) *Writer {
	for _, v := range vs {
		w.B = append(w.B, 0, 0, 0, 0, 0, 0, 0, 0)
		w.order.PutUint64(w.B[len(w.B)-8:], v)
	}
	return w
}

func (w *Writer) Loc(l Loc) *Writer      { return w.U32(l.Size, l.Off) }
func (w *Writer) Bytes(b []byte) *Writer { w.B = append(w.B, b...); return w }
func (w *Writer) Zeros(n int) *Writer    { return w.Bytes(make([]byte, n)) }

// Pad appends zeros up to n bytes.
func (w *Writer) Pad(n int) *Writer { return w.Zeros(max(0, n-len(w.B))) }

// Blob adds bytes to the dump, deliberately unaligned.
func (d *Dump) Blob(b []byte) Loc {
	if len(d.buf)%2 == 0 {
		d.buf = append(d.buf, 0xee)
	}
	l := Loc{uint32(len(b)), uint32(len(d.buf))}
	d.buf = append(d.buf, b...)
	return l
}

// String adds a MINIDUMP_STRING and returns its offset.
func (d *Dump) String(s string) uint32 { return d.UTF16(units(s + d.added)) }

// units encodes text in UTF-16; bytes that are not UTF-8 become surrogates without their other halves.
func units(s string) []uint16 {
	var out []uint16
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			out = append(out, 0xdc00|uint16(s[0]))
		} else {
			out = utf16.AppendRune(out, r)
		}
		s = s[n:]
	}
	return out
}

// UTF16 is String for code units that need not be valid.
func (d *Dump) UTF16(u []uint16) uint32 {
	return d.Blob(d.W().U32(uint32(2 * len(u))).U16(u...).U16(0).B).Off
}

// UTF8 adds a Crashpad string.
func (d *Dump) UTF8(s string) uint32 {
	s += d.added
	return d.Blob(d.W().U32(uint32(len(s))).Bytes([]byte(s)).U8(0).B).Off
}

// Stream adds a stream.
func (d *Dump) Stream(kind uint32, data []byte) {
	l := d.Blob(data)
	d.StreamAt(kind, l)
}

// StreamAt adds an entry to the directory, for whatever bytes are at l.
func (d *Dump) StreamAt(kind uint32, l Loc) {
	d.streams = append(d.streams, entry{kind, l.Size, l.Off})
}

// Bytes returns the dump in its current state.
func (d *Dump) Bytes() []byte {
	out := append([]byte(nil), d.buf...)
	w := d.W()
	w.U32(0x504d444d, d.Version, uint32(len(d.streams)), headerSize, 0, d.Time).U64(d.Flags)
	for _, s := range d.streams {
		w.U32(s.kind, s.size, s.off)
	}
	copy(out, w.B)
	return out
}

// A Thread is an entry of the thread list.
type Thread struct {
	ID, Suspend, Class, Priority uint32
	TEB, StackStart              uint64
	Stack, Context               Loc
}

// Threads adds the thread list; pad adds 4 bytes of padding after its count.
func (d *Dump) Threads(pad bool, list ...Thread) {
	w := d.W().U32(uint32(len(list)))
	if pad {
		w.U32(0)
	}
	for _, t := range list {
		w.U32(t.ID, t.Suspend, t.Class, t.Priority).U64(t.TEB, t.StackStart).Loc(t.Stack).Loc(t.Context)
	}
	d.Stream(3, w.B)
}

// A Module is an entry of the module list.
type Module struct {
	Base                     uint64
	Size, Checksum, Stamp    uint32
	Name                     string
	NameAt                   uint32 // used instead of Name if not 0
	FileHi, FileLo, PHi, PLo uint32
	CodeView                 []byte
}

// Modules adds the module list.
func (d *Dump) Modules(list ...Module) {
	w := d.W().U32(uint32(len(list)))
	for _, m := range list {
		name := m.NameAt
		if name == 0 {
			name = d.String(m.Name)
		}
		var cv Loc
		if m.CodeView != nil {
			cv = d.Blob(m.CodeView)
		}
		w.U64(m.Base).U32(m.Size, m.Checksum, m.Stamp, name)
		w.U32(0xfeef04bd, 0x10000, m.FileHi, m.FileLo, m.PHi, m.PLo).Zeros(52 - 24)
		w.Loc(cv).Loc(Loc{}).U64(0, 0)
	}
	d.Stream(4, w.B)
}

// PDB70 makes an RSDS CodeView record.
func (d *Dump) PDB70(a uint32, b, c uint16, e [8]byte, age uint32, path string) []byte {
	return d.W().Bytes([]byte("RSDS")).U32(a).U16(b, c).Bytes(e[:]).U32(age).Bytes([]byte(path + d.added)).U8(0).B
}

// PDB20 makes an NB10 CodeView record.
func (d *Dump) PDB20(stamp, age uint32, path string) []byte {
	return d.W().Bytes([]byte("NB10")).U32(0, stamp, age).Bytes([]byte(path)).U8(0).B
}

// BuildID makes the record of an ELF file.
func (d *Dump) BuildID(id []byte) []byte { return append([]byte("LEpB"), id...) }

// Memory is a memory range.
type Memory struct {
	Start uint64
	Data  []byte
	Loc   *Loc // used instead of Data
}

// MemoryList adds a memory list.
func (d *Dump) MemoryList(list ...Memory) {
	w := d.W().U32(uint32(len(list)))
	for _, m := range list {
		l := m.Loc
		if l == nil {
			at := d.Blob(m.Data)
			l = &at
		}
		w.U64(m.Start).Loc(*l)
	}
	d.Stream(5, w.B)
}

// Memory64 adds a 64-bit memory list, whose bytes are contiguous at the end.
func (d *Dump) Memory64(list ...Memory) {
	w := d.W().U64(uint64(len(list)), 0)
	for _, m := range list {
		w.U64(m.Start, uint64(len(m.Data)))
	}
	at := d.Blob(w.B)
	d.Order.PutUint64(d.buf[at.Off+8:], uint64(len(d.buf)))
	for _, m := range list {
		d.buf = append(d.buf, m.Data...)
	}
	d.StreamAt(9, at)
}

// An Exception is the exception stream.
type Exception struct {
	Thread, Code, Flags uint32
	Nested, Address     uint64
	Params              []uint64
	Count               uint32 // number of parameters, if not 0
	Context             Loc
}

// Exception adds the exception stream.
func (d *Dump) Exception(e Exception) {
	n := e.Count
	if n == 0 {
		n = uint32(len(e.Params))
	}
	w := d.W().U32(e.Thread, 0, e.Code, e.Flags).U64(e.Nested, e.Address).U32(n, 0).U64(e.Params...)
	d.Stream(6, w.Pad(160).Loc(e.Context).B)
}

// System adds the system information.
func (d *Dump) System(cpu uint16, platform uint32, major, minor, build uint32, csd string) {
	w := d.W().U16(cpu, 6, 0x1a05).U8(4, 1).U32(major, minor, build, platform, d.String(csd)).U16(0, 0)
	if cpu == 0 {
		w.Bytes([]byte("GenuineIntel"))
	}
	d.Stream(7, w.Pad(56).B)
}

// A Region is an entry of the MemoryInfoList.
type Region struct {
	Base, Size           uint64
	State, Protect, Type uint32
}

// MemoryInfo adds the MemoryInfoList, with entries of the given size (48 or more).
func (d *Dump) MemoryInfo(entry int, list ...Region) {
	w := d.W().U32(16, uint32(entry)).U64(uint64(len(list)))
	for _, r := range list {
		e := d.W().U64(r.Base, r.Base).U32(r.Protect, 0).U64(r.Size).U32(r.State, r.Protect, r.Type, 0)
		w.Bytes(e.Pad(entry).B)
	}
	d.Stream(16, w.B)
}

// ThreadNames adds thread names by id, in the given order.
func (d *Dump) ThreadNames(ids []uint32, names []string) {
	w := d.W().U32(uint32(len(ids)))
	for i, id := range ids {
		w.U32(id).U64(uint64(d.String(names[i])))
	}
	d.Stream(24, w.B)
}

// Misc adds version 1 of the miscellaneous information.
func (d *Dump) Misc(flags, pid, created uint32) {
	d.Stream(15, d.W().U32(24, flags, pid, created, 7, 8).B)
}

// With is Stream, but returns the dump.
func (d *Dump) With(kind uint32, data []byte) *Dump {
	d.Stream(kind, data)
	return d
}
