package image

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/slimnote"
)

// FromKept makes an image of what a slim dump has kept of a module's file: like a debug file, with some symbols and, as
// .debug_frame, the unwind rules of some addresses. bias is subtracted from addresses of the process; wordSize is 4 or 8 bytes.
func FromKept(k *slimnote.Kept, bias uint64, wordSize int) *Image {
	frame := debugFrame(k, bias, wordSize)
	lo, hi := uint64(0), uint64(0) // a section is where symbols are looked for
	for i, s := range k.Symbols {
		if from := s.Addr - bias; i == 0 || from < lo {
			lo = from
		}
		hi = max(hi, s.Addr-bias+s.Size)
	}
	l := elffile.Layout{Data: frame, Class: 8 * wordSize, Sections: []elffile.LayoutSection{
		{Name: ".text", Flags: elffile.SHF_ALLOC | elffile.SHF_EXECINSTR, Addr: lo, Size: max(hi, lo) - lo, NoBits: true},
		{Name: ".debug_frame", Size: uint64(len(frame))},
	}}
	l.Symbols = func() []elffile.LayoutSymbol {
		list := make([]elffile.LayoutSymbol, len(k.Symbols))
		for i, s := range k.Symbols {
			list[i] = elffile.LayoutSymbol{Name: s.Name, Value: s.Addr - bias, Size: s.Size, Func: s.Func}
		}
		return list
	}
	return &Image{elf: elffile.View(l)}
}

// debugFrame writes a .debug_frame: one CIE, and an FDE for the byte at each address.
func debugFrame(k *slimnote.Kept, bias uint64, wordSize int) []byte {
	o := binary.LittleEndian
	var b []byte
	entry := func(id uint32, body []byte) {
		for len(body)%4 != 0 {
			body = append(body, 0) // DW_CFA_nop
		}
		b = o.AppendUint32(b, uint32(4+len(body)))
		b = append(o.AppendUint32(b, id), body...)
	}
	entry(0xffffffff, uleb([]byte{3, 0, 1, 1}, uint64(k.RA))) // version 3, no augmentation, alignment factors 1
	rows := slices.SortedFunc(slices.Values(k.Rows), func(x, y slimnote.KeptRow) int { return cmp.Compare(x.PC-bias, y.PC-bias) })
	for _, r := range rows {
		var body []byte
		if wordSize == 4 {
			body = o.AppendUint32(o.AppendUint32(nil, uint32(r.PC-bias)), 1)
		} else {
			body = o.AppendUint64(o.AppendUint64(nil, r.PC-bias), 1)
		}
		body = sleb(uleb(append(body, 0x12), uint64(r.Reg)), r.Offset) // DW_CFA_def_cfa_sf
		for _, x := range r.Rules {
			if x.Undefined {
				body = uleb(append(body, 0x07), uint64(x.Reg)) // DW_CFA_undefined
			} else {
				body = sleb(uleb(append(body, 0x11), uint64(x.Reg)), x.Offset) // DW_CFA_offset_extended_sf
			}
		}
		entry(0, body)
	}
	return b
}

func uleb(b []byte, v uint64) []byte {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

func sleb(b []byte, v int64) []byte {
	for ; v < -0x40 || v >= 0x40; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v)&0x7f)
}
