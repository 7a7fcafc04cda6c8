package provenance

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// What an instruction changes, in short: a load stores nothing.
func TestBrief(t *testing.T) {
	f := function(t, arch.AMD64, `
		48 8b 06 # mov rax,[rsi]
		48 89 06 # mov [rsi],rax
		ff d3 # call rbx
		0f 05 # syscall
		c3 # ret`)
	for i, want := range []struct{ stores, calls bool }{{false, false}, {true, false}, {}, {true, false}} {
		got := f.brief(i)
		if i == 2 { // a call stores its return address
			if !got.calls {
				t.Error("the call is none")
			}
			continue
		}
		if got.failed || got.stores != want.stores || got.calls != want.calls {
			t.Errorf("instruction %d: %+v", i, got)
		}
	}
}

// Control goes straight from one instruction to another, but not back, and not through a call.
func TestStraight(t *testing.T) {
	f := function(t, arch.AMD64, `
		48 8b 06 # mov rax,[rsi]
		48 89 06 # mov [rsi],rax
		ff d3 # call rbx
		c3 # ret`)
	for _, c := range []struct {
		from, to int
		want     bool
	}{{0, 1, true}, {0, 2, true}, {1, 1, true}, {1, 0, false}, {0, 3, false}, {2, 3, false}} {
		if f.straight(c.from, c.to) != c.want {
			t.Errorf("from %d to %d: %v", c.from, c.to, !c.want)
		}
	}
}
