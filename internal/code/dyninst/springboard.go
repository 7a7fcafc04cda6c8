package dyninst

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An anchor is a place where control goes from the original text to the relocated code: a
// springboard or trap of size bytes.
type anchor struct {
	source, target uint64
	size           uint64
}

// A springboard recognises the jump into relocated code.
type springboard struct {
	size   int // bytes
	decode func(a *arch.Arch, code []byte, pc uint64) (target uint64, ok bool)
	trap   int // size in bytes of the breakpoint used if there is no room for a springboard
}

// springboardOf returns a's springboard, or nil if unknown.
func springboardOf(a *arch.Arch) *springboard {
	switch a {
	case arch.AMD64, arch.X86:
		return &x86Springboard
	}
	return nil
}

// x86Springboard is jmp rel32; the trap is int3.
var x86Springboard = springboard{
	size: 5,
	decode: func(a *arch.Arch, code []byte, pc uint64) (uint64, bool) {
		if len(code) < 5 || code[0] != 0xe9 {
			return 0, false
		}
		rel := int32(uint32(code[1]) | uint32(code[2])<<8 | uint32(code[3])<<16 | uint32(code[4])<<24)
		return a.Truncate(pc + 5 + uint64(int64(rel))), true
	},
	trap: 1,
}

// maxFunction limits the size in bytes of original functions that are searched.
const maxFunction = 1 << 18

// code returns the file's bytes [start, end), or nil if it does not have them.
func (c *Code) code(start, end uint64) []byte {
	if end <= start || end-start > maxFunction {
		return nil
	}
	b, err := c.src.File.DataAt(start, end-start)
	if err != nil {
		return nil
	}
	return b
}

// anchors lists, by target, the anchors from the original function [start, end) into the
// run [lo, hi). It looks for springboards at every byte, because they overwrite instruction
// boundaries; a jump into such a narrow range is not an accident.
func (c *Code) anchors(start, end, lo, hi uint64) []anchor {
	var out []anchor
	board := springboardOf(c.src.Arch)
	code := c.code(start, end)
	if board == nil || code == nil || !c.spend(len(code)+len(c.trapMap())) {
		return nil
	}
	for i := 0; i+board.size <= len(code); i++ {
		if to, ok := board.decode(c.src.Arch, code[i:], start+uint64(i)); ok && to >= lo && to < hi {
			out = append(out, anchor{start + uint64(i), to, uint64(board.size)})
			i += board.size - 1
		}
	}
	for _, t := range c.trapMap() {
		if t.Source >= start && t.Source < end && t.Target >= lo && t.Target < hi {
			out = append(out, anchor{t.Source, t.Target, uint64(board.trap)})
		}
	}
	slices.SortStableFunc(out, func(a, b anchor) int {
		return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.source, b.source))
	})
	return slices.CompactFunc(out, func(a, b anchor) bool { return a.target == b.target })
}

// original finds the function of which the run [lo, hi) is a copy; x is the name from the
// run's symbol. It uses a trap that leads there, the name, or the springboard at the
// function's entry (x is a demangled name, but C++ symbols are mangled).
func (c *Code) original(x string, lo, hi uint64) (start, end uint64, ok bool) {
	if !c.spend(len(c.trapMap())) {
		return 0, 0, false
	}
	for _, t := range c.trapMap() {
		if t.Target >= lo && t.Target < hi {
			if s, ok := c.src.SymbolAt(t.Source); ok && c.isOriginal(&s) {
				return s.Value, s.Value + s.Size, true
			}
		}
	}
	if s, ok := c.src.SymbolByName(x); ok && c.isOriginal(&s) && c.leadsInto(&s, lo, hi) {
		return s.Value, s.Value + s.Size, true
	}
	for _, open := range []func() (*elffile.SymTab, error){c.src.File.SymTab, c.src.File.DynSym} {
		tab, err := open()
		if err != nil || !c.spend(tab.Len()) {
			continue
		}
		for s := range tab.All() {
			if s.IsFunc() && c.isOriginal(&s) && c.leadsInto(&s, lo, hi) {
				return s.Value, s.Value + s.Size, true
			}
		}
	}
	return 0, 0, false
}

func (c *Code) isOriginal(s *elffile.Sym) bool {
	return s.Defined() && s.Size != 0 && s.Size <= maxFunction && !c.Contains(s.Value)
}

// leadsInto reports whether the function begins with a springboard into [lo, hi).
func (c *Code) leadsInto(s *elffile.Sym, lo, hi uint64) bool {
	board := springboardOf(c.src.Arch)
	if board == nil || s.Size < uint64(board.size) {
		return false
	}
	to, ok := board.decode(c.src.Arch, c.code(s.Value, s.Value+uint64(board.size)), s.Value)
	return ok && to >= lo && to < hi
}
