package modules_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
)

// proofFile makes a library without a build-id, with code and with data that has a dynamic
// section. Its addresses are its offsets.
func proofFile() []byte {
	h := corebuild.Lib(
		elffile.Prog{Type: elffile.PT_LOAD, Flags: elffile.PF_R, Filesz: 0x1000, Memsz: 0x1000},
		elffile.Prog{Type: elffile.PT_LOAD, Flags: rx, Off: 0x1000, Vaddr: 0x1000, Filesz: 0x3000, Memsz: 0x3000},
		elffile.Prog{Type: elffile.PT_LOAD, Flags: elffile.PF_R | elffile.PF_W, Off: 0x4000, Vaddr: 0x4000, Filesz: 0x1000, Memsz: 0x1000},
		elffile.Prog{Type: elffile.PT_DYNAMIC, Flags: elffile.PF_R | elffile.PF_W, Off: 0x4000, Vaddr: 0x4000, Filesz: 0x100, Memsz: 0x100},
	)
	b := append(h.Bytes(), make([]byte, 0x5000)...)[:0x5000]
	for at := 0x1000; at < 0x4000; at += 8 {
		le.PutUint64(b[at:], uint64(at)*0x9e3779b97f4a7c15)
	}
	for i := range 9 {
		le.PutUint64(b[0x4000+16*i:], uint64(0x6000_0000+i))
		le.PutUint64(b[0x4008+16*i:], uint64(0x200*i+0x10))
	}
	for at := 0x4800; at < 0x4a00; at += 8 {
		le.PutUint64(b[at:], uint64(at))
	}
	return b
}

// Without build-ids, what the dump has of a file's memory proves which file it is. Where
// it has nothing, or something else, the file is not used.
func TestProof(t *testing.T) {
	file := proofFile()
	path := put(t, file, t.TempDir(), "libx.so")
	part := func(lo, hi int, change ...int) regions {
		mem := bytes.Clone(file[lo:hi])
		for _, at := range change {
			mem[at-lo] ^= 0x55
		}
		return regions{base + uint64(lo): mem}
	}
	every := func(lo, hi, step int) (at []int) {
		for ; lo < hi; lo += step {
			at = append(at, lo)
		}
		return at
	}
	relocated := part(0x4000, 0x5000)
	for at := 0; at < 0x1000; at += 16 { // the second word of each pair
		if v := le.Uint64(relocated[base+0x4000][at+8:]); v != 0 {
			le.PutUint64(relocated[base+0x4000][at+8:], v+base)
		}
	}
	with := func(all ...regions) regions {
		out := regions{}
		for _, r := range all {
			maps.Copy(out, r)
		}
		return out
	}
	redacted := part(0x4000, 0x5000, 0x4010) // the dynamic section tells nothing; of the other words 45 of 64 have an x for each byte
	for at := 0x4800; at < 0x4800+8*45; at += 8 {
		copy(redacted[base+0x4000][at-0x4000:], "xxxxxxxx")
	}
	for _, c := range []struct {
		name  string
		mem   regions
		match modules.Match
	}{
		{"other code, and the file's data", with(part(0x2000, 0x3000, every(0x2000, 0x3000, 32)...), part(0x4000, 0x5000)), modules.Missing},
		{"data whose values are redacted", redacted, modules.NoID},
		{"the first page", part(0, 0x1000), modules.NoID},
		{"a part of the first page", part(0, 0x800), modules.Missing},
		{"a page of code", part(0x2000, 0x3000), modules.NoID},
		{"breakpoints", part(0x2000, 0x3000, 0x2008, 0x2800), modules.NoID},
		{"other code", part(0x2000, 0x3000, every(0x2000, 0x3000, 32)...), modules.Missing},
		{"code of zeros", regions{base + 0x1000: make([]byte, 0x3000)}, modules.Missing},
		{"data", part(0x4000, 0x5000), modules.NoID},
		{"relocated data", relocated, modules.NoID},
		{"data with a changed dynamic section", part(0x4000, 0x5000, 0x4018), modules.NoID},
		{"other data", part(0x4000, 0x5000, every(0x4000, 0x5000, 8)...), modules.Missing},
		{"a dynamic section", regions{base + 0x4000: append(bytes.Clone(file[0x4000:0x4100]), bytes.Repeat([]byte{9}, 0xf00)...)}, modules.NoID},
		{"a changed dynamic section", regions{base + 0x4000: append(append(bytes.Clone(file[0x4000:0x4010]), 7), bytes.Repeat([]byte{9}, 0xfef)...)}, modules.Missing},
		{"nothing", regions{}, modules.Missing},
	} {
		lib := libstate.Library{Path: path, LoadBias: base, Start: base, End: base + 0x5000}
		if r := newSet(t, c.mem).Resolve(&lib); r.Match != c.match || (r.Image != nil) != (c.match == modules.NoID) || r.Forced {
			t.Errorf("%s: %+v, want %v", c.name, r, c.match)
		}
	}
}

// What is in the first page of a segment before it, of the same file, must be the same to the last word: nobody writes there.
func TestProofByLead(t *testing.T) {
	h := corebuild.Lib(elffile.Prog{Type: elffile.PT_LOAD, Flags: rx, Off: 0x800, Vaddr: 0x1800, Filesz: 0x3800, Memsz: 0x3800})
	file := append(h.Bytes(), make([]byte, 0x4000)...)[:0x4000]
	for at := 0x400; at < 0x4000; at += 8 {
		le.PutUint64(file[at:], uint64(at)*0x9e3779b97f4a7c15)
	}
	path := put(t, file, t.TempDir(), "libx.so")
	for _, changed := range []bool{false, true} {
		mem := bytes.Clone(file)
		want := modules.NoID
		if changed {
			mem[0x500] ^= 1
			want = modules.Mismatched
		}
		lib := libstate.Library{Path: path, LoadBias: base, Start: base + 0x1000, End: base + 0x5000, Mappings: []libstate.Mapping{{Start: base + 0x1000, End: base + 0x5000, Perm: libstate.Read | libstate.Exec, Path: path}}}
		if r := newSet(t, regions{base + 0x1000: mem}).Resolve(&lib); r.Match != want {
			t.Errorf("changed %t: %+v", changed, r)
		}
	}
}

// Where memory has the place of the file's build-id, that decides: another one is another file, whatever else is equal.
func TestProofByID(t *testing.T) {
	id := []byte("an identifier of 24 byte")
	note := corebuild.BuildIDNote(le, id)
	h := corebuild.Lib(elffile.Prog{Type: elffile.PT_LOAD, Flags: rx, Off: 0x1000, Vaddr: 0x1000, Filesz: 0x3000, Memsz: 0x3000},
		elffile.Prog{Type: elffile.PT_NOTE, Off: 0x1000, Vaddr: 0x1000, Filesz: uint64(len(note)), Memsz: uint64(len(note))})
	file := append(h.Bytes(), make([]byte, 0x4000)...)[:0x4000]
	for at := 0x1000; at < 0x4000; at += 8 {
		le.PutUint64(file[at:], uint64(at)*0x9e3779b97f4a7c15)
	}
	copy(file[0x1000:], note)
	path := put(t, file, t.TempDir(), "libx.so")
	for _, changed := range []bool{false, true} {
		mem, want := bytes.Clone(file[0x1000:]), modules.NoID
		if changed {
			mem[bytes.Index(mem, id)] ^= 1
			want = modules.Mismatched
		}
		lib := libstate.Library{Path: path, LoadBias: base, Start: base, End: base + 0x4000}
		if r := newSet(t, regions{base + 0x1000: mem}).Resolve(&lib); r.Match != want {
			t.Errorf("changed %t: %+v", changed, r)
		}
	}
}

// Pairs of a segment and a mapping are looked at up to a bound: 60,000 and 200,000 take no time.
func TestPairsAreBounded(t *testing.T) {
	path := put(t, corebuild.Lib(slices.Repeat([]elffile.Prog{{Type: elffile.PT_LOAD, Flags: elffile.PF_R, Off: 1 << 40}}, 60_000)...).Bytes(), t.TempDir(), "libx.so")
	lib := libstate.Library{Path: path, LoadBias: base, Mappings: slices.Repeat([]libstate.Mapping{{Path: path, Perm: libstate.Read, Start: base, End: base + 0x1000}}, 200_000)}
	begun, reads := time.Now(), 0
	if r := newSet(t, counted{&reads}).Resolve(&lib); r.Match != modules.Missing || time.Since(begun) > 4*time.Second {
		t.Errorf("%v after %v", r.Match, time.Since(begun))
	}
}

// A file that nothing proves names functions if the user gave it, and every frame says so;
// its bytes are no memory.
func TestUnprovedIsGiven(t *testing.T) {
	file := proofFile()
	dir := t.TempDir()
	path := put(t, file, dir, "libx.so")
	for i, opts := range [][]modules.Option{{modules.WithSysroot(dir)}, {modules.WithSearch(dir)}, {modules.WithForceMismatched(), modules.WithBeside(dir)}} {
		set := newSet(t, regions{}, opts...)
		lib := libstate.Library{Path: "/libx.so", LoadBias: base}
		r := set.Resolve(&lib)
		if r.Match != modules.NoID || !r.Forced || r.Image == nil || r.Why == "" || r.Path != path || set.MatchedImage(&lib) != nil {
			t.Errorf("%d: %+v, as memory %v", i, r, set.MatchedImage(&lib) != nil)
		}
	}
	for i, opt := range []modules.Option{modules.WithBeside(dir), modules.WithExecutable(dir + "/prog")} {
		set := newSet(t, regions{}, opt)
		if r := set.Resolve(&libstate.Library{Path: "/libx.so", LoadBias: base}); r.Match != modules.Missing || r.Image != nil || r.Why == "" {
			t.Errorf("beside, %d: %+v", i, r)
		}
	}
}

// The dump chooses how many segments and mappings are compared, up to a bound.
func TestProofIsBounded(t *testing.T) {
	var progs []elffile.Prog
	for range 1000 {
		progs = append(progs, elffile.Prog{Type: elffile.PT_LOAD, Flags: rx, Filesz: 0x40000, Memsz: 0x40000})
	}
	path := put(t, fileOf(corebuild.Lib(progs...)), t.TempDir(), "libx.so")
	lib := libstate.Library{Path: path, LoadBias: base}
	for i := range 100_000 {
		lib.Mappings = append(lib.Mappings, libstate.Mapping{Path: path, Perm: libstate.Read, Start: base + uint64(i)<<24, End: base + uint64(i)<<24 + 0x1000})
	}
	reads := 0
	r := newSet(t, counted{&reads}).Resolve(&lib)
	if r.Match != modules.Missing || reads > 2000 {
		t.Errorf("%v after %d reads", r.Match, reads)
	}
}

type counted struct{ reads *int }

func (c counted) ReadMem(uint64, []byte) (int, error) {
	*c.reads++
	return 0, fmt.Errorf("nothing")
}
func (counted) ReadWord(uint64) (uint64, error) { return 0, fmt.Errorf("nothing") }
