package capture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/libstate"
)

func read(tb testing.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// process is what a core says of one; it counts what is read.
type process struct {
	core *corestate.ELFCore
	read int
	deny func(addr uint64) bool
}

func (p *process) ReadAt(b []byte, at int64) (int, error) {
	for i := 0; i < len(b); i += page {
		if p.deny != nil && p.deny(uint64(at)+uint64(i)) {
			return i, errors.New("denied")
		}
	}
	p.read += len(b)
	return p.core.DumpMemory().ReadMem(uint64(at), b)
}

func open(t *testing.T, b []byte) *corestate.ELFCore {
	t.Helper()
	path := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := corestate.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func written(t *testing.T, c *Capture) *corestate.ELFCore {
	t.Helper()
	var b bytes.Buffer
	if _, err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	return open(t, b.Bytes())
}

// Memory that the kernel does not announce (MADV_DONTDUMP, coredump_filter) is not read, although the process has it.
func TestNotAnnounced(t *testing.T) {
	core := open(t, coreOf(t, "amd64-filter-none"))
	p := &process{core: core, deny: func(addr uint64) bool {
		for _, s := range core.Segments() {
			if addr >= s.Start && addr < s.Start+s.InFile {
				return false
			}
		}
		t.Errorf("%#x was read", addr)
		return true
	}}
	if _, err := Take(bytes.NewReader(core.Bytes()), Process{Memory: p}, Limits{}); err != nil {
		t.Fatal(err)
	}
}

// Pages that cannot be read are left out, and nothing else is.
func TestUnreadable(t *testing.T) {
	core := open(t, coreOf(t, "amd64-abort"))
	id, _ := core.DefaultThread()
	regs, err := core.Registers(id)
	if err != nil {
		t.Fatal(err)
	}
	sp, _ := regs.Get(core.Arch().SP)
	m, _ := core.MappingAt(sp)
	bad := sp/page*page + page
	if m.End <= bad {
		t.Fatal("the stack has one page")
	}
	p := &process{core: core, deny: func(addr uint64) bool { return addr/page*page == bad }}
	c, err := Take(bytes.NewReader(core.Bytes()), Process{Memory: p}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Unreadable != page {
		t.Errorf("%d bytes could not be read", c.Unreadable)
	}
	slim := written(t, c)
	var b [8]byte
	for addr, want := range map[uint64]bool{sp: true, bad: false, bad + page: bad+page < m.End} {
		if n, _ := slim.DumpMemory().ReadMem(addr, b[:]); (n == len(b)) != want {
			t.Errorf("%#x: read %d bytes", addr, n)
		}
	}
}

// All that the page map says was written to is taken of a small process; of a larger one, not more than the limit.
func TestWhole(t *testing.T) {
	core := open(t, coreOf(t, "amd64-abort"))
	var writable uint64
	for _, s := range core.Segments() {
		if s.Perm&libstate.Write != 0 {
			writable += s.InDump
		}
	}
	for _, c := range []struct {
		limit, resident uint64
		whole           bool
	}{{64 << 20, writable, true}, {writable / 4, writable / 8, false}, {writable / 4, writable, false}} {
		p := &process{core: core}
		taken, err := Take(bytes.NewReader(core.Bytes()), Process{Memory: p, Pagemap: present63{}, Resident: c.resident}, Limits{Memory: c.limit, Stack: 16 << 10, Reach: page})
		if err != nil {
			t.Fatal(err)
		}
		if taken.Whole != c.whole {
			t.Errorf("%+v: whole is %v", c, taken.Whole)
		}
		for _, s := range written(t, taken).Whole() {
			if s.Perm&libstate.Write != 0 && s.InDump > 0 && c.whole {
				if n, err := taken.Core.DumpMemory().ReadMem(s.Start, make([]byte, s.InDump)); err != nil || n < int(s.InDump) {
					t.Errorf("%#x: %d bytes, %v", s.Start, n, err)
				}
			}
		}
	}
}

// present63 is a page map where all pages are in memory.
type present63 struct{}

func (present63) ReadAt(b []byte, _ int64) (int, error) {
	for i := 0; i+8 <= len(b); i += 8 {
		binary.NativeEndian.PutUint64(b[i:], 1<<63)
	}
	return len(b), nil
}

// Nothing is read of the process once Take has returned: it may be gone, and another may have its number.
func TestNothingLater(t *testing.T) {
	core := open(t, coreOf(t, "amd64-abort"))
	p := &process{core: core}
	c, err := Take(bytes.NewReader(core.Bytes()), Process{Memory: p}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	before := p.read
	written(t, c)
	for _, s := range c.Core.Segments() {
		_, _ = c.Core.DumpMemory().ReadMem(s.Start, make([]byte, 16))
	}
	if p.read != before || before == 0 {
		t.Errorf("%d bytes were read, %d of them later", p.read, p.read-before)
	}
}
