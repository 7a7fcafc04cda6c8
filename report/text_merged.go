package report

import (
	"slices"
	"strings"
)

// Decided returns the place that control came from, if the conditions of the jumps tell; nil if they do not.
func (m *Merged) Decided() *MergedPlace {
	for i := range m.Places {
		if m.Places[i].Verdict == PlaceTaken {
			return &m.Places[i]
		}
	}
	return nil
}

// MergedAt returns what is known of the call in entry i of a stack if the compiler merged it with others and it is
// open which of them was made; nil for other entries. Other places may have other calls inlined than i and the entries after it.
func MergedAt(frames []Frame, i int) *Merged {
	last := lastEntry(frames, i)
	if m := frames[last].Merged; m != nil && m.Decided() == nil {
		return m
	}
	return nil
}

// lastEntry returns the entry of the physical frame into which entry i was inlined.
func lastEntry(frames []Frame, i int) int {
	for i < len(frames)-1 && frames[i].Inlined {
		i++
	}
	return i
}

// maxPlaces is how many places of a merged call are listed on one line.
const maxPlaces = 3

// shownAt reports whether a place is where one of the entries from i on shows the call, which has other calls inlined.
func shownAt(frames []Frame, i int, p *MergedPlace) bool {
	at := lastEntry(frames, i) - len(p.Inlined)
	if at <= i || frames[at].Source != p.Source {
		return false
	}
	for k, name := range p.Inlined {
		if frames[at+k].Function != name {
			return false
		}
	}
	return true
}

// otherPlaces says where control may have come from instead of entry i: "or given at merged.c:21 (one call for
// both)". It is "" if nothing is open.
func (t *textWriter) otherPlaces(frames []Frame, i int) string {
	m := MergedAt(frames, i)
	if m == nil {
		return ""
	}
	last := lastEntry(frames, i)
	var own, list []string
	for k := i; k < last; k++ {
		own = append(own, frames[k].Function)
	}
	for _, p := range m.Places {
		if p.Verdict == PlaceRefuted || !m.Lost && (within(p.Inlined, own) || shownAt(frames, i, &p)) {
			continue
		}
		name := frames[last].Function
		if len(p.Inlined) > 0 {
			name = p.Inlined[0]
		}
		text := briefFunction(name, t.width/2)
		if p.Source.File != "" {
			text += " at " + t.sourceText(p.Source)
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	if len(list) == 0 {
		return ""
	}
	together := len(list)
	lead := "or "
	if m.Lost {
		lead = "from "
	} else {
		together++
	}
	if n := len(list) - maxPlaces; n > 0 {
		list = append(list[:maxPlaces], plural(n, "other place"))
	}
	text := lead + strings.Join(list, " or ")
	switch together {
	case 1:
		return text
	case 2:
		return text + " (one call for both)"
	}
	return text + " (one call for all)"
}

// within reports whether a place is in the inlined calls own, both innermost first.
func within(place, own []string) bool {
	return len(place) >= len(own) && slices.Equal(place[len(place)-len(own):], own)
}

// innermost reports whether entry i is the first of the calls at the place where its frame is.
func innermost(frames []Frame, i int) bool {
	return i == 0 || !frames[i-1].Inlined
}
