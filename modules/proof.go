package modules

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
)

// Without a build-id on both sides, only the process's own memory tells whether a file is
// the one that ran: what the dump has of it must be what the file has.
const (
	proofPage   = 4096
	proofPages  = 24      // compared of a segment, evenly spread
	maxProof    = 96      // compared of a file
	maxBiases   = 8       // tried
	maxPairs    = 1 << 14 // of a segment and a mapping, looked at for them
	minWords    = 8       // other than zero: fewer prove nothing
	minData     = 24      // the same of data that the process could write
	minTags     = 8       // of the dynamic section
	maxDynamic  = 64 << 10
	textChanged = 8 // one word in so many may differ in what cannot be written: breakpoints, hot patches, e_shoff of a stripped file
	dataChanged = 2 // the same in data
)

// A tally counts the words of a file that are not zero, and those that memory has, too.
type tally struct{ words, same int }

// enough reports whether a tally proves something: few words do not, and at most one in
// changed may differ.
func (t tally) enough(least, changed int) bool {
	return t.words >= least && t.same >= least && (t.words-t.same)*changed <= t.words
}

// prove says whether the process's memory shows that f is the file that it had loaded as
// lib: NoID with "" if it does, NoID and a reason if there is not enough memory to tell, and
// Mismatched if there is enough, and it has something else.
func (s *Set) prove(lib *libstate.Library, f *elffile.File) (Match, string) {
	other := false
	for _, bias := range biases(lib, f) {
		at, begins := headerAddr(f, bias)
		if begins && s.headerDiffers(at, f) != "" {
			continue
		}
		fixed, data := s.sample(f, bias)
		if fixed.enough(minWords, textChanged) {
			return NoID, ""
		}
		if fixed.words < minWords && (s.sameDynamic(f, bias) || data.enough(minData, dataChanged)) {
			return NoID, ""
		}
		other = other || fixed.words >= minWords && begins && at == lib.HeaderAddr
	}
	if other {
		return Mismatched, "the process's memory has other contents than the file"
	}
	return NoID, "there is no build-id to compare, and no memory in the dump that would tell"
}

// headerAddr returns where a file's first byte is in memory, if it is loaded.
func headerAddr(f *elffile.File, bias uint64) (addr uint64, ok bool) {
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == elffile.PT_LOAD && p.Off == 0 {
			return truncated(f, p.Vaddr+bias), true
		}
	}
	return 0, false
}

// biases returns the load biases that the library may have. A file may be looked for before
// its load bias is known, because the file tells it.
func biases(lib *libstate.Library, f *elffile.File) []uint64 {
	var out []uint64
	add := func(bias uint64) {
		if f.Class == 32 {
			bias &= 1<<32 - 1
		}
		if len(out) < maxBiases && bias%proofPage == 0 && !slices.Contains(out, bias) {
			out = append(out, bias)
		}
	}
	if !lib.BiasGuessed {
		add(lib.LoadBias)
	}
	first, left := true, maxPairs
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elffile.PT_LOAD {
			continue
		}
		if first {
			if lib.HeaderAddr != 0 && p.Off == 0 {
				add(lib.HeaderAddr - p.Vaddr)
			}
			add(lib.Start - p.Vaddr&^(proofPage-1))
			first = false
		}
		for k := range lib.Mappings[:min(len(lib.Mappings), left)] {
			left--
			if m := &lib.Mappings[k]; m.Path != "" && m.Offset <= p.Off+p.Filesz && m.Offset+proofPage > p.Off {
				add(m.Start - m.Offset - (p.Vaddr - p.Off))
			}
		}
	}
	add(lib.LoadBias)
	add(0)
	return out
}

// sample compares pages of the file's segments with memory: fixed of segments that the
// process cannot write, data of the others, where words may be relocated.
func (s *Set) sample(f *elffile.File, bias uint64) (fixed, data tally) {
	mem := make([]byte, proofPage)
	left := maxProof
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elffile.PT_LOAD || p.Filesz == 0 {
			continue
		}
		have := f.SegmentData(p)
		stride := max(proofPage, len(have)/proofPages&^(proofPage-1))
		for off := 0; off < len(have) && left > 0; off += stride {
			left--
			page := have[off:min(off+proofPage, len(have))]
			if n, _ := s.mem.ReadMem(truncated(f, p.Vaddr+uint64(off)+bias), mem[:len(page)]); n < len(page) {
				continue
			}
			if p.Flags&elffile.PF_W != 0 {
				data.count(f, page, mem, bias)
			} else {
				fixed.count(f, page, mem, 0)
			}
		}
	}
	return fixed, data
}

// count adds the words of a page. relocated is what relocation may have added to them.
func (t *tally) count(f *elffile.File, page, mem []byte, relocated uint64) {
	for size := f.PtrSize(); len(page) >= size; page, mem = page[size:], mem[size:] {
		want := word(f.Order, page[:size])
		if want == 0 {
			continue
		}
		t.words++
		if have := word(f.Order, mem[:size]); have == want || relocated != 0 && have == truncated(f, want+relocated) {
			t.same++
		}
	}
}

func word(order binary.ByteOrder, b []byte) uint64 {
	if len(b) == 4 {
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}

func truncated(f *elffile.File, v uint64) uint64 {
	if f.Class == 32 {
		return v & (1<<32 - 1)
	}
	return v
}

// sameDynamic reports whether the dynamic section in memory is the file's. It has the
// addresses and sizes of all of a file's tables; dumps with writable memory alone have it.
func (s *Set) sameDynamic(f *elffile.File, bias uint64) bool {
	const dtDebug, dtMIPSRLDMap, dtMIPSRLDMapRel = 21, 0x70000016, 0x70000035 // where the debugger's list is
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elffile.PT_DYNAMIC || p.Filesz > maxDynamic {
			continue
		}
		have := f.SegmentData(p)
		mem := make([]byte, len(have))
		if n, _ := s.mem.ReadMem(truncated(f, p.Vaddr+bias), mem); n < len(mem) {
			return false
		}
		tags := 0
		for size := f.PtrSize(); len(have) >= 2*size; have, mem = have[2*size:], mem[2*size:] {
			tag := word(f.Order, have[:size])
			if tag != word(f.Order, mem[:size]) {
				return false
			}
			if tag == elffile.DT_NULL {
				break
			}
			want, is := word(f.Order, have[size:2*size]), word(f.Order, mem[size:2*size])
			if tag == dtDebug || tag == dtMIPSRLDMap || tag == dtMIPSRLDMapRel {
				continue
			}
			if is != want && is != truncated(f, want+bias) {
				return false
			}
			tags++
		}
		return tags >= minTags
	}
	return false
}

// tooShort checks that a file reaches as far as the process had it mapped. Inaccessible
// mappings between segments keep offsets that the file need not have.
func tooShort(lib *libstate.Library, f *elffile.File) string {
	for _, m := range lib.Mappings {
		if m.Path != "" && m.Perm != 0 && m.Offset >= uint64(len(f.Data)) && len(f.Data) > 0 {
			return fmt.Sprintf("file has %d bytes, the process had it mapped from offset %#x on", len(f.Data), m.Offset)
		}
	}
	return ""
}
