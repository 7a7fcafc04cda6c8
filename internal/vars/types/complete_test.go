package types

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A rawUnit is a unit of DWARF 4 with a root and, perhaps, a struct of one letter.
type rawUnit struct {
	root dwarf.Tag
	lang dwarf.Language
	name byte // 0 for none
	fill int  // bytes behind it
	own  bool // in the section of type units
}

// size is that of the unit, in bytes.
func (u rawUnit) size() int {
	n := 15 + u.fill
	if u.name != 0 {
		n += 3
	}
	if u.own {
		n += 12
	}
	return n
}

// rawData writes units.
func rawData(units ...rawUnit) *dwarf.Data {
	sections := rawSections(units...)
	return dwarf.New(dwarf.SourceFunc(func(name string) ([]byte, error) { return sections[name], nil }), binary.LittleEndian)
}

func rawSections(units ...rawUnit) map[string][]byte {
	sections := map[string][]byte{".debug_abbrev": {1, byte(dwarf.TagCompileUnit), 1, byte(dwarf.AttrLanguage), byte(dwarf.FormData2), 0, 0,
		2, byte(dwarf.TagPartialUnit), 1, byte(dwarf.AttrLanguage), byte(dwarf.FormData2), 0, 0, 3, byte(dwarf.TagTypeUnit), 1, byte(dwarf.AttrLanguage), byte(dwarf.FormData2), 0, 0,
		4, byte(dwarf.TagStructureType), 0, byte(dwarf.AttrName), byte(dwarf.FormString), 0, 0, 0}}
	for _, u := range units {
		section := ".debug_info"
		if u.own {
			section = ".debug_types"
		}
		info := sections[section]
		code := map[dwarf.Tag]byte{dwarf.TagCompileUnit: 1, dwarf.TagPartialUnit: 2, dwarf.TagTypeUnit: 3}[u.root]
		info = binary.LittleEndian.AppendUint32(info, uint32(u.size()-4))
		info = append(info, 4, 0, 0, 0, 0, 0, 8)
		if u.own {
			info = append(info, make([]byte, 12)...) // signature, and where the type is
		}
		info = append(info, code, byte(u.lang), byte(u.lang>>8))
		if u.name != 0 {
			info = append(info, 4, u.name, 0)
		}
		sections[section] = append(info, make([]byte, u.fill+1)...)
	}
	return sections
}

// TestSearch goes through the units of files up to the limits, and one byte further.
func TestSearch(t *testing.T) {
	const c, rust = dwarf.LangC99, dwarf.LangRust
	cu := rawUnit{dwarf.TagCompileUnit, c, 'a', 0, false}
	filler := rawUnit{dwarf.TagCompileUnit, c, 0, 0, false}
	filler.fill = MaxSearch - cu.size() - filler.size()
	larger, whole := filler, filler
	larger.fill++
	whole.fill += cu.size() + 1
	for _, s := range []struct {
		name string
		rest []rawUnit
		want bool
	}{
		{"next", []rawUnit{cu}, true},
		{"nowhere", []rawUnit{{dwarf.TagCompileUnit, c, 'b', 0, false}}, false},
		{"of a partial unit", []rawUnit{{dwarf.TagPartialUnit, c, 'a', 0, false}}, true},
		{"of a type unit", []rawUnit{{dwarf.TagTypeUnit, c, 'a', 0, false}}, true},
		{"of another section, at the same place", []rawUnit{{dwarf.TagTypeUnit, c, 'a', 0, true}}, true},
		{"at the limit", []rawUnit{filler, cu}, true},
		{"beyond the limit", []rawUnit{larger, cu}, false},
		{"behind a unit beyond the limit", []rawUnit{whole, cu}, false},
	} {
		data := rawData(append([]rawUnit{{dwarf.TagCompileUnit, c, 0, 100, false}}, s.rest...)...)
		own, err := data.UnitAt(dwarf.SecInfo, 0)
		if err != nil {
			t.Fatal(err)
		}
		if found := NewSet(arch.AMD64, nil).searchOwn(own, "struct a", nil).others(); found.Valid() != s.want {
			t.Errorf("%s: %v, want %v", s.name, found.Valid(), s.want)
		}
	}

	// Types in scopes are not searched in units of C, and these count nothing.
	cxx := &Type{Tag: dwarf.TagStructureType, BareName: "a", Language: dwarf.LangCPlus14}
	for _, full := range []string{"n::a", "a<int>"} {
		set := NewSet(arch.AMD64, nil)
		if !set.inFile(rawData(cu, cu), cxx, full, nil, func(dwarf.DIE) bool { return false }) || set.foreign.Load() != 0 {
			t.Errorf("%d bytes of C searched for %s", set.foreign.Load(), full)
		}
	}
	if NewSet(arch.AMD64, nil).inFile(rawData(cu), cxx, "a", nil, func(dwarf.DIE) bool { return false }) {
		t.Error("a type of C was not found for C++")
	}

	typ := &Type{Tag: dwarf.TagStructureType, BareName: "a", Language: c}

	// Which units may define a type is remembered for a language, and for names with and without scopes.
	set, data := NewSet(arch.AMD64, nil), rawData(cu, cu)
	for range 2 {
		for _, x := range []struct {
			typ  *Type
			full string
			want int
		}{{cxx, "n::a", 0}, {cxx, "a", 2}, {typ, "a", 2}, {&Type{Tag: cxx.Tag, BareName: "a", Language: rust}, "a", 0}} {
			n := 0
			if set.inFile(data, x.typ, x.full, nil, func(dwarf.DIE) bool { n++; return true }); n != x.want {
				t.Errorf("%s of language %v: %d, want %d", x.full, x.typ.Language, n, x.want)
			}
		}
	}
	if v, _ := set.others.Load(unitsOf{data, typ.Language, false}); v == nil {
		t.Error("the units of a file are not remembered")
	}

	another := rawUnit{dwarf.TagCompileUnit, rust, 'a', 0, false}
	for _, s := range []struct {
		name  string
		units []rawUnit
		left  int
		want  int // how many are found
	}{
		{"all", []rawUnit{cu, cu}, 2 * cu.size(), 2},
		{"behind another language", []rawUnit{another, cu}, cu.size(), 1},
		{"up to the limit", []rawUnit{cu, cu}, 2*cu.size() - 1, 1},
		{"none", []rawUnit{cu, cu}, cu.size() - 1, 0},
	} {
		set := NewSet(arch.AMD64, nil)
		set.foreign.Store(int64(maxForeign - s.left))
		data := rawData(s.units...)
		for range 2 { // those that are known count nothing
			n := 0
			if !set.inFile(data, typ, "a", nil, func(dwarf.DIE) bool { n++; return true }) || n != s.want {
				t.Errorf("%s: %d, want %d", s.name, n, s.want)
			}
		}
		n := 0
		if set.inFile(data, typ, "a", nil, func(dwarf.DIE) bool { n++; return false }) != (s.want == 0) || n != min(s.want, 1) {
			t.Errorf("%s: goes on after %d", s.name, n)
		}
	}
}
