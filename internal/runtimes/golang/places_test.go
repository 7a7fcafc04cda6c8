package golang

import (
	"slices"
	"testing"
)

// TestPlaces packs stacks: what comes back is what was kept, also where a frame does not begin where the one before it ends, where it
// ends below its beginning, and where there are more codes than are numbered.
func TestPlaces(t *testing.T) {
	var k keptFrames
	stacks := [][]place{
		{{0x401000, 0xc000001000, 0xc000001040}, {0x402000, 0xc000001040, 0xc000001100}, {0x403000, 0xc000001100, 0xc000001108}},
		{},
		{{0x401000, 0xc000009000, 0xc000009040}, {0x402000, 0x7fff00000000, 0x7fff00000100}, {0x403000, 0x7fff00000100, 0x7fff00000110}},
		{{0x401000, 0xc000001000, 0xc000000ff0}, {0x402000, 0xc000000ff0, 0xc000001ff0}},
		{{0x401000, 0, 0x40}, {0x402000, 0x40, 1<<63 + 7}},
	}
	var many []place
	for i := range uint64(maxCodes + 10) {
		many = append(many, place{i, 16 * i, 16*i + 16})
	}
	stacks = append(stacks, many)
	var kept []packed
	for _, s := range stacks {
		kept = append(kept, k.pack(s))
	}
	for i, s := range stacks {
		if got := slices.Collect(k.places(kept[i])); !slices.Equal(got, s) {
			t.Errorf("stack %d: %d places, not the %d that were kept", i, len(got), len(s))
		}
	}
	if len(k.codes) != maxCodes {
		t.Errorf("%d codes are numbered, not %d", len(k.codes), maxCodes)
	}
	if again := k.pack(stacks[0]); len(again) != wholeWords+2 {
		t.Errorf("a stack of known codes takes %d words", len(again))
	}
}
