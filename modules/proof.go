package modules

import (
	"bytes"
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
	textChanged = 64 // one word in so many may differ in what cannot be written: breakpoints, hot patches, e_shoff of a stripped file
	fewChanged  = 4  // and so many words of few
	textMoved   = 8  // one in so many of a file whose code is relocated
	dataChanged = 2  // the same in data
)

// A tally counts the words of a file that are not zero, and those that memory has, too.
type tally struct{ words, same int }

// enough reports whether a tally proves something: few words do not, and at most one in
// changed may differ.
func (t tally) enough(least, changed int) bool {
	return t.words >= least && t.same >= least && (t.words-t.same)*changed <= t.words
}

// isText reports whether a tally of what cannot be written proves something.
func (t tally) isText(f *elffile.File) bool {
	const dtTextrel, dtFlags, dfTextrel = 22, 30, 4
	_, moved := f.DynValue(dtTextrel)
	flags, _ := f.DynValue(dtFlags)
	if moved || flags&dfTextrel != 0 {
		return t.enough(minWords, textMoved)
	}
	return t.enough(minWords, textChanged) || t.words-t.same <= fewChanged && t.enough(minWords, textMoved)
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
		fixed, data, id := s.sample(lib, f, bias)
		switch id {
		case otherFile:
			return Mismatched, errOther
		case idDiffers:
			other = true
			continue
		}
		if fixed.isText(f) || id == idSame {
			return NoID, ""
		}
		if fixed.words < minWords && (s.sameDynamic(f, bias) || data.enough(minData, dataChanged)) {
			return NoID, ""
		}
		other = other || fixed.words >= minWords && begins && at == lib.HeaderAddr
	}
	if other {
		return Mismatched, errOther
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

const errOther = "the process's memory has other contents than the file"

// What memory has where the file has its build-id.
type idMatch uint8

const (
	idUnknown idMatch = iota
	idSame
	idDiffers
	otherFile // whatever it has there: what was mapped from the file, and nobody changes, differs
)

// ehdrSize is the size in bytes of the larger of the two ELF headers.
const ehdrSize = 64

// leastID is the length in bytes of the shortest build-id that is looked for.
const leastID = 8

// sample compares pages of the file's segments with memory: fixed of segments that the
// process cannot write, data of the others, where words may be relocated.
func (s *Set) sample(lib *libstate.Library, f *elffile.File, bias uint64) (fixed, data tally, found idMatch) {
	id := f.BuildID()
	same := func(have, mem []byte) {
		fixed.count(f, have, mem, 0)
		k := bytes.Index(have, id)
		switch {
		case len(id) < leastID || k < 0 || found == idDiffers:
		case bytes.Equal(mem[k:k+len(id)], id):
			found = idSame
		default:
			found = idDiffers
		}
	}
	mem := make([]byte, proofPage)
	left := maxProof
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elffile.PT_LOAD || p.Filesz == 0 {
			continue
		}
		if lead, addr := leadIn(lib, f, p, bias); len(lead) > 0 && left > 0 {
			left--
			if n, _ := s.mem.ReadMem(addr, mem[:len(lead)]); n == len(lead) {
				before := fixed
				if same(lead, mem); fixed.words-before.words != fixed.same-before.same {
					return fixed, data, otherFile
				}
			}
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
				same(page, mem)
			}
		}
	}
	return fixed, data, found
}

// leadIn returns what a file has before a segment in the segment's first page, and where that is in memory: whole
// pages are mapped. Of what a process writes to, this is what stays as it is in the file, and all that most cores
// have of a library's code or constants.
func leadIn(lib *libstate.Library, f *elffile.File, p *elffile.Prog, bias uint64) (lead []byte, addr uint64) {
	n := p.Off % proofPage &^ 7
	if p.Off%proofPage != p.Vaddr%proofPage || p.Off > uint64(len(f.Data)) {
		return nil, 0
	}
	start, vaddr := p.Off-p.Off%proofPage, p.Vaddr-p.Vaddr%proofPage
	addr = truncated(f, vaddr+bias)
	if m, ok := lib.MappingAt(addr); !ok || m.Path == "" || m.Offset+(addr-m.Start) != start {
		return nil, 0
	}
	for i := range f.Progs {
		if o := &f.Progs[i]; o.Type == elffile.PT_LOAD && o.Vaddr < vaddr+n && o.Vaddr+o.Memsz > vaddr {
			return nil, 0
		}
	}
	lead = f.Data[start : start+n]
	if skip := min(n, ehdrSize); start == 0 { // strip changes the ELF header
		return lead[skip:], addr + skip
	}
	return lead, addr
}

// count adds the words of a page. relocated is what relocation may have added to them.
func (t *tally) count(f *elffile.File, page, mem []byte, relocated uint64) {
	for size := f.PtrSize(); len(page) >= size; page, mem = page[size:], mem[size:] {
		want := word(f.Order, page[:size])
		if want == 0 || blanked(page[:size], mem[:size]) {
			continue
		}
		t.words++
		if have := word(f.Order, mem[:size]); have == want || relocated != 0 && have == truncated(f, want+relocated) {
			t.same++
		}
	}
}

// blanked reports whether mem has an x for each byte in which it differs from the file: that is what redacted dumps have in
// place of values, and proves nothing.
func blanked(file, mem []byte) bool {
	differs := false
	for i, b := range file {
		if mem[i] != b {
			if mem[i] != 'x' {
				return false
			}
			differs = true
		}
	}
	return differs
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
