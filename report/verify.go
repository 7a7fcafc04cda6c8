package report

import (
	"fmt"
	"slices"
	"strings"
)

// A Verify tells what the steppers that were not needed for a frame make of it.
// One that cannot tell is in neither list. Lists that are nil print as empty ones.
type Verify struct {
	Agree  []string `json:"agree"` // names of the steppers that find the same frame
	Differ []Differ `json:"differ"`
}

// A Differ is a stepper that finds another frame in its place.
type Differ struct {
	Stepper string `json:"stepper"`
	RA      Addr   `json:"ra"` // the frame's pc by this stepper
	SP      Addr   `json:"sp"`
	FP      *Addr  `json:"fp,omitempty"` // nil when it does not know
	// Bottom says that by this stepper there is no frame at all: the stack ends
	// before. RA and SP are 0 then.
	Bottom bool   `json:"bottom,omitempty"`
	Trust  string `json:"trust"` // one of the Trust constants
}

// disputed reports whether nobody confirms the frame and somebody contradicts it.
func (v *Verify) disputed() bool { return v != nil && len(v.Agree) == 0 && len(v.Differ) > 0 }

// guessed reports whether a scan alone contradicts.
func (v *Verify) guessed() bool {
	return !slices.ContainsFunc(v.Differ, func(d Differ) bool { return d.Trust != TrustScan })
}

// mark is what a disputed frame's line says.
func (v *Verify) mark() string {
	switch {
	case !v.disputed():
		return ""
	case v.guessed():
		return "disputed?"
	}
	return "disputed"
}

// text tells all verdicts for an explanation; "" for none.
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
		return "no other stepper can tell"
	}
	return strings.Join(parts, "; ")
}

// text is what the stepper says. f is the frame it says it of; nil to tell all.
func (d *Differ) text(f *Frame) string {
	s := d.Stepper + " says "
	if d.Trust == TrustScan {
		s = d.Stepper + " guesses "
	}
	switch {
	case d.Bottom:
		return s + "that the stack ends before"
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

// maxDisputed bounds the disputed frames that are told one by one.
const maxDisputed = 8

// verified writes how many steps of the threads in group, which have the same
// stack, a second stepper confirmed, and where they part.
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

// disputeText tells who says what of a disputed frame.
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
