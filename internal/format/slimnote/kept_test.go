package slimnote

import (
	"encoding/binary"
	"reflect"
	"testing"
)

var sampleKept = []Kept{
	{Start: 0x1000, RA: 16, Symbols: []KeptSymbol{{Addr: 0x1010, Size: 4, Func: true, Name: "f"}, {Addr: 0x2000, Size: 8, Name: "data"}},
		Rows: []KeptRow{{PC: 0x1012, Reg: 7, Offset: 16, Rules: []KeptRule{{Reg: 16, Offset: -8}, {Reg: 3, Undefined: true}}}}},
	{Start: 0x8000, RA: 16, Symbols: []KeptSymbol{}, Rows: []KeptRow{}},
}

func TestKept(t *testing.T) {
	for _, o := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := KeptBytes(sampleKept, o)
		got, err := ParseKept(b, o == binary.ByteOrder(binary.BigEndian))
		if err != nil || !reflect.DeepEqual(got, sampleKept) {
			t.Errorf("%v: %+v, %v", o, got, err)
		}
		for cut := range b {
			if m, err := ParseKept(b[:cut], o == binary.ByteOrder(binary.BigEndian)); err == nil {
				t.Errorf("cut off after %d bytes: %+v", cut, m)
			}
		}
	}
	many := KeptBytes(sampleKept, binary.LittleEndian)
	for at := 4; at+4 <= len(many); at += 4 { // no number leads to more memory than the note has room for
		b := append([]byte(nil), many...)
		binary.LittleEndian.PutUint32(b[at:], 0xffffffff)
		_, _ = ParseKept(b, false)
	}
}

func FuzzKept(f *testing.F) {
	f.Add(KeptBytes(sampleKept, binary.LittleEndian), false)
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		list, err := ParseKept(b, big)
		if err != nil {
			return
		}
		var o binary.ByteOrder = binary.LittleEndian
		if big {
			o = binary.BigEndian
		}
		if again, err := ParseKept(KeptBytes(list, o), big); err != nil || !reflect.DeepEqual(again, list) {
			t.Fatalf("%+v became %+v: %v", list, again, err)
		}
	})
}
