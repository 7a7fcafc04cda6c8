package types

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/pdb"
)

// Types that a PDB describes. They become Types as those of DWARF do. Only code that asks for
// the DB of a Ref treats them differently.

// A Database is a PDB together with a language, since the records of types do not say which
// language they are of.
type Database struct {
	File *pdb.File
	lang dwarf.Language
}

// Database returns the Database of a PDB and a language.
func (set *Set) Database(file *pdb.File, lang dwarf.Language) *Database {
	key := Database{file, lang}
	if v, ok := set.dbs.Load(key); ok {
		return v.(*Database)
	}
	v, _ := set.dbs.LoadOrStore(key, &key)
	return v.(*Database)
}

// One record may have several qualifiers. The Off of a Ref counts, in units of qualifier, how
// many of them were already taken off.
const qualifier = 1 << 32

// Type refers to the type with a number.
func (db *Database) Type(id pdb.TypeID) Ref {
	return Ref{DIE: dwarf.DIE{Off: uint64(id)}, DB: db}
}

var recordTags = [...]dwarf.Tag{

	pdb.TypeBase:            dwarf.TagBaseType,
	pdb.TypePointer:         dwarf.TagPointerType,
	pdb.TypeReference:       dwarf.TagReferenceType,
	pdb.TypeRvalueReference: dwarf.TagRvalueReferenceType,
	pdb.TypeMemberPointer:   dwarf.TagPtrToMemberType,
	pdb.TypeFunction:        dwarf.TagSubroutineType,
	pdb.TypeArray:           dwarf.TagArrayType,
	pdb.TypeVector:          dwarf.TagArrayType,
	pdb.TypeClass:           dwarf.TagClassType,
	pdb.TypeStruct:          dwarf.TagStructureType,
	pdb.TypeUnion:           dwarf.TagUnionType,
	pdb.TypeEnum:            dwarf.TagEnumerationType,
	pdb.TypeAlias:           dwarf.TagTypedef,
	pdb.TypeNullptr:         dwarf.TagUnspecifiedType,
}

var recordEncodings = [...]Encoding{
	pdb.BaseSigned:       EncSigned,
	pdb.BaseUnsigned:     EncUnsigned,
	pdb.BaseSignedChar:   EncSignedChar,
	pdb.BaseUnsignedChar: EncUnsignedChar,
	pdb.BaseUTF:          EncUTF,
	pdb.BaseBool:         EncBoolean,
	pdb.BaseFloat:        EncFloat,
	pdb.BaseComplex:      EncComplexFloat,
}

// readRecord reads the type of a record. A record that is damaged or of an unknown kind
// becomes an incomplete type named by its number.
func (set *Set) readRecord(ref Ref) *Type {
	t := &Type{set: set, Ref: ref, Language: ref.DB.lang}
	id := pdb.TypeID(ref.Off)
	rec, ok := ref.DB.plain(&id)
	tag := recordTags[rec.Kind]
	switch {
	case rec.Kind == pdb.TypeVoid:
		return t
	case !ok || tag == 0 && rec.Kind != pdb.TypeModifier:
		t.Tag, t.Declared, t.BareName = dwarf.TagStructureType, true, fmt.Sprintf("%#x", uint32(id))
		t.full = t.BareName
		return t
	}
	if set.qualifiedRecord(t, rec, id, int(ref.Off/qualifier)) {
		return t
	}
	t.Tag, t.ByteSize, t.full, t.Declared = tag, rec.Size, rec.Name, rec.Forward
	t.BareName, t.Encoding = t.full, recordEncodings[rec.Base]
	if !IsC(t.Language) {
		t.BareName = lastComponent(t.full)
	}
	if rec.Elem != 0 {
		t.Elem = ref.DB.Type(rec.Elem)
	}
	if rec.Class != 0 {
		t.Class = ref.DB.Type(rec.Class)
	}
	switch rec.Kind {
	case pdb.TypeEnum:
		under, _ := ref.DB.File.Type(rec.Elem)
		t.ByteSize = under.Size
	case pdb.TypeVector:
		t.Vector = true
	}
	return t
}

// plain reads a record and skips modifiers that do not change how values look.
func (db *Database) plain(id *pdb.TypeID) (rec pdb.Type, ok bool) {
	for range MaxChain {
		rec, ok = db.File.Type(*id)
		if rec.Kind != pdb.TypeModifier || rec.Quals != 0 {
			return rec, ok
		}
		*id = rec.Elem
	}
	return rec, false
}

var recordQualifiers = [...]struct {
	q   pdb.Qualifiers
	tag dwarf.Tag
}{{pdb.Const, dwarf.TagConstType}, {pdb.Volatile, dwarf.TagVolatileType}, {pdb.Restrict, dwarf.TagRestrictType}}

// qualifiedRecord makes t the next of a record's qualifiers, of which taken were already taken
// off. It returns false if there are no more. A modifier record has nothing else.
func (set *Set) qualifiedRecord(t *Type, rec pdb.Type, id pdb.TypeID, taken int) bool {
	n := 0
	for _, q := range recordQualifiers {
		if rec.Quals&q.q == 0 {
			continue
		}
		if n++; n == taken+1 {
			t.Tag = q.tag
		}
	}
	if taken >= n {
		return false
	}
	t.Elem = t.Ref.DB.Type(id)
	t.Elem.Off += uint64(taken+1) * qualifier
	if taken+1 == n && rec.Kind == pdb.TypeModifier {
		t.Elem = t.Ref.DB.Type(rec.Elem)
	}
	return true
}

// lastComponent is a name without the namespaces and classes around it.
func lastComponent(name string) string {
	depth, last := 0, 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<', '(', '`':
			depth++
		case '>', ')', '\'':
			depth = max(depth-1, 0)
		case ':':
			if depth == 0 && strings.HasPrefix(name[i:], "::") {
				last = i + 2
			}
		}
	}
	return name[last:]
}

// constantOf is an attribute whose value is a number.
func constantOf(n uint64) dwarf.Value { return dwarf.Value{Form: dwarf.FormUdata, U: n} }

// readRecords reads the members of t.
func (m *Members) readRecords(t *Type) {
	db := t.Ref.DB
	id := pdb.TypeID(t.Ref.Off)
	db.plain(&id)
	// Types of members and of what is pointed to are declarations as a rule.
	def, _ := db.File.Definition(id) // 0, which is void, if there is none
	rec, _ := db.File.Type(def)
	switch rec.Kind {
	case pdb.TypeArray:
		n := uint64(0)
		if size := db.size(rec.Elem); size > 0 {
			n = rec.Size / size
		}
		m.dims = []Dim{{count: constantOf(n)}}
	case pdb.TypeVector:
		m.dims = []Dim{{count: constantOf(rec.Count)}}
	case pdb.TypeFunction:
		for _, p := range db.File.Args(rec.Args) {
			if m.variadic = p == 0; !m.variadic {
				m.params = append(m.params, db.Type(p))
			}
		}
	default:
		var list []pdb.Member
		list, _ = db.File.Members(rec.Fields)
		for i := range list[:min(len(list), MaxMembers)] {
			m.record(db, &rec, &list[i])
		}
	}
}

// size returns the size of a type in bytes; 0 if it is not known.
func (db *Database) size(id pdb.TypeID) uint64 {
	for range MaxChain {
		rec, _ := db.plain(&id)
		switch {
		case rec.Kind == pdb.TypeModifier || rec.Kind == pdb.TypeAlias || rec.Kind == pdb.TypeEnum:
			id = rec.Elem
		case rec.Forward:
			id, _ = db.File.Definition(id) // 0, which is void, if there is none
		default:
			return rec.Size
		}
	}
	return 0
}

// A BaseTable says where the offset of a virtual base is. The class has a pointer to a table.
// In Microsoft's ABI the table has offsets of 4 bytes that count from the pointer. In the
// Itanium ABI it is the virtual table, and the offsets in front of it count from the object.
type BaseTable struct {
	Pointer, Index uint64
	Itanium        bool
}

// record adds one member.
func (m *Members) record(db *Database, of *pdb.Type, rec *pdb.Member) {
	f := Field{Name: rec.Name, Type: db.Type(rec.Type), Off: rec.Off}
	switch rec.Kind {
	case pdb.MemberEnumerator:
		m.Enums = append(m.Enums, Enumerator{rec.Name, rec.Value})
		return
	case pdb.MemberStatic:
		f.Static = true
	case pdb.MemberBase:
		f.Base = true
	case pdb.MemberVirtualBase:
		if rec.Indirect {
			return // a base has it, and shows it
		}
		f.Base, f.Virtual, f.Table = true, true, &BaseTable{rec.Off, rec.Index, strings.HasPrefix(of.Unique, "_ZT")}
	default:
		if t, _ := db.File.Type(rec.Type); t.Kind == pdb.TypeBitField {
			f.Type, f.Bits = db.Type(t.Elem), uint64(t.Bits)
			f.BitOff = 8*rec.Off + uint64(t.Bit)
			f.Off = f.BitOff / 8
		}
	}
	m.Fields = append(m.Fields, f)
}

// defined returns the definition of a type that is only declared where it is used; not valid if there is none.
func (db *Database) defined(ref Ref) Ref {
	if id, ok := db.File.Definition(pdb.TypeID(ref.Off)); ok {
		return db.Type(id)
	}
	return Ref{}
}
