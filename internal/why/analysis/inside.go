package analysis

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A pointer to a function that was damaged a little leads into a function, mostly the one that it led to. What runs there fails soon, of what nobody wrote.

// maxInside is how far behind a function's beginning a damaged pointer to it is looked for, in bytes.
const maxInside = 256

// calledInside says that the function that failed was not entered at its beginning: its instruction is none of those that control gets to from there, the call that
// seems to have led to it is to another one, or it is through a pointer. Pointers to the middle of functions are rare: the one that leads there was called.
func (c *crash) calledInside() []report.Cause { return c.known.inside.of(c.findCalledInside) }

func (c *crash) findCalledInside() []report.Cause {
	if c.Signal == nil || len(c.stack) < 2 || c.stack[0].IsTrampoline() || c.arch.Family != arch.FamilyX86 || c.Variables == nil {
		return nil
	}
	switch c.verdict().kind {
	case report.CrashHeapCorruption, report.CrashAbort, report.CrashStackOverflow, report.CrashException:
		return nil
	}
	pc := uint64(c.stack[0].RA())
	code := &codeReader{in: c.question}
	f, ok := code.function(pc)
	if !ok || f.Entry == 0 || f.Entry >= pc || f.Name == "" {
		return nil
	}
	known := provenance.New(c.arch, provenance.ABIOf(c.arch, false), code, f.Entry, c.symbolEnd(f.Entry))
	if known == nil {
		return nil
	}
	_, reached := known.Inst(pc)
	reached = reached || known.Opaque()
	confidence := report.Likely
	if site, call := c.callSite(c.stack[1]); reached && !c.calledAnother(code, f.Entry) {
		if confidence = report.Possible; !call || site.Direct {
			return nil
		}
	}
	name, value := c.pointsInside(f.Entry+1, min(pc, f.Entry+maxInside))
	if name == "" {
		return nil
	}
	return []report.Cause{{Confidence: confidence, Text: fmt.Sprintf("%s was entered %s behind its beginning: %s = %#x, where a call led, is not where a function begins", f.Name, byteCount(value-f.Entry), name, value)}}
}

// calledAnother reports whether the call to which the youngest frame seems to return is to another function, which does not leave by a jump.
func (c *crash) calledAnother(code *codeReader, entry uint64) bool {
	site, ok := c.callSite(c.stack[1])
	if !ok || !site.Direct || site.Target == entry || len(c.named.Frames) > 1 && c.named.Frames[1].Physical != 1 && c.named.Frames[1].Physical != 0 {
		return false
	}
	other := provenance.New(c.arch, provenance.ABIOf(c.arch, false), code, site.Target, c.symbolEnd(site.Target))
	if other == nil || other.Opaque() {
		return false
	}
	for in := range other.Calls {
		if in.Kind == disasm.Jump || in.Kind == disasm.JumpIndirect {
			return false
		}
	}
	return true
}

// pointsInside names the only variable, or else block, that has an address between two which is none that a call returns to; "" for none, or several.
func (c *crash) pointsInside(from, to uint64) (name string, value uint64) {
	var of []*held
	for at := from; at <= to; at++ {
		if _, returns := disasm.CallBefore(c.arch, c.mem.Bytes(at-disasm.MaxLen-1, disasm.MaxLen+1), at); !returns {
			of = append(of, &held{start: at})
		}
	}
	names := c.names()
	names.most = maxScannedPlace
	defer func() { names.most = maxScanned }()
	several := false
	tell := func(text string, at uint64) bool {
		several = several || name != "" && value != at
		if name == "" {
			name, value = text, at
		}
		return !several
	}
	names.each(of, func(h *held, path string, _ *types.Type) bool { return tell(path, h.start) }, func() bool { return name != "" })
	if name == "" {
		left := maxScannedPlace
		for _, ranges := range names.writable() {
			for _, p := range names.pointersTo(of, ranges, &left) {
				if _, b, ok := c.blockAt(p.at); ok && !b.Free && !b.Own {
					tell(fmt.Sprintf("what the block of %s at %#x%s has %s from its beginning", byteCount(b.Size), b.Start, c.ownerOf(b), byteCount(p.at-b.Start)), p.to.start)
				}
			}
		}
	}
	if several {
		return "", 0
	}
	return name, value
}
