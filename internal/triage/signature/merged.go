package signature

import "slices"

// A merged call stands for several places of a function. It is signed by the functions that these have in common:
// which of them the compiler left in the call's inlined calls is chance.

// mergedAt returns the frame into which the inlined calls from i on were inlined, if its call is merged.
func (b *builder) mergedAt(i int) (last int, ok bool) {
	frames := b.thread.Frames
	for last = i; last < len(frames)-1 && frames[last].Inlined; last++ {
	}
	return last, frames[last].Merged != nil
}

// shared decides about the inlined calls in frames [i, last), which end with a merged call in the last.
func (b *builder) shared(i, last int) {
	m := b.thread.Frames[last].Merged
	places := make([][]string, len(m.Places))
	for n, p := range m.Places {
		for _, name := range p.Inlined {
			places[n] = append(places[n], home(Normalize(name)))
		}
	}
	names := make([]string, last-i)
	for k := range names {
		names[k] = b.name(i + k)
	}
	var left []int // the frames that no place contradicts
	for k, name := range names {
		if contradicted(name, names[k+1:], places) {
			b.decide(i+k, Dropped, "one of several functions whose calls the compiler merged")
			if b.inner == i+k {
				b.inner++
			}
			continue
		}
		left = append(left, i+k)
	}
	if m.Lost {
		b.restore(left, last, common(places))
		return
	}
	for _, k := range left {
		b.consider(k)
	}
}

// restore decides about the frames that are left of a call whose place the compiler lost, and keeps the functions
// that all its places have in common besides.
func (b *builder) restore(frames []int, last int, all []string) {
	have := make([]string, len(frames))
	for i, k := range frames {
		have[i] = b.name(k)
	}
	if !slices.Equal(common([][]string{all, have}), have) {
		all = have // the places are in other functions
	}
	for _, name := range all {
		if len(have) > 0 && have[0] == name {
			b.consider(frames[0])
			frames, have = frames[1:], have[1:]
			continue
		}
		if r := rules.Get().name(ruleName(name), language(&b.thread.Frames[last]), false); r == nil {
			if len(b.kept) == 0 {
				b.inner = last
			}
			b.kept = append(b.kept, b.entry(name, last))
		}
	}
}

// contradicted reports whether some of the places are in an inlined function, within the given ones, and others in
// another one.
func contradicted(name string, around []string, places [][]string) bool {
	in, out := false, false
	for _, p := range places {
		switch {
		case slices.Contains(p, name):
			in = true
		case !outside(p, around):
			out = true
		}
	}
	return in && out
}

// outside reports whether a place is in the functions around an inlined call and in no other: the compiler may
// have known there what the inlined call would do.
func outside(place, around []string) bool {
	return len(place) <= len(around) && slices.Equal(place, around[len(around)-len(place):])
}

// common returns the names, innermost first, that all lists have in one order.
func common(lists [][]string) []string {
	out := slices.Clone(lists[0])
	for _, l := range lists[1:] {
		next := len(l) // outermost first: what encloses the merged call is the same
		var both []string
		for _, name := range slices.Backward(out) {
			for at := next - 1; at >= 0; at-- {
				if l[at] == name {
					both, next = append(both, name), at
					break
				}
			}
		}
		slices.Reverse(both)
		out = both
	}
	return out
}
