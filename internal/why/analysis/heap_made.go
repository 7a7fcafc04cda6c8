package analysis

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A shifted is a pointer that was computed from what a function returned, and given back, where no register has either any more.
type shifted struct {
	by   string // the function that returned it
	made bool   // it is one of an allocator
	off  int64  // bytes from there
	step report.BlameStep
}

// shiftedFrom is what a value is that a function gives back: what another one returned, and some bytes more.
func (w *witness) shiftedFrom(v *provenance.Value) (s shifted, ok bool) {
	for n := 0; n < maxNameDepth && v.Kind == provenance.Sum && v.Index == arch.NoReg && v.Base != arch.NoReg; n++ {
		s.off += v.K
		v = w.code.Before(v.At, provenance.Reg(v.Base))
	}
	if v.Kind != provenance.Result || v.Target == 0 || s.off == 0 {
		return shifted{}, false
	}
	name := w.in.returnedBy(v)
	if s.by = handingOut(name); s.by != "" {
		s.made = true
	} else if s.by = name; name == "" {
		return shifted{}, false
	}
	s.step = w.step(report.BlameReturned, v.At)
	return s, true
}

// handingOut is the name of a function that hands out a block; "" for others.
func handingOut(name string) string {
	name, _, _ = strings.Cut(name, "@")
	switch {
	case strings.HasPrefix(name, "operator new[]"), strings.HasPrefix(name, "_Zna"):
		return "operator new[]"
	case strings.HasPrefix(name, "operator new"), strings.HasPrefix(name, "_Znw"):
		return "operator new"
	}
	switch name = libcName(name); name {
	case "malloc", "calloc", "realloc", "strdup", "aligned_alloc":
		return name
	}
	return ""
}

// text says what was given back to a function.
func (s *shifted) text(to string) string {
	way := "after"
	off := uint64(s.off)
	if s.off < 0 {
		way, off = "before", -off
	}
	text := fmt.Sprintf("%s was given an address %s %s what %s returned%s", to, byteCount(off), way, s.by, atSource(&s.step))
	if s.made {
		text += ", where no block begins"
	}
	return text
}
