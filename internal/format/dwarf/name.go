package dwarf

import "strings"

// The names of functions: attributes gathered along the chain from a function
// with code to its abstract instance and its declaration.

// FuncInfo is what the entries of a function say, wherever they are.
type FuncInfo struct {
	// Name is DW_AT_name. It has the enclosing namespaces and classes in front
	// ("ns::Class::method") where the language has them and LinkageName does
	// not tell them.
	Name string
	// LinkageName is the mangled name, "" for languages without.
	LinkageName string
	DeclFile    FileName
	DeclLine    int
	Noreturn    bool
	External    bool
	Artificial  bool // made by the compiler
	Declaration bool // the entry asked about is only a declaration
	// Origin is the last entry of the chain: the declaration within its
	// scope, or the entry itself.
	Origin DIE
	// Language is that of the unit that gave the name. A partial unit made by
	// dwz may have none.
	Language Language
}

// maxOrigins bounds the chain of abstract origins and specifications.
const maxOrigins = 16

// FuncInfo follows DW_AT_abstract_origin and DW_AT_specification from d, across
// units and into the supplementary file. The nearest entry that has an
// attribute decides.
func (d DIE) FuncInfo() FuncInfo { return d.funcInfo(false) }

// funcInfo is FuncInfo; top says that d is known to be outside all scopes.
func (d DIE) funcInfo(top bool) FuncInfo {
	f := d.rawInfo()
	if f.Name == "" || top && f.Origin == d || f.manglesScope() || f.Language.scopeless() {
		return f
	}
	// The declaration is in its scope; an out-of-line definition is not.
	if q := f.Origin.scopeName(); q != "" {
		f.Name = q + "::" + f.Name
	}
	return f
}

// rawInfo is FuncInfo without the scopes in the name.
func (d DIE) rawInfo() FuncInfo {
	var f FuncInfo
	at := d
	for i := 0; i < maxOrigins && at.Unit != nil; i++ {
		f.Origin = at
		hadName := f.Name != ""
		next := at.gather(&f, i == 0)
		if !hadName && f.Name != "" {
			f.Language = at.Unit.Language
		}
		at = next
	}
	return f
}

// manglesScope reports whether the linkage name is of a kind that demanglers
// turn into a qualified name.
func (f *FuncInfo) manglesScope() bool {
	return strings.HasPrefix(f.LinkageName, "_Z") || strings.HasPrefix(f.LinkageName, "_R")
}

// gather adds the attributes of one entry to f and returns the entry that goes
// on, if any.
func (d DIE) gather(f *FuncInfo, first bool) (next DIE) {
	var e Entry
	var v, name, origin, file Value
	u := d.Unit
	c := u.Cursor(d.Off)
	if !c.Next(&e) {
		return DIE{}
	}
	line := 0
	for c.Attr(&v) {
		switch v.Attr {
		case AttrName:
			name = v
		case AttrLinkageName, AttrMIPSLinkageName:
			if f.LinkageName == "" {
				f.LinkageName = u.Text(&v)
			}
		case AttrAbstractOrigin, AttrSpecification:
			origin = v
		case AttrDeclFile:
			file = v
		case AttrDeclLine:
			line = int(v.U)
		case AttrNoreturn:
			f.Noreturn = f.Noreturn || v.Flag()
		case AttrExternal:
			f.External = f.External || v.Flag()
		case AttrArtificial:
			f.Artificial = f.Artificial || v.Flag()
		case AttrDeclaration:
			f.Declaration = f.Declaration || first && v.Flag()
		}
	}
	if f.Name == "" {
		f.Name = u.Text(&name)
	}
	if f.DeclLine == 0 {
		f.DeclLine = line
	}
	if f.DeclFile.Name == "" && file.Present() {
		f.DeclFile = u.File(file.U)
	}
	if origin.Present() {
		if to, err := u.Ref(&origin); err == nil && to != d {
			return to
		}
	}
	return DIE{}
}
