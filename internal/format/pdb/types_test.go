package pdb

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestTypes compares all type records with llvm-pdbutil's output.
func TestTypes(t *testing.T) {
	util := fixture.LLVM(t, "llvm-pdbutil")
	for _, c := range varsTargets {
		t.Run(c.target+c.level, func(t *testing.T) {
			p, f := buildVars(t, c.target, c.level)
			out, err := exec.Command(util, "dump", "-types", p.pdb).Output()
			if err != nil {
				t.Fatal(err)
			}
			listed := typeListing(string(out))
			seen, forward := map[string]int{}, 0
			for id, l := range listed {
				want, ok := l.describe()
				if !ok {
					continue
				}
				seen[l.kind]++
				if got := describeType(f, id, l.kind); got != want {
					t.Errorf("%#x %s:\n%s\nwant\n%s\n%s", uint32(id), l.kind, got, want, l.text)
				}
				if to := regexp.MustCompile(`forward ref \(-> 0x([0-9A-F]+)\)`).FindStringSubmatch(l.text); to != nil {
					forward++
					if def, ok := f.Definition(id); !ok || fmt.Sprintf("%X", uint32(def)) != to[1] {
						t.Errorf("%#x is defined by %#x, %v; want %s", uint32(id), uint32(def), ok, to[1])
					}
				}
			}
			for _, kind := range []string{"LF_STRUCTURE", "LF_UNION", "LF_ENUM", "LF_POINTER", "LF_MODIFIER", "LF_ARRAY", "LF_BITFIELD", "LF_FIELDLIST", "LF_PROCEDURE", "LF_MFUNCTION", "LF_ARGLIST"} {
				if seen[kind] == 0 {
					t.Errorf("no %s in %d types", kind, len(listed))
				}
			}
			if forward < 4 {
				t.Errorf("%d forward references", forward)
			}
		})
	}
}

// TestDefinitionUnhashed finds definitions in files whose type names are not hashed.
func TestDefinitionUnhashed(t *testing.T) {
	_, f := buildVars(t, "x86_64-pc-windows-msvc", "-O0")
	types, err := f.types()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for id := types.first; id < types.last; id++ {
		decl, _ := f.Type(TypeID(id))
		if !decl.Forward {
			continue
		}
		want, ok := f.Definition(TypeID(id))
		hashes := types.hashes
		types.hashes = view{}
		got, ok2 := f.Definition(TypeID(id))
		types.hashes = hashes
		if got != want || ok != ok2 {
			t.Errorf("%#x: %#x, %v; by names %#x, %v", id, uint32(got), ok2, uint32(want), ok)
		}
		n++
	}
	if n < 4 {
		t.Errorf("%d forward references", n)
	}
}

func TestHashName(t *testing.T) {
	// By hand: "ab" and "AB" have the same hash, because 0x20 is set in each byte.
	if hashName("ab") != hashName("AB") || hashName("ab") == hashName("abc") {
		t.Error("hash of names")
	}
	if got := hashName(""); got != 0x20202020^0x20202020>>11^(0x20202020^0x20202020>>11)>>16 {
		t.Errorf("%#x", got)
	}
}

func TestNumeric(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		v    int64
		next int
	}{
		{[]byte{5, 0}, 5, 2}, {[]byte{0xff, 0x7f}, 0x7fff, 2},
		{[]byte{0, 0x80, 0xfe}, -2, 3}, {[]byte{1, 0x80, 0xfe, 0xff}, -2, 4}, {[]byte{2, 0x80, 0xfe, 0xff}, 0xfffe, 4},
		{[]byte{3, 0x80, 0xff, 0xff, 0xff, 0xff}, -1, 6}, {[]byte{4, 0x80, 0xff, 0xff, 0xff, 0xff}, 1<<32 - 1, 6},
		{[]byte{9, 0x80, 1, 0, 0, 0, 0, 0, 0, 0x80}, -1<<63 + 1, 10},
		{[]byte{0, 0x80}, 0, 0}, {[]byte{7, 0x90, 1, 2, 3, 4}, 0, 0}, {[]byte{1}, 0, 0}, {nil, 0, 0},
	} {
		if v, next := numeric(c.b, 0); int64(v) != c.v || next != c.next {
			t.Errorf("% x: %d, %d; want %d, %d", c.b, int64(v), next, c.v, c.next)
		}
	}
}

// A listedTypeRecord is a record as llvm-pdbutil prints it.
type listedTypeRecord struct{ kind, name, text string }

var listedTypeHead = regexp.MustCompile("^ *0x([0-9A-F]+) \\| (LF_\\w+) \\[size = \\d+\\](?: `(.*)`)?$")

func typeListing(out string) map[TypeID]*listedTypeRecord {
	all := map[TypeID]*listedTypeRecord{}
	var last *listedTypeRecord
	for _, line := range strings.Split(out, "\n") {
		if m := listedTypeHead.FindStringSubmatch(line); m != nil {
			n, _ := strconv.ParseUint(m[1], 16, 32)
			last = &listedTypeRecord{kind: m[2], name: m[3]}
			all[TypeID(n)] = last
		} else if last != nil {
			last.text += strings.TrimSpace(line) + "\n"
		}
	}
	return all
}

// find returns the first group of a pattern in the record's text.
func (l *listedTypeRecord) find(pattern string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(l.text); m != nil {
		return m[1]
	}
	return ""
}

// id is the number of a type that is printed as a number, with its name or without.
func (l *listedTypeRecord) id(key string) string {
	s := l.find(key + `[=:]? ?(?:= ?)?0x([0-9A-F]+)`)
	if s == "" {
		return "0"
	}
	n, _ := strconv.ParseUint(s, 16, 32)
	return fmt.Sprintf("%x", n)
}

func (l *listedTypeRecord) describe() (string, bool) {
	switch l.kind {
	case "LF_STRUCTURE", "LF_CLASS", "LF_UNION":
		return fmt.Sprintf("%s unique %s fields %s size %s", l.name, l.find("unique name: `(.*)`"), l.id("field list: "), l.find(`sizeof (\d+)`)), true
	case "LF_ENUM":
		return fmt.Sprintf("%s unique %s fields %s of %s", l.name, l.find("unique name: `(.*)`"), l.id("field list: "), l.id("underlying type: ")), true
	case "LF_POINTER":
		s := fmt.Sprintf("%s to %s", strings.TrimSpace(l.find(`mode = ([^,]*),`)), l.id("referent = "))
		if strings.Contains(l.text, "const") && strings.Contains(l.find(`opts = ([^,]*),`), "const") {
			s += " const"
		}
		return s, true
	case "LF_MODIFIER":
		return l.find(`modifiers = (.*)`) + " of " + l.id("referent = "), true
	case "LF_ARRAY":
		return fmt.Sprintf("%s bytes of %s", l.find(`size: (\d+)`), l.id("element type: ")), true
	case "LF_BITFIELD":
		return fmt.Sprintf("%s bits at %s of %s", l.find(`# bits = (\d+)`), l.find(`bit offset = (\d+)`), l.id("type = ")), true
	case "LF_PROCEDURE":
		return fmt.Sprintf("returns %s args %s", l.id("return type = "), l.id("param list = ")), true
	case "LF_MFUNCTION":
		return fmt.Sprintf("returns %s args %s class %s this %s", l.id("return type = "), l.id("param list = "), l.id("class type = "), l.id("this type = ")), true
	case "LF_ARGLIST":
		s := ""
		for _, m := range regexp.MustCompile(`(?m)^(?:0x([0-9A-F]+)|<no type>)`).FindAllStringSubmatch(l.text, -1) {
			n, _ := strconv.ParseUint("0"+m[1], 16, 32)
			s += fmt.Sprintf("%x ", n)
		}
		return s, true
	case "LF_FIELDLIST":
		return l.members(), true
	}
	return "", false
}

func (l *listedTypeRecord) members() string {
	var b strings.Builder
	for _, part := range strings.Split("\n"+l.text, "\n- ")[1:] {
		m := &listedTypeRecord{text: part}
		kind, _, _ := strings.Cut(part, " ")
		switch strings.TrimSpace(kind) {
		case "LF_ENUMERATE":
			v, _ := strconv.ParseInt(m.find(`= (-?\d+)\]`), 10, 64)
			fmt.Fprintf(&b, "%s = %d\n", m.find(`\[(\w+) =`), v)
		case "LF_MEMBER":
			fmt.Fprintf(&b, "%s %s at %s\n", m.find("name = `(.*?)`"), m.id("Type = "), m.find(`offset = (\d+)`))
		case "LF_STMEMBER":
			fmt.Fprintf(&b, "static %s %s\n", m.find("name = `(.*?)`"), m.id("type = "))
		case "LF_VFUNCTAB":
			fmt.Fprintf(&b, "table %s\n", m.id("type = "))
		default:
			switch strings.TrimSuffix(strings.TrimSpace(strings.SplitN(part, "\n", 2)[0]), ",") {
			case "LF_BCLASS":
				fmt.Fprintf(&b, "base %s at %s\n", m.id("type = "), m.find(`offset = (\d+)`))
			case "LF_VBCLASS", "LF_IVBCLASS":
				fmt.Fprintf(&b, "virtual %s at %s, %s\n", m.id("base = "), m.find(`vbptr offset = (\d+)`), m.find(`vtable index = (\d+)`))
			}
		}
	}
	return b.String()
}

// describeType formats a decoded record in the same way.
func describeType(f *File, id TypeID, kind string) string {
	if kind == "LF_FIELDLIST" {
		return describeMembers(f, id)
	}
	if kind == "LF_ARGLIST" {
		s := ""
		for _, a := range f.Args(id) {
			s += fmt.Sprintf("%x ", uint32(a))
		}
		return s
	}
	t, ok := f.Type(id)
	if !ok {
		return "no type"
	}
	switch t.Kind {
	case TypeClass, TypeStruct, TypeUnion:
		return fmt.Sprintf("%s unique %s fields %x size %d", t.Name, t.Unique, uint32(t.Fields), t.Size)
	case TypeEnum:
		return fmt.Sprintf("%s unique %s fields %x of %x", t.Name, t.Unique, uint32(t.Fields), uint32(t.Elem))
	case TypeModifier:
		var q []string
		if t.Quals&Const != 0 {
			q = append(q, "const")
		}
		if t.Quals&Volatile != 0 {
			q = append(q, "volatile")
		}
		return fmt.Sprintf("%s of %x", strings.Join(q, " | "), uint32(t.Elem))
	case TypePointer, TypeReference, TypeRvalueReference, TypeMemberPointer:
		mode := map[TypeKind]string{TypePointer: "pointer", TypeReference: "ref", TypeRvalueReference: "rvalue ref", TypeMemberPointer: "data member pointer"}[t.Kind]
		if t.MemberFunction {
			mode = "member fn pointer"
		}
		s := fmt.Sprintf("%s to %x", mode, uint32(t.Elem))
		if t.Quals&Const != 0 {
			s += " const"
		}
		return s
	case TypeArray:
		return fmt.Sprintf("%d bytes of %x", t.Size, uint32(t.Elem))
	case TypeBitField:
		return fmt.Sprintf("%d bits at %d of %x", t.Bits, t.Bit, uint32(t.Elem))
	case TypeFunction:
		s := fmt.Sprintf("returns %x args %x", uint32(t.Elem), uint32(t.Args))
		if kind == "LF_MFUNCTION" {
			s += fmt.Sprintf(" class %x this %x", uint32(t.Class), uint32(t.This))
		}
		return s
	}
	return fmt.Sprint("kind ", t.Kind)
}

func describeMembers(f *File, id TypeID) string {
	var b strings.Builder
	list, _ := f.Members(id)
	for _, m := range list {
		switch m.Kind {
		case MemberEnumerator:
			fmt.Fprintf(&b, "%s = %d\n", m.Name, int64(m.Value))
		case MemberData:
			fmt.Fprintf(&b, "%s %x at %d\n", m.Name, uint32(m.Type), m.Off)
		case MemberStatic:
			fmt.Fprintf(&b, "static %s %x\n", m.Name, uint32(m.Type))
		case MemberBase:
			fmt.Fprintf(&b, "base %x at %d\n", uint32(m.Type), m.Off)
		case MemberVirtualBase:
			fmt.Fprintf(&b, "virtual %x at %d, %d\n", uint32(m.Type), m.Off, m.Index)
		case MemberVTable:
			fmt.Fprintf(&b, "table %x\n", uint32(m.Type))
		}
	}
	return b.String()
}
