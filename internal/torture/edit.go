package main

import (
	"bytes"
	"fmt"
	"os"
)

// An edit replaces bytes. Edits of one input are made one after the other.
type edit struct {
	Off int
	Del int
	Ins []byte
}

// An input says how to make a damaged file, in few bytes.
type input struct {
	Seed  uint64 // chooses what is asked of the library
	Base  string
	Edits []edit
}

// sameLength reports whether the edits only overwrite bytes inside a file.
func sameLength(edits []edit, size int) bool {
	for _, e := range edits {
		if e.Del != len(e.Ins) || e.Off+e.Del > size {
			return false
		}
	}
	return true
}

func apply(data []byte, edits []edit) []byte {
	out := bytes.Clone(data)
	for _, e := range edits {
		off := min(e.Off, len(out))
		end := min(off+e.Del, len(out))
		if e.Del == len(e.Ins) && end-off == e.Del {
			copy(out[off:], e.Ins)
			continue
		}
		out = append(out[:off:off], append(bytes.Clone(e.Ins), out[end:]...)...)
	}
	return out
}

// A staged file is a copy that is damaged in place, and mended again.
type staged struct {
	path  string
	data  []byte // undamaged
	f     *os.File
	dirty bool
}

// stage writes data, with holes where it is zero.
func stage(path string, data []byte) (*staged, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return nil, err
	}
	s := &staged{path: path, data: data, f: f}
	return s, s.write(data)
}

func (s *staged) write(data []byte) error {
	if err := s.f.Truncate(0); err != nil {
		return err
	}
	return s.writeFrom(0, data)
}

var zeros [64 << 10]byte

// writeFrom writes data from an offset on, where the file ends.
func (s *staged) writeFrom(start int, data []byte) error {
	for off := start; off < len(data); off += len(zeros) {
		block := data[off:min(off+len(zeros), len(data))]
		if bytes.Equal(block, zeros[:len(block)]) {
			continue
		}
		if _, err := s.f.WriteAt(block, int64(off)); err != nil {
			return fmt.Errorf("write %s: %w", s.path, err)
		}
	}
	return s.f.Truncate(int64(len(data)))
}

// cut reports whether the edits only cut the file.
func (s *staged) cut(edits []edit) bool {
	return len(edits) == 1 && len(edits[0].Ins) == 0 && edits[0].Off < len(s.data) && edits[0].Off+edits[0].Del == len(s.data)
}

// damage makes the edits, and mend undoes them.
func (s *staged) damage(edits []edit) error {
	if s.cut(edits) {
		return s.f.Truncate(int64(edits[0].Off))
	}
	if !sameLength(edits, len(s.data)) {
		s.dirty = true
		return s.write(apply(s.data, edits))
	}
	for _, e := range edits {
		if _, err := s.f.WriteAt(e.Ins, int64(e.Off)); err != nil {
			return err
		}
	}
	return nil
}

func (s *staged) mend(edits []edit) error {
	if s.cut(edits) {
		return s.writeFrom(edits[0].Off, s.data)
	}
	if s.dirty {
		s.dirty = false
		return s.write(s.data)
	}
	for _, e := range edits {
		if _, err := s.f.WriteAt(s.data[e.Off:e.Off+e.Del], int64(e.Off)); err != nil {
			return err
		}
	}
	return nil
}

func (s *staged) close() { s.f.Close() }

// with calls f while the file is damaged.
func (s *staged) with(edits []edit, f func()) error {
	if err := s.damage(edits); err != nil {
		return err
	}
	f()
	return s.mend(edits) // a panic leaves that to repair
}
