package analysis

import (
	"regexp"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where the compiler inlines the functions of containers, their nodes are read through registers that no variable is in. What the variables of the youngest
// frames lead to is gone through for the place, or, where the code no longer has it, for the value: cache["x"]->seats, s.by[3].part.

const (
	maxLeadFrames = 4  // youngest frames whose variables are followed
	maxLeadsFound = 64 // places that have the value
	maxLeadsSame  = 8  // those that may be what was read
	maxLeadsTold  = 3  // of those, with several names
)

// A ledTo is an object that may be what was read.
type ledTo struct {
	where.Lead
	sure    bool // the code tells the place
	several bool // there are others of which it may be one
}

// leads names what was read by what variables lead to: at an address, or, if that is not known, by its value. The zero ledTo is for none.
func (t *tracer) leads(w *witness, v *provenance.Value, value, at uint64, known bool) (out ledTo) {
	if t.loose || v.Size != t.in.arch.WordSize || t.in.Variables == nil || v.Base == arch.NoReg {
		return ledTo{}
	}
	for n := w.number; n < min(len(t.stack), w.number+maxLeadFrames) && out.Text == ""; n++ {
		act, err := t.in.Variables.At(t.stack, n)
		if err != nil {
			continue
		}
		if vars, pc := where.FrameOf(act), t.stack[n].LookupAddr(); known {
			vars.Leads(pc, func(l where.Lead) bool {
				if l.Addr == at && l.Size == uint64(v.Size) && !internalName(l.Text) {
					out = ledTo{l, true, false}
				} else if end, ok := t.endLeads(&l, v); ok && end.Addr == at {
					out = ledTo{end, false, false}
				}
				return out.Text == ""
			})
		} else {
			out = t.leadsByValue(w, vars, pc, v, value, n == w.number)
		}
		t.in.chargeLookUps()
		act.Close()
	}
	return out
}

// leadsByValue is leads for a place that the code no longer has, for the variables of one frame. Of those that belong to no function, the ones count that
// the code mentions that read the value: own says that the frame is of that.
func (t *tracer) leadsByValue(w *witness, vars where.Frame, pc uint64, v *provenance.Value, value uint64, own bool) ledTo {
	if v.K == 0 && common(value) {
		return ledTo{} // it stands anywhere
	}
	var found []where.Lead
	ends := map[uint64]uint64{} // of objects to which variables lead, by where they begin
	mentioned := map[*where.Global]bool{}
	vars.Leads(pc, func(l where.Lead) bool {
		if g := l.Global; g != nil {
			if _, ok := mentioned[g]; !ok {
				mentioned[g] = own && w.code.Mentions(g.Low, g.Size)
			}
			if !mentioned[g] {
				return true
			}
		}
		ends[l.Addr] = max(ends[l.Addr], l.Addr+l.Size)
		if p := l.Type.Strip(); p.Pointer() || p.Reference() {
			if to, ok := t.in.mem.LookupWord(l.Addr); ok {
				ends[to] = max(ends[to], to+p.Target().Whole())
			}
		}
		if l.Size == uint64(v.Size) && !internalName(l.Text) && t.mayLead(&l, value) {
			found = append(found, l)
		} else if end, ok := t.endLeads(&l, v); ok && value != 0 {
			if now, ok := t.in.mem.LookupWord(end.Addr); ok && now == value {
				found = append(found, end)
			}
		}
		return len(found) < maxLeadsFound
	})
	sure := true
	if v.Index == arch.NoReg { // what was read begins, or its node does, where a block or another object does
		found = slices.DeleteFunc(found, func(l where.Lead) bool {
			from := l.Addr - uint64(v.K)
			return !strings.HasSuffix(l.Text, endOf) && ends[from] <= l.Addr && t.in.blockOf(l.Addr) != from
		})
		better := func(is func(l where.Lead) bool) bool {
			list := slices.DeleteFunc(slices.Clone(found), func(l where.Lead) bool { return !is(l) })
			if len(list) > 0 && len(list) < len(found) {
				found, sure = list, false
			}
			return len(list) > 0
		}
		// What is read through a pointer of the program mostly has a name, elements do not. Of others, the object tells more than its block.
		if !better(func(l where.Lead) bool { return strings.HasSuffix(l.Text, "]") }) {
			better(func(l where.Lead) bool { return ends[l.Addr-uint64(v.K)] > l.Addr })
		}
	}
	if len(found) == 0 || len(found) > maxLeadsSame {
		return ledTo{}
	}
	if len(found) > 1 { // one of several elements of one container, or of a few objects
		whole := elementOf(found[0].Text)
		var texts []string
		for _, l := range found {
			if e := elementOf(l.Text); e == "" || e != whole {
				whole = ""
			}
			texts = append(texts, l.Text)
		}
		if whole == "" && len(found) > maxLeadsTold {
			return ledTo{}
		} else if whole == "" {
			whole, found[0].Type = strings.Join(texts, " or "), nil
		}
		found[0].Text = whole
	}
	// Arrays behind pointers have more objects than are gone through.
	sure = sure && len(found) == 1 && (strings.HasSuffix(found[0].Text, "]") || !common(value))
	return ledTo{found[0], false, !sure}
}

// endOf ends the name of what would be behind the last element of a container.
const endOf = ".end()"

// endLeads is what a tree of the GNU C++ library has where an element would be that is none: find gave the end back. v is what was read.
func (t *tracer) endLeads(l *where.Lead, v *provenance.Value) (where.Lead, bool) {
	name, _, _ := strings.Cut(l.Type.Strip().FullName(), "<")
	if v.Index != arch.NoReg || !slices.Contains([]string{"std::map", "std::set", "std::multimap", "std::multiset"}, name) {
		return where.Lead{}, false
	}
	at := l.Addr + uint64(t.in.arch.WordSize) + uint64(v.K) // the header begins behind the order
	return where.Lead{Text: "*" + l.Text + endOf, Addr: at, Size: uint64(v.Size), Type: l.Type}, true
}

// mayLead reports whether an object is a pointer that has a value, and to something that the instruction may have used.
func (t *tracer) mayLead(l *where.Lead, value uint64) bool {
	if now, ok := t.in.mem.LookupWord(l.Addr); !ok || now != value {
		return false
	}
	p := l.Type.Strip()
	if !p.Pointer() && !p.Reference() {
		return p.Aggregate() // a smart pointer
	}
	if t.mem == nil || len(t.out.Steps) > 0 {
		return true
	}
	return len(l.Type.FollowAll(l.Text, t.mem.Disp, uint64(t.mem.Size))) > 0
}

// blockOf is where the block of the heap begins that has an address; 0 for none.
func (in *question) blockOf(at uint64) uint64 {
	h := in.heap()
	if h == nil {
		return 0
	}
	b, ok := h.BlockAt(at)
	if !ok || !b.Contains(at) {
		return 0
	}
	return b.Start
}

// elementOf is the text of an element of a container without saying which: "h.plans[...]->seats"; "" for anything else.
func elementOf(text string) string {
	i := strings.IndexByte(text, '[')
	end := strings.LastIndexByte(text, ']')
	if i <= 0 || end < i {
		return ""
	}
	return text[:i] + "[...]" + text[end+1:]
}

// internalName reports whether a name has members or variables of a library itself.
func internalName(text string) bool { return internalNames.Get().MatchString(text) }

var internalNames = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[^\w"])(_M_|__|_[A-Z])\w`)
}}

// byLead makes what a lead tells of a read that has no name of its own a step; false if none does.
func (t *tracer) byLead(w *witness, v *provenance.Value, s *report.BlameStep, value, at uint64, known bool) bool {
	l := t.leads(w, v, value, at, known)
	if l.Text == "" {
		return false
	}
	s.Name, t.led = l.Text, true
	if !l.sure {
		if t.doubt(report.Likely); l.several || strings.HasSuffix(l.Text, endOf) {
			t.doubt(report.Possible)
		}
		t.mayBe = append(t.mayBe, l.Addr)
	}
	if len(t.out.Steps) == 0 && t.mem != nil && t.pointer && l.Type != nil && !strings.HasSuffix(l.Text, endOf) {
		if p := l.Type.Strip(); p.Pointer() || p.Reference() {
			if uses := l.Type.FollowAll(l.Text, t.mem.Disp, uint64(t.mem.Size)); len(uses) > 0 {
				t.out.Expression = uses[0].Text
			}
		}
	}
	return true
}
