package dwarfvars

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/op"
)

// Pieces are the parts of a variable whose order and size fit; what fits two ways is not known.
func TestArrange(t *testing.T) {
	text := []goPart{{0, 16, false, true}, {0, 8, true, false}, {8, 8, false, false}}
	slice := []goPart{{0, 24, false, true}, {0, 8, true, false}, {8, 8, false, false}, {16, 8, false, false}}
	mixedSizes := []goPart{{0, 24, false, true}, {0, 8, false, false}, {8, 4, false, false}, {16, 8, false, false}}
	for _, c := range []struct {
		name   string
		parts  []goPart
		pieces string // a size and a register; "-" nowhere
		want   string // the offsets of each piece
	}{
		{"a string", text, "8:0 8:3", "0 8"},
		{"a part without place", text, "8:- 8:3", "0 8"},
		{"a slice", slice, "8:0 8:3 8:2", "0 8 16"},
		{"a length that is the capacity", slice, "8:0 8:3 8:3", "0 8 16"},
		{"two words of a slice", slice, "8:0 8:3", "0,8 8,16"},
		{"the whole, which is nowhere, before its parts", slice, "24:- 8:0 8:3 8:2", "0 0 8 16"},
		{"the pointer twice", slice, "8:3 8:3 8:2 8:5", "0 0 8 16"},
		{"a word twice, and another", slice, "8:3 8:3 8:2", "0,8 0,8 8,16"},
		{"a part of one size", mixedSizes, "4:0", "8"},
		{"a part before one of one size", mixedSizes, "8:0 4:1", "0 8"},
		{"two parts after one another that overlap", mixedSizes, "4:0 8:1", "8 16"},
		{"a size that no part has", slice, "8:0 4:1", ""},
		{"too many", text, "8:0 8:1 8:2", ""},
		{"none", text, "", ""},
	} {
		var pieces []op.Piece
		for _, word := range strings.Fields(c.pieces) {
			var p op.Piece
			if _, err := fmt.Sscanf(word, "%d:%d", &p.BitSize, &p.Loc.Reg); err == nil {
				p.Loc.Kind = op.Register
			}
			p.BitSize *= 8
			pieces = append(pieces, p)
		}
		var got []string
		for _, fit := range arrange(c.parts, pieces) {
			var offs []string
			for _, i := range fit {
				if s := fmt.Sprint(c.parts[i].off); len(offs) == 0 || offs[len(offs)-1] != s {
					offs = append(offs, s)
				}
			}
			got = append(got, strings.Join(offs, ","))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}
