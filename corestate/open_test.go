package corestate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

func TestWhatCannotBeAnalysed(t *testing.T) {
	elf := func(typ uint16, progs ...elffile.Prog) []byte {
		h := corebuild.Lib(progs...)
		h.Type = typ
		return append(h.Bytes(), "/lib/ld.so\x00"...)
	}
	notes := func(owner string) []byte {
		b := corebuild.New()
		b.Note(owner, 0, []byte("OSRELEASE=6.1"))
		b.Thread(0, 0, make([]byte, 27*8))
		return b.Bytes()
	}
	noThreads := corebuild.New()
	noThreads.PSInfo(1, "prog", "prog")
	noNotes := corebuild.New()
	noNotes.Load(0x1000, rFlag, 0x1000, nil)
	small := func(machine uint16) []byte {
		b := corebuild.New32(machine, binary.LittleEndian)
		b.Thread(1, 11, make([]byte, 72))
		return b.Bytes()
	}
	free := corebuild.New()
	free.Machine = elffile.EM_S390
	free.Order = binary.BigEndian
	free.Note("FreeBSD", 1, make([]byte, 300))
	whole := threaded().Bytes()
	zeros := corebuild.New()
	zeros.RawNotes(make([]byte, 1<<16))
	for _, tt := range []struct {
		name string
		data []byte
		err  error
		text string
		core bool
	}{
		{"empty", nil, ErrEmpty, "empty", false},
		{"text", []byte("#!/bin/sh\necho this is no core, but a script\n"), ErrNotELF, "begins with 23 21 2f 62", false},
		{"zeros", make([]byte, 8192), ErrNotELF, "zeros", false},
		{"few zeros", make([]byte, 30), ErrTruncatedHeader, "30 bytes", false},
		{"magic only", []byte("\x7fELF"), ErrTruncatedHeader, "copy", false},
		{"half a magic", []byte("\x7fE"), ErrTruncatedHeader, "2 bytes", false},
		{"half a header", whole[:40], ErrTruncatedHeader, "is cut off after 40 bytes, inside its ELF header", false},
		{"class 9", set(whole, 4, 9), ErrTruncatedHeader, "damaged ELF header: class 9 at offset 4, must be 1 or 2", false},
		{"byte order 9", set(whole, 5, 9), ErrTruncatedHeader, "damaged ELF header: byte order 9 at offset 5, must be 1 or 2", false},
		{"small program headers", set(whole, 54, 3), ErrTruncatedHeader, "damaged ELF header: program headers have 3 bytes, want 56", false},
		{"program headers far off", set(whole, 39, 0x7f), ErrTruncatedHeader, "damaged ELF header: program headers at offset 0x7f", false},
		{"no program headers", whole[:64], ErrTruncatedHeader, "no program headers within its 64 bytes", false},
		{"program", elf(elffile.ET_EXEC), ErrNotCore, "is a program (x86-64), not a core", false},
		{"position-independent program", elf(elffile.ET_DYN, elffile.Prog{Type: elffile.PT_INTERP, Off: 120, Filesz: 11, Memsz: 11}), ErrNotCore, "is a program", false},
		{"library", elf(elffile.ET_DYN), ErrNotCore, "is a shared library", false},
		{"object", elf(elffile.ET_REL), ErrNotCore, "is an object file", false},
		{"minidump", []byte("MDMP\x93\xa7\x00\x00"), ErrNotELF, "is a minidump", false},
		{"Windows kernel dump", []byte("PAGEDU64\x0f\x00\x00\x00"), ErrKernelDump, "Windows kernel crash dump", false},
		{"kdump", []byte("KDUMP   \x06\x00\x00\x00"), ErrKernelDump, "kernel crash dump", false},
		{"vmcore", notes("VMCOREINFO"), ErrKernelDump, "is a kernel crash dump (vmcore)", true},
		{"guest memory", notes("QEMU"), ErrKernelDump, "QEMU guest", true},
		{"no notes", noNotes.Bytes(), ErrNoThreads, "has no notes", true},
		{"no threads", noThreads.Bytes(), ErrNoThreads, "NT_PRSTATUS", true},
		{"sh", small(emSH), ErrUnsupportedArch, "Linux on sh", true},
		{"RISC-V of 32 bits", small(elffile.EM_RISCV), ErrUnsupportedArch, "Linux on riscv32", true},
		{"Xtensa", small(emXtensa), ErrUnsupportedArch, "Linux on xtensa", true},
		{"LoongArch of 32 bits", small(elffile.EM_LOONGARCH), ErrUnsupportedArch, "Linux on loongarch32", true},
		{"FreeBSD", free.Bytes(), ErrUnsupportedOS, "FreeBSD", true},
		{"zeros for notes", zeros.Bytes(), ErrNoThreads, "has zeros where its notes should be", true},
		{"no count", set(set(whole, 56, 0), 57, 0), ErrTruncatedHeader, "damaged ELF header: it counts no program headers", false},
	} {
		path := filepath.Join(t.TempDir(), "core.17")
		if err := os.WriteFile(path, tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(context.Background(), path)
		if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.text) || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if (c != nil) != tt.core {
			t.Errorf("%s: core %v", tt.name, c != nil)
		}
		if c != nil {
			exercise(c)
			c.Close()
		}
		if _, err := OpenReader(context.Background(), bytes.NewReader(tt.data)); !errors.Is(err, tt.err) {
			t.Errorf("%s as a stream: %v", tt.name, err)
		}
	}
}

// set returns a copy of data with one byte changed.
func set(data []byte, at int, b byte) []byte {
	data = bytes.Clone(data)
	data[at] = b
	return data
}

func TestOpenMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	if _, err := Open(context.Background(), path); !errors.Is(err, os.ErrNotExist) || err.Error() != path+": no such file or directory" {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Open(context.Background(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("directory: %v", err)
	}
}

func TestCloseReleasesOnce(t *testing.T) {
	n := 0
	c, err := openBytes("core", threaded().Bytes(), func() error { n++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	c.Close()
	if n != 1 {
		t.Errorf("released %d times", n)
	}
	if c, _ := openBytes("core", []byte("no core at all, only a line of text"), func() error { n++; return nil }); c != nil || n != 2 {
		t.Errorf("a refused file: core %v, released %d times", c != nil, n)
	}
}

func TestOpenStreamsAndCompressedCores(t *testing.T) {
	cs := fixture.Get(t, "amd64-threads")
	zst := filepath.Join(cs.Dir, "core.zst")
	plain, err := os.ReadFile(cs.Core(t))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(zst)
	if err != nil {
		t.Fatal(err)
	}
	var in, out int64
	for name, do := range map[string]func() (*ELFCore, error){
		"plain": func() (*ELFCore, error) { return Open(context.Background(), cs.Core(t)) },
		"compressed": func() (*ELFCore, error) {
			return Open(context.Background(), zst, TempDir(t.TempDir()), Progress(func(i, o int64) { in, out = i, o }))
		},
		"stream": func() (*ELFCore, error) { return OpenReader(context.Background(), bytes.NewReader(plain)) },
		"dribble": func() (*ELFCore, error) {
			return OpenReader(context.Background(), iotest.HalfReader(bytes.NewReader(packed)))
		},
	} {
		c, err := do()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ids, _ := c.ThreadIDs()
		if cut, have, _ := c.Truncated(); len(ids) != 51 || cut || have != int64(len(plain)) {
			t.Errorf("%s: %d threads, truncated %v, %d bytes", name, len(ids), cut, have)
		}
		c.Close()
	}
	if in != int64(len(packed)) || out != int64(len(plain)) {
		t.Errorf("progress ended at %d, %d bytes", in, out)
	}

	c, err := OpenReader(context.Background(), bytes.NewReader(packed[:len(packed)/2]))
	if c == nil || err != nil {
		t.Fatalf("half a compressed core: %v", err)
	}
	cut, _, _ := c.Truncated()
	if !cut || len(c.Warnings()) == 0 || !strings.Contains(c.Warnings()[0], "could be unpacked") {
		t.Errorf("half a compressed core: truncated %v, warnings %q", cut, c.Warnings())
	}
	c.Close()

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if c, err := Open(ctx, zst); c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if c, err := OpenReader(context.Background(), iotest.ErrReader(io.ErrClosedPipe)); c != nil || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// A stream that is a plain file is mapped: there is nowhere to copy it to. From the middle of a
// file, or compressed, it is read as any other.
func TestOpenRegularStream(t *testing.T) {
	cs := fixture.Get(t, "amd64-threads")
	nowhere := TempDir(filepath.Join(t.TempDir(), "none"))
	for _, tt := range []struct {
		path   string
		offset int64
		mapped bool
	}{{cs.Core(t), 0, true}, {cs.Core(t), 1, false}, {filepath.Join(cs.Dir, "core.zst"), 0, false}} {
		f, err := os.Open(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(tt.offset, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		c, err := OpenReader(context.Background(), f, nowhere)
		if (c != nil) != tt.mapped || !tt.mapped && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s from %d: mapped %v, %v", filepath.Base(tt.path), tt.offset, c != nil, err)
		}
		if c != nil {
			c.Close()
		}
		f.Close()
	}
}
