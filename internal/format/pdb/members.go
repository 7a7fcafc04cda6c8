package pdb

// A MemberKind is the kind of a member of a type.
type MemberKind uint8

// The kinds of members. Member functions are not listed.
const (
	MemberData MemberKind = iota + 1
	MemberStatic
	MemberBase
	MemberVirtualBase // includes indirect ones, which the class has through another base
	MemberEnumerator
	MemberVTable // the pointer to the virtual function table, at offset 0
)

// A Member is a member, base class or enumerator of a type.
type Member struct {
	Kind MemberKind
	Name string
	Type TypeID
	// Off is the offset in bytes. For a virtual base it is the offset of the pointer to the
	// virtual base table, and Index is the index in that table (of four-byte entries) of
	// the base's distance from that pointer.
	Off, Index uint64
	Indirect   bool   // a virtual base of another base
	Value      uint64 // of an enumerator, sign-extended
}

// Kinds of records in a member list.
const (
	fieldBase        = 0x1400
	fieldVirtualBase = 0x1401
	fieldIndirect    = 0x1402
	fieldIndex       = 0x1404
	fieldVTable      = 0x1409
	fieldFriendClass = 0x140a
	fieldVFuncOff    = 0x140c
	fieldEnumerator  = 0x1502
	fieldFriend      = 0x150c
	fieldMember      = 0x150d
	fieldStatic      = 0x150e
	fieldMethods     = 0x150f
	fieldNested      = 0x1510
	fieldMethod      = 0x1511
	fieldNestedEx    = 0x1512
	fieldModify      = 0x1513
	fieldBaseIface   = 0x151a
)

// Limits on the members of one type and on the records over which they are spread.
const (
	maxMembers = 1 << 16
	maxLists   = 1 << 10
	maxNames   = 4 << 20 // bytes: a list may go on with itself
)

// Members lists the members of a type by its Fields, in order. A list that is too long for
// one record continues in others. virtual says that there are virtual functions. The list
// ends at a malformed record.
func (f *File) Members(fields TypeID) (list []Member, virtual bool) {
	t, err := f.types()
	if err != nil || fields == 0 {
		return nil, false
	}
	names := 0
	for n := 0; n < maxLists && names <= maxNames && fields != 0; n++ {
		kind, rec, ok := t.record(uint32(fields))
		if !ok || kind != leafFieldList {
			break
		}
		t.records.s.c.work.Add(int64(len(rec) / noteBytes))
		l := fieldList{b: rec, at: 4}
		for len(list) < maxMembers && names <= maxNames && l.next() {
			if names += len(l.m.Name); l.m.Kind != 0 && names <= maxNames {
				list = append(list, l.m)
			}
		}
		virtual = virtual || l.virtual
		fields = l.more
	}
	return list, virtual
}

// A fieldList reads the members in one record.
type fieldList struct {
	b       []byte
	at      int
	m       Member // Kind 0: a member that is not listed
	more    TypeID // where the list continues
	virtual bool
}

// next decodes one member. Each has at least four bytes; bytes of 0xf1 and higher pad it to
// a multiple of four.
func (l *fieldList) next() bool {
	for l.at < len(l.b) && l.b[l.at] >= 0xf0 {
		l.at++
	}
	l.m = Member{}
	b := l.b[l.at:]
	if len(b) < 8 {
		return false
	}
	end := 0 // offset in b
	typ := TypeID(le.Uint32(b[4:]))
	switch le.Uint16(b) {
	case fieldBase, fieldBaseIface:
		var off uint64
		off, end = numeric(b, 8)
		l.m = Member{Kind: MemberBase, Type: typ, Off: off}
	case fieldVirtualBase, fieldIndirect:
		end = l.virtualBase(b, typ)
	case fieldEnumerator:
		var v uint64
		var name string
		v, name, end = numericName(b, 4)
		l.m = Member{Kind: MemberEnumerator, Name: name, Value: v}
	case fieldMember:
		off, name, next := numericName(b, 8)
		end = next
		l.m = Member{Kind: MemberData, Type: typ, Off: off, Name: name}
	case fieldStatic:
		l.m = Member{Kind: MemberStatic, Type: typ, Name: cstring(b[8:])}
		end = 8 + len(l.m.Name) + 1
	case fieldIndex:
		l.more = typ
		return false // always the last
	case fieldVTable:
		l.virtual, end = true, 8
		l.m = Member{Kind: MemberVTable, Name: "__vfptr", Type: typ}
	case fieldFriendClass:
		end = 8
	case fieldVFuncOff:
		end = 12
	case fieldMethods, fieldNested, fieldNestedEx, fieldFriend, fieldModify:
		end = 8 + len(cstring(b[8:])) + 1
	case fieldMethod:
		end = 8
		if prop := le.Uint16(b[2:]) >> 2 & 7; prop == 4 || prop == 6 { // introduces a virtual function
			end = 12
			l.virtual = true
		}
		end += len(cstring(b[min(end, len(b)):])) + 1
	}
	if end == 0 || end > len(b)+1 {
		l.m = Member{}
		return false
	}
	l.at = min(l.at+end, len(l.b))
	if l.m.Kind == MemberData || l.m.Kind == MemberBase {
		if l.m.Off > maxOffset {
			return false
		}
	}
	return true
}

// maxOffset limits the offset of a member.
const maxOffset = 1<<31 - 1

func (l *fieldList) virtualBase(b []byte, typ TypeID) (end int) {
	if len(b) < 14 {
		return 0
	}
	off, at := numeric(b, 12)
	if at == 0 {
		return 0
	}
	index, end := numeric(b, at)
	l.m = Member{Kind: MemberVirtualBase, Type: typ, Off: off, Index: index, Indirect: le.Uint16(b) == fieldIndirect}
	if off > maxOffset || index > maxOffset/4 {
		return 0
	}
	return end
}
