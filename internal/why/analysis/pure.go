package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
)

// A call of a pure virtual function is one by the table of an abstract class, which an object has while its constructor or destructor runs, and after that.

// maxTable is how many entries of a table of virtual functions are looked at.
const maxTable = 128

// A pureObject is an object of which a pure virtual function was called.
type pureObject struct {
	at    uint64
	name  string // of the pointer to it, with what it is of; "" if it has none
	exact bool
}

// pureCalled says of which object a pure virtual function was called, and what became of it.
func (c *crash) pureCalled() []report.Cause {
	n := -1
	for i := range c.named.Frames {
		if f := &c.named.Frames[i]; f.Function == "__cxa_pure_virtual" {
			n = f.Physical
			break
		}
	}
	if n < 0 || n+1 >= len(c.stack) || c.Variables == nil {
		return nil
	}
	o, ok := c.pureOf(n)
	if !ok {
		if o.at, o.name = c.madeOrEnded(n); o.at == 0 { // compilers that see where the call leads make no table
			return nil
		}
	}
	word := c.arch.WordSize
	table, _ := c.mem.Uint(o.at, word)
	text := fmt.Sprintf("it was called of an object at %#x", o.at)
	if o.name != "" {
		text = fmt.Sprintf("it was called of %s = %#x", o.name, o.at)
	}
	class := (*typeSource)(c.Engine).Class(table)
	confidence := report.Likely
	if !o.exact {
		confidence = report.Possible
	}
	p := c.firstInHeap([]uint64{o.at})
	b, known := p.block, p.known
	dead, _, _ := c.deadAt(o.at)
	switch ending := c.endsIn(n, o.at); {
	case known && b.Free && b.List != "top":
		text += fmt.Sprintf(", in a freed block: %s at %#x%s, %s", byteCount(b.Size), b.Start, c.ownerOf(b), listed(b.List))
	case ending != "" && class != "":
		text += fmt.Sprintf(", which has the virtual functions of %s only while %s runs", class, ending)
	case ending != "":
		text += fmt.Sprintf(", while %s runs", ending)
	case c.onStack(o.at) && dead:
		text += ", on the stack, where no variable is any more"
	case class != "":
		text += fmt.Sprintf(", which has the virtual functions of %s: its constructor or destructor has called what made this call, or it was destroyed before", class)
		confidence = report.Possible
	default:
		return nil
	}
	return []report.Cause{{Text: text, Confidence: confidence}}
}

// pureOf is the object of which the function of a frame was called: that which code passed, or else the only one to which a pointer of its caller leads.
func (c *crash) pureOf(frame int) (o pureObject, ok bool) {
	entry := codeReader{in: c.question}
	f, known := entry.function(c.stack[frame].LookupAddr())
	if !known {
		return o, false
	}
	if w := c.witnessOf(c.stack, frame+1, nil); w != nil {
		o, ok = w.pureOf()
		w.close()
		if ok && c.hasEntry(o.at, f.Entry) {
			return o, true
		}
	}
	o, ok = pureObject{}, false
	for n := frame + 1; n < min(len(c.stack), frame+2); n++ {
		act, err := c.Variables.At(c.stack, n)
		if err != nil {
			continue
		}
		vars := where.FrameOf(act)
		several := false
		for _, h := range vars.Pointers(c.stack[n].LookupAddr()) {
			v, is := vars.Number(&h)
			if !is || !c.hasEntry(v, f.Entry) {
				continue
			}
			if several = ok && o.at != v; several {
				break
			}
			if !ok {
				o, ok = pureObject{at: v, name: h.Name()}, true
			}
		}
		if act.Close(); several {
			return pureObject{}, false
		}
	}
	return o, ok
}

// pureOf is the object of which the frame calls a function.
func (w *witness) pureOf() (o pureObject, ok bool) {
	call, ok := w.code.Inst(w.state.PC)
	if !ok || w.doubt || len(w.abi.Args) == 0 {
		return o, false
	}
	v := w.code.Argument(call.PC, 0)
	if o.at, o.exact, ok = w.eval.Value(v, 0); !ok {
		if o.at, o.exact, ok = w.passedOn(v); !ok {
			o.at, o.exact, ok = w.onFrame(v, call.PC)
		}
	}
	if !ok {
		return o, false
	}
	if n := w.name(v, call.PC, w.abi.Args[0], 0); !n.doubt {
		o.name = sourceWords(n.text)
	}
	if o.name == "" && v.Kind == provenance.StackAddr {
		o.name, _ = w.in.ownersIn(w.in.died()).variableAt(o.at, 0)
	}
	return o, true
}

// hasEntry reports whether the table of virtual functions of an object has a function.
func (c *crash) hasEntry(object, function uint64) bool {
	word := c.arch.WordSize
	if object < leastWild || object%uint64(word) != 0 {
		return false
	}
	table, ok := c.mem.Uint(object, word)
	if !ok || !c.isOfModule(table) {
		return false
	}
	for i := range uint64(maxTable) {
		v, ok := c.mem.Uint(table+i*uint64(word), word)
		if !ok || v != 0 && !c.isOfModule(v) {
			return false
		}
		if v == function {
			return true
		}
	}
	return false
}

// endsIn is the constructor or destructor of an object that runs, among the callers of a frame; "" if none does.
func (c *crash) endsIn(frame int, object uint64) string {
	for i := range c.named.Frames {
		f := &c.named.Frames[i]
		name, ok := makesOrEnds(f.Function)
		if !ok || f.Physical <= frame || f.Physical > frame+maxObjectFrames || f.Physical >= len(c.stack) {
			continue
		}
		act, err := c.Variables.At(c.stack, f.Physical)
		if err != nil {
			continue
		}
		vars := where.FrameOf(act)
		is := slices.ContainsFunc(vars.Pointers(c.stack[f.Physical].LookupAddr()), func(h where.Held) bool {
			v, ok := vars.Number(&h)
			return ok && v == object && h.Artificial && h.Path == "" && h.Function == name
		})
		if act.Close(); is {
			return f.Function
		}
	}
	return ""
}

// madeOrEnded is the object whose constructor or destructor is the youngest that called a frame, and the variable that it is in; 0 if there is none.
func (c *crash) madeOrEnded(frame int) (at uint64, name string) {
	for i := range c.named.Frames {
		f := &c.named.Frames[i]
		function, ok := makesOrEnds(f.Function)
		if !ok || f.Physical <= frame || f.Physical > frame+maxBlameFrames || f.Physical >= len(c.stack) {
			continue
		}
		act, err := c.Variables.At(c.stack, f.Physical)
		if err != nil {
			return 0, ""
		}
		vars := where.FrameOf(act)
		for _, h := range vars.Pointers(c.stack[f.Physical].LookupAddr()) {
			if v, ok := vars.Number(&h); ok && h.Artificial && h.Path == "" && h.Function == function {
				at = v
			}
		}
		act.Close()
		if at != 0 {
			if name, _ = c.names().variableAt(at, 0); name != "" {
				name, _, _ = strings.Cut("&"+name, "._vptr")
			}
		}
		return at, name
	}
	return 0, ""
}

// makesOrEnds reports whether a function is a constructor or a destructor, by its name: "Shape::~Shape", of which name is the last part.
func makesOrEnds(function string) (name string, ok bool) {
	of, name, ok := cutLast(function, "::")
	if !ok {
		return "", false
	}
	if _, last, ok := cutLast(of, "::"); ok {
		of = last
	}
	of, _, _ = strings.Cut(of, "<")
	return name, strings.HasPrefix(name, "~") || name == of
}
