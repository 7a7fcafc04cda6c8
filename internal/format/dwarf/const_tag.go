package dwarf

// A Tag is the kind of a debugging information entry (DWARF 5, 7.5.3). Zero is the null
// entry at the end of a list of siblings.
type Tag uint16

// Tags of DWARF 2 to 5, and the vendor tags used by gcc, clang, rustc, Go and dwz.
const (
	TagArrayType              Tag = 0x01
	TagClassType              Tag = 0x02
	TagEntryPoint             Tag = 0x03
	TagEnumerationType        Tag = 0x04
	TagFormalParameter        Tag = 0x05
	TagImportedDeclaration    Tag = 0x08
	TagLabel                  Tag = 0x0a
	TagLexicalBlock           Tag = 0x0b
	TagMember                 Tag = 0x0d
	TagPointerType            Tag = 0x0f
	TagReferenceType          Tag = 0x10
	TagCompileUnit            Tag = 0x11
	TagStringType             Tag = 0x12
	TagStructureType          Tag = 0x13
	TagSubroutineType         Tag = 0x15
	TagTypedef                Tag = 0x16
	TagUnionType              Tag = 0x17
	TagUnspecifiedParameters  Tag = 0x18
	TagVariant                Tag = 0x19
	TagCommonBlock            Tag = 0x1a
	TagCommonInclusion        Tag = 0x1b
	TagInheritance            Tag = 0x1c
	TagInlinedSubroutine      Tag = 0x1d
	TagModule                 Tag = 0x1e
	TagPtrToMemberType        Tag = 0x1f
	TagSetType                Tag = 0x20
	TagSubrangeType           Tag = 0x21
	TagWithStmt               Tag = 0x22
	TagAccessDeclaration      Tag = 0x23
	TagBaseType               Tag = 0x24
	TagCatchBlock             Tag = 0x25
	TagConstType              Tag = 0x26
	TagConstant               Tag = 0x27
	TagEnumerator             Tag = 0x28
	TagFileType               Tag = 0x29
	TagFriend                 Tag = 0x2a
	TagNamelist               Tag = 0x2b
	TagNamelistItem           Tag = 0x2c
	TagPackedType             Tag = 0x2d
	TagSubprogram             Tag = 0x2e
	TagTemplateTypeParameter  Tag = 0x2f
	TagTemplateValueParameter Tag = 0x30
	TagThrownType             Tag = 0x31
	TagTryBlock               Tag = 0x32
	TagVariantPart            Tag = 0x33
	TagVariable               Tag = 0x34
	TagVolatileType           Tag = 0x35
	TagDwarfProcedure         Tag = 0x36
	TagRestrictType           Tag = 0x37
	TagInterfaceType          Tag = 0x38
	TagNamespace              Tag = 0x39
	TagImportedModule         Tag = 0x3a
	TagUnspecifiedType        Tag = 0x3b
	TagPartialUnit            Tag = 0x3c
	TagImportedUnit           Tag = 0x3d
	TagCondition              Tag = 0x3f
	TagSharedType             Tag = 0x40
	TagTypeUnit               Tag = 0x41
	TagRvalueReferenceType    Tag = 0x42
	TagTemplateAlias          Tag = 0x43
	TagCoarrayType            Tag = 0x44
	TagGenericSubrange        Tag = 0x45
	TagDynamicType            Tag = 0x46
	TagAtomicType             Tag = 0x47
	TagCallSite               Tag = 0x48
	TagCallSiteParameter      Tag = 0x49
	TagSkeletonUnit           Tag = 0x4a
	TagImmutableType          Tag = 0x4b

	TagGNUTemplateTemplateParameter Tag = 0x4106
	TagGNUTemplateParameterPack     Tag = 0x4107
	TagGNUFormalParameterPack       Tag = 0x4108
	TagGNUCallSite                  Tag = 0x4109
	TagGNUCallSiteParameter         Tag = 0x410a
)

// A UnitType is the DW_UT_ code in a unit's header. Headers before DWARF 5 have none. Their
// units in .debug_info are UnitCompile unless the first entry says partial or skeleton;
// units in .debug_types are UnitTypes.
type UnitType uint8

// Unit types (DWARF 5, 7.5.1).
const (
	UnitCompile      UnitType = 0x01
	UnitTypes        UnitType = 0x02
	UnitPartial      UnitType = 0x03
	UnitSkeleton     UnitType = 0x04
	UnitSplitCompile UnitType = 0x05
	UnitSplitTypes   UnitType = 0x06
)

// A Language is the value of DW_AT_language (DWARF 5, 7.12, and later
// assignments).
type Language uint16

// Languages that need special treatment of names.
const (
	LangC89       Language = 0x01
	LangC         Language = 0x02
	LangAda83     Language = 0x03
	LangCPlusPlus Language = 0x04
	LangCobol74   Language = 0x05
	LangFortran77 Language = 0x07
	LangFortran90 Language = 0x08
	LangPascal83  Language = 0x09
	LangModula2   Language = 0x0a
	LangC99       Language = 0x0c
	LangAda95     Language = 0x0d
	LangFortran95 Language = 0x0e
	LangObjC      Language = 0x10
	LangObjCPlus  Language = 0x11
	LangD         Language = 0x13
	LangGo        Language = 0x16
	LangCPlus03   Language = 0x19
	LangCPlus11   Language = 0x1a
	LangRust      Language = 0x1c
	LangC11       Language = 0x1d
	LangSwift     Language = 0x1e
	LangCPlus14   Language = 0x21
	LangFortran03 Language = 0x22
	LangFortran08 Language = 0x23
	LangZig       Language = 0x27
	LangCPlus17   Language = 0x2a
	LangCPlus20   Language = 0x2b
	LangC17       Language = 0x2c
	LangFortran18 Language = 0x2d
	LangAda2005   Language = 0x2e
	LangAda2012   Language = 0x2f
	LangAssembly  Language = 0x31
	LangC23       Language = 0x3e
	LangMipsAsm   Language = 0x8001
)

// scopeless reports whether function names of the language are shown without enclosing
// scopes: either there are none, or the name includes them.
func (l Language) scopeless() bool {
	switch l {
	case LangC89, LangC, LangC99, LangC11, LangC17, LangC23, LangGo, LangAssembly, LangMipsAsm, LangObjC,
		LangAda83, LangAda95, LangAda2005, LangAda2012:
		return true
	}
	return false
}
