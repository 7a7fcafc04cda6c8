package modules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// head is memory that has a module's headers, and nothing else.
type head struct {
	at   arch.Address
	data []byte
}

func (h head) ReadMem(addr arch.Address, b []byte) (int, error) {
	if addr != h.at {
		return 0, arch.ErrUnmapped
	}
	n := copy(b, h.data)
	if n < len(b) {
		return n, arch.ErrUnmapped
	}
	return n, nil
}

func (head) ReadWord(arch.Address) (uint64, error) { return 0, arch.ErrUnmapped }

// TestIdentityWithoutBuildID: where neither has a build-id, a file is taken when its
// headers are those in memory and it has code where the process had some, and for no
// less.
func TestIdentityWithoutBuildID(t *testing.T) {
	const at = 0x7f00_0000_0000
	const rx = elffile.PF_R | elffile.PF_X
	plain := func() corebuild.Header {
		h := corebuild.Lib(
			elffile.Prog{Type: elffile.PT_LOAD, Flags: elffile.PF_R, Filesz: 0x1000, Memsz: 0x1000},
			elffile.Prog{Type: elffile.PT_LOAD, Flags: rx, Off: 0x20000, Vaddr: 0x21000, Filesz: 0x1800, Memsz: 0x1900},
			elffile.Prog{Type: elffile.PT_NOTE, Flags: elffile.PF_R, Off: 0x200, Vaddr: 0x200, Filesz: 0x20, Memsz: 0x20},
		)
		h.Entry = 0x21040
		return h
	}
	code := libstate.Mapping{Start: at + 0x21000, End: at + 0x23000, Offset: 0x20000, Perm: libstate.Read | libstate.Exec, Path: "/lib/libx.so"}
	for _, c := range []struct {
		name  string
		mem   func(*corebuild.Header) // as it is in memory
		maps  func(*libstate.Mapping) // of the code
		lib   func(l *libstate.Library)
		match modules.Match
		why   string
	}{
		{name: "the same", match: modules.NoID},
		{name: "entry", mem: func(h *corebuild.Header) { h.Entry++ }, match: modules.Mismatched, why: "starts at 0x21040, the process's module at 0x21041"},
		{name: "machine", mem: func(h *corebuild.Header) { h.Machine = elffile.EM_AARCH64 }, match: modules.Mismatched, why: "another kind, or for another machine"},
		{name: "type", mem: func(h *corebuild.Header) { h.Type = elffile.ET_EXEC }, match: modules.Mismatched, why: "another kind, or for another machine"},
		{name: "address", mem: func(h *corebuild.Header) { h.Progs[1].Vaddr += 0x1000 }, match: modules.Mismatched, why: "; the file has no build-id"},
		{name: "size in memory", mem: func(h *corebuild.Header) { h.Progs[1].Memsz++ }, match: modules.Mismatched, why: "program header 1 differs: the file has a segment of 0x"},
		{name: "offset", mem: func(h *corebuild.Header) { h.Progs[0].Off += 0x1000 }, match: modules.Mismatched, why: "program header 0 differs"},
		{name: "no segment", mem: func(h *corebuild.Header) { h.Progs[1].Type = elffile.PT_NOTE }, match: modules.Mismatched, why: "program header 1 differs: only one"},
		{name: "notes move", mem: func(h *corebuild.Header) { h.Progs[2].Off += 0x20 }, match: modules.NoID},
		{name: "fewer", mem: func(h *corebuild.Header) { h.Progs = h.Progs[:2] }, match: modules.Mismatched, why: "3 program headers, the process's module 2"},
		{name: "more", mem: func(h *corebuild.Header) { h.Progs = append(h.Progs, h.Progs[2]) }, match: modules.Mismatched, why: "3 program headers, the process's module 4"},
		{name: "none known", mem: func(h *corebuild.Header) { h.Progs = nil }, match: modules.Mismatched, why: "other contents"},
		{name: "other headers in memory", lib: func(l *libstate.Library) { l.HeaderAddr = 0 }, mem: func(h *corebuild.Header) { h.Entry++ }, match: modules.Missing, why: "no memory in the dump that would tell"},
		{name: "nothing in memory", lib: func(l *libstate.Library) { l.HeaderAddr, l.LoadBias, l.Start = at+0x1000, at+0x1000, at+0x1000 }, maps: func(m *libstate.Mapping) { m.Start += 0x1000 }, match: modules.Missing, why: "no memory in the dump that would tell"},
		{name: "headers not in the dump", lib: func(l *libstate.Library) { l.HeaderAddr = at + 0x1000 }, match: modules.NoID},
		{name: "a build-id wanted", lib: func(l *libstate.Library) { l.BuildID = []byte{1, 2, 3, 4} }, match: modules.Mismatched, why: "no build-id, the process had 01020304"},
		{name: "code elsewhere", maps: func(m *libstate.Mapping) { m.Offset = 0x40000 }, match: modules.Mismatched, why: "no code at offset 0x40000"},
		{name: "code before", maps: func(m *libstate.Mapping) { m.Offset = 0x1000 }, match: modules.Mismatched, why: "no code at offset 0x1000"},
		{name: "code on the same large page", maps: func(m *libstate.Mapping) { m.Offset = 0x2f000 }, match: modules.NoID},
		{name: "first page of the code's", maps: func(m *libstate.Mapping) { m.Offset = 0x20fff }, match: modules.NoID},
		{name: "data elsewhere", maps: func(m *libstate.Mapping) { m.Offset, m.Perm = 0x38000, libstate.Read }, match: modules.NoID},
		{name: "data after the end", maps: func(m *libstate.Mapping) { m.Offset, m.Perm = 0x40000, libstate.Read }, match: modules.Mismatched, why: "mapped from offset 0x40000 on"},
		{name: "a hole after the end", maps: func(m *libstate.Mapping) { m.Offset, m.Perm = 0x40000, 0 }, match: modules.NoID},
		{name: "code of no file", maps: func(m *libstate.Mapping) { m.Offset, m.Path = 0x40000, "" }, match: modules.NoID},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "libx.so")
			file := plain()
			if err := os.WriteFile(path, append(file.Bytes(), make([]byte, 0x40000-len(file.Bytes()))...), 0o600); err != nil {
				t.Fatal(err)
			}
			inMemory, m := plain(), code
			if c.mem != nil {
				c.mem(&inMemory)
			}
			if c.maps != nil {
				c.maps(&m)
			}
			lib := libstate.Library{Path: path, Start: at, End: at + 0x23000, LoadBias: at, HeaderAddr: at, Mappings: []libstate.Mapping{m}}
			if c.lib != nil {
				c.lib(&lib)
			}
			for _, force := range []bool{false, true} {
				var opts []modules.Option
				if force {
					opts = append(opts, modules.WithForceMismatched())
				}
				set := newSet(t, head{at, append(inMemory.Bytes(), make([]byte, 4096)...)}, opts...)
				r := set.Resolve(&lib)
				want := c.match
				if force && want == modules.Missing {
					want = modules.NoID // the file is used, and stays in doubt
				}
				if r.Match != want || !strings.Contains(r.Why, c.why) {
					t.Errorf("%v, %q; want %v, %q", r.Match, r.Why, want, c.why)
				}
				if used := c.match == modules.NoID || force; (r.Image != nil) != used || r.Forced != (force && c.match != modules.NoID) {
					t.Errorf("force %v: image used: %v, forced: %v", force, r.Image != nil, r.Forced)
				}
			}
		})
	}
}
