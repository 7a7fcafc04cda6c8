package breakpad

import (
	"bytes"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/unwindrules"
)

// Win returns the STACK WIN record for an address: of those of its function one with a program, and the one that begins last. Records may begin
// anywhere in a function and extend to its end; those of a function with separate parts extend over functions in between, which have their own. It
// returns nil and no error if there is none.
func (f *File) Win(addr uint64) (*unwindrules.WinFrame, error) {
	w4, err := f.winIn(f.win4, addr)
	w0, err0 := f.winIn(f.win0, addr)
	switch {
	case w4 != nil && (w0 == nil || w4.Start >= w0.Start || !f.beginsBehind(addr, uint64(w4.Start))):
		return w4, nil
	case w0 != nil:
		return w0, nil
	case err != nil:
		return nil, err
	}
	return nil, err0
}

// beginsBehind reports whether the function of an address is known to begin behind another address.
func (f *File) beginsBehind(addr, other uint64) bool {
	s, _, _, ok := f.function(addr)
	if !ok {
		s, ok = f.public(addr)
	}
	return ok && s.Start > other
}

func (f *File) winIn(list []entry, addr uint64) (*unwindrules.WinFrame, error) {
	i := before(list, addr)
	var failed error
	for n := 0; n < maxOverlap && i > 0; n++ {
		i--
		w, err := f.parseWin(list[i], addr)
		if err != nil {
			failed = fmt.Errorf("STACK WIN record at offset %#x: %w", list[i].off, err)
			continue
		}
		if addr-uint64(w.Start) < uint64(w.Size) {
			return w, nil
		}
	}
	return nil, failed
}

// parseWin leaves out the program of a record that does not cover addr.
func (f *File) parseWin(e entry, addr uint64) (*unwindrules.WinFrame, error) {
	line, _ := f.line(e, "STACK WIN 0 ")
	var v [9]uint64
	for i := range v {
		var ok bool
		if v[i], line, ok = number(line, 16); !ok || v[i] > 1<<32-1 {
			return nil, fmt.Errorf("malformed field %d: %w", i+2, ErrFormat)
		}
	}
	w := &unwindrules.WinFrame{Start: uint32(v[0]), Size: uint32(v[1]), Prolog: uint32(v[2]), Epilog: uint32(v[3]),
		Params: uint32(v[4]), SavedRegs: uint32(v[5]), Locals: uint32(v[6]), MaxStack: uint32(v[7])}
	line = bytes.TrimSpace(line)
	switch {
	case v[8] == 0:
		w.UsesBP = len(line) > 0 && line[0] == '1'
	case len(line) == 0:
		return nil, fmt.Errorf("no program: %w", ErrFormat)
	case addr-uint64(w.Start) < uint64(w.Size):
		f.parsed(line)
		w.Program = string(line)
	}
	return w, nil
}
