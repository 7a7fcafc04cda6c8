package slimnote

import (
	"encoding/binary"
	"errors"
	"reflect"
	"testing"
)

var sample = Note{Kind: 1, Have: 100, Want: 200, Redacted: true, Ranges: []Range{
	{Start: 0x1000, End: 0x3000, Claim: 0x3000, Have: 0x2000, Flags: 4},
	{Start: 0x3000, End: 0x4000, Claim: 0x3000, Have: 0x3000, Flags: 6},
}}

func TestBytes(t *testing.T) {
	for _, o := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		got, err := Parse(sample.Bytes(o), o == binary.ByteOrder(binary.BigEndian))
		if err != nil || !reflect.DeepEqual(*got, sample) {
			t.Errorf("%v: %+v, %v", o, got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	whole := sample.Bytes(binary.LittleEndian)
	change := func(at int, v uint64) []byte {
		b := append([]byte(nil), whole...)
		binary.LittleEndian.PutUint64(b[at:], v)
		return b
	}
	for name, c := range map[string]struct {
		desc []byte
		err  error // nil for any
	}{
		"empty":            {nil, errShort},
		"version":          {change(0, 2), errVersion},
		"cut off":          {whole[:len(whole)-1], errShort},
		"too many ranges":  {change(24, 1|0xffffffff<<32), errShort},
		"empty range":      {change(headSize+8, 0x1000), nil},
		"overlap":          {change(headSize+8, 0x3001), nil},
		"claim after end":  {change(headSize+16, 0x3001), nil},
		"claim before":     {change(headSize+16, 0xfff), nil},
		"have after claim": {change(headSize+rangeSize+24, 0x3001), nil},
		"have before":      {change(headSize+24, 0xfff), nil},
	} {
		if n, err := Parse(c.desc, false); err == nil || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v", name, n, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample.Bytes(binary.LittleEndian), false)
	f.Add(sample.Bytes(binary.BigEndian), true)
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		n, err := Parse(b, big)
		if err != nil {
			return
		}
		var o binary.ByteOrder = binary.LittleEndian
		if big {
			o = binary.BigEndian
		}
		if again, err := Parse(n.Bytes(o), big); err != nil || !reflect.DeepEqual(again, n) {
			t.Errorf("%+v, %v", again, err)
		}
	})
}
