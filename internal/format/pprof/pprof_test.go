package pprof

import (
	"bytes"
	"testing"
)

func TestMessage(t *testing.T) {
	var m, sub Message
	m.Int(1, 0) // the default
	m.Int(1, 300)
	sub.Varint(1)
	sub.Varint(1 << 63)
	m.Message(2, sub)
	want := []byte{1 << 3, 0xac, 2, 2<<3 | 2, 11, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}
	if !bytes.Equal(m, want) {
		t.Errorf("% x, want % x", m, want)
	}
}

func TestStrings(t *testing.T) {
	var s Strings
	v := s.Value("space", "bytes")
	if want := []byte{1 << 3, 1, 2 << 3, 2}; !bytes.Equal(v, want) {
		t.Errorf("% x, want % x", v, want)
	}
	if s.Number("bytes") != 2 || s.Number("") != 0 || s.Number("more") != 3 {
		t.Error("a string has two numbers, or none")
	}
	var m Message
	s.Write(&m)
	if want := "\x32\x00\x32\x05space\x32\x05bytes\x32\x04more"; string(m) != want {
		t.Errorf("%q, want %q", m, want)
	}
}
