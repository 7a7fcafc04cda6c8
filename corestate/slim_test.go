package corestate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func (s segment) show() string {
	return fmt.Sprintf("%d-%d have %d claim %d at %d perm %d", s.start, s.end, s.have, s.claim, s.off, s.perm)
}

// TestRestore: each address has the bytes of kept, and of whole what was mapped and what was missing.
func TestRestore(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		whole, kept := someSegments(rng, false), someSegments(rng, true)
		in := func(list []segment, a arch.Address) *segment {
			for i := range list {
				if list[i].start <= a && a < list[i].end {
					return &list[i]
				}
			}
			return nil
		}
		got := restore(append([]segment(nil), whole...), append([]segment(nil), kept...))
		var why strings.Builder
		for i, s := range got {
			if s.start >= s.end || s.have < s.start || s.have > s.end || s.claim < s.have || i > 0 && s.start < got[i-1].end {
				fmt.Fprintf(&why, "segment %s is not possible or out of order\n", s.show())
			}
		}
		for a := arch.Address(0); a < 64; a++ {
			w, k, g := in(whole, a), in(kept, a), in(got, a)
			switch {
			case w == nil && k == nil:
				if g != nil {
					fmt.Fprintf(&why, "%d: nothing was mapped\n", a)
				}
			case g == nil:
				fmt.Fprintf(&why, "%d: lost\n", a)
			case k != nil && a < k.have:
				if a >= g.have || g.off+(a-g.start) != k.off+(a-k.start) {
					fmt.Fprintf(&why, "%d: wrong byte\n", a)
				}
			case k == nil && a < g.have:
				fmt.Fprintf(&why, "%d: byte that was left out\n", a)
			case k == nil && w != nil && (a < g.claim) != (a >= w.have && a < w.claim):
				fmt.Fprintf(&why, "%d: missing before: %v\n", a, a < g.claim)
			}
			if w != nil && g != nil && g.perm != w.perm {
				fmt.Fprintf(&why, "%d: perm\n", a)
			}
		}
		if why.Len() > 0 {
			for _, list := range [][]segment{whole, kept, got} {
				for _, s := range list {
					fmt.Fprintln(&why, s.show())
				}
				fmt.Fprintln(&why)
			}
			t.Fatal(why.String())
		}
	}
}

// someSegments returns segments below 64. Bytes are where their address is, plus 100.
func someSegments(rng *rand.Rand, full bool) []segment {
	var list []segment
	for at := arch.Address(0); ; {
		s := segment{start: at + rng.Uint64N(8)}
		s.end = s.start + 1 + rng.Uint64N(12)
		if s.end > 64 {
			return list
		}
		s.claim = s.start + rng.Uint64N(s.end-s.start+1)
		s.have = s.start + rng.Uint64N(s.claim-s.start+1)
		if full {
			s.have, s.claim = s.end, s.end
		}
		s.off, s.perm = s.start+100, 1
		if !full {
			s.perm = 2
		}
		list = append(list, s)
		at = s.end
	}
}
