package reason

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An Allocator fills memory with patterns of its own. A process has it or not.
type Allocator string

// The allocators, and what else fills memory.
const (
	JEMalloc         Allocator = "jemalloc"
	MozillaAllocator Allocator = "Mozilla's allocator"
	MacOS            Allocator = "macOS"
	AddressSanitizer Allocator = "address sanitizer"
	windows          Allocator = "windows"
)

// poisons are the words that fill memory so that its use is noticed, and who writes them, if it is only known of
// one. Single bytes are repeated four times.
var poisons = [...]struct {
	word  uint32
	words string
	by    Allocator // "" for anybody
}{
	{0xdeadbeef, "a marker for invalid memory that programs use", ""},
	{0xdeadc0de, "a marker for invalid memory that programs use", ""},
	{0xfeeefeee, "fill pattern of freed memory (Windows)", windows},
	{0xbaadf00d, "fill pattern of uninitialised memory (Windows)", windows},
	{0xdddddddd, "fill pattern of freed memory (Microsoft's debug heap)", windows},
	{0xcdcdcdcd, "fill pattern of new memory (Microsoft's debug heap)", windows},
	{0xcccccccc, "fill pattern of the stack (Microsoft's compiler, debug build)", windows},
	{0xfdfdfdfd, "guard bytes around a block (Microsoft's debug heap)", windows},
	{0xabababab, "guard bytes after a block (Windows)", windows},
	{0xe5e5e5e5, "fill pattern of freed memory (Mozilla's allocator)", MozillaAllocator},
	{0x5a5a5a5a, "fill pattern of freed memory (jemalloc)", JEMalloc},
	{0xa5a5a5a5, "fill pattern of new memory (jemalloc)", JEMalloc},
	{0x55555555, "fill pattern of freed memory (macOS, MallocScribble)", MacOS},
	{0xaaaaaaaa, "fill pattern of uninitialised memory (macOS, MallocPreScribble)", MacOS},
	{0xbebebebe, "fill pattern of new memory (address sanitizer)", AddressSanitizer},
	{0xefefefef, anyPattern, ""},
}

// anyPattern is what a pattern is if the process does not have whoever is known to write it.
const anyPattern = "one byte repeated, as memset and debugging allocators fill memory"

// poison returns who writes the pattern that a pointer's value consists of; "" if it is not a pattern.
func (in *Input) poison(v uint64) string {
	low, high := uint32(v), uint32(v>>32)
	if in.Arch.WordSize == 8 && high != low && high != 0 && high != 0xffffffff {
		return ""
	}
	for i := range poisons {
		if poisons[i].word == low {
			return in.poisonWords(i)
		}
	}
	return ""
}

// poisonWords says who writes a pattern, if the process has it: somebody else may fill memory with the same, such as the
// program itself.
func (in *Input) poisonWords(i int) string {
	switch p := &poisons[i]; {
	case p.by == "", p.by == windows && in.Signal.Number == 0, p.by != windows && in.Has != nil && in.Has(p.by):
		return p.words
	case byte(p.word) == byte(p.word>>8):
		return anyPattern
	}
	return "a marker for invalid memory that programs use"
}

// poisonNear is poison for an address: that of a member of the object that a pattern points to.
func (in *Input) poisonNear(addr uint64) (uint64, string) {
	for i := range poisons {
		v := uint64(poisons[i].word)
		if in.Arch.WordSize == 8 {
			v |= v << 32
		}
		if addr-v < pageSize {
			return v, in.poisonWords(i)
		}
	}
	return 0, ""
}

// smallPattern reports whether a register's value is one repeated byte with which allocators fill memory.
func (in *Input) smallPattern(v uint64) bool {
	all := uint64(byte(v)) * 0x0101010101010101
	return in.Arch.Truncate(all) == v && in.poison(v) != ""
}

// text returns the characters that a pointer's value consists of, in memory order; "" if it is not text.
// Trailing zeros end a string.
func (in *Input) text(v uint64) string {
	var b [8]byte
	in.Arch.ByteOrder.PutUint64(b[:], v)
	word := b[:in.Arch.WordSize]
	if in.Arch.WordSize == 4 {
		in.Arch.ByteOrder.PutUint32(word, uint32(v))
	}
	s := bytes.TrimRight(word, "\x00")
	letters := 0
	for _, c := range s {
		switch {
		case c < ' ' || c > '~':
			return ""
		case letter(c):
			letters++
		}
	}
	if in.programLike(v) || len(s) < 4 || len(s) < in.Arch.WordSize-3 || letters < len(s)-2 {
		return ""
	}
	return string(s)
}

// letter reports whether text is mostly made of such characters.
func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == ' '
}

// wideText returns the characters that a pointer's value of 8 bytes consists of in UTF-16: all must be letters, digits or spaces of ASCII.
func (in *Input) wideText(v uint64) string {
	var b [8]byte
	in.Arch.ByteOrder.PutUint64(b[:], v)
	var s []byte
	for i := 0; i < len(b); i += 2 {
		unit := in.Arch.ByteOrder.Uint16(b[i:])
		if unit>>8 != 0 || !letter(byte(unit)) {
			return ""
		}
		s = append(s, byte(unit))
	}
	return string(s)
}

// lastText returns the characters that the second half in memory of a pointer of 8 bytes consists of, where the first half is none: in
// little-endian memory that is the upper half, of which no address of a process has so many bits.
func (in *Input) lastText(v uint64) string {
	if in.Arch.Big() {
		return ""
	}
	var s []byte
	for half := v >> 32; len(s) < 4; half >>= 8 {
		if !letter(byte(half)) {
			return ""
		}
		s = append(s, byte(half))
	}
	return string(s)
}

// programLike reports whether an address that could be text is more likely an address of a program or its heap:
// where Linux places them on x86 without randomisation, and on 32 bits with it.
func (in *Input) programLike(v uint64) bool {
	switch in.Arch {
	case arch.AMD64:
		return v>>32 == 0x5555
	case arch.X86:
		return v>>24 >= 0x56 && v>>24 <= 0x58
	}
	return false
}

// A pointer is a value that the bad access used as an address.
type pointer struct {
	value uint64
	name  string // of the register; "" if there is none
}

// badPointers returns the values that led to the bad address: the registers of the operand that was accessed,
// or the target of a jump.
func (in *Input) badPointers(r *Reason) []pointer {
	var out []pointer
	add := func(reg arch.Reg) {
		if v, ok := in.Regs.Get(reg); ok && reg != in.Arch.SP {
			out = append(out, pointer{v, in.Arch.RegName(reg)})
		}
	}
	if r.Access == report.AccessExecute {
		return append(out, pointer{r.Addr, ""})
	}
	if a := in.access(r.Addr); r.AtInst && a.Known {
		add(a.Operand.Base)
		if a.Operand.Scale <= 1 {
			add(a.Operand.Index)
		}
	}
	return append(out, pointer{r.Addr, ""})
}

// pointers looks for clues in the values of bad pointers.
func (in *Input) pointers(r *Reason) {
	if !r.wild() || !r.HasAddr {
		return
	}
	for _, p := range in.badPointers(r) {
		if text, confidence := in.tell(p); text != "" {
			r.Causes = append(r.Causes, report.Cause{Text: text, Confidence: confidence})
			return
		}
	}
}

// tell describes what a value says about its origin; "" for nothing.
func (in *Input) tell(p pointer) (text, confidence string) {
	v := in.Arch.Truncate(p.value)
	who := "the address is"
	if p.name != "" {
		who = p.name + " holds"
	}
	if words := in.poison(v); words != "" {
		return fmt.Sprintf("%s %#x: %s", who, v, words), "likely"
	}
	if s := in.text(v); s != "" {
		return fmt.Sprintf("%s text: %s", who, strconv.Quote(s)), "likely"
	}
	if s := in.wideText(v); s != "" {
		return fmt.Sprintf("%s text in UTF-16: %s", who, strconv.Quote(s)), "likely"
	}
	if s := in.lastText(v); s != "" {
		return fmt.Sprintf("%s %#x, of which the last 4 bytes in memory are text: %s", who, v, strconv.Quote(s)), "possible"
	}
	if p.name == "" {
		if pattern, words := in.poisonNear(v); words != "" {
			return fmt.Sprintf("the address is near %#x: %s", pattern, words), "likely"
		}
		return "", ""
	}
	if v == in.Arch.Truncate(^uint64(0)) {
		return who + " -1, which mmap and other functions return on failure", "likely"
	}
	if text, confidence := in.freed(who, v); text != "" {
		return text, confidence
	}
	return in.freedKey(who, v)
}

// freed recognises what glibc leaves at the start of a freed block that is the last of its list: the block's
// own address shifted right by the page size (malloc/malloc.c, PROTECT_PTR, since glibc 2.32).
func (in *Input) freed(who string, v uint64) (text, confidence string) {
	const shift = 12
	if in.Arch.WordSize != 8 || v < 1<<16 || v >= 1<<(47-shift) {
		return "", ""
	}
	page := v << shift
	m, _ := in.mapping(page)
	if m.Perm&libstate.Write == 0 || m.Path != "" && m.Path != "[heap]" {
		return "", ""
	}
	text = fmt.Sprintf("%s %#x, which glibc leaves in a freed block on page %#x", who, v, page)
	for reg := range arch.Reg(in.Arch.NumRegs()) {
		if at, ok := in.Regs.Get(reg); ok && at>>shift == v {
			return text + ", where " + in.Arch.RegName(reg) + " points: use after free, or of a block that was not filled", "likely"
		}
	}
	return text + ": use after free, or of a block that was not filled", "possible"
}

// LeftInFreed comes before the address of the block in a cause that freedKey found.
const LeftInFreed = ", which glibc left in the freed block "

// freedKey recognises the key that glibc leaves in the second word of a block in a thread's cache of freed
// blocks (malloc/malloc.c, tcache_key). Since glibc 2.34 the key is random, so it is recognised by the word
// before it, the protected link to the next block. A register must still point to the block.
func (in *Input) freedKey(who string, v uint64) (text, confidence string) {
	const shift, align = 12, 16
	if in.Arch.WordSize != 8 || v < 1<<16 {
		return "", ""
	}
	for reg := range arch.Reg(in.Arch.NumRegs()) {
		at, ok := in.Regs.Get(reg)
		if !ok || at == 0 || at%align != 0 {
			continue
		}
		if key, ok := in.word(at + 8); !ok || key != v {
			continue
		}
		link, ok := in.word(at)
		m, _ := in.mapping(at)
		if next := link ^ at>>shift; !ok || m.Perm&libstate.Write == 0 || next != 0 && (next%align != 0 || next < m.Start || next >= m.End) {
			continue
		}
		return fmt.Sprintf("%s %#x"+LeftInFreed+"%#x, where %s points: use after free", who, v, at, in.Arch.RegName(reg)), "likely"
	}
	return "", ""
}

// wild reports whether the reason is an access through a wild pointer.
func (r *Reason) wild() bool {
	switch r.Kind {
	case report.CrashWildRead, report.CrashWildWrite, report.CrashWildAccess, report.CrashWildCall,
		report.CrashNonCanonicalRead, report.CrashNonCanonicalWrite, report.CrashNonCanonicalAccess, report.CrashNonCanonicalCall,
		report.CrashBadRead, report.CrashBadWrite, report.CrashBadAccess, report.CrashBadCall,
		report.CrashNoAccessRead, report.CrashNoAccessWrite, report.CrashNoAccess, report.CrashExecNoExec:
		return true
	}
	return false
}
