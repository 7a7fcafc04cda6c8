package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/live/corewrite"
)

// Of the pipe, no byte behind the notes is read: the kernel would write the process's memory into it.
func TestHeadEndsAtNotes(t *testing.T) {
	for _, name := range []string{"amd64-abort", "i386-crash-O1", "s390x-threads"} {
		core := coreOf(t, name)
		r := bytes.NewReader(core)
		head, err := readHead(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(head) != len(core)-r.Len() || !bytes.Equal(head, core[:len(head)]) || len(head) > len(core)/2 {
			t.Errorf("%s: %d of %d bytes, %d are left", name, len(head), len(core), r.Len())
		}
		for _, cut := range []int{0, 20, 63, 64, 100, len(head) - 1} {
			part, err := readHead(bytes.NewReader(core[:cut]))
			if !errors.Is(err, io.ErrUnexpectedEOF) || len(part) != cut {
				t.Errorf("%s cut off at %d: %d bytes, %v", name, cut, len(part), err)
			}
		}
	}
}

func TestHeadRefused(t *testing.T) {
	core := coreOf(t, "amd64-abort")
	for name, change := range map[string]func([]byte){
		"not ELF":       func(b []byte) { b[0] = 0 },
		"class":         func(b []byte) { b[4] = 3 },
		"no headers":    func(b []byte) { b[56], b[57] = 0, 0 },
		"far headers":   func(b []byte) { b[39] = 1 },
		"small headers": func(b []byte) { b[54] = 8 },
		"far notes":     func(b []byte) { b[64+8+7] = 1 },
		"size of notes": func(b []byte) { b[64+32+7] = 1 },
		"notes to the limit": func(b []byte) {
			copy(b[64+8:], []byte{0xff, 0xff, 0xff, 7})
			copy(b[64+32:], []byte{0xff, 0xff, 0xff, 7})
		},
	} {
		b := bytes.Clone(core)
		change(b)
		if _, err := readHead(bytes.NewReader(b)); !errors.Is(err, ErrNoHead) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A process with more mappings than the ELF header can count: the kernel writes the count at the end of the core,
// which the handler does not wait for.
func TestManyMappings(t *testing.T) {
	small := open(t, coreOf(t, "amd64-abort"))
	c := &corewrite.Core{Class: 64, Order: binary.LittleEndian, Type: elffile.ET_CORE, Machine: elffile.EM_X86_64, NoteAlign: 4}
	c.Note("CORE", corewrite.PRStatus, c.Status(corewrite.Status{TID: 1, Signal: 6, Regs: make([]byte, 27*8)}))
	const many, base = 70_000, 0x10000000
	for i := range uint64(many) {
		c.Segment(base+i*2*page, elffile.PF_R|elffile.PF_W, page, page)
	}
	head, _, _, _ := c.Layout()
	taken, err := Take(bytes.NewReader(head), Process{Memory: &process{core: small}}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(taken.Core.Segments()); n != many {
		t.Errorf("%d mappings, want %d", n, many)
	}
	if out := written(t, taken); len(out.Segments()) == 0 {
		t.Error("the slim core has no mappings")
	}
}

func FuzzTake(f *testing.F) {
	core := coreOf(f, "amd64-abort")
	f.Add(core[:min(len(core), 16<<10)])
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Take(bytes.NewReader(b), Process{Memory: bytes.NewReader(b), Pagemap: bytes.NewReader(b), Resident: 1}, Limits{Memory: 1 << 20})
		if err == nil {
			_, _ = c.Write(io.Discard)
		}
	})
}

func coreOf(tb testing.TB, name string) []byte {
	tb.Helper()
	return read(tb, fixture.Get(tb, name).Core(tb))
}
