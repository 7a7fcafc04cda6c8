package dwarf

import (
	stddwarf "debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The standard library reads the same files independently: both must find the same
// functions, inlined calls and lines.

// maxOracleInfo is the maximum size of .debug_info that is read completely.
const maxOracleInfo = 8 << 20

func TestAgainstStandardLibrary(t *testing.T) {
	described(t, func(path string, s elfSource) bool {
		if s.f.Section(".debug_info").Size <= maxOracleInfo {
			t.Run(path, func(t *testing.T) { compareWithOracle(t, s) })
		}
		return true
	})
}

// described calls yield for the fixtures' files with their own debug information, with
// their relative paths, until yield returns false.
func described(t *testing.T, yield func(path string, s elfSource) bool) {
	t.Helper()
	const cores = "../../../testdata/cores/"
	files, err := filepath.Glob(cores + "*/*")
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, path := range files {
		if !isELF(path) {
			continue
		}
		s := readELF(t, path)
		if s.f.Type == elf.ET_CORE || s.f.Section(".debug_info") == nil {
			continue
		}
		if done++; !yield(strings.TrimPrefix(path, cores), s) {
			return
		}
	}
	if done == 0 {
		t.Skip("no ELF files with debugging information in testdata/cores")
	}
}

func isELF(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == elf.ELFMAG
}

func compareWithOracle(t *testing.T, s elfSource) {
	std, err := s.f.DWARF()
	if err != nil {
		t.Skipf("the standard library cannot read it: %v", err)
	}
	o := &oracle{d: std}
	o.low, o.high = textOf(s.f)
	if err := o.read(); err != nil {
		t.Skipf("the standard library cannot read it: %v", err)
	}
	d := s.data()
	checked, known := 0, 0
	for _, sec := range s.f.Sections {
		if sec.Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		step := sec.Size/1500 + 1
		for pc := sec.Addr; pc < sec.Addr+sec.Size; pc += step {
			want, sure := o.frames(pc)
			if !sure {
				continue
			}
			calls, err := d.Frames(pc, nil)
			if err != nil && !errors.Is(err, ErrNotFound) {
				t.Fatalf("%#x: %v", pc, err)
			}
			got := describe(calls)
			if got != want {
				t.Errorf("%#x:\n got %s\nwant %s", pc, got, want)
			}
			checked++
			if want != "" {
				known++
			}
		}
	}
	t.Logf("%d addresses, %d of them in known functions", checked, known)
}

// describe formats calls for comparison, innermost first. The line of approximate rows is
// omitted: the standard library has 0 there.
func describe(calls []Call) string {
	var b strings.Builder
	for _, c := range calls {
		if !c.Func.Valid() {
			continue
		}
		line := c.Line
		if c.ApproxLine {
			line = 0
		}
		name := c.LinkageName
		if name == "" {
			name = c.Name[strings.LastIndex(c.Name, "::")+1:]
			name = strings.TrimPrefix(name, ":")
		}
		fmt.Fprintf(&b, "%s at %s:%d:%d inlined=%v; ", name, c.File.Name[strings.LastIndexByte(c.File.Name, '/')+1:], line, c.Column, c.Inlined)
	}
	return b.String()
}

type oracle struct {
	d         *stddwarf.Data
	low, high uint64
	funcs     []*oracleFunc
	rows      []oracleSeq
}

// An oracleFunc is a function, an inlined call or a block.
type oracleFunc struct {
	entry  *stddwarf.Entry
	unit   *oracleUnit
	ranges [][2]uint64
	kids   []*oracleFunc
}

type oracleUnit struct {
	entry *stddwarf.Entry
	files []*stddwarf.LineFile
}

type oracleSeq struct {
	low, high uint64
	rows      []stddwarf.LineEntry
}

func (o *oracle) read() error {
	r := o.d.Reader()
	for {
		e, err := r.Next()
		if err != nil {
			return err
		}
		if e == nil {
			return nil
		}
		u := &oracleUnit{entry: e}
		if err := o.readLines(u); err != nil {
			return err
		}
		if e.Children {
			if err := o.readKids(r, u, nil); err != nil {
				return err
			}
		}
	}
}

// readKids reads the children of an entry; blocks of a function go to parent.
func (o *oracle) readKids(r *stddwarf.Reader, u *oracleUnit, parent *oracleFunc) error {
	for {
		e, err := r.Next()
		if err != nil {
			return err
		}
		if e == nil || e.Tag == 0 {
			return nil
		}
		at := parent
		switch e.Tag {
		case stddwarf.TagSubprogram, stddwarf.TagInlinedSubroutine, stddwarf.TagLexDwarfBlock:
			ranges, err := o.d.Ranges(e)
			if err != nil {
				return err
			}
			at = &oracleFunc{entry: e, unit: u}
			for _, x := range ranges {
				if x[0] >= o.low && x[0] < o.high {
					at.ranges = append(at.ranges, x)
				}
			}
			if e.Tag == stddwarf.TagSubprogram {
				o.funcs = append(o.funcs, at)
			} else if parent != nil {
				parent.kids = append(parent.kids, at)
			}
		}
		if e.Children {
			if err := o.readKids(r, u, at); err != nil {
				return err
			}
		}
	}
}

func (o *oracle) readLines(u *oracleUnit) error {
	lr, err := o.d.LineReader(u.entry)
	if err != nil || lr == nil {
		return err
	}
	var seq oracleSeq
	var row stddwarf.LineEntry
	for {
		if err := lr.Next(&row); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if len(seq.rows) == 0 {
			seq.low = row.Address
		}
		seq.rows = append(seq.rows, row)
		if row.EndSequence {
			seq.high = row.Address
			if seq.low >= o.low && seq.low < o.high && u.entry.Tag == stddwarf.TagCompileUnit {
				o.rows = append(o.rows, seq)
			}
			seq = oracleSeq{}
		}
	}
	u.files = lr.Files()
	return nil
}

func (f *oracleFunc) covers(pc uint64) bool {
	for _, r := range f.ranges {
		if r[0] <= pc && pc < r[1] {
			return true
		}
	}
	return false
}

// frames describes the calls at pc; sure is false if several answers are right.
func (o *oracle) frames(pc uint64) (string, bool) {
	var fn *oracleFunc
	for _, f := range o.funcs {
		if f.covers(pc) {
			if fn != nil {
				return "", false
			}
			fn = f
		}
	}
	if fn == nil {
		return "", true
	}
	file, line, col := "", 0, 0
	n := 0
	for i := range o.rows {
		s := &o.rows[i]
		if pc < s.low || pc >= s.high {
			continue
		}
		if n++; n > 1 {
			return "", false
		}
		for _, row := range s.rows {
			if row.Address > pc {
				break
			}
			file, line, col = baseName(row.File), row.Line, row.Column
		}
	}
	if line == 0 {
		return "", false
	}
	var path []*oracleFunc
	for at := fn; at != nil; at = at.kidAt(pc) {
		path = append(path, at)
	}
	var b strings.Builder
	for i := len(path) - 1; i >= 0; i-- {
		f := path[i]
		inlined := f.entry.Tag == stddwarf.TagInlinedSubroutine
		fmt.Fprintf(&b, "%s at %s:%d:%d inlined=%v; ", o.name(f.entry), file, line, col, inlined)
		if inlined {
			file, line, col = f.callSite()
		}
	}
	return b.String(), true
}

// kidAt returns the next inlined call at pc, which may be in a block or beside it.
func (f *oracleFunc) kidAt(pc uint64) *oracleFunc {
	for _, k := range f.kids {
		if len(k.ranges) > 0 && !k.covers(pc) {
			continue
		}
		if k.entry.Tag == stddwarf.TagInlinedSubroutine {
			return k
		}
		if g := k.kidAt(pc); g != nil {
			return g
		}
	}
	return nil
}

func (f *oracleFunc) callSite() (file string, line, col int) {
	num := func(a stddwarf.Attr) int64 { n, _ := f.entry.Val(a).(int64); return n }
	if i := num(stddwarf.AttrCallFile); i >= 0 && int(i) < len(f.unit.files) {
		file = baseName(f.unit.files[i])
	}
	return file, int(num(stddwarf.AttrCallLine)), int(num(stddwarf.AttrCallColumn))
}

func baseName(f *stddwarf.LineFile) string {
	if f == nil {
		return ""
	}
	return f.Name[strings.LastIndexByte(f.Name, '/')+1:]
}

// name is the linkage name of an entry, or else its name, wherever they are.
func (o *oracle) name(e *stddwarf.Entry) string {
	name, linkage := "", ""
	for range 8 {
		for _, a := range []stddwarf.Attr{stddwarf.AttrLinkageName, 0x2007} {
			if s, ok := e.Val(a).(string); ok && linkage == "" {
				linkage = s
			}
		}
		if s, ok := e.Val(stddwarf.AttrName).(string); ok && name == "" {
			name = s
		}
		off, ok := e.Val(stddwarf.AttrAbstractOrigin).(stddwarf.Offset)
		if !ok {
			if off, ok = e.Val(stddwarf.AttrSpecification).(stddwarf.Offset); !ok {
				break
			}
		}
		r := o.d.Reader()
		r.Seek(off)
		next, err := r.Next()
		if err != nil || next == nil {
			break
		}
		e = next
	}
	if linkage != "" {
		return linkage
	}
	name = name[strings.LastIndex(name, "::")+1:]
	return strings.TrimPrefix(name, ":")
}
