package values

import (
	"math/big"
	"testing"

	"github.com/corewalk/corewalk/internal/vars/types"
)

func TestRustChannels(t *testing.T) {
	const unit = 1 << rustShift
	for _, c := range []struct{ head, tail, want uint64 }{
		{0, 0, 0}, {0, 3 * unit, 3}, {unit, 3*unit | 1, 2}, {0, 31 * unit, 31}, {0, 33 * unit, 32}, // index 31 of each block is no message
		{31 * unit, 33 * unit, 1}, {40 * unit, 41 * unit, 1}, {30 * unit, 64 * unit, 32},
	} {
		if got := rustListed(c.head, c.tail); got != c.want {
			t.Errorf("list from %d to %d: got %d, want %d", c.head, c.tail, got, c.want)
		}
	}
	for _, c := range []struct{ head, tail, mark, room, want uint64 }{
		{0, 0, 4, 3, 0}, {0, 2, 4, 3, 2}, {2, 9, 4, 3, 2}, {0, 8, 4, 3, 3}, {0, 4, 4, 3, 0}, {5, 9, 0, 3, 0},
	} {
		if got := rustRinged(c.head, c.tail, c.mark, c.room); got != c.want {
			t.Errorf("ring from %d to %d: got %d, want %d", c.head, c.tail, got, c.want)
		}
	}
	for _, c := range []struct {
		secs, nanos uint64
		want        string
	}{{1, 500000000, "1.5s"}, {2, 0, "2s"}, {0, 1500000, "1.5ms"}, {0, 2000, "2µs"}, {0, 999, "999ns"}, {0, 0, "0ns"}, {100, 1, "100.000000001s"}} {
		if got := rustDurationText(c.secs, c.nanos); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestNamesInNames(t *testing.T) {
	for in, want := range map[string]string{"int>::__handle(x)": "int", "a<b<c> > >::f": "a<b<c> >", "f(int)>": "f(int)", "int": "", ")": ""} {
		if got, ok := cutArgument(in); got != want || ok != (want != "" || in == ")") {
			t.Errorf("%q: got %q, %v", in, got, ok)
		}
	}
	for in, want := range map[string]string{"packing__high": "high", "green": "green", "Q": "Q", "a__b__c_d": "c_d"} {
		if got := adaLiteral(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]int64{"bitset<10UL>": 10, "bitset<0>": 0, "array<int, 3ul>": 3, "array<int, N>": -1, "bitset": -1} {
		n, ok := lastNumber(&types.Type{BareName: in})
		if ok != (want >= 0) || ok && n != uint64(want) {
			t.Errorf("%s: got %d, %v", in, n, ok)
		}
	}
	for in, want := range map[string]bool{"int[string]": true, "int[]": false, "int[string][]": false, "string": false, "int[string[]]": true} {
		if got := dKeyed(in); got != want {
			t.Errorf("%s: got %v", in, got)
		}
	}
}

func TestFixedText(t *testing.T) {
	for _, c := range []struct {
		num, den int64
		want     string
	}{{-5, 2, "-2.5"}, {3, 1, "3.0"}, {1, 3, "0.33333333333333333333"}, {617, 50, "12.34"}} {
		if got := fixedText(big.NewRat(c.num, c.den)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
