package report

import (
	"fmt"
	"io"
	"slices"
	"testing"
)

func TestNeeds(t *testing.T) {
	folds, plain := Needs{FoldRounds: true, FoldThreads: true}, Needs{Types: true, Registers: true}
	trees := plain
	trees.Trees = true
	json := trees
	json.ShareFrames, json.LeftOut = true, LeftOutRecursion
	for i, c := range []struct {
		p    Projection
		want Needs
	}{
		{TextOptions{}, folds}, {NewTextWriter(io.Discard, TextOptions{}), folds}, {TextOptions{Unfolded: true}, Needs{}}, {TextOptions{Explain: true}, Needs{}},
		{NewTextWriter(io.Discard, TextOptions{ShowRegisters: true}), Needs{FoldRounds: true, Registers: true}},
		{Whole{}, plain}, {Whole{Trees: true}, trees}, {ForJSON{}, json}, {ForJSON{Rounds: true}, json}, {NewLineWriter(io.Discard), json},
	} {
		if got := c.p.Needs(); got != c.want {
			t.Errorf("%d: %+v, want %+v", i, got, c.want)
		}
	}
}

func TestShown(t *testing.T) {
	frames := make([]Frame, 400) // a recursion of 300 frames
	for i := range frames {
		if frames[i] = (Frame{Index: i, Physical: i, Function: "f", PC: 1}); i < 50 || i >= 350 {
			frames[i].Function, frames[i].PC = fmt.Sprint(i), Addr(i+2)
		}
	}
	middle := slices.Collect(InRounds(frames))
	if len(middle) < 100 {
		t.Fatalf("%d frames are in the middle", len(middle))
	}
	some, all := NewLineWriter(io.Discard), NewLineWriter(io.Discard)
	all.Rounds = true
	for i, p := range []Projection{ForJSON{}, some} {
		shown := p.Shown(frames)
		for k, is := range shown {
			if is == slices.Contains(middle, k) {
				t.Errorf("%d: frame %d is shown: %v", i, k, is)
			}
		}
		if len(shown) != len(frames) || p.Shown(frames[:60]) != nil {
			t.Errorf("%d: %d of %d", i, len(shown), len(frames))
		}
	}
	for i, p := range []Projection{Whole{}, ForJSON{Rounds: true}, all} {
		if p.Shown(frames) != nil {
			t.Errorf("%d leaves variables out", i)
		}
	}
	text := TextOptions{}
	if shown := text.Shown(frames); !slices.Equal(shown, NewTextWriter(io.Discard, text).Shown(frames)) || shown[200] || !shown[0] {
		t.Error("text shows other frames")
	}
}
