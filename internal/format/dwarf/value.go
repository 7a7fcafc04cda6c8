package dwarf

import (
	"fmt"
	"math"
	"strings"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Resolving values: what the number in an entry means depends on its form and on the unit's
// bases in the indexed sections.

// defaultBases sets the bases that the unit's first entry does not give. In a .dwo file,
// whose sections have one contribution each, tables follow the section's header (DWARF 5,
// 7.26 to 7.29); split DWARF 4 had no headers.
func (u *Unit) defaultBases() {
	r := &u.root
	v5 := u.Version >= 5
	var strHeader, listHeader uint64
	if v5 {
		strHeader, listHeader = 8, 12 // length, version, padding; and for lists the offset count
		if u.Dwarf64() {
			strHeader, listHeader = 16, 20
		}
	}
	if !r.hasStrBase {
		r.strBase = strHeader
	}
	if !r.hasAddrBase {
		r.addrBase = strHeader // the headers of .debug_addr and .debug_str_offsets have the same size
	}
	if !r.hasRngBase {
		r.rngBase = listHeader
	}
	if !r.hasLocBase {
		r.locBase = listHeader
	}
}

// Bytes returns the string to which v refers, as a slice of the file, or false if v is not
// a string or is invalid.
func (u *Unit) Bytes(v *Value) ([]byte, bool) {
	d := u.Data
	switch v.Form {
	case FormString:
		return v.B, true
	case FormStrp:
		return d.str(SecStr, v.U)
	case FormLineStrp:
		return d.str(SecLineStr, v.U)
	case FormStrpSup, FormGNUStrpAlt:
		if d.sup == nil {
			return nil, false
		}
		return d.sup.str(SecStr, v.U)
	case FormStrx, FormStrx1, FormStrx2, FormStrx3, FormStrx4, FormGNUStrIndex:
		off, ok := u.tableWord(SecStrOffsets, u.root.strBase, v.U, int(u.enc.offSize))
		if !ok {
			return nil, false
		}
		return d.str(SecStr, off)
	}
	return nil, false
}

// str returns the string at off in a string section.
func (d *Data) str(sec Section, off uint64) ([]byte, bool) {
	for step := uint64(64); ; step *= 8 {
		data, err := d.part(sec, off, min(off, math.MaxUint64-step)+step)
		if err != nil || off >= uint64(len(data)) {
			return nil, false
		}
		end := min(off+step, uint64(len(data)))
		if s, ok := binbuf.CStringAt(data[:end], off); ok || end == uint64(len(data)) {
			return s, ok
		}
	}
}

// Text is Bytes as a new string, or "" if there is none.
func (u *Unit) Text(v *Value) string { return string(u.bytes(v)) }

// bytes is Bytes, and counts a long string as Work: many entries may have it.
func (u *Unit) bytes(v *Value) []byte {
	b, _ := u.Bytes(v)
	if len(b) > longText {
		u.Data.work.Add(int64(len(b) / textPerUnit))
	}
	return b
}

// A string of more than longText bytes is work: textPerUnit bytes, which are searched for its end and copied, are a unit.
const longText, textPerUnit = 4096, 128

// path is Text for a name that no system has if it is longer than maxPath; it is then "".
func (u *Unit) path(v *Value) string {
	if b := u.bytes(v); len(b) <= maxPath {
		return string(b)
	}
	return ""
}

// tableWord reads entry i of a table of words that begins at base.
func (u *Unit) tableWord(sec Section, base, i uint64, size int) (uint64, bool) {
	return u.Data.word(sec, base, i, size)
}

func (d *Data) word(sec Section, base, i uint64, size int) (uint64, bool) {
	at := base + i*uint64(size)
	data, err := d.part(sec, at, at+uint64(size))
	if err != nil {
		return 0, false
	}
	if base > uint64(len(data)) || i >= (uint64(len(data))-base)/uint64(size) {
		return 0, false
	}
	c := binbuf.New(data, int(base+i*uint64(size)), d.big)
	v := c.Uint(size)
	return v, c.Error == nil
}

// Address returns the address to which v refers.
func (u *Unit) Address(v *Value) (uint64, bool) {
	switch v.Form {
	case FormAddr:
		return v.U, true
	case FormAddrx, FormAddrx1, FormAddrx2, FormAddrx3, FormAddrx4, FormGNUAddrIndex:
		return u.AddressAt(v.U)
	}
	return 0, false
}

// AddressAt returns entry i of the unit's part of .debug_addr. A split unit uses its
// skeleton's part, in the skeleton's file.
func (u *Unit) AddressAt(i uint64) (uint64, bool) {
	owner := u
	if u.skeleton != nil {
		owner = u.skeleton
	}
	return owner.tableWord(SecAddr, owner.root.addrBase, i, u.AddrSize)
}

// linked returns the linked file with the unit's code: for a unit in a .dwo file, that of
// its skeleton.
func (u *Unit) linked() *Data {
	if u.skeleton != nil {
		return u.skeleton.Data
	}
	return u.Data
}

// errAbsent is the error for an entry that does not have the attribute. Most have not.
const errAbsent = absent("no reference")

type absent string

func (a absent) Error() string { return string(a) }

func (absent) Unwrap() error { return ErrFormat }

// Ref returns the entry to which v refers.
func (u *Unit) Ref(v *Value) (DIE, error) {
	to, err := u.ref(v)
	if counting && err == nil {
		to.referred()
	}
	return to, err
}

func (u *Unit) ref(v *Value) (DIE, error) {
	if !v.Present() {
		return DIE{}, errAbsent
	}
	d := u.Data
	switch v.Form {
	case FormRef1, FormRef2, FormRef4, FormRef8, FormRefUdata:
		off := u.Off + v.U
		if off < v.U || off < u.entries || off >= u.End {
			return DIE{}, fmt.Errorf("%v: reference to %#x is outside the unit: %w", u, v.U, ErrFormat)
		}
		return DIE{u, off}, nil
	case FormRefAddr:
		if u.Sec == SecInfo && v.U >= u.entries && v.U < u.End {
			return DIE{u, v.U}, nil
		}
		return d.infoDIE(v.U)
	case FormRefSig8:
		return d.TypeUnit(v.U)
	case FormGNURefAlt, FormRefSup4, FormRefSup8:
		if d.sup == nil {
			return DIE{}, fmt.Errorf("%v: reference to %#x: %w", u, v.U, ErrNoSup)
		}
		return d.sup.infoDIE(v.U)
	}
	return DIE{}, fmt.Errorf("%v: form %#x is not a reference: %w", u, uint16(v.Form), ErrFormat)
}

// infoDIE returns the entry at off of .debug_info.
func (d *Data) infoDIE(off uint64) (DIE, error) {
	u, err := d.UnitContaining(SecInfo, off)
	if err != nil {
		return DIE{}, err
	}
	if off < u.entries {
		return DIE{}, fmt.Errorf("%v: reference to %#x is in the unit's header: %w", u, off, ErrFormat)
	}
	return DIE{u, off}, nil
}

// Name is the DW_AT_name of the unit, usually the path of its source.
func (u *Unit) Name() string { return u.Text(&u.root.name) }

// OfNim reports whether the unit is C or C++ that Nim's compiler made: its files are named so.
func (u *Unit) OfNim() bool {
	name := u.Name()
	return strings.HasSuffix(name, ".nim.c") || strings.HasSuffix(name, ".nim.cpp")
}

// CompDir is the compiler's working directory, or "" if not recorded.
func (u *Unit) CompDir() string {
	if !u.root.compDir.Present() && u.skeleton != nil {
		return u.skeleton.CompDir()
	}
	return u.Text(&u.root.compDir)
}

// Skeleton reports whether the unit's functions and variables are in another file, and
// returns the name of that file, relative to CompDir. Its lines are here. The unit in the
// other file must have the same ID.
func (u *Unit) Skeleton() (dwoName string, ok bool) {
	if u.Type != UnitSkeleton {
		return "", false
	}
	return u.Text(&u.root.dwoName), true
}
