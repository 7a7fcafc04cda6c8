package disasm

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestFrames: what is remembered of a function changes no answer, and spares most of the decoding.
func TestFrames(t *testing.T) {
	const start, size, places = 0x1000, 6 << 10, 40
	rng := rand.New(rand.NewPCG(1, 2))
	// Pushes of the frame pointer, copies of SP, calls, jumps forward, returns and the like.
	parts := [][]byte{{0x55}, {0x48, 0x89, 0xe5}, {0x5d}, {0xc9}, {0xc3}, {0x90}, {0x48, 0x83, 0xec, 0x10}, {0xeb, 0x40}, {0x74, 0x20}, {0xff, 0xd0}, {0x0f, 0x1f, 0x40, 0}}
	mixed := []byte{0x55, 0x48, 0x89, 0xe5}
	for len(mixed) < size {
		mixed = append(mixed, parts[rng.IntN(len(parts))]...)
	}
	for name, code := range map[string][]byte{"mixed": mixed, "without end": bytes.Repeat([]byte{0x90}, size)} {
		f, work, asked := &Frames{}, 0, 0
		for range 2 * places {
			pc := start + rng.Uint64N(places)*(size/places)
			given := code[:min(len(code), int(pc-start)+96)]
			wantType, wantState := FrameState(arch.AMD64, given, start, pc)
			typ, state, ok := f.Known(start, pc)
			if !ok {
				asked++
				n := 0
				typ, state, n = f.State(arch.AMD64, given, start, pc)
				work += n
			}
			if typ != wantType || state != wantState {
				t.Fatalf("%s: at %#x %v, %v, not %v, %v", name, pc, typ, state, wantType, wantState)
			}
		}
		if most := size + asked*(framesApart+2*prologueInsts); work > most || asked > places || f.kept > size/framesApart {
			t.Errorf("%s: %d instructions decoded for %d places, more than %d; %d kept", name, work, asked, most, f.kept)
		}
	}
	f := &Frames{}
	code := bytes.Repeat([]byte{0x90}, size)
	for i := range uint64(maxPassed/4 + 10) {
		f.State(arch.AMD64, code, i*size, i*size+5*framesApart-1)
	}
	if f.kept > maxPassed || len(f.passed) > maxPassed || len(f.known) > maxFrames {
		t.Errorf("%d of %d functions are kept, %d places", f.kept, len(f.passed), len(f.known))
	}
}
