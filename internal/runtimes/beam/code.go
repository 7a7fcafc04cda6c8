package beam

import (
	"errors"
	"sort"
	"strconv"
	"strings"
)

// A codeRange is the code of a module: from its header to its end.
type codeRange struct{ start, end uint64 }

// Limits on what memory can ask for.
const (
	maxModules   = 1 << 17
	maxFunctions = 1 << 20
	maxLines     = 1 << 22
	maxAtoms     = 1 << 26
	maxAtom      = 1020 // bytes: 255 characters
	maxArity     = 255
)

// atomPage is how many atoms each part of their table has.
const atomPage = 1024

// openCode finds the list of modules. It has no symbol: it is near what its file has besides, which has one.
func (r *runtime) openCode() error {
	const reach = 1 << 14
	near, active := r.symbol("erts_dump_lit_areas"), r.symbol("the_active_code_index")
	version, ok := r.U32(active)
	if near == 0 || !ok || uint64(version) >= r.at("code.versions") {
		return errors.New("it does not say where its code is")
	}
	const structure = 4 * 8 // modules, how many there are and may be, where to begin
	words := r.Some(near&^7-reach, 2*reach)
	size := structure * int(r.at("code.versions"))
next:
	for at := 0; at+size <= len(words); at += 8 {
		for i := at; i < at+size; i += structure { // all versions of the list: one alone would not tell which it is
			if !r.isRanges(words[i:]) {
				continue next
			}
		}
		if err := r.readRanges(words[at+structure*int(version):]); err == nil {
			return nil
		}
	}
	return errors.New("memory does not agree with the table of its version: it has no list of modules")
}

// isRanges reports whether words may be a list of modules: its middle is within it.
func (r *runtime) isRanges(b []byte) bool {
	list, n, most, middle := r.Arch.Word(b), r.Arch.Word(b[8:]), r.Arch.Word(b[16:]), r.Arch.Word(b[24:])
	return list >= lowest && list%8 == 0 && n > 0 && n <= most && most <= maxModules && middle-list <= 16*n && (middle-list)%16 == 0
}

// readRanges reads a list of modules: they follow one another, and the first one has the functions that it says.
func (r *runtime) readRanges(b []byte) error {
	words, ok := r.Words(r.Arch.Word(b), 2*int(r.Arch.Word(b[8:])))
	if !ok {
		return errors.New("the list of its modules is not there")
	}
	list := make([]codeRange, 0, len(words)/2)
	last := uint64(0)
	for i := 0; i < len(words); i += 2 {
		c := codeRange{words[i], words[i+1]}
		if c.start < last || c.end < c.start || c.start%8 != 0 || c.start < lowest {
			return errors.New("the list of its modules is damaged")
		}
		last = max(last, c.end)
		if c.start < c.end { // else it was unloaded
			list = append(list, c)
		}
	}
	if len(list) == 0 || !r.hasFunctions(list[0]) {
		return errors.New("the list of its modules is damaged")
	}
	r.modules = list
	return nil
}

// hasFunctions reports whether a module has a first function, with the name of a module.
func (r *runtime) hasFunctions(c codeRange) bool {
	n := r.field(c.start, "code.count")
	first := r.Word(c.start + r.at("code.functions"))
	if n == 0 || n > maxFunctions || first < c.start || first >= c.end {
		return false
	}
	return r.atomOf(r.Word(first+r.at("info.function")+r.at("function.module"))) != ""
}

// moduleAt finds the module whose code is at an address.
func (r *runtime) moduleAt(pc uint64) (codeRange, bool) {
	i := sort.Search(len(r.modules), func(i int) bool { return r.modules[i].end > pc })
	if i == len(r.modules) || pc < r.modules[i].start {
		return codeRange{}, false
	}
	return r.modules[i], true
}

// A place is a function and a line of it.
type place struct {
	module, function string
	arity            int
	file             string
	line             int
}

// name is the name of a function, as Erlang writes it.
func (p *place) name() string {
	return quoteAtom(p.module) + ":" + quoteAtom(p.function) + "/" + strconv.Itoa(p.arity)
}

// placeAt finds the function of code, and its line; nil if it is of none.
func (r *runtime) placeAt(pc uint64) *place {
	return r.functions.Get(pc, func() *place {
		c, ok := r.moduleAt(pc)
		if !ok {
			return nil
		}
		first, n := c.start+r.at("code.functions"), r.field(c.start, "code.count")
		if n == 0 || n > maxFunctions {
			return nil
		}
		i := r.search(first, int(n), pc)
		if i < 0 {
			return nil
		}
		p := r.function(r.Word(first+8*uint64(i)) + r.at("info.function"))
		if p == nil {
			return nil
		}
		p.file, p.line = r.lineOf(c, i, pc, p.module)
		return p
	})
}

// search finds the last of n+1 addresses of code, in their order, that is not behind pc; -1 if pc is before or behind all of them.
func (r *runtime) search(at uint64, n int, pc uint64) int {
	low, high := 0, n
	for low < high {
		middle := low + (high-low)/2
		b := r.Bytes(at+8*uint64(middle), 16)
		if b == nil {
			return -1
		}
		switch {
		case pc < r.Arch.Word(b):
			high = middle
		case pc < r.Arch.Word(b[8:]):
			return middle
		default:
			low = middle + 1
		}
	}
	return -1
}

// function reads the name of a function; nil if there is none.
func (r *runtime) function(at uint64) *place {
	words, ok := r.Words(at, 3)
	if !ok || at < lowest {
		return nil
	}
	word := func(name string) uint64 {
		if i := r.at(name) / 8; i < 3 {
			return words[i]
		}
		return 0
	}
	p := &place{module: r.atomOf(word("function.module")), function: r.atomOf(word("function.name"))}
	arity := word("function.arity")
	if p.module == "" || p.function == "" || arity > maxArity {
		return nil
	}
	p.arity = int(arity)
	return p
}

// lineOf finds the file and the line of code of the i-th function of a module; 0 if it is not known.
func (r *runtime) lineOf(c codeRange, i int, pc uint64, module string) (file string, line int) {
	lines := r.field(c.start, "code.lines")
	if lines == 0 {
		return "", 0
	}
	tables := lines + r.at("lines.functions")
	begins := r.Word(tables)
	b := r.Bytes(tables+8*uint64(i), 16)
	if b == nil {
		return "", 0
	}
	from, to := r.Arch.Word(b), r.Arch.Word(b[8:])
	if begins < lowest || from < begins || to < from || (to-begins)/8 > maxLines {
		return "", 0
	}
	k := r.search(from, int((to-from)/8), pc)
	if k < 0 {
		return "", 0
	}
	index := (from-begins)/8 + uint64(k)
	locations := r.field(lines, "lines.locations")
	var location uint64
	switch size := r.number(lines, "lines.size"); size {
	case 2, 4:
		location, _ = r.Uint(locations+uint64(size)*index, int(size))
	}
	if location == 0 {
		return "", 0
	}
	if n := location >> 24; n > 0 {
		file = r.atomOf(r.Word(r.field(lines, "lines.files") + 8*(n-1)))
	} else {
		file = module + ".erl"
	}
	return file, int(location & (1<<24 - 1))
}

// atomOf is the text of an atom; "" if a term is none.
func (r *runtime) atomOf(term uint64) string {
	s, _ := r.atomText(term)
	return s
}

// atomText is the text of an atom; false if a term is none.
func (r *runtime) atomText(term uint64) (string, bool) {
	if term&mask6 != tagAtom {
		return "", false
	}
	s := r.atom(term >> 6)
	if s == nil {
		return "", false
	}
	return *s, true
}

// atom is the text of an atom by its number; nil if there is none.
func (r *runtime) atom(n uint64) *string {
	return r.names.Get(n, func() *string {
		if r.atoms == 0 || n >= maxAtoms || n >= uint64(r.number(r.atoms, "index.entries")) {
			return nil
		}
		page := r.Word(r.field(r.atoms, "index.segments") + 8*(n/atomPage))
		at := r.Word(page + 8*(n%atomPage))
		if at < lowest || at%8 != 0 || uint64(r.number(at, "atom.index")) != n {
			return nil
		}
		length, _ := r.U16(at + r.at("atom.length"))
		name := r.field(at, "atom.name")
		b := r.Bytes(name, int(length))
		if length > maxAtom || len(b) < int(length) {
			return nil
		}
		s := strings.ToValidUTF8(string(b), "?")
		return &s
	})
}
