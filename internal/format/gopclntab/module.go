package gopclntab

// A Module is what the program's runtime.moduledata says of the module that a table is of.
type Module struct {
	Text            uint64 // address that offsets of functions count from
	Types, EndTypes uint64 // where descriptions of types begin and end
	FuncData        uint64 // address that offsets of function data count from
}

// Places in runtime.moduledata, in words. The address of the table, then slices of its parts, each of three
// words; data of the sections follows. Go 1.20 added two words before wordsAfter118.
const (
	modNames  = 1
	modCUs    = 4
	modFiles  = 7
	modPCs    = 10
	modFuncs  = 13
	modIndex  = 16
	modMinPC  = 20
	modMaxPC  = 21
	modText   = 22
	modEText  = 23
	modTypes  = 35 // in Go 1.18
	modETypes = 36
	modGoFunc = 38
	modAdded  = 2 // words before modTypes in Go 1.20
	// ModuleWords is how many words of runtime.moduledata Module reads.
	ModuleWords = modGoFunc + modAdded + 1
)

// Module checks whether words, the first ones of what may be a runtime.moduledata, describe the table, which is
// at the address addr: all of its parts must be where the header has them, and the code of its functions where
// the index says. Types and EndTypes are 0 if they make no sense.
func (t *Table) Module(words []uint64, addr uint64) (Module, bool) {
	if len(words) < ModuleWords || words[0] != addr {
		return Module{}, false
	}
	for i, at := range [...]int{modNames, modCUs, modFiles, modPCs, modFuncs} {
		if words[at] != addr+uint64(t.offs[i]) || words[at+1] > words[at+2] {
			return Module{}, false
		}
	}
	m := Module{Text: words[modText]}
	if words[modIndex] != addr+uint64(t.offs[4]) || words[modIndex+1] != uint64(t.Funcs)+1 ||
		words[modMinPC] != m.Text+uint64(t.entryOff(0)) || words[modMaxPC] != m.Text+uint64(t.entryOff(t.Funcs)) ||
		words[modEText] < words[modMinPC] {
		return Module{}, false
	}
	added := 0
	if t.Version >= Go120 {
		added = modAdded
	}
	if types, end := words[modTypes+added], words[modETypes+added]; types < end {
		m.Types, m.EndTypes = types, end
	}
	m.FuncData = words[modGoFunc+added]
	return m, true
}
