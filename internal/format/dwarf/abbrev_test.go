package dwarf

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// An abbreviation may have few attributes without bytes: each entry of one byte would have them all.
func TestEmptyAttributes(t *testing.T) {
	for n, ok := range map[int]bool{maxEmpty: true, maxEmpty + 1: false} {
		b := []byte{0x34, 0}
		for range n {
			b = append(b, 0x3c, byte(FormFlagPresent))
		}
		for range 2 * maxEmpty { // those with bytes do not count
			b = append(b, 0x3c, byte(FormData1))
		}
		c := binbuf.New(append(b, 0, 0), 0, false)
		a, _, err := parseAbbrev(&c, encoding{version: 4, addrSize: 8, offSize: 4}, nil)
		if ok && (err != nil || int(a.count) != n+2*maxEmpty) || !ok && (err == nil || !strings.Contains(err.Error(), "without bytes")) {
			t.Errorf("%d: %d attributes, %v", n, a.count, err)
		}
	}
}
