package dwarfvars

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/pdb"
)

// Types that a PDB describes. They become Types as those of DWARF do: what walks
// and prints values knows no difference but where it asks for a typeRef's db.

// A database is a PDB, and a language whose functions it describes: the records of
// types do not say which language they are of.
type database struct {
	file *pdb.File
	lang dwarf.Language
}

func (set *Set) database(file *pdb.File, lang dwarf.Language) *database {
	key := database{file, lang}
	if v, ok := set.dbs.Load(key); ok {
		return v.(*database)
	}
	v, _ := set.dbs.LoadOrStore(key, &key)
	return v.(*database)
}

// qualifier says where in Off a typeRef of a record has the number of qualifiers
// that were taken from the type: one record may have several.
const qualifier = 1 << 32

// typ is the type with a number.
func (db *database) typ(id pdb.TypeID) typeRef {
	return typeRef{DIE: dwarf.DIE{Off: uint64(id)}, db: db}
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

var recordEncodings = [...]encoding{
	pdb.BaseSigned:       encSigned,
	pdb.BaseUnsigned:     encUnsigned,
	pdb.BaseSignedChar:   encSignedChar,
	pdb.BaseUnsignedChar: encUnsignedChar,
	pdb.BaseUTF:          encUTF,
	pdb.BaseBool:         encBoolean,
	pdb.BaseFloat:        encFloat,
	pdb.BaseComplex:      encComplexFloat,
}

// readRecord reads the type of a record. One that makes no sense, or that is of a
// kind not known, is an incomplete type named by its number.
func (set *Set) readRecord(ref typeRef) *Type {
	t := &Type{set: set, ref: ref, lang: ref.db.lang}
	id := pdb.TypeID(ref.Off)
	rec, ok := ref.db.plain(&id)
	tag := recordTags[rec.Kind]
	switch {
	case rec.Kind == pdb.TypeVoid:
		return t
	case !ok || tag == 0 && rec.Kind != pdb.TypeModifier:
		t.tag, t.decl, t.name = dwarf.TagStructureType, true, fmt.Sprintf("%#x", uint32(id))
		t.full = t.name
		return t
	}
	if set.qualifiedRecord(t, rec, id, int(ref.Off/qualifier)) {
		return t
	}
	t.tag, t.size, t.full, t.decl = tag, rec.Size, rec.Name, rec.Forward
	t.name = t.full
	if !isC(t.lang) {
		t.name = lastComponent(t.full)
	}
	if rec.Kind == pdb.TypeBase {
		t.enc = recordEncodings[rec.Base]
	}
	if rec.Elem != 0 {
		t.elem = ref.db.typ(rec.Elem)
	}
	if rec.Class != 0 {
		t.class = ref.db.typ(rec.Class)
	}
	switch rec.Kind {
	case pdb.TypeEnum:
		under, _ := ref.db.file.Type(rec.Elem)
		t.size = under.Size
	case pdb.TypeVector:
		t.vector = true
	case pdb.TypePointer:
		if rec.Size == 0 {
			t.size = uint64(set.arch.WordSize)
		}
	}
	return t
}

// plain reads a record, passing over those that modify a type in ways that do not
// show in its values.
func (db *database) plain(id *pdb.TypeID) (rec pdb.Type, ok bool) {
	for range maxTypeChain {
		rec, ok = db.file.Type(*id)
		if !ok || rec.Kind != pdb.TypeModifier || rec.Quals != 0 {
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

// qualifiedRecord makes t one of the qualifiers that a record has, after taken ones
// were looked at; false when there are no more. A modifier is nothing but them.
func (set *Set) qualifiedRecord(t *Type, rec pdb.Type, id pdb.TypeID, taken int) bool {
	n := 0
	for _, q := range recordQualifiers {
		if rec.Quals&q.q == 0 {
			continue
		}
		if n++; n == taken+1 {
			t.tag = q.tag
		}
	}
	if taken >= n {
		return false
	}
	t.elem = t.ref.db.typ(id)
	t.elem.Off += uint64(taken+1) * qualifier
	if taken+1 == n && rec.Kind == pdb.TypeModifier {
		t.elem = t.ref.db.typ(rec.Elem)
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
				i++
			}
		}
	}
	return name[last:]
}

// constantOf is an attribute whose value is a number.
func constantOf(n uint64) dwarf.Value { return dwarf.Value{Form: dwarf.FormUdata, U: n} }

// readRecords reads the members of t.
func (m *members) readRecords(t *Type) {
	db := t.ref.db
	id := pdb.TypeID(t.ref.Off)
	rec, ok := db.plain(&id)
	if !ok {
		return
	}
	if rec.Forward {
		// Types of members and of what is pointed to are declarations as a rule.
		def, _ := db.file.Definition(id)
		if rec, ok = db.file.Type(def); !ok || rec.Forward {
			return
		}
	}
	switch rec.Kind {
	case pdb.TypeArray:
		n := uint64(0)
		if size := db.size(rec.Elem); size > 0 {
			n = rec.Size / size
		}
		m.dims = []dim{{count: constantOf(n)}}
	case pdb.TypeVector:
		m.dims = []dim{{count: constantOf(rec.Count)}}
	case pdb.TypeFunction:
		for _, p := range db.file.Args(rec.Args) {
			if m.variadic = p == 0; !m.variadic {
				m.params = append(m.params, db.typ(p))
			}
		}
	default:
		var list []pdb.Member
		list, m.virtual = db.file.Members(rec.Fields)
		for i := range list[:min(len(list), maxMembers)] {
			m.record(db, &rec, &list[i])
		}
	}
}

// size is the size of a type that needs no frame to be known.
func (db *database) size(id pdb.TypeID) uint64 {
	for range maxTypeChain {
		rec, ok := db.plain(&id)
		switch {
		case !ok:
			return 0
		case rec.Kind == pdb.TypeModifier || rec.Kind == pdb.TypeAlias || rec.Kind == pdb.TypeEnum:
			id = rec.Elem
		case rec.Forward:
			if id, ok = db.file.Definition(id); !ok {
				return 0
			}
		default:
			return rec.Size
		}
	}
	return 0
}

// A baseTable is where the offset of a virtual base is. The class has a pointer: in
// Microsoft's ABI to a table of offsets from that pointer, of 4 bytes; in that of
// Itanium to the table of virtual functions, with offsets from the object in front.
type baseTable struct {
	pointer, index uint64
	itanium        bool
}

// record adds one member.
func (m *members) record(db *database, of *pdb.Type, rec *pdb.Member) {
	f := field{name: rec.Name, typ: db.typ(rec.Type), off: rec.Off}
	switch rec.Kind {
	case pdb.MemberEnumerator:
		m.enums = append(m.enums, enumerator{rec.Name, rec.Value})
		return
	case pdb.MemberStatic:
		f.static = true
	case pdb.MemberBase:
		f.base = true
	case pdb.MemberVirtualBase:
		if rec.Indirect {
			return // a base has it, and shows it
		}
		f.base, f.virtual, f.table = true, true, &baseTable{rec.Off, rec.Index, strings.HasPrefix(of.Unique, "_ZT")}
	case pdb.MemberVTable:
		f.artificial = true
	default:
		if t, _ := db.file.Type(rec.Type); t.Kind == pdb.TypeBitField {
			f.typ, f.bits = db.typ(t.Elem), uint64(t.Bits)
			f.bitOff = 8*rec.Off + uint64(t.Bit)
			f.off = f.bitOff / 8
		}
	}
	m.fields = append(m.fields, f)
}

// defined is the definition of a type that is only declared where it is used.
func (set *Set) defined(t *Type) (*Type, bool) {
	if v, ok := set.completed.Load(t.ref); ok {
		ref := v.(typeRef)
		return set.typeOf(ref), ref.Valid()
	}
	var ref typeRef
	if id, ok := t.ref.db.file.Definition(pdb.TypeID(t.ref.Off)); ok && id != pdb.TypeID(t.ref.Off) {
		ref = t.ref.db.typ(id)
	}
	set.completed.Store(t.ref, ref)
	return set.typeOf(ref), ref.Valid()
}
