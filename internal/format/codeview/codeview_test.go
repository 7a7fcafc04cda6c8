package codeview

import (
	"encoding/binary"
	"errors"
	"testing"
)

const guid = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"

func TestGUID(t *testing.T) {
	little, big := MakeGUID([]byte(guid), binary.LittleEndian), MakeGUID([]byte(guid), binary.BigEndian)
	for _, tt := range []struct{ got, want string }{
		{little.String(), "04030201-0605-0807-090a-0b0c0d0e0f10"},
		{little.Digits(), "0403020106050807090A0B0C0D0E0F10"},
		{big.Digits(), "0102030405060708090A0B0C0D0E0F10"},
		{little.DebugID(0x1a), "0403020106050807090A0B0C0D0E0F101a"},
		{OfBuildID([]byte(guid + "more")), "0403020106050807090A0B0C0D0E0F100"},
		{OfBuildID([]byte("\xab\xcd")), "0000CDAB0000000000000000000000000"},
		{OfBuildID(nil), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
	if little.IsZero() || !MakeGUID(nil, binary.BigEndian).IsZero() {
		t.Error("which is zero")
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text  string
		order binary.ByteOrder
		id    string
		path  string
		err   error
	}{
		{"RSDS" + guid + "\x1a\x00\x00\x00a.pdb\x00rest", binary.LittleEndian, "0403020106050807090A0B0C0D0E0F101a", "a.pdb", nil},
		{"RSDS" + guid + "\x00\x00\x00\x1aa.pdb", binary.BigEndian, "0102030405060708090A0B0C0D0E0F101a", "a.pdb", nil},
		{"RSDS" + string(make([]byte, 20)), binary.LittleEndian, "", "", nil},
		{"NB10\x00\x00\x00\x00\x6d\x5c\x4b\x3a\x02\x00\x00\x00old.pdb\x00", binary.LittleEndian, "3A4B5C6D2", "old.pdb", nil},
		{"RSDS" + guid + "\x1a", binary.LittleEndian, "", "", ErrTruncated},
		{"NB10\x00\x00\x00\x00\x6d\x5c\x4b\x3a", binary.LittleEndian, "", "", ErrTruncated},
		{"RS", binary.LittleEndian, "", "", ErrTruncated},
		{"NB11" + guid + guid, binary.LittleEndian, "", "", ErrUnknown},
	} {
		r, err := Parse([]byte(tt.text), tt.order)
		if !errors.Is(err, tt.err) || err == nil && (r.DebugID() != tt.id || string(r.Path) != tt.path) {
			t.Errorf("%q: %s %q %v; want %s %q %v", tt.text, r.DebugID(), r.Path, err, tt.id, tt.path, tt.err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("RSDS" + guid + "\x1a\x00\x00\x00a.pdb\x00"))
	f.Add([]byte("NB10\x00\x00\x00\x00\x6d\x5c\x4b\x3a\x02\x00\x00\x00old.pdb\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := Parse(b, binary.LittleEndian); err == nil && len(r.Path)+16 > len(b) {
			t.Errorf("a path of %d bytes in %d", len(r.Path), len(b))
		}
	})
}
