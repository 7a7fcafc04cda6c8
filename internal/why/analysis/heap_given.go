package analysis

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxGivenFrames is how many frames of an allocator, and of what called it, are looked at for who gave it a block back.
const maxGivenFrames = 16

// A givenBack is a pointer that the program gave back to its allocator, in the call in which it died.
type givenBack struct {
	to    string // the function: "free"
	value uint64
	name  string // of the pointer, as the source of the caller has it; "" if it has none
	known bool
	exact bool // it was not read from memory that may have changed since
}

// freeing is the name of a function that takes a block back, as the first argument of the C function is; "" for others.
func freeing(name string) string {
	name, _, _ = strings.Cut(name, "@")
	switch {
	case strings.HasPrefix(name, "operator delete[]"), strings.HasPrefix(name, "_Zda"):
		return "operator delete[]"
	case strings.HasPrefix(name, "operator delete"), strings.HasPrefix(name, "_Zdl"):
		return "operator delete"
	}
	switch name = libcName(name); name {
	case "free", "realloc", "cfree", "reallocarray":
		return name
	}
	return ""
}

// gaveBack is the pointer that the program gave to the function of the allocator in which it died. The call must be direct, and what was passed must be
// what the caller's code says.
func (c *crash) gaveBack() givenBack { return c.known.given.of(c.findGivenBack) }

func (c *crash) findGivenBack() givenBack {
	for n := 1; n < min(len(c.stack), maxGivenFrames) && !c.ofProgram(n-1); n++ {
		site, ok := c.callSite(c.stack[n])
		if !ok || c.stack[n-1].IsTrampoline() || glibc(c.libraryPath(c.stack[n].LookupAddr())) {
			continue
		}
		code := codeReader{in: c.question}
		if f, ok := code.function(site.Target); !ok || freeing(f.Name) == "" {
			continue
		}
		w := c.witnessOf(c.stack, n, nil)
		if w == nil {
			break
		}
		g := w.givesBack()
		w.close()
		return g
	}
	return givenBack{}
}

// ofProgram reports whether a frame is of the program itself, and not of an allocator that is linked into it.
func (c *crash) ofProgram(n int) bool {
	libs := c.Proc.LibraryTracker()
	if libs == nil {
		return true
	}
	lib, ok := libs.LibraryAt(c.stack[n].LookupAddr())
	if !ok || lib.Kind != libstate.Executable {
		return !ok
	}
	code := codeReader{in: c.question}
	f, ok := code.function(c.stack[n].LookupAddr())
	return !ok || !allocators.Get()[libcName(f.Name)] && !allocatorPart(f.Name)
}

// givesBack is what a frame's call gives back, if it is such a call.
func (w *witness) givesBack() givenBack {
	call, ok := w.code.Inst(w.state.PC)
	if !ok || call.Kind != disasm.Call || w.doubt {
		return givenBack{}
	}
	code := codeReader{in: w.in}
	f, ok := code.function(call.Target)
	if !ok || f.Entry != call.Target {
		return givenBack{}
	}
	to := freeing(f.Name)
	if to == "" {
		return givenBack{}
	}
	v := w.code.Argument(call.PC, 0)
	value, exact, ok := w.eval.Value(v, 0)
	if !ok || value == 0 {
		return givenBack{}
	}
	g := givenBack{to: to, value: value, known: true, exact: exact}
	reg := arch.NoReg
	if len(w.abi.Args) > 0 {
		reg = w.abi.Args[0]
	}
	if n := w.name(v, call.PC, reg, 0); !n.doubt {
		g.name = sourceWords(n.text)
	}
	return g
}

// wronglyGiven says what is wrong with a pointer that the program gave back: it is no block that is in use. Of a block in use nothing is said.
func (c *crash) wronglyGiven() []report.Cause {
	kind := c.verdict().kind
	if kind != report.CrashHeapCorruption && kind != report.CrashAbort && !dataFault(kind) {
		return nil
	}
	g := c.gaveBack()
	confidence := report.Likely
	switch {
	case !g.known:
		return nil
	case !g.exact && len(c.toldOfGiven()) > 0:
		return nil
	case !g.exact:
		confidence = report.Possible
	}
	given := fmt.Sprintf("%s was given %#x", g.to, g.value)
	if g.name != "" {
		given = fmt.Sprintf("%s was given %s = %#x", g.to, g.name, g.value)
	}
	cause := func(format string, args ...any) []report.Cause {
		return []report.Cause{{Text: given + ", " + fmt.Sprintf(format, args...), Confidence: confidence}}
	}
	m, mapped := c.Proc.MappingAt(g.value)
	switch {
	case !mapped && !c.PartialMaps:
		return nil // the fault itself says so
	case c.isOfModule(g.value) && !c.donated(g.value):
		if name, _ := c.names().variableAt(g.value, 0); name != "" {
			return cause("the address of %s, which is no block of the heap", strings.TrimSuffix(name, "[0]"))
		}
		return cause("which is in %s, and no block of the heap", c.libraryPath(g.value))
	}
	if sp := c.stack[0].SP(); m.Start <= sp && sp < m.End {
		if name, t := c.names().variableAt(g.value, 0); t != nil {
			return cause("the address of %s on the stack, which is no block of the heap", strings.TrimSuffix(name, "[0]"))
		}
		return cause("which is on the stack, and no block of the heap")
	}
	h := c.heap()
	if h == nil {
		return nil
	}
	b, ok := h.BlockAt(g.value)
	switch {
	case !ok || b.Own:
		return nil
	case b.Free && b.List == "top":
		return nil
	case b.Start == g.value && b.Free && !strings.Contains(c.message(), "double free"):
		return nil // what is given back is on a list before the allocator is done with it
	case b.Start == g.value && b.Free:
		return []report.Cause{{Text: fmt.Sprintf("the block of %s at %#x%s was freed twice: it is %s already", byteCount(b.Size), b.Start, c.ownerOf(b), listed(b.List)), Confidence: confidence}}
	case !b.Contains(g.value) || b.Start == g.value:
		return nil
	case b.Free:
		return cause("%s from the beginning of the freed block of %s at %#x%s", byteCount(g.value-b.Start), byteCount(b.Size), b.Start, c.ownerOf(b))
	}
	text := cause("%s from the beginning of the block of %s at %#x%s", byteCount(g.value-b.Start), byteCount(b.Size), b.Start, c.ownerOf(b))
	if n, ok := c.countBefore(b, g.value); ok && g.to == "operator delete" {
		text[0].Text += fmt.Sprintf(": it begins with the number %d, as blocks of new[] do, which delete[] gives back", n)
	}
	return text
}

// countBefore is the number of elements with which a block of new[] begins, if what follows it may be so many.
func (c *crash) countBefore(b heap.Block, at uint64) (uint64, bool) {
	word := uint64(c.arch.WordSize)
	if at != b.Start+word {
		return 0, false
	}
	n, ok := c.mem.Uint(b.Start, int(word))
	return n, ok && n > 0 && n <= b.Size-word
}
