package slim

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Numbers that are kept: lengths, counts, indexes, error numbers.
const (
	leastNumber = -4096
	mostNumber  = 1<<16 - 1
)

// dyninstMark is what Dyninst's instrumentation writes into its frames, to tell them by.
const dyninstMark = 0xbeefdead

// Blank is what stands for each byte that was not zero: "x" in strings, which keep their lengths.
const Blank = 'x'

// A redactor blanks values in writable memory, in read-only memory that no file has, and in registers. It
// keeps, at multiples of a word's size, addresses of the process and small numbers, the paths of modules, their
// dynamic sections, and in cores the program counters and stack pointers of the threads, whatever they are, and the files that JIT
// compilers made for debuggers. So stacks are walked as before, debuggers find the modules, and lists and trees keep
// their shape.
//
// A small number that ends a longer value is blanked: it would be the last letters of a string. So are two
// of four bytes in one word that may be characters.
//
// A nil redactor keeps everything.
type redactor struct {
	arch    *arch.Arch
	whole   spots            // the process's memory, ascending
	found   *corestate.Reads // what was read to find the modules: in their data, dynamic sections
	walked  *corestate.Reads // what was read to walk: in modules that could be written, code and tables
	steps   Steps
	names   spots  // where paths of modules are, in the memory that is being written
	objects spots  // ELF files of JIT compilers
	jit     []run  // the same, one by one
	before  uint64 // the word before this one: behind the address of such a file is its size
	module  func(arch.Address) bool
	paths   []keptPath
	counts  Blanked
	// narrow says that halves of words may be addresses: those of the 32-bit side of a process.
	narrow bool
	// inside says that the byte before was blanked, at the address after it.
	inside uint64
}

// ErrRedact means that values in a dump of this kind cannot be blanked.
var ErrRedact = errors.New("values can be blanked in cores of Linux and in minidumps only")

func newRedactor(c *corestate.ELFCore, o Options) (*redactor, error) {
	switch {
	case !o.Redact:
		return nil, nil
	case c.OS() != "Linux" || c.Arch() == nil:
		return nil, ErrRedact
	}
	r := &redactor{arch: c.Arch(), found: o.Found, walked: o.Walked}
	for _, s := range c.Whole() {
		r.whole = append(r.whole, run{s.Start, s.End})
	}
	for _, m := range c.FileMappings() { // gcore leaves out code
		r.whole = append(r.whole, run{m.Start, m.End})
	}
	files := map[string]bool{} // that were mapped, as the notes say
	for _, m := range c.FileMappings() {
		files[strings.TrimSuffix(m.Path, " (deleted)")] = true
	}
	var mods spots
	for _, l := range o.Libraries {
		for _, m := range l.Mappings { // of cores without a list of files
			r.whole = append(r.whole, run{m.Start, m.End})
		}
		r.whole = append(r.whole, run{l.Start, l.End})
		if !proved(l, files) {
			continue
		}
		for _, m := range l.Mappings {
			mods = append(mods, run{m.Start, m.End})
		}
		if l.Path != "" && (len(files) == 0 || files[l.Path]) {
			r.paths = append(r.paths, keptPath{l.Path, 0})
		}
		if l.Linked != "" && tells(l.Path, l.Linked) {
			r.paths = append(r.paths, keptPath{l.Linked, 0})
		}
		if l.Kind == libstate.JIT && l.ImageSize > 0 {
			r.jit = append(r.jit, run{l.HeaderAddr, l.HeaderAddr + l.ImageSize})
		}
	}
	r.module = joined(mods).has
	r.whole, r.objects = joined(r.whole), joined(slices.Clone(r.jit))
	r.step(o.Steps)
	r.made(o.Made)
	return r, nil
}

// maxMade is how large a function is of which code is kept that walking read, in bytes.
const maxMade = 64 << 10

// made keeps the code that walking read of functions that are recorded: what they do says where their callers are.
func (r *redactor) made(list []slimnote.Made) {
	for i := range list {
		if m := &list[i]; !m.Cut && m.Size <= maxMade {
			r.steps.code = append(r.steps.code, run{m.Start, m.Start + m.Size})
		}
	}
	r.steps.code = joined(r.steps.code)
}

// step keeps what walking needs.
func (r *redactor) step(s *Steps) {
	if s != nil {
		r.steps = Steps{saved: joined(s.saved), code: joined(s.code), info: joined(s.info)}
	}
}

// proved reports whether something besides the dynamic linker's list, which lies in memory that the process could write, says
// that there is a module. files are those that were mapped; if nobody knows them, the list is believed.
func proved(l *libstate.Library, files map[string]bool) bool {
	return len(files) == 0 || l.Kind == libstate.VDSO || l.Kind == libstate.JIT ||
		slices.ContainsFunc(l.Mappings, func(m libstate.Mapping) bool { return m.Path != "" })
}

// joined returns runs without overlaps, ascending.
func joined(list spots) spots {
	slices.SortFunc(list, func(a, b run) int { return cmp.Compare(a.lo, b.lo) })
	out := list[:0]
	for _, r := range list {
		if n := len(out); n > 0 && r.lo <= out[n-1].hi {
			out[n-1].hi = max(out[n-1].hi, r.hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// tells reports whether a path says nothing that another does not: but for the names of the system's directories, each
// of its parts is the beginning of a part of the other, in their order. So /lib/libz.so.1 is told by /usr/lib/libz.so.1.2.
func tells(path, linked string) bool {
	for _, dir := range strings.Fields(systemDirs) {
		linked = strings.TrimPrefix(linked, dir)
	}
	parts := strings.Split(path, "/")
	for _, p := range strings.Split(linked, "/") {
		if p == "" || p == "." || p == ".." {
			continue
		}
		i := slices.IndexFunc(parts, func(q string) bool { return strings.HasPrefix(q, p) })
		if i < 0 {
			return false
		}
		parts = parts[i+1:]
	}
	return true
}

// A keptPath is the path of a module, which is kept in memory from an index on.
type keptPath struct {
	path string
	from int
}

func (r *redactor) sum() Blanked {
	if r == nil {
		return Blanked{}
	}
	return r.counts
}

// isAddress reports whether v is in the process's memory.
func (r *redactor) isAddress(v uint64) bool {
	v = r.arch.CodeAddress(v)
	i := sort.Search(len(r.whole), func(i int) bool { return r.whole[i].hi > v })
	return i < len(r.whole) && r.whole[i].lo <= v
}

// spots are ranges of addresses, ascending.
type spots []run

func (s spots) has(a uint64) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].hi > a })
	return i < len(s) && s[i].lo <= a
}

// find looks for the paths of modules in memory: the dynamic linker's list has them.
func (r *redactor) find(addr uint64, b []byte) {
	r.names = r.names[:0]
	for _, k := range r.paths {
		p := k.path + "\x00"
		for at := 0; ; {
			i := bytes.Index(b[at:], []byte(p))
			if i < 0 {
				break
			}
			at += i
			r.names = append(r.names, run{addr + uint64(at+k.from), addr + uint64(at+len(p))})
			at += len(p)
		}
	}
	r.names = joined(r.names)
}

// memory blanks values in bytes of memory at addr, a multiple of the size of a word or the start of a segment.
func (r *redactor) memory(addr uint64, b []byte, perm libstate.Perm) {
	if r == nil || perm&libstate.Write == 0 && (perm&libstate.Exec != 0 || r.module(addr)) {
		return
	}
	if r.inside != addr {
		r.inside = 0
	}
	r.find(addr, b)
	w := uint64(r.arch.WordSize)
	for i := uint64(0); i < uint64(len(b)); {
		if at := addr + i; w == 4 && at%8 == 0 && uint64(len(b))-i >= 8 && r.wide(b[i:i+8]) {
			r.blank(at, b[i:i+8])
			i += 8
			continue
		}
		n := min(w-(addr+i)%w, uint64(len(b))-i)
		r.word(addr+i, b[i:i+n])
		i += n
	}
}

// word blanks one word, or a part of one.
func (r *redactor) word(addr uint64, b []byte) {
	if len(b) == r.arch.WordSize {
		v := r.arch.Word(b)
		before := r.before
		r.before = v
		switch {
		case v > 0 && slices.Contains(r.jit, run{before, before + v}):
			r.counts.Numbers++
			r.inside = 0
			return
		case v == 0 || v == dyninstMark && r.arch.Family == arch.FamilyX86:
			r.inside = 0
			return
		case r.isAddress(v):
			r.counts.Pointers++
			r.inside = 0
			return
		case r.number(addr, int64(v), len(b)):
			return
		}
		if r.arch.WordSize == 8 && !r.wide(b) {
			r.half(addr, b[:4])
			r.half(addr+4, b[4:])
			return
		}
	}
	r.blank(addr, b)
}

// wide reports whether eight bytes look like two characters of four bytes each.
func (r *redactor) wide(b []byte) bool {
	letter := func(b []byte) bool {
		v := r.arch.ByteOrder.Uint32(b)
		return v >= ' ' && v <= utf8.MaxRune && v != 0x7f
	}
	return letter(b[:4]) && letter(b[4:8])
}

// half blanks half of a word of eight bytes.
func (r *redactor) half(addr uint64, b []byte) {
	v := int64(int32(r.arch.ByteOrder.Uint32(b)))
	if v == 0 {
		r.inside = 0
	} else if r.narrow && r.isAddress(uint64(uint32(v))) {
		r.counts.Pointers++
		r.inside = 0
	} else if !r.number(addr, v, len(b)) {
		r.blank(addr, b)
	}
}

// number reports whether v, of n bytes at addr, is a small number by itself.
func (r *redactor) number(addr uint64, v int64, n int) bool {
	if n == 4 {
		v = int64(int32(v))
	}
	if r.inside == addr || v < leastNumber || v > mostNumber {
		return false
	}
	r.counts.Numbers++
	return true
}

// blank blanks the bytes that are neither zero nor to be kept.
func (r *redactor) blank(addr uint64, b []byte) {
	for i := range b {
		at := addr + uint64(i)
		switch {
		case b[i] == 0:
			r.inside = 0
			continue
		case r.names.has(at) || r.objects.has(at) || r.steps.saved.has(at) || r.steps.info.has(at) || (r.found.Was(at) || r.walked.Was(at)) && r.module(at),
			r.steps.code.has(at) && r.walked.Was(at):
			continue
		}
		b[i] = Blank
		r.counts.Bytes++
		r.inside = at + 1
	}
}

const (
	notePSInfo      = 3
	noteAuxv        = 6
	noteFile        = 0x46494c45
	noteSigInfo     = 0x53494749
	notePRStatus    = 1
	noteXState      = 0x202
	noteXSaveLayout = 0x205
	noteDescription = 0xff000000 // which registers the processor has, as XML
)

// note returns the descriptor of a note with values blanked.
func (r *redactor) note(n corestate.Note) []byte {
	if r == nil {
		return n.Data
	}
	switch { // what describes the process and its files, not what it worked on
	case n.Owner == "CORE" && (n.Type == noteAuxv || n.Type == noteFile || n.Type == noteSigInfo), n.Owner == "LINUX" && n.Type == noteXSaveLayout, n.Owner == "GDB" && n.Type == noteDescription,
		n.Owner == slimnote.Owner:
		return n.Data
	}
	b := append([]byte(nil), n.Data...)
	if n.Owner == "CORE" && n.Type == notePSInfo {
		r.arguments(b)
		return b
	}
	r.inside = 0
	w, first := r.arch.WordSize, r.registers(n)
	for i := first; i < len(b); i += w {
		r.word(uint64(w+i), b[i:min(i+w, len(b))]) // not at 0, where nothing is before
	}
	r.inside = 0
	for _, reg := range []arch.Reg{r.arch.PC, r.arch.SP, r.arch.ModeFrom} { // these may be wild, and the walk begins with them
		if reg == r.arch.ModeFrom && r.arch.Mode == arch.NoReg {
			continue
		}
		if off, size, ok := r.arch.GRegOffset(reg); ok && first > 0 && first+off+size <= len(b) {
			copy(b[first+off:], n.Data[first+off:first+off+size])
		}
	}
	if n.Owner == "LINUX" && n.Type == noteXState && len(b) >= xsaveHeaderEnd {
		copy(b[xsaveReserved:xsaveHeaderEnd], n.Data[xsaveReserved:xsaveHeaderEnd])
	}
	return b
}

// Where NT_X86_XSTATE says which components the processor has and which of them are in use: the part of the legacy area that is the software's, in which
// Linux keeps XCR0, and the header behind it (Intel SDM, volume 1, 13.4). Without XCR0 gdb reads no register of the core.
const (
	xsaveReserved  = 464
	xsaveHeaderEnd = 576
)

// registers returns the offset of the first register in a note, in bytes. What is before them in NT_PRSTATUS
// are the thread's id, its signals and times.
func (r *redactor) registers(n corestate.Note) int {
	switch {
	case n.Owner != "CORE" || n.Type != notePRStatus:
		return 0
	case r.arch.WordSize == 8:
		return 112
	case r.arch.Name == arch.M68K.Name:
		return 70
	}
	return 72
}

// psArgs is how long the arguments at the end of NT_PRPSINFO are, in bytes (ELF_PRARGSZ).
const psArgs = 80

// arguments blanks the arguments in NT_PRPSINFO behind the program's name.
func (r *redactor) arguments(b []byte) {
	args := b[max(0, len(b)-psArgs):]
	behind := false
	for i, c := range args {
		if c == ' ' {
			behind = true
		} else if behind && c != 0 {
			args[i] = Blank
			r.counts.Bytes++
		}
	}
}
