package values

import (
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestPlainText: what is shown as maybe a text of an address of which nothing is known.
func TestPlainText(t *testing.T) {
	for _, c := range []struct {
		text string
		cut  bool
		want bool
	}{
		{"one", false, true}, {"two words", false, true}, {"grün", false, true},
		{"", false, false}, {"ab", false, false}, {"one", true, false}, {"on\n", false, false}, {"\xff\xfe\xfd\xfc", false, false}, {"on\x01", false, false},
	} {
		if got := plainText([]byte(c.text), c.cut); got != c.want {
			t.Errorf("%q, cut %v: %v", c.text, c.cut, got)
		}
	}
}

// TestErrnoNames: the numbers that all systems share have names, others do not.
func TestErrnoNames(t *testing.T) {
	got := fmt.Sprint(errnoName(-1), "|", errnoName(0), "|", errnoName(1), errnoName(2), errnoName(10), "|", errnoName(11), "|", errnoName(12), errnoName(22), errnoName(34), "|", errnoName(35))
	if want := "||EPERMENOENTECHILD||ENOMEMEINVALERANGE|"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestFlatNodes: the sizes of a cord's nodes by their tags.
func TestFlatNodes(t *testing.T) {
	for tag, want := range map[uint64]uint64{0: 0, 5: 0, 6: 32, 7: 40, 66: 512, 67: 576, 186: 8192, 187: 12288, 248: 262144, 249: 0} {
		if got := flatSize(tag); got != want {
			t.Errorf("tag %d: %d, want %d", tag, got, want)
		}
	}
}

// TestListsOfQt5: which elements are in the list's words, and which are behind them.
func TestListsOfQt5(t *testing.T) {
	class := func(name string) *types.Type { return &types.Type{Tag: dwarf.TagClassType, BareName: name} }
	for _, c := range []struct {
		elem *types.Type
		size uint64
		want string
	}{
		{baseType("int", types.EncSigned, 4), 4, "inside"}, {baseType("double", types.EncFloat, 8), 8, "inside"}, {baseType("long double", types.EncFloat, 16), 16, "behind"},
		{&types.Type{Tag: dwarf.TagPointerType}, 8, "inside"}, {&types.Type{Tag: dwarf.TagEnumerationType}, 4, "unknown"},
		{class("QString"), 8, "inside"}, {class("QList<int>"), 8, "inside"}, {class("QVariant"), 16, "behind"}, {class("Own"), 8, "unknown"}, {class("Own"), 9, "behind"}, {class("QStringView"), 8, "unknown"},
	} {
		inside, known := qt5Inside(c.elem, c.size, 8)
		got := map[[2]bool]string{{true, true}: "inside", {false, true}: "behind"}[[2]bool{inside, known}]
		if got == "" {
			got = "unknown"
		}
		if got != c.want {
			t.Errorf("%s of %d bytes: %s, want %s", c.elem.BareName, c.size, got, c.want)
		}
	}
}

// TestScan reads slots up to the end of the table, of the memory and of what a variable may read.
func TestScan(t *testing.T) {
	all := func(s *scan) (got string) {
		for {
			slot, ok := s.next()
			if !ok {
				return got
			}
			got += string(slot) + " "
		}
	}
	for _, c := range []struct {
		at, left, size uint64
		scanned        int
		want           string
	}{
		{0x1000, 3, 2, 0, "ab cd ef "}, {0x1000, 0, 2, 0, ""}, {0x1002, 1, 4, 0, "cdef "}, {0x1000, 5, 2, 0, ""}, {0x2000, 1, 1, 0, ""},
		{0x1000, 2, 4, maxScan - 8, "abcd efgh "}, {0x1000, 2, 4, maxScan - 7, ""},
	} {
		b := &builder{p: &Process{Arch: arch.AMD64, Memory: memory("abcdefgh")}, scanned: c.scanned}
		if got := all(&scan{b: b, at: c.at, left: c.left, size: c.size}); got != c.want {
			t.Errorf("%d slots of %d at %#x after %d bytes: %q, want %q", c.left, c.size, c.at, c.scanned, got, c.want)
		}
	}
}

// TestPlainNames: the inline namespaces of versions of Abseil are left out, others stay.
func TestPlainNames(t *testing.T) {
	for name, want := range map[string]string{
		"absl::debian3::Cord": "absl::Cord", "absl::lts_20230802::Span<int>": "absl::Span", "absl::head::Cord": "absl::Cord", "absl::Cord": "absl::Cord",
		"absl::inner::Cord": "absl::inner::Cord", "mine::lts_1::Cord": "mine::lts_1::Cord", "std::map<a::b>": "std::map", "QString": "QString",
	} {
		// In C the bare name is the whole one.
		if got := plainName(&types.Type{BareName: name, Language: dwarf.LangC99}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
