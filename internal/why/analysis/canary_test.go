package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// Text that goes on past an array was written to the one in which it begins, as far as that is not text of its own.
func TestBeganIn(t *testing.T) {
	arrays := []stackArray{{"high", 64, 80}, {"middle", 32, 48}, {"low", 16, 32}}
	for from, want := range map[uint64][2]string{
		70: {"high", report.Likely},
		64: {"high", report.Likely},
		60: {"high", report.Likely}, // between two
		48: {"high", report.Likely},
		47: {"middle or high", report.Possible},
		32: {"middle or high", report.Possible},
		31: {"low or middle", report.Possible},
		16: {"low or middle", report.Possible},
		15: {"low", report.Possible},
	} {
		if name, _, confidence := beganIn(arrays, from); name != want[0] || confidence != want[1] {
			t.Errorf("%d: %s [%s], want %s", from, name, confidence, want)
		}
	}
}
