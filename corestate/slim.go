package corestate

import (
	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Slim reports whether memory was left out of the core on purpose (corewalk.Target.WriteSlim), and whether values were
// blanked.
func (c *ELFCore) Slim() (slim, redacted bool) {
	return c.slim != nil, c.slim != nil && c.slim.Redacted
}

func (c *ELFCore) readSlim(desc []byte) {
	if c.slim != nil {
		return
	}
	n, err := slimnote.Parse(desc, c.big)
	if err != nil {
		c.warnf("the note of what was left out of the core cannot be used: %v", err)
		return
	}
	c.slim = n
}

// readModules reads the list of modules of the minidump of which the core was made.
func (c *ELFCore) readModules(desc []byte) {
	if c.mods != nil {
		return
	}
	m, err := slimnote.ParseModules(desc, c.big)
	if err != nil {
		c.warnf("the note with the list of modules cannot be used: %v", err)
		return
	}
	c.mods = m
}

// modules returns the list.
func (c *ELFCore) modules() []libraries.Module {
	list := make([]libraries.Module, 0, len(c.mods.List))
	for _, m := range c.mods.List {
		if m.Size == 0 {
			continue
		}
		list = append(list, libraries.Module{Path: m.Path, Base: m.Base, BuildID: m.BuildID, Bias: m.Bias, HasBias: m.HasBias, ID: libstate.ModuleID{
			Format: libstate.FormatELF, DebugID: m.DebugID, CodeID: m.CodeID, DebugFile: m.DebugFile, Version: m.Version, Size: m.Size, PartialBuildID: m.Partial,
		}})
	}
	return list
}

// KnowsMappings reports whether Mappings are all mappings of the process. They are, except in a core that was made of a
// minidump without a list of mappings.
func (c *ELFCore) KnowsMappings() bool { return c.mods == nil || c.mods.Mapped }

// applySlim restores what is known of memory that was left out: what was mapped, and what the core did not
// have even then.
func (c *ELFCore) applySlim() {
	if c.slim == nil {
		return
	}
	if c.slim.Redacted {
		c.warnf("values in it were blanked when it was made (corewalk slim --redact): \"x\" or 0x78 stands for each byte that was not zero")
	}
	c.kind = Kind(min(c.slim.Kind, uint32(QemuCore)))
	c.whole = make([]segment, 0, len(c.slim.Ranges))
	for _, r := range c.slim.Ranges {
		if c.elf.Class == 32 && r.End > 1<<32 {
			continue
		}
		c.whole = append(c.whole, segment{start: r.Start, end: r.End, have: r.Have, claim: r.Claim, perm: permOf(r.Flags) | unknown(r.Flags)})
	}
	c.segs = restore(c.whole, c.segs)
}

func unknown(flags uint32) libstate.Perm {
	if flags&slimnote.UnknownPerm != 0 {
		return libstate.Unknown
	}
	return 0
}

// restore returns the memory of whole, ascending and disjoint, with the bytes of kept, which are, too.
// Memory that only kept has stays. kept is changed.
func restore(whole, kept []segment) []segment {
	out := make([]segment, 0, len(whole)+2*len(kept))
	for _, w := range whole {
		at := w.start
		for len(kept) > 0 && kept[0].start < w.end {
			k := kept[0]
			if k.start < at { // what lies before w
				if before := k.cut(k.start, min(k.end, at)); before.start < before.end {
					out = append(out, before)
				}
			}
			if k.end > at {
				out = w.leftOut(out, at, max(at, k.start))
				in := k.cut(max(at, k.start), min(k.end, w.end))
				in.perm = w.perm
				out = append(out, in)
				at = in.end
			}
			if k.end > w.end {
				kept[0] = k.cut(w.end, k.end)
				break
			}
			kept = kept[1:]
		}
		out = w.leftOut(out, at, w.end)
	}
	return append(out, kept...)
}

// leftOut appends the part of w in [lo, hi) without its bytes. Those that the core did not have before
// memory was left out are told from those that it had.
func (w segment) leftOut(out []segment, lo, hi arch.Address) []segment {
	if m := min(hi, max(lo, w.have)); lo < m {
		out = append(out, segment{start: lo, end: m, have: lo, claim: lo, perm: w.perm})
		lo = m
	}
	if lo < hi {
		out = append(out, segment{start: lo, end: hi, have: lo, claim: min(hi, max(lo, w.claim)), perm: w.perm})
	}
	return out
}
