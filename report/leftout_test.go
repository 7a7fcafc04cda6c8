package report

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// A stack without some rounds of a recursion has the text of the whole stack, and the same recursion.
func TestLeftOut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	place := func(n int) Frame {
		name := string(rune('a' + n%3)) // few names and lines: other cycles than those made here
		return Frame{Function: name, Source: Source{File: name + ".c", Line: 1 + n%2}, Trust: TrustCFI}
	}
	for trial := range 60 {
		var whole []Frame
		noise := func() {
			for range random.IntN(40) {
				whole = append(whole, place(random.IntN(6)))
			}
		}
		noise()
		cycle := make([]Frame, 1+random.IntN(MaxCycle))
		for i := range cycle {
			cycle[i] = place(random.IntN(6))
			cycle[i].Inlined = i < len(cycle)-1 && random.IntN(4) == 0
		}
		units := 1 + random.IntN(3)
		kept := 64 + random.IntN(40)
		at := len(whole) + kept
		for range units*CommonCycle/len(cycle) + 2*kept/len(cycle) + 2 {
			whole = append(whole, cycle...)
		}
		noise()
		for i := range whole {
			whole[i].Index, whole[i].Physical = i, i
		}
		part := slices.Concat(whole[:at], whole[at+units*CommonCycle:])
		part[at].LeftOut = LeftOut{Entries: units * CommonCycle, Cycle: len(cycle)}
		text := func(frames []Frame, o TextOptions) string {
			var b bytes.Buffer
			if err := WriteText(&b, &Report{Threads: []Thread{{ID: 1, Crashed: true, End: EndBottom, Frames: frames}}}, o); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		for _, o := range []TextOptions{{Width: 100}, {Width: 100, MaxFrames: 12, HideInlines: true}, {Width: 100, MaxFrames: 3}} {
			if got, want := text(part, o), text(whole, o); got != want {
				t.Fatalf("trial %d, %+v: got\n%swant\n%s", trial, o, got, want)
			}
		}
		f1, l1, n1 := Recursion(whole)
		f2, l2, n2 := Recursion(part)
		if f1 > at {
			f1 -= units * CommonCycle
		}
		if f1 != f2 || l1 != l2 || n1 != n2 {
			t.Fatalf("trial %d: recursion %d %d %d, want %d %d %d", trial, f2, l2, n2, f1, l1, n1)
		}
		one, other := &Thread{Frames: whole}, &Thread{Frames: part}
		if StackKey(one) == StackKey(other) || sameStack(other, &Thread{Frames: slices.Concat(whole[:at], whole[at+units*CommonCycle:])}) {
			t.Fatal("stacks of different depth are the same, trial " + strconv.Itoa(trial))
		}
	}
}
