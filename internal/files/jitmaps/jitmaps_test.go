package jitmaps

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Code of no library is from madeStart to madeEnd, and a library's from 0x100000 on.
const madeStart, madeEnd = 0x1000, 0x9000

// memory has a byte at each address of the code, which is made of the address.
type memory struct{}

func (memory) ReadMem(addr arch.Address, b []byte) (int, error) {
	for i := range b {
		if addr+uint64(i) < madeStart || addr+uint64(i) >= madeEnd {
			return i, arch.ErrNotInDump
		}
		b[i] = at(addr + uint64(i))
	}
	return len(b), nil
}

func (m memory) ReadWord(addr arch.Address) (uint64, error) {
	var b [8]byte
	_, err := m.ReadMem(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func at(addr uint64) byte { return byte(addr*31 + addr>>8) }

// opened are the maps of process 7 beside whose dump these files are, and what is warned of.
func opened(t *testing.T, files map[string]string, mappings ...string) (*Maps, *[]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := modules.New(t.Context(), memory{}, modules.WithBeside(dir))
	if err != nil {
		t.Fatal(err)
	}
	var warned []string
	return New(Process{PID: 7, Files: set, Memory: memory{},
		Mappings: func() (list []libstate.Mapping) {
			for _, m := range mappings {
				list = append(list, libstate.Mapping{Path: m})
			}
			return list
		},
		Code: func(addr arch.Address) (code, library bool) {
			return addr >= madeStart && addr < madeEnd || addr >= 0x100000, addr >= 0x100000
		},
		Warn: func(_ string, err error) { warned = append(warned, err.Error()) }}), &warned
}

func (m *Maps) name(addr uint64) string {
	c, ok := m.CallAt(addr)
	s, whole := m.FunctionAt(addr)
	if ok != (c.Name != "") || whole && (!ok || s.Name != c.Name) {
		return fmt.Sprintf("%+v %v, %+v %v", c, ok, s, whole)
	}
	return c.Name
}

// TestUnknownProcess: a map is of nobody if it is not known who the process is.
func TestUnknownProcess(t *testing.T) {
	m, _ := opened(t, map[string]string{"perf-0.map": "1000 10 here\n", "jit-0.dump": jitdump(0, 0x1000, 128, 0)})
	m.p.PID = 0
	if got := m.name(0x1000); got != "" {
		t.Error(got)
	}
}

// TestLines: a jitdump file has lines.
func TestLines(t *testing.T) {
	file := jitdump(7, 0x1000, 128, 0)
	o := binary.LittleEndian
	lines := o.AppendUint32(o.AppendUint32(nil, 2), 16+16+16+6)
	for _, v := range []uint64{1, 0x1000, 1, 0x1000, 5} {
		lines = o.AppendUint64(lines, v)
	}
	m, _ := opened(t, map[string]string{"jit-7.dump": file[:40] + string(lines) + "a.toy\x00" + file[40:]})
	if c, _ := m.CallAt(0x1004); c.Name != "made" || c.File != "a.toy" || c.Line != 5 {
		t.Errorf("%+v", c)
	}
}

func TestPerfMap(t *testing.T) {
	m, warned := opened(t, map[string]string{"perf-7.map": "1000 100 old\n1080 10 new\n2000 10 g\n100000 10 library\n"})
	for addr, want := range map[uint64]string{0x1000: "old", 0x1085: "new", 0x2005: "g", 0x2010: ""} {
		if got := m.name(addr); got != want {
			t.Errorf("%#x: %q, want %q", addr, got, want)
		}
	}
	if _, ok := m.FunctionAt(0x1000); ok {
		t.Error("of old code a part was overwritten: its beginning may not be there")
	}
	if s, ok := m.FunctionAt(0x1085); !ok || s.Addr != 0x1080 || s.Size != 0x10 {
		t.Errorf("%+v", s)
	}
	if len(*warned) > 0 {
		t.Error(*warned)
	}
}

// TestNotLookedFor: files are not looked for where the process has no code, or a library's.
func TestNotLookedFor(t *testing.T) {
	m, _ := opened(t, map[string]string{"perf-7.map": "0 2000 start\n1000 10 here\nff0 20 before\n100000 10 library\n"})
	looked := 0
	m.p.Mappings = func() []libstate.Mapping { looked++; return nil }
	for _, addr := range []uint64{0, 0xff0, 0xa000, 0x100000} {
		if got := m.name(addr); got != "" || looked > 0 {
			t.Errorf("%#x: %q, looked for %d times", addr, got, looked)
		}
	}
	if got := m.name(0x1000); got != "before" || looked != 1 {
		t.Errorf("%q, looked for %d times", got, looked)
	}
}

// TestOfAnother: what most records name is no code here. What is in libraries proves nothing, as it may be at the same place in all processes.
func TestOfAnother(t *testing.T) {
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, "%x 10 library\n", 0x100000+16*i)
		fmt.Fprintf(&lines, "%x 10 elsewhere\n", 0x20000+16*i)
	}
	m, warned := opened(t, map[string]string{"perf-7.map": lines.String() + "1000 10 here\n"})
	if got := m.name(0x1000); got != "" || len(*warned) != 1 {
		t.Errorf("%q, %q", got, *warned)
	}
	m, warned = opened(t, map[string]string{"perf-7.map": "100000 10 library\n100010 10 library\n1000 10 here\n"})
	if got := m.name(0x1000); got != "here" {
		t.Errorf("%q, %q", got, *warned)
	}
	m, _ = opened(t, map[string]string{"perf-8.map": "1000 10 here\n", "perf-7.map.old": "1000 10 here\n"})
	if got := m.name(0x1000); got != "" {
		t.Errorf("by a map of another process: %q", got)
	}
}

func TestDamagedMap(t *testing.T) {
	m, warned := opened(t, map[string]string{"perf-7.map": "1000 10 here\nwhat\n"})
	if got := m.name(0x1000); got != "here" || len(*warned) != 1 {
		t.Errorf("%q, %q", got, *warned)
	}
	m, warned = opened(t, map[string]string{"perf-7.map": "what\n"})
	if got := m.name(0x1000); got != "" || len(*warned) != 1 {
		t.Errorf("%q, %q", got, *warned)
	}
}

// jitdump is a file with one function, of which so many words are other ones than the process has.
func jitdump(pid uint32, addr uint64, size, other int) string {
	o := binary.LittleEndian
	b := o.AppendUint32(nil, 0x4a695444)
	for _, v := range []uint32{1, 40, 62, 0, pid, 0, 0, 0, 0} {
		b = o.AppendUint32(b, v)
	}
	code := make([]byte, size)
	for i := range code {
		code[i] = at(addr + uint64(i))
	}
	for i := range other {
		code[8*i] ^= 1
	}
	body := append([]byte("made\x00"), code...)
	b = o.AppendUint32(b, 0)
	b = o.AppendUint32(b, uint32(16+40+len(body)))
	b = o.AppendUint64(b, 1)
	b = o.AppendUint32(o.AppendUint32(b, pid), pid)
	for _, v := range []uint64{addr, addr, uint64(size), 1} {
		b = o.AppendUint64(b, v)
	}
	return string(append(b, body...))
}

// TestJitdump: the code must be what the process has, but for one word in eight.
func TestJitdump(t *testing.T) {
	for _, tt := range []struct {
		file string
		want string
	}{{jitdump(7, 0x1000, 128, 0), "made"}, {jitdump(7, 0x1000, 128, 2), "made"}, {jitdump(7, 0x1000, 128, 3), ""}, {jitdump(8, 0x1000, 128, 0), ""}} {
		m, _ := opened(t, map[string]string{"jit-7.dump": tt.file}, "/srv/jit-7.dump", "/srv/jit-7.dump", "/net/host/jit-7.dump")
		if got := m.name(0x1000); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	m, _ := opened(t, map[string]string{"jit-7.dump": jitdump(7, 0x1000, 128, 16), "perf-7.map": "1000 20 other\n"})
	if got := m.name(0x1000); got != "other" {
		t.Errorf("what the map says: %q", got)
	}
}

func TestDumpPaths(t *testing.T) {
	var mappings []libstate.Mapping
	for i := range 20 {
		mappings = append(mappings, libstate.Mapping{Path: fmt.Sprintf("/srv/%d/jit-7.dump", i)})
	}
	mappings = append(mappings, libstate.Mapping{Path: "/net/host/jit-7.dump"}, libstate.Mapping{Path: "/srv/jit-8.dump"})
	if got := dumpPaths(mappings, 7); len(got) != maxDumps+1 || got[maxDumps] != "/tmp/jit-7.dump" {
		t.Errorf("%q", got)
	}
	if got := dumpPaths(mappings[20:], 7); len(got) != 1 {
		t.Errorf("%q", got)
	}
	twice := []libstate.Mapping{{Path: "/srv/jit-7.dump"}, {Path: "/srv/jit-7.dump (deleted)"}, {Path: "/tmp/jit-7.dump"}}
	if got := dumpPaths(twice, 7); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if got := dumpPaths(nil, 0); len(got) != 0 {
		t.Errorf("of no known process: %q", got)
	}
}

// TestFixed: where addresses are not random, those of a map are no proof, unless the file is not older than the process; a jitdump file has the code.
func TestFixed(t *testing.T) {
	for name, c := range map[string]struct {
		end    uint64
		alive  bool
		warned bool
	}{
		"x86-64":            {0x7ffffffff000, false, true},
		"aarch64":           {1 << 48, false, true},
		"random":            {0x7ffca3c55000, false, false},
		"of a small memory": {0x7ffff000, false, false},
		"of 32 bits":        {1 << 32, false, false},
		"running":           {0x7ffffffff000, true, false},
	} {
		m, warned := opened(t, map[string]string{"perf-7.map": "1000 100 f\n"})
		m.p.Mappings = func() []libstate.Mapping { return []libstate.Mapping{{Start: c.end - 0x1000, End: c.end}} }
		if c.alive {
			var err error
			if m.p.Owner, err = os.Stat(t.TempDir()); err != nil {
				t.Fatal(err)
			}
		}
		if m.name(0x1000) == "" && !c.alive || len(*warned) > 0 != c.warned {
			t.Errorf("%s: %q", name, *warned)
		}
	}
	m, warned := opened(t, map[string]string{"jit-7.dump": jitdump(7, 0x1000, 128, 0)})
	m.p.Mappings = func() []libstate.Mapping { return []libstate.Mapping{{End: 0x7ffffffff000}} }
	if m.name(0x1000) == "" || len(*warned) > 0 {
		t.Errorf("jitdump: %q", *warned)
	}
}

// TestTooLong: a function that ends where the process has no code, or a library's, is none.
func TestTooLong(t *testing.T) {
	for line, want := range map[string]string{"1000 8000 whole": "whole", "1000 8001 long": "", "1000 ff100 library": ""} {
		m, _ := opened(t, map[string]string{"perf-7.map": line + "\n"})
		if got := m.name(0x2000); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// What the runtime itself knows counts before files; where it ends outside of the process's code it does not.
func TestOwn(t *testing.T) {
	m, _ := opened(t, map[string]string{"perf-7.map": "1000 100 recorded\n2000 100 other\n8f00 10 last\n"})
	m.p.Own = func(addr arch.Address) (Code, bool) {
		switch addr {
		case 0x1010:
			return Code{Name: "own", Start: 0x1000, Size: 0x40, Table: []byte{1}}, true
		case 0x8f08:
			return Code{Name: "too far", Start: 0x8f00, Size: madeEnd}, true
		}
		return Code{}, false
	}
	for addr, want := range map[arch.Address]string{0x1010: "own", 0x1050: "recorded", 0x2010: "other", 0x8f08: "last"} {
		if c, ok := m.CallAt(addr); !ok || c.Name != want {
			t.Errorf("%#x: %q, want %q", addr, c.Name, want)
		}
	}
	if table, ok := m.TableAt(0x1010); !ok || table.Start != 0x1000 || table.End != 0x1040 || len(table.EHFrame) != 1 {
		t.Errorf("table %+v", table)
	}
}
