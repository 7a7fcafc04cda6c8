package slimnote

import (
	"encoding/binary"
	"errors"
	"reflect"
	"testing"
)

var sampleModules = Modules{Mapped: true, List: []Module{
	{Base: 0x1000, Size: 0x3000, Bias: 0x1000, HasBias: true, BuildID: []byte{1, 2, 3}, Path: "/bin/a", DebugID: "D", CodeID: "C", DebugFile: "a.dbg", Version: "1"},
	{Base: 0x8000, Size: 0x1000, Partial: true, Path: "b"},
}}

func TestModules(t *testing.T) {
	for _, o := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := sampleModules.Bytes(o)
		got, err := ParseModules(b, o == binary.ByteOrder(binary.BigEndian))
		if err != nil || !reflect.DeepEqual(*got, sampleModules) {
			t.Errorf("%v: %+v, %v", o, got, err)
		}
		for cut := range b {
			if m, err := ParseModules(b[:cut], o == binary.ByteOrder(binary.BigEndian)); !errors.Is(err, errShort) {
				t.Errorf("cut off after %d bytes: %+v, %v", cut, m, err)
			}
		}
	}
}

func FuzzModules(f *testing.F) {
	f.Add(sampleModules.Bytes(binary.LittleEndian), false)
	f.Add(sampleModules.Bytes(binary.BigEndian), true)
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		m, err := ParseModules(b, big)
		if err != nil {
			return
		}
		var o binary.ByteOrder = binary.LittleEndian
		if big {
			o = binary.BigEndian
		}
		if again, err := ParseModules(m.Bytes(o), big); err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("%+v became %+v: %v", m, again, err)
		}
	})
}
