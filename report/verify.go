package report

import (
	"fmt"
	"slices"
	"strings"
)

// A Verify is the opinion of the steppers that were not needed to find a frame. Steppers without an opinion are
// in neither list. In JSON both lists are always there.
type Verify struct {
	Agree  []string `json:"agree"` // names of the steppers that find the same frame
	Differ []Differ `json:"differ"`
}

// A Differ is a stepper that finds another frame instead.
type Differ struct {
	Stepper string `json:"stepper"`      // name of the stepper
	RA      Addr   `json:"ra"`           // pc of the frame that this stepper finds
	SP      Addr   `json:"sp"`           // the caller's stack pointer
	FP      *Addr  `json:"fp,omitempty"` // nil if not known
	// Bottom says that by this stepper the stack ends before this frame. RA and SP are then 0.
	Bottom bool   `json:"bottom,omitempty"`
	Trust  string `json:"trust"` // one of the Trust constants
}

// disputed reports whether no stepper confirms the frame and one contradicts it.
func (v *Verify) disputed() bool { return v != nil && len(v.Agree) == 0 && len(v.Differ) > 0 }

// guessed reports whether only a stack scan contradicts.
func (v *Verify) guessed() bool {
	return !slices.ContainsFunc(v.Differ, func(d Differ) bool { return d.Trust != TrustScan })
}

// mark returns the mark on the line of a disputed frame.
func (v *Verify) mark() string {
	switch {
	case !v.disputed():
		return ""
	case v.guessed():
		return "disputed?"
	}
	return "disputed"
}

// text returns all opinions for an explanation; "" if nobody asked.
func (v *Verify) text() string {
	if v == nil {
		return ""
	}
	var parts []string
	if len(v.Agree) > 0 {
		parts = append(parts, "confirmed by "+strings.Join(v.Agree, ", "))
	}
	for i := range v.Differ {
		parts = append(parts, v.Differ[i].text(nil))
	}
	if len(parts) == 0 {
		return "no other stepper has an opinion"
	}
	return strings.Join(parts, "; ")
}

// text is what the stepper says about frame f, leaving out what agrees with f; all of it if f is nil.
func (d *Differ) text(f *Frame) string {
	s := d.Stepper + " says "
	if d.Trust == TrustScan {
		s = d.Stepper + " guesses "
	}
	switch {
	case d.Bottom:
		return s + "the stack ends before this frame"
	case f == nil || f.PC != d.RA:
		s += d.RA.String()
		if f != nil {
			return s
		}
		s += ", "
	}
	if f == nil || f.SP != d.SP {
		return s + "sp " + d.SP.String()
	}
	if d.FP != nil {
		return s + "fp " + d.FP.String()
	}
	return s + "sp " + d.SP.String()
}

// maxDisputed is the number of disputed frames that are described one by one.
const maxDisputed = 8

// verified writes how many frames of the threads in group, which have the same stack, a second stepper
// confirmed, and where steppers disagree.
func (t *textWriter) verified(group []*Thread) {
	steps, confirmed, disputed := 0, 0, 0
	var where []string
	for _, th := range group {
		for i := range th.Frames {
			f := &th.Frames[i]
			if f.Verify == nil {
				continue
			}
			steps++
			if len(f.Verify.Agree) > 0 {
				confirmed++
			}
			if !f.Verify.disputed() {
				continue
			}
			if disputed++; disputed <= maxDisputed {
				where = append(where, disputeText(th, f, len(group) > 1))
			}
		}
	}
	if steps == 0 {
		return
	}
	if more := disputed - len(where); more > 0 {
		where = append(where, fmt.Sprintf("%d more disputed", more))
	}
	t.put(plain, "  verified: ")
	sum := fmt.Sprintf("%d of %d steps confirmed by a second stepper", confirmed, steps)
	t.wrap(plain, 4, strings.Join(append([]string{sum}, where...), "; "))
}

// disputeText says which stepper claims what about a disputed frame.
func disputeText(th *Thread, f *Frame, name bool) string {
	s := fmt.Sprintf("frame %d: ", f.Index)
	if name {
		s = fmt.Sprintf("thread %d, frame %d: ", th.ID, f.Index)
	}
	says := []string{brief(f.Stepper, maxName) + " says " + f.PC.String()}
	for i := range f.Verify.Differ {
		says = append(says, brief(f.Verify.Differ[i].text(f), maxWords))
	}
	return s + strings.Join(says, ", ")
}
