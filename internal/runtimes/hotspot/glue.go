package hotspot

import (
	_ "embed"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

//go:embed glue.txt
var glueText string

// glue are the prefixes of glue.txt.
var glue = lazy.Value[[]string]{Make: func() []string {
	var list []string
	for line := range strings.Lines(glueText) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}}

// fold marks what only leads from one Java call to the next: the stub by which C++ calls Java and the virtual machine's
// functions behind it, out to the next Java frame or the end of the stack. list has the stretches of all Java frames
// and stubs, in order.
func (j *Java) fold(frames []*unwind.Frame, list []tasks.Stretch) []tasks.Stretch {
	out := make([]tasks.Stretch, 0, len(list))
	java, open := false, false // a Java frame was there; frames since a stub lead to it
	at := 0
	leads := func(to int) {
		for ; at < to; at++ {
			if !open || !j.leads(frames[at]) {
				continue
			}
			if n := len(out); n > 0 && !out[n-1].Named && out[n-1].To == at {
				out[n-1].To++
			} else {
				out = append(out, tasks.Stretch{From: at, To: at + 1})
			}
		}
	}
	for _, st := range list {
		leads(st.From)
		if name := st.Calls[len(st.Calls)-1].Function; strings.HasPrefix(name, "<") {
			open = open || java && name == callStub
			st.Folded = open
		} else {
			java, open = true, false
		}
		out, at = append(out, st), st.To
	}
	leads(len(frames))
	return out
}

// leads reports whether a frame is of a function of the virtual machine that only leads to a Java call. So is one that
// has no name, because it is between two.
func (j *Java) leads(f *unwind.Frame) bool {
	at := f.LookupAddr()
	return j.glue.Get(at, func() bool {
		p := j.process()
		libs := p.State.LibraryTracker()
		if libs == nil {
			return false
		}
		if lib, ok := libs.LibraryAt(at); !ok || lib != j.vm.lib {
			return false
		}
		s, ok := p.Symbols.SymbolAt(j.vm.lib, at)
		if !ok {
			return true
		}
		name := demangle.Func(s.Name) + "("
		for _, p := range glue.Get() {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
		return false
	})
}
