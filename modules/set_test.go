package modules_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// base is where the tests' library lies.
const base = 0x550000000000

// block is memory at base.
type block []byte

func (m block) ReadMem(addr arch.Address, b []byte) (int, error) {
	if addr < base || addr-base >= uint64(len(m)) {
		return 0, os.ErrInvalid
	}
	n := copy(b, m[addr-base:])
	if n < len(b) {
		return n, os.ErrInvalid
	}
	return n, nil
}

func (m block) ReadWord(addr arch.Address) (uint64, error) {
	var b [8]byte
	_, err := m.ReadMem(addr, b[:])
	return arch.AMD64.Word(b[:]), err
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func buildID(t *testing.T, data []byte) []byte {
	t.Helper()
	f, err := elffile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(f.BuildID())
}

// withoutID hides the build-id of a binary: its note becomes another's.
func withoutID(data []byte) []byte {
	out := bytes.Clone(data)
	if at := bytes.Index(out, []byte("\x03\x00\x00\x00GNU\x00")); at >= 0 {
		copy(out[at+4:], "XYZ")
	}
	return out
}

func TestResolve(t *testing.T) {
	c := fixture.Get(t, "amd64-mismatch")
	right, wrong := read(t, c.Binary(t)), read(t, filepath.Join(c.Dir, "version.other"))
	stripped := fixture.Get(t, "amd64-build-id")
	debugFile := read(t, filepath.Join(stripped.Dir, "debug/.build-id/2f/0fc63b3fda74bcc26678fbda2fac99c8aeb218.debug"))
	strippedFile := read(t, stripped.Binary(t))
	id := buildID(t, right)
	if id == nil || bytes.Equal(id, buildID(t, wrong)) || buildID(t, withoutID(right)) != nil {
		t.Fatal("the fixture's build-ids are not what the test needs")
	}
	text := libstate.Mapping{Start: base + 0x1000, End: base + 0x2000, Offset: 0x1000, Path: "/opt/prog", Perm: libstate.Read | libstate.Exec}
	far := text
	far.Offset = 0x900000
	otherEntry := withoutID(right)
	otherEntry[24]++ // e_entry
	otherHeaders := withoutID(right)
	otherHeaders[56]-- // e_phnum

	for _, tt := range []struct {
		name   string
		file   []byte            // what lies at the library's path; nil for nothing
		exe    []byte            // what the user gave
		debug  []byte            // what lies in the debug directory under the library's build-id
		search map[string][]byte // what lies in the directory to search
		lib    libstate.Library
		memory []byte
		force  bool

		match  modules.Match
		image  bool
		forced bool
		why    string
	}{
		{name: "right build", file: right, lib: libstate.Library{BuildID: id}, match: modules.Matched, image: true},
		{name: "another build", file: wrong, lib: libstate.Library{BuildID: id}, match: modules.Mismatched, why: "file has build-id"},
		{name: "another build, forced", file: wrong, lib: libstate.Library{BuildID: id}, force: true, match: modules.Mismatched, image: true, forced: true, why: "file has build-id"},
		{name: "right build elsewhere", file: wrong, search: map[string][]byte{"any": right}, lib: libstate.Library{BuildID: id}, match: modules.Matched, image: true},
		{name: "right build elsewhere, forced", file: wrong, search: map[string][]byte{"any": right}, lib: libstate.Library{BuildID: id}, force: true, match: modules.Matched, image: true},
		{name: "file without build-id", file: withoutID(right), lib: libstate.Library{BuildID: id}, match: modules.Mismatched, why: "no build-id"},
		{name: "no file", lib: libstate.Library{BuildID: id}, match: modules.Missing},
		{name: "no ELF file", file: []byte("text"), lib: libstate.Library{BuildID: id}, match: modules.Missing, why: "prog"},
		{name: "given executable", exe: right, lib: libstate.Library{BuildID: id, Kind: libstate.Executable}, match: modules.Matched, image: true},
		{name: "given executable of another build", exe: wrong, lib: libstate.Library{BuildID: id, Kind: libstate.Executable}, match: modules.Mismatched, why: "file has build-id"},
		{name: "given executable, for a library", exe: right, lib: libstate.Library{BuildID: id}, match: modules.Missing},

		{name: "no id in the dump", file: right, lib: libstate.Library{Mappings: []libstate.Mapping{text}}, match: modules.NoID, image: true, forced: true, why: "no memory in the dump"},
		{name: "no id, another layout", file: right, lib: libstate.Library{Mappings: []libstate.Mapping{far}}, match: modules.Mismatched, why: "no code at offset 0x900000"},
		{name: "no id, same headers", file: right, memory: withoutID(right), lib: libstate.Library{HeaderAddr: base}, match: modules.NoID, image: true},
		{name: "no id, another entry", file: right, memory: otherEntry, lib: libstate.Library{HeaderAddr: base}, match: modules.Mismatched, why: "starts at"},
		{name: "no id, other headers", file: right, memory: otherHeaders, lib: libstate.Library{HeaderAddr: base}, match: modules.Mismatched, why: "program headers"},
		{name: "no id, headers lost", file: right, lib: libstate.Library{HeaderAddr: base}, match: modules.NoID, image: true, forced: true, why: "no memory in the dump"},
		{name: "no id, given executable", exe: right, lib: libstate.Library{Kind: libstate.Executable}, match: modules.NoID, image: true},

		{name: "debug file as binary", exe: debugFile, lib: libstate.Library{BuildID: buildID(t, debugFile), Kind: libstate.Executable}, match: modules.Missing, image: true, why: "debug information only"},
		{name: "debug file of another build as binary", exe: debugFile, lib: libstate.Library{BuildID: id, Kind: libstate.Executable}, match: modules.Missing, why: "debug information only"},
		{name: "debug file by build-id", debug: debugFile, lib: libstate.Library{BuildID: buildID(t, debugFile)}, match: modules.Missing, image: true},
		{name: "debug file by build-id, another binary", file: wrong, debug: debugFile, lib: libstate.Library{BuildID: buildID(t, debugFile)}, match: modules.Mismatched, image: true, why: "file has build-id"},
		{name: "debug file that the search finds", search: map[string][]byte{"x.debug": debugFile}, lib: libstate.Library{BuildID: buildID(t, debugFile)}, match: modules.Missing, image: true, why: "debug information only"},
		{name: "debug file that is the binary", debug: right, lib: libstate.Library{BuildID: id}, match: modules.Matched, image: true},
		{name: "debug file by build-id, of another build", debug: wrong, lib: libstate.Library{BuildID: id}, match: modules.Missing},
		{name: "debug file beside the binary", exe: debugFile, file: strippedFile, lib: libstate.Library{BuildID: buildID(t, debugFile), Kind: libstate.Executable}, match: modules.Matched, image: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			opts := []modules.Option{modules.WithSysroot(filepath.Join(root, "sys")), modules.WithDebugDir(filepath.Join(root, "none"))}
			put := func(name string, data []byte) string {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, data, 0o755); err != nil {
					t.Fatal(err)
				}
				return path
			}
			if tt.file != nil {
				put("sys/opt/prog", tt.file)
			}
			if tt.exe != nil {
				opts = append(opts, modules.WithExecutable(put("given", tt.exe)))
			}
			if tt.debug != nil {
				name := hex.EncodeToString(tt.lib.BuildID)
				put(filepath.Join("none/.build-id", name[:2], name[2:]+".debug"), tt.debug)
			}
			for name, data := range tt.search {
				put(filepath.Join("search", name), data)
			}
			if len(tt.search) > 0 {
				opts = append(opts, modules.WithSearch(filepath.Join(root, "search")))
			}
			if tt.force {
				opts = append(opts, modules.WithForceMismatched())
			}
			set := newSet(t, block(tt.memory), opts...)
			tt.lib.Path, tt.lib.Start, tt.lib.End = "/opt/prog", base, base+0x4000
			r := set.Resolve(&tt.lib)
			if r.Match != tt.match || (r.Image != nil) != tt.image || r.Forced != tt.forced {
				t.Errorf("%v, image %v, forced %v; want %v, %v, %v (%s)", r.Match, r.Image != nil, r.Forced, tt.match, tt.image, tt.forced, r.Why)
			}
			if tt.why == "" && r.Why != "" || !strings.Contains(r.Why, tt.why) {
				t.Errorf("why %q, want %q", r.Why, tt.why)
			}
			if tt.name == "debug file beside the binary" && (r.Image == nil || (*image.Image)(r.Image).DWARF() == nil) {
				t.Error("the given debug file is not used")
			}
			again := tt.lib // as a refreshed list has it
			if set.Resolve(&again) != r || set.Image(&tt.lib) != r.Image || set.LocalImage(&tt.lib) != r.Image {
				t.Error("another answer the second time")
			}
		})
	}
}

// The vDSO is read from memory.
func TestResolveVDSO(t *testing.T) {
	data := read(t, fixture.Get(t, "amd64-pie").Binary(t))
	set := newSet(t, block(data[:4096]))
	for _, tt := range []struct {
		lib   libstate.Library
		match modules.Match
	}{
		{libstate.Library{Start: base, End: base + 4096}, modules.Matched},
		{libstate.Library{Start: base, End: base + 8192, Path: "longer"}, modules.Matched},
		{libstate.Library{Start: base + 16, End: base + 4096}, modules.Missing},
		{libstate.Library{Start: 16, End: 4096}, modules.Missing},
		{libstate.Library{Start: base, End: base + 1<<40}, modules.Missing},
	} {
		tt.lib.Kind = libstate.VDSO
		if r := set.Resolve(&tt.lib); r.Match != tt.match || (r.Image != nil) != (tt.match == modules.Matched) || (r.Why == "") != (r.Image != nil) {
			t.Errorf("%#x..%#x: %+v, want %v", tt.lib.Start, tt.lib.End, r, tt.match)
		}
	}
}

func TestMatchString(t *testing.T) {
	for m, want := range map[modules.Match]string{modules.Missing: "missing", modules.Matched: "matched", modules.NoID: "no-id", modules.Mismatched: "mismatched"} {
		if m.String() != want {
			t.Errorf("%d is %q, want %q", m, m, want)
		}
	}
}
