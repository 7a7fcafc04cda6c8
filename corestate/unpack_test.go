package corestate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An endless is a stream that does not end.
type endless struct {
	head io.Reader
	fill byte
	read int64
}

func (e *endless) Read(b []byte) (int, error) {
	n, err := e.head.Read(b)
	if err == io.EOF {
		n, err = len(b), nil
		for i := range b {
			b[i] = e.fill
		}
	}
	e.read += int64(n)
	return n, err
}

// A stream without end is read as far as it can be a dump.
func TestEndlessStreams(t *testing.T) {
	small := corebuild.New()
	small.Thread(7, 11, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RSP: 0x7000}))
	small.Load(0x7000, elffile.PF_R, 2<<20, bytes.Repeat([]byte{1}, 2<<20))
	core := small.Bytes()
	program := bytes.Clone(core)
	program[16] = byte(elffile.ET_DYN)
	for _, tt := range []struct {
		what string
		head []byte
		fill byte
		want error
		most int64
	}{
		{"zeros", nil, 0, ErrNotELF, 2 << 20},
		{"bytes", []byte{1, 2, 3, 0}, 0xaa, ErrNotELF, 2 << 20},
		{"a program", program, 0, ErrNotCore, 2 << 20},
		{"a core and more", core, 0, nil, int64(len(core)) + 2<<20},
	} {
		r := &endless{head: bytes.NewReader(tt.head), fill: tt.fill}
		c, err := OpenReader(context.Background(), r, TempDir(t.TempDir()))
		if !errors.Is(err, tt.want) || r.read > tt.most {
			t.Errorf("%s: %v after %d bytes", tt.what, err, r.read)
		}
		if c != nil {
			if cut, _, _ := c.Truncated(); cut {
				t.Errorf("%s: truncated", tt.what)
			}
			c.Close()
		}
	}
}

// What cannot be known from the beginning is unpacked whole.
func TestWorthUnpacking(t *testing.T) {
	core := corebuild.New()
	core.Load(0x7000, elffile.PF_R, 8<<20, bytes.Repeat([]byte{1}, 8<<20))
	whole := core.Bytes()
	late := bytes.Clone(whole)
	copy(late[0x28:], []byte{0, 0, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0}) // section headers at the end
	late[0x3a], late[0x3c] = 64, 1
	many := bytes.Clone(whole)
	many[0x38], many[0x39] = 0xff, 0xff // the number of program headers is in a section header
	for what, tt := range map[string]struct {
		head []byte
		want int64
	}{
		"short":           {whole[:1000], 0},
		"a core":          {whole[:1<<20], int64(len(whole))},
		"late sections":   {late[:1<<20], 0},
		"many segments":   {many[:1<<20], 0},
		"a minidump":      {append([]byte("MDMP"), make([]byte, 1<<20)...), 0},
		"a log":           {bytes.Repeat([]byte("a line\n"), 1<<18), maxLog},
		"the rest is ELF": {append([]byte{0}, whole[:1<<20]...), 1<<20 + 1},
	} {
		if got := worthUnpacking(tt.head); got != tt.want {
			t.Errorf("%s: %d; want %d", what, got, tt.want)
		}
	}
}
