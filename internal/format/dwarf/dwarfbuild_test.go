package dwarf

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A builder of DWARF for tests: entries are trees of nodes, sections are byte slices that a
// test may also write by hand.

func (o *out) u16(v uint16) {
	var b [2]byte
	o.order.PutUint16(b[:], v)
	o.bytes(b[:])
}

func (o *out) u32(v uint32) {
	var b [4]byte
	o.order.PutUint32(b[:], v)
	o.bytes(b[:])
}

func (o *out) u64(v uint64) {
	var b [8]byte
	o.order.PutUint64(b[:], v)
	o.bytes(b[:])
}

// out is a section being built.
type out struct {
	b     []byte
	order binary.ByteOrder
}

func (o *out) len() uint64    { return uint64(len(o.b)) }
func (o *out) u8(v ...uint8)  { o.b = append(o.b, v...) }
func (o *out) bytes(p []byte) { o.b = append(o.b, p...) }
func (o *out) str(s string)   { o.b = append(append(o.b, s...), 0) }
func (o *out) uleb(v uint64)  { o.b = appendULEB(o.b, v) }
func (o *out) sleb(v int64)   { o.b = appendSLEB(o.b, v) }
func (o *out) patch(at int, size int, v uint64) {
	p := &out{order: o.order}
	p.uint(size, v)
	copy(o.b[at:], p.b)
}

func (o *out) uint(size int, v uint64) {
	switch size {
	case 1:
		o.u8(uint8(v))
	case 2:
		o.u16(uint16(v))
	case 3:
		if o.order == binary.ByteOrder(binary.BigEndian) {
			o.u8(uint8(v>>16), uint8(v>>8), uint8(v))
		} else {
			o.u8(uint8(v), uint8(v>>8), uint8(v>>16))
		}
	case 4:
		o.u32(uint32(v))
	case 8:
		o.u64(v)
	default:
		panic(fmt.Sprintf("size %d", size))
	}
}

func appendULEB(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendSLEB(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// A node is an entry to be written.
type node struct {
	tag   Tag
	attrs []nattr
	kids  []*node
	off   uint64 // in its section, once written
	unit  *unitSpec
}

// nattr is an attribute: its value is a number, string, []byte or *node.
type nattr struct {
	attr  Attr
	form  Form
	value any
}

func at(attr Attr, form Form, value any) nattr { return nattr{attr, form, value} }

// die makes a node of attributes and children.
func die(tag Tag, parts ...any) *node {
	n := &node{tag: tag}
	for _, p := range parts {
		switch p := p.(type) {
		case nattr:
			n.attrs = append(n.attrs, p)
		case []nattr:
			n.attrs = append(n.attrs, p...)
		case *node:
			n.kids = append(n.kids, p)
		case []*node:
			n.kids = append(n.kids, p...)
		default:
			panic(fmt.Sprintf("%T in an entry", p))
		}
	}
	return n
}

func (n *node) add(kids ...*node) *node {
	n.kids = append(n.kids, kids...)
	return n
}

// name, pcs and others abbreviate common attributes.
func name(s string) nattr { return at(AttrName, FormString, s) }

func pcs(low, size uint64) []nattr {
	return []nattr{at(AttrLowPC, FormAddr, low), at(AttrHighPC, FormData4, size)}
}

// A unitSpec says how to write a unit.
type unitSpec struct {
	version  int
	addrSize int
	dwarf64  bool
	kind     UnitType
	id       uint64
	typ      *node // of a type unit
	root     *node
	sibling  bool // give entries with children a DW_AT_sibling, as gcc does
	off      uint64
}

// dwarfFile collects the sections of a file.
type dwarfFile struct {
	order binary.ByteOrder
	sec   map[string]*out
	dwo   bool
	refs  []ref
}

type ref struct {
	o    *out
	at   int
	size int
	base uint64
	to   *node
}

func newFile(order binary.ByteOrder) *dwarfFile {
	return &dwarfFile{order: order, sec: make(map[string]*out)}
}

func (f *dwarfFile) section(s Section) *out {
	name := s.String()
	if f.dwo && s != SecCUIndex {
		name += ".dwo"
	}
	if f.sec[name] == nil {
		f.sec[name] = &out{order: f.order}
	}
	return f.sec[name]
}

// Section makes the file a Source.
func (f *dwarfFile) Section(name string) ([]byte, error) {
	if o := f.sec[name]; o != nil {
		return o.b, nil
	}
	return nil, nil
}

// data resolves the references and opens the file.
func (f *dwarfFile) data(opts ...Option) *Data {
	for _, r := range f.refs {
		r.o.patch(r.at, r.size, r.to.off-r.base)
	}
	if f.dwo {
		opts = append(opts, DWO())
	}
	return New(f, f.order, opts...)
}

// addString puts s into a string section and returns its offset.
func (f *dwarfFile) addString(sec Section, s string) uint64 {
	o := f.section(sec)
	if o.len() == 0 {
		o.str("")
	}
	if i := bytes.Index(o.b, append([]byte(s), 0)); i >= 0 {
		return uint64(i)
	}
	off := o.len()
	o.str(s)
	return off
}

func (u *unitSpec) offSize() int {
	if u.dwarf64 {
		return 8
	}
	return 4
}

// beginLength writes an initial length to be filled in by endLength.
func beginLength(o *out, dwarf64 bool) int {
	if dwarf64 {
		o.u32(0xffffffff)
		o.u64(0)
	} else {
		o.u32(0)
	}
	return len(o.b)
}

func endLength(o *out, start int, dwarf64 bool) {
	size := 4
	if dwarf64 {
		size = 8
	}
	o.patch(start-size, size, uint64(len(o.b)-start))
}

// unit writes a unit to .debug_info, or to .debug_types.
func (f *dwarfFile) unit(u *unitSpec) {
	sec := SecInfo
	types := u.kind == UnitTypes || u.kind == UnitSplitTypes
	if u.version < 5 && types {
		sec = SecTypes
	}
	o := f.section(sec)
	abbrev := f.section(SecAbbrev)
	abbrevOff := abbrev.len()
	u.off = o.len()
	start := beginLength(o, u.dwarf64)
	o.u16(uint16(u.version))
	if u.version >= 5 {
		if u.kind == 0 {
			u.kind = UnitCompile
		}
		o.u8(uint8(u.kind), uint8(u.addrSize))
		o.uint(u.offSize(), abbrevOff)
	} else {
		o.uint(u.offSize(), abbrevOff)
		o.u8(uint8(u.addrSize))
	}
	if u.version >= 5 && (u.kind == UnitSkeleton || u.kind == UnitSplitCompile) || types {
		o.u64(u.id)
	}
	if types {
		f.refs = append(f.refs, ref{o, len(o.b), u.offSize(), u.off, u.typ})
		o.uint(u.offSize(), 0)
	}
	w := nodeWriter{f: f, u: u, o: o, abbrev: abbrev}
	w.write(u.root)
	abbrev.u8(0)
	endLength(o, start, u.dwarf64)
}

type nodeWriter struct {
	f      *dwarfFile
	u      *unitSpec
	o      *out
	abbrev *out
	codes  uint64
}

// write writes an entry with its own abbreviation.
func (w *nodeWriter) write(n *node) {
	n.off, n.unit = w.o.len(), w.u
	w.codes++
	w.o.uleb(w.codes)
	w.abbrev.uleb(w.codes)
	w.abbrev.uleb(uint64(n.tag))
	children := uint8(0)
	if len(n.kids) > 0 {
		children = 1
	}
	w.abbrev.u8(children)
	sibling := -1
	if w.u.sibling && len(n.kids) > 0 {
		w.abbrev.uleb(uint64(AttrSibling))
		w.abbrev.uleb(uint64(FormRef4))
		sibling = len(w.o.b)
		w.o.u32(0)
	}
	for _, a := range n.attrs {
		w.abbrev.uleb(uint64(a.attr))
		w.abbrev.uleb(uint64(a.form))
		if a.form == FormImplicitConst {
			w.abbrev.sleb(toInt(a.value))
			continue
		}
		w.value(a.form, a.value)
	}
	w.abbrev.u8(0, 0)
	if len(n.kids) == 0 {
		return
	}
	for _, k := range n.kids {
		w.write(k)
	}
	w.o.u8(0)
	if sibling >= 0 {
		w.o.patch(sibling, 4, w.o.len()-w.u.off)
	}
}

func toInt(v any) int64 {
	switch v := v.(type) {
	case int:
		return int64(v)
	case uint64:
		return int64(v)
	case int64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case Language:
		return int64(v)
	}
	panic(fmt.Sprintf("%T is no number", v))
}

func (w *nodeWriter) value(form Form, v any) {
	o, enc := w.o, encoding{uint16(w.u.version), uint8(w.u.addrSize), uint8(w.u.offSize())}
	switch form {
	case FormFlagPresent:
		return
	case FormString:
		o.str(v.(string))
		return
	case FormStrp:
		o.uint(w.u.offSize(), w.f.addString(SecStr, v.(string)))
		return
	case FormLineStrp:
		o.uint(w.u.offSize(), w.f.addString(SecLineStr, v.(string)))
		return
	case FormSdata:
		o.sleb(toInt(v))
		return
	case FormUdata, FormRefUdata, FormStrx, FormAddrx, FormLoclistx, FormRnglistx, FormGNUAddrIndex, FormGNUStrIndex:
		o.uleb(uint64(toInt(v)))
		return
	case FormBlock, FormExprloc:
		o.uleb(uint64(len(v.([]byte))))
		o.bytes(v.([]byte))
		return
	case FormBlock1, FormBlock2, FormBlock4:
		size := map[Form]int{FormBlock1: 1, FormBlock2: 2, FormBlock4: 4}[form]
		o.uint(size, uint64(len(v.([]byte))))
		o.bytes(v.([]byte))
		return
	case FormData16:
		o.bytes(v.([]byte))
		return
	case FormIndirect:
		in := v.(nattr)
		o.uleb(uint64(in.form))
		w.value(in.form, in.value)
		return
	}
	size, ok := formSize(form, enc)
	if !ok {
		panic(fmt.Sprintf("form %#x", form))
	}
	if to, ok := v.(*node); ok {
		base := uint64(0)
		switch form {
		case FormRef1, FormRef2, FormRef4, FormRef8:
			base = w.u.off
		}
		w.f.refs = append(w.f.refs, ref{o, len(o.b), int(size), base, to})
		o.uint(int(size), 0)
		return
	}
	o.uint(int(size), uint64(toInt(v)))
}
