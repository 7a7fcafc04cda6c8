package slimnote

import (
	"encoding/binary"
	"reflect"
	"testing"
)

var sampleMade = []Made{
	{Start: 0x1000, Size: 64, Name: "toy::leaf", Places: []MadePlace{{Addr: 0x1008, Line: 4, File: "shop.toy"}, {Addr: 0x1010}}},
	{Start: 0x1020, Size: 128, Cut: true, Name: "old", Table: []byte("table"), Places: []MadePlace{}},
}

func TestMade(t *testing.T) {
	for _, o := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b, big := MadeBytes(sampleMade, o), o == binary.ByteOrder(binary.BigEndian)
		got, err := ParseMade(b, big)
		if err != nil || !reflect.DeepEqual(got, sampleMade) {
			t.Errorf("%v: %+v, %v", o, got, err)
		}
		for cut := range b {
			if m, err := ParseMade(b[:cut], big); err == nil {
				t.Errorf("cut off after %d bytes: %+v", cut, m)
			}
		}
	}
	b := MadeBytes(sampleMade, binary.LittleEndian)
	for _, at := range []int{4, 8 + 20, 8 + 24, 8 + 28} { // as many functions, and bytes, and places, as there is no room for
		most := append([]byte(nil), b...)
		binary.LittleEndian.PutUint32(most[at:], 0xffffffff)
		if n := testing.AllocsPerRun(1, func() {
			if _, err := ParseMade(most, false); err == nil {
				t.Errorf("the number at %d is believed", at)
			}
		}); n > 20 {
			t.Errorf("%v allocations", n)
		}
	}
	b[0] = 9
	if m, err := ParseMade(b, false); err == nil {
		t.Errorf("of another version: %+v", m)
	}
}

func FuzzMade(f *testing.F) {
	f.Add(MadeBytes(sampleMade, binary.LittleEndian), false)
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		list, err := ParseMade(b, big)
		if err != nil {
			return
		}
		var o binary.ByteOrder = binary.LittleEndian
		if big {
			o = binary.BigEndian
		}
		if again, err := ParseMade(MadeBytes(list, o), big); err != nil || !reflect.DeepEqual(again, list) {
			t.Fatalf("%+v became %+v: %v", list, again, err)
		}
	})
}
