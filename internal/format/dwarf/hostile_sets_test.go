package dwarf

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// A section of millions of empty sets of ranges is gone through a few times, not for each of some addresses; and one of zeros, whose sets
// are too short for what they begin with, not once.
func TestEmptySets(t *testing.T) {
	set := []byte{12, 0, 0, 0, 2, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0}
	for _, c := range []struct {
		data []byte
		most int
	}{{bytes.Repeat(set, 40*setsPerScan), 2}, {make([]byte, 40*setsPerScan), maxArangeScans + 1}} {
		d := New(SourceFunc(func(name string) ([]byte, error) {
			if strings.HasSuffix(name, "aranges") {
				return c.data, nil
			}
			return nil, nil
		}), binary.LittleEndian)
		var a aranges
		scans := 0
		for pc := range uint64(maxArangeScans + 1) {
			before := a.scans
			a.find(d, pc, new(int))
			if a.scans > before {
				scans++
			}
		}
		if scans > c.most {
			t.Errorf("%d scans, at most %d are needed", scans, c.most)
		}
	}
}
