package types

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// Types are defined as their language writes them, with the holes that the compiler left.
func TestDefinition(t *testing.T) {
	const c, cxx, rust, golang = dwarf.LangC99, dwarf.LangCPlus14, dwarf.LangRust, dwarf.LangGo
	num, char := base("int", 4), base("char", 1)
	hidden := nodeAttr{dwarf.AttrAccessibility, 3}
	open := nodeAttr{dwarf.AttrAccessibility, 1}
	point := structure("point", sized(8), at(0, "x", num), at(4, "y", num))
	colour := die(dwarf.TagEnumerationType, "colour", sized(4), nodeAttr{dwarf.AttrType, base("unsigned int", 4)}, die(dwarf.TagEnumerator, "red", nodeAttr{dwarf.AttrConstValue, 0}),
		die(dwarf.TagEnumerator, "blue", nodeAttr{dwarf.AttrConstValue, 7}), die(dwarf.TagEnumerator, "grey", nodeAttr{dwarf.AttrConstValue, 8}))
	class := die(dwarf.TagClassType, "dev", sized(32), typed(dwarf.TagInheritance, "", point, nodeAttr{dwarf.AttrDataMemberLoc, 0}, open), at(8, "_vptr.dev", num), at(12, "tag", char),
		at(16, "next", pointerTo(num), open), typed(dwarf.TagMember, "kept", num, nodeAttr{dwarf.AttrExternal, true}, nodeAttr{dwarf.AttrDeclaration, true}, hidden),
		die(dwarf.TagSubprogram, "dev", typed(dwarf.TagFormalParameter, "this", num, nodeAttr{dwarf.AttrArtificial, true})), die(dwarf.TagSubprogram, "count"), typed(dwarf.TagSubprogram, "id", num, typed(dwarf.TagFormalParameter, "this", num, nodeAttr{dwarf.AttrArtificial, true}),
			typed(dwarf.TagFormalParameter, "by", num)), typed(dwarf.TagSubprogram, "made", num, nodeAttr{dwarf.AttrArtificial, true}))
	for name, c := range map[string]struct {
		lang   dwarf.Language
		typ    *node
		layout Layout
		want   string
	}{
		"struct":     {c, point, Layout{}, "struct point {|    int x;|    int y;|}"},
		"pointer":    {c, pointerTo(typed(dwarf.TagConstType, "", typed(dwarf.TagTypedef, "pt", point))), Layout{}, "const struct point {|    int x;|    int y;|} *"},
		"array":      {c, arrayOf(pointerTo(point), 3), Layout{}, "struct point {|    int x;|    int y;|} * [3]"},
		"typedef":    {c, typed(dwarf.TagTypedef, "a", typed(dwarf.TagTypedef, "b", typed(dwarf.TagVolatileType, "", num))), Layout{}, "volatile int"},
		"number":     {c, num, Layout{}, "int"},
		"enum":       {c, colour, Layout{}, "enum colour {|    red,|    blue = 7,|    grey,|}"},
		"declared":   {c, structure("lost", declared), Layout{}, "struct lost; (only declared: its definition was not found)"},
		"inner":      {c, structure("a", sized(8), at(0, "", structure("", sized(4), at(0, "i", num))), at(4, "u", die(dwarf.TagUnionType, "", sized(4), at(0, "c", char)))), Layout{}, "struct a {|    struct {|        int i;|    };|    union {|        char c;|    } u;|}"},
		"holes":      {c, structure("h", sized(16), at(0, "c", char), at(4, "n", num), at(8, "d", char)), Layout{Offsets: true}, "struct h {|/*      0 |       1 */        char c;|/* XXX 3-byte hole */|/*      4 |       4 */        int n;|/*      8 |       1 */        char d;|/* XXX 7-byte hole */|/* total size: 16 bytes */|}"},
		"bits":       {c, structure("b", sized(4), typed(dwarf.TagMember, "f", num, nodeAttr{dwarf.AttrBitSize, 3}, nodeAttr{dwarf.AttrDataBitOffset, 1})), Layout{Offsets: true}, "struct b {|/* XXX 1-bit hole */|/*      0: 1 |    4 */        int f : 3;|/* XXX 4-bit hole */|/* XXX 3-byte hole */|/* total size: 4 bytes */|}"},
		"class":      {cxx, class, Layout{Methods: true}, "class dev : public point {|    char tag;|  public:|    int * next;|  private:|    static int kept;||    dev(void);|    static void count(void);|    int id(int);|}"},
		"no methods": {cxx, class, Layout{}, "class dev : public point {|    char tag;|  public:|    int * next;|  private:|    static int kept;|}"},
		"Rust":       {rust, structure("P", sized(4), at(0, "x", num), at(4, "__0", num)), Layout{}, "struct P {|    x: int,|    int,|}"},
		"Go":         {golang, structure("main.P", sized(4), at(0, "x", num)), Layout{}, "type main.P struct {|    x int|}"},
	} {
		var lines []string
		for _, line := range typeOf(t, c.lang, c.typ).Definition(c.layout) {
			if c.layout.Offsets && !strings.HasPrefix(line, "/*") {
				line = strings.TrimSpace(line)
			}
			lines = append(lines, line)
		}
		if got := strings.ReplaceAll(strings.Join(lines, "|"), "int *next", "int * next"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// However many members a type has, and however deep types without names nest, its definition ends.
func TestDefinitionIsBounded(t *testing.T) {
	num := base("int", 4)
	many := structure("many", sized(8))
	for i := range MaxDefinition + 10 {
		many.kids = append(many.kids, at(4*i, fmt.Sprintf("m%d", i), num))
	}
	lines := typeOf(t, dwarf.LangC99, many).Definition(Layout{})
	if len(lines) != MaxDefinition || lines[len(lines)-1] != "..." {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	deep := structure("", sized(4))
	deep.kids = append(deep.kids, at(0, "a", deep), at(0, "b", deep), at(0, "c", deep))
	for _, layout := range []Layout{{}, {Offsets: true, Methods: true}} {
		if lines := typeOf(t, dwarf.LangC99, deep).Definition(layout); len(lines) > MaxDefinition {
			t.Errorf("%d lines", len(lines))
		}
	}
	chain := base("int", 4)
	for i := range MaxChain + 5 {
		chain = typed(dwarf.TagTypedef, fmt.Sprint("t", MaxChain+4-i), chain)
	}
	if lines := typeOf(t, dwarf.LangC99, chain).Definition(Layout{}); len(lines) != 1 || lines[0] != fmt.Sprint("t", MaxChain) {
		t.Errorf("after as many typedefs as are followed: %q", lines)
	}
	for _, tag := range []dwarf.Tag{dwarf.TagTypedef, dwarf.TagPointerType, dwarf.TagConstType, dwarf.TagArrayType} { // of itself
		loop := die(tag, "")
		loop.attrs = append(loop.attrs, nodeAttr{dwarf.AttrType, loop})
		if lines := typeOf(t, dwarf.LangC99, loop).Definition(Layout{}); len(lines) != 1 {
			t.Errorf("%q", lines)
		}
	}
}

// What a unit only declares is written as another unit defines it.
func TestDefinitionElsewhere(t *testing.T) {
	lost := structure("s", declared)
	pointer := pointerTo(lost)
	uses := &tree{lang: dwarf.LangC99, kids: []*node{lost, pointer}}
	num := base("int", 4)
	has := &tree{lang: dwarf.LangC99, kids: []*node{num, structure("s", sized(4), at(0, "n", num))}}
	data := open(forest(uses, has))
	for _, n := range []*node{lost, pointer} {
		lines := typeIn(t, data, uses, n).Definition(Layout{})
		if got := strings.TrimSuffix(strings.Join(lines, "|"), " *"); got != "struct s {|    int n;|}" {
			t.Errorf("%q", got)
		}
	}
}

// However many pointers lead to a class, no more are followed than there may be.
func TestDefinitionOfPointers(t *testing.T) {
	for n, want := range map[int]bool{MaxChain - 1: true, MaxChain: true, MaxChain + 1: false} {
		typ := structure("s", sized(4), at(0, "n", base("int", 4)))
		for range n {
			typ = pointerTo(typ)
		}
		lines := typeOf(t, dwarf.LangC99, typ).Definition(Layout{})
		if got := len(lines) == 3 && lines[2] == "}"+strings.Repeat(" *", n); got != want {
			t.Errorf("%d pointers: %q", n, lines)
		}
	}
}
