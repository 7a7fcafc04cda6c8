package report

import (
	"strings"
	"testing"
)

func verifiedStack() Thread {
	fp := Addr(0x7ffd10)
	th := stack(4242, "queue", at("crash", "q.c", 3), at("skewed", "q.c", 9), at("inner", "q.c", 10), at("decoy", "q.c", 20), at("main", "q.c", 30))
	for i := range th.Frames {
		th.Frames[i].Verify = &Verify{Agree: []string{"FrameFunc"}, Differ: []Differ{}}
	}
	th.Frames[0].Verify = nil
	th.Frames[1].Verify = &Verify{}
	th.Frames[2].Inlined, th.Frames[2].Verify = true, nil
	th.Frames[3].Verify = &Verify{Agree: []string{}, Differ: []Differ{
		{Stepper: "FrameFunc", RA: 0x1234, SP: th.Frames[3].SP, FP: &fp, Trust: TrustFramePointer},
		{Stepper: "Wanderer", RA: th.Frames[3].PC, SP: 0x5678, Trust: TrustScan},
		{Stepper: "Other", Bottom: true, Trust: TrustUser}}}
	return th
}

// TestVerifyText: the disputed frame is marked, and the line below the stack says which stepper claims what.
func TestVerifyText(t *testing.T) {
	r := newSample(verifiedStack())
	text := render(t, r, TextOptions{Width: 200})
	for _, want := range []string{
		"decoy at q.c:20 [disputed]",
		"  verified: 1 of 3 steps confirmed by a second stepper; frame 3: Debug says 0x55b8960d11c2, FrameFunc says 0x1234, " +
			"Wanderer guesses sp 0x5678, Other says the stack ends before this frame\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "[disputed"); n != 1 {
		t.Errorf("%d frames are marked", n)
	}
	explained := render(t, r, TextOptions{Width: 200, Explain: true})
	for _, want := range []string{"found by Debug; confirmed by FrameFunc", "found by Debug; no other stepper has an opinion",
		"found by Debug; FrameFunc says 0x1234, sp 0x7ffd0d2e80e0; Wanderer guesses 0x55b8960d11c2, sp 0x5678; Other says the stack ends before this frame"} {
		if !strings.Contains(explained, want) {
			t.Errorf("no %q in\n%s", want, explained)
		}
	}
}

// TestVerifyGuess: if only a scan contradicts, the mark has a question mark.
func TestVerifyGuess(t *testing.T) {
	th := verifiedStack()
	th.Frames[3].Verify.Differ = th.Frames[3].Verify.Differ[1:2]
	if text := render(t, newSample(th), TextOptions{}); !strings.Contains(text, "[disputed?]") {
		t.Errorf("no question in\n%s", text)
	}
}

// TestVerifyFP: a different frame pointer is shown if nothing else differs.
func TestVerifyFP(t *testing.T) {
	th := verifiedStack()
	d := &th.Frames[3].Verify.Differ[0]
	d.RA = th.Frames[3].PC
	if text := render(t, newSample(th), TextOptions{Width: 200}); !strings.Contains(text, "FrameFunc says fp 0x7ffd10") {
		t.Errorf("no frame pointer in\n%s", text)
	}
}

// TestVerifyMany: the list of disputed frames is limited, and threads with the same stack are counted together.
func TestVerifyMany(t *testing.T) {
	var frames []Frame
	for range 30 {
		f := at("f", "q.c", len(frames)+1)
		f.Verify = &Verify{Differ: []Differ{{Stepper: "FrameFunc", RA: 1, SP: 2, Trust: TrustFramePointer}}}
		frames = append(frames, f)
	}
	text := render(t, newSample(stack(9, "x"), stack(1, "a", frames...), stack(2, "a", frames...)), TextOptions{Width: 2000})
	for _, want := range []string{"verified: 0 of 60 steps", "; thread 1, frame 7: ", "; 52 more disputed\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func render(t *testing.T, r *Report, opts TextOptions) string {
	t.Helper()
	var b strings.Builder
	if err := WriteText(&b, r, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
