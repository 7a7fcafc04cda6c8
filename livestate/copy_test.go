//go:build linux

package livestate

import (
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestJoined: ranges near each other are copied as one, and what is copied already is not copied again.
func TestJoined(t *testing.T) {
	spans := joined([]span{{0x1000, 0x1100}, {0x1080, 0x1200}, {0x1300, 0x1400}, {0x9000, 0x9008}})
	if got := fmt.Sprintf("%x", spans); got != "[{1000 1400} {9000 9008}]" {
		t.Error(got)
	}
	s := &Snapshot{runs: []run{{0x1100, make([]byte, 0x80)}, {0x1380, make([]byte, 0x1000)}, {0x8ff0, make([]byte, 0x14)}}}
	if got := fmt.Sprintf("%x", s.without(spans)); got != "[{1000 1100} {1180 1380} {9004 9008}]" {
		t.Error(got)
	}
	s = &Snapshot{runs: []run{{0x1000, make([]byte, 0x1000)}}}
	if got := s.without([]span{{0x1100, 0x1200}, {arch.Address(0x1300), 0x1400}}); len(got) != 0 {
		t.Errorf("%x", got)
	}
}
