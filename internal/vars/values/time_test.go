package values

import (
	"math"
	"testing"

	"github.com/corewalk/corewalk/internal/vars/types"
)

func TestDate(t *testing.T) {
	for _, c := range []struct {
		n, num, den int64
		want        string
	}{
		{0, 1, 1, "1970-01-01 00:00:00 UTC"}, {-1, 1, 1000, "1969-12-31 23:59:59.999 UTC"}, {1763820000, 1, 1, "2025-11-22 14:00:00 UTC"},
		{1763820000123456789, 1, 1_000_000_000, "2025-11-22 14:00:00.123456789 UTC"}, {29397000, 60, 1, "2025-11-22 14:00:00 UTC"},
		{math.MaxInt64, 1, 1_000_000_000, "2262-04-11 23:47:16.854775807 UTC"}, {253402300799, 1, 1, "9999-12-31 23:59:59 UTC"},
		{253402300800, 1, 1, ""}, {math.MaxInt64, 1, 1, ""}, {math.MinInt64, 86400, 1, ""}, {math.MaxInt64, math.MaxInt64, 1, ""},
	} {
		if got, ok := date(c.n, c.num, c.den); got != c.want || ok != (c.want != "") {
			t.Errorf("%d times %d/%d: %q, %v", c.n, c.num, c.den, got, ok)
		}
	}
}

// TestRatios: the fractions of a second that durations count in, and their names.
func TestRatios(t *testing.T) {
	for name, want := range map[string]string{
		"ratio<1, 1000000000>": "ns", "ratio<1l,1000000l>": "us", "ratio<1, 1000>": "ms", "ratio<1>": "s", "ratio<60, 1>": "min", "ratio<3600L, 1L>": "h", "ratio<86400, 1>": "d",
		"ratio<2, 1>": "", "ratio<0, 1>": "none", "ratio<1, 0>": "none", "ratio<-1, 1>": "none", "ratio<1, x>": "none", "pair<1, 1>": "none", "ratio": "none",
	} {
		num, den, ok := ratio(&types.Type{BareName: name})
		got := units.Get()[[2]int64{num, den}]
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%s: %d/%d %q, want %q", name, num, den, got, want)
		}
	}
	if _, _, ok := ratio(nil); ok {
		t.Error("no type has a ratio")
	}
}
