// Package breakpad reads Breakpad symbol files (.sym), which contain the names, lines,
// inlined calls and unwind rules of a module as text. Specification:
// https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/docs/symbol_files.md
//
// The symbol file of a browser has some hundred megabytes. Parse scans it once and records
// where the records of each address are, 16 bytes for each FUNC, PUBLIC, STACK, FILE and
// INLINE_ORIGIN record. Records are decoded on demand. Addresses are offsets from the
// module's load address.
//
// Malformed records are skipped and counted. A File does not change after Parse and is safe
// for concurrent use. If the bytes are a mapped file, callers must guard against its
// truncation (mmapfile.Guard).
package breakpad

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync/atomic"
)

// ErrFormat is wrapped by errors about files that are not symbol files and about malformed
// records.
var ErrFormat = errors.New("malformed Breakpad symbol file")

// maxOverlap limits how many records that begin at or before an address are examined to
// resolve overlapping ranges.
const maxOverlap = 64

// A File is an indexed symbol file.
type File struct {
	OS, Arch  string // as in the MODULE record: "Linux", "x86_64"
	ID        string // debug identifier: GUID and age, in hexadecimal
	Name      string // name of the debug file: "xul.pdb"
	CodeID    string // from INFO CODE_ID: build-id, or time stamp and size of a PE image; may be empty
	CodeFile  string // the file named by INFO CODE_ID; may be empty
	Generator string // from INFO GENERATOR; may be empty

	Skipped    int // number of records with a malformed beginning
	FirstError int // file offset of the first of them

	data                            []byte
	funcs, publics, cfi, win0, win4 []entry // sorted by address
	files, origins                  []entry // sorted by number
	work                            atomic.Int64
}

// What reading records costs, in Work: each line that is looked for, each that is taken apart, and each inlined call that is kept.
const (
	lineCost    = 2
	findBytes   = 64 // that are searched for the end of a line, for one unit
	parseBytes  = 2
	inlinedCost = 32
)

// Work returns how much the look-ups have read so far: the author of a file decides how many records a look-up has to go through.
// It only grows.
func (f *File) Work() int64 { return f.work.Load() }

// found counts a line that was looked for, and parsed one that is taken apart.
func (f *File) found(line []byte)  { f.work.Add(int64(lineCost + len(line)/findBytes)) }
func (f *File) parsed(line []byte) { f.work.Add(int64(lineCost + len(line)/parseBytes)) }

// An entry is the offset in the file of the record for a key.
type entry struct{ key, off uint64 }

func (e entry) compare(x entry) int {
	if c := cmp.Compare(e.key, x.key); c != 0 {
		return c
	}
	return cmp.Compare(e.off, x.off)
}

var space = []byte(" ")

// Parse indexes a symbol file. The first record must be MODULE. data must not change while
// the File is in use.
func Parse(data []byte) (*File, error) {
	f := &File{data: data}
	first, _ := cutLine(data)
	module, ok := bytes.CutPrefix(first, []byte("MODULE "))
	if !ok {
		return nil, fmt.Errorf("first record is not MODULE: %w", ErrFormat)
	}
	if f.OS, module = word(module); f.OS != "" {
		f.Arch, module = word(module)
	}
	f.ID, module = word(module)
	f.Name = string(bytes.TrimSpace(module))
	if f.ID == "" {
		return nil, fmt.Errorf("MODULE record has no identifier: %w", ErrFormat)
	}
	if err := f.index(); err != nil {
		return nil, err
	}
	for _, list := range []*[]entry{&f.funcs, &f.publics, &f.cfi, &f.win0, &f.win4, &f.files, &f.origins} {
		if !slices.IsSortedFunc(*list, entry.compare) {
			slices.SortFunc(*list, entry.compare)
		}
		*list = slices.Clip(*list)
	}
	return f, nil
}

// index scans all lines. Most are line records, which begin with a digit or a lower-case
// letter; of those it only looks for the end.
func (f *File) index() error {
	data := f.data
	for off := 0; off < len(data); {
		end := bytes.IndexByte(data[off:], '\n')
		next := off + end + 1
		if end < 0 {
			next = len(data)
		}
		switch c := data[off]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c == '\n', c == '\r':
		case c == 'M' && off > 0 && bytes.HasPrefix(data[off:next], []byte("MODULE ")):
			return fmt.Errorf("second MODULE record at offset %#x: %w", off, ErrFormat)
		case !f.record(data[off:next], off):
			if f.Skipped++; f.Skipped == 1 {
				f.FirstError = off
			}
		}
		off = next
	}
	return nil
}

// record indexes the record in line, which begins at off.
func (f *File) record(line []byte, off int) bool {
	switch line[0] {
	case 'F':
		if rest, ok := bytes.CutPrefix(line, []byte("FUNC ")); ok {
			return note(&f.funcs, bytes.TrimPrefix(rest, []byte("m ")), off, 16)
		}
		if rest, ok := bytes.CutPrefix(line, []byte("FILE ")); ok {
			return note(&f.files, rest, off, 10)
		}
	case 'P':
		if rest, ok := bytes.CutPrefix(line, []byte("PUBLIC ")); ok {
			return note(&f.publics, bytes.TrimPrefix(rest, []byte("m ")), off, 16)
		}
	case 'I':
		if bytes.HasPrefix(line, []byte("INLINE ")) {
			return true
		}
		if rest, ok := bytes.CutPrefix(line, []byte("INLINE_ORIGIN ")); ok {
			return note(&f.origins, rest, off, 10)
		}
		if rest, ok := bytes.CutPrefix(line, []byte("INFO ")); ok {
			f.info(rest)
			return true
		}
	case 'S':
		return f.stack(line, off)
	case 'M':
		return off == 0
	}
	return false
}

func (f *File) stack(line []byte, off int) bool {
	if rest, ok := bytes.CutPrefix(line, []byte("STACK CFI ")); ok {
		if rest, ok = bytes.CutPrefix(rest, []byte("INIT ")); ok {
			return note(&f.cfi, rest, off, 16)
		}
		return len(rest) > 0 && digits[rest[0]] < 16
	}
	rest, ok := bytes.CutPrefix(line, []byte("STACK WIN "))
	if !ok || len(rest) < 3 || rest[1] != ' ' {
		return false
	}
	switch rest[0] {
	case '0':
		return note(&f.win0, rest[2:], off, 16)
	case '4':
		return note(&f.win4, rest[2:], off, 16)
	}
	return rest[0] >= '1' && rest[0] <= '3' // traps and task gates are not needed
}

func (f *File) info(rest []byte) {
	kind, rest := word(rest)
	switch kind {
	case "CODE_ID":
		f.CodeID, rest = word(rest)
		f.CodeFile = string(bytes.TrimSpace(rest))
	case "GENERATOR":
		f.Generator = string(bytes.TrimSpace(rest))
	}
}

func note(list *[]entry, field []byte, off int, base uint64) bool {
	key, _, ok := number(field, base)
	if ok {
		*list = append(*list, entry{key, uint64(off)})
	}
	return ok
}

// number parses a number at the beginning of s and skips the separator after it. It returns
// false if there is none or if it does not fit 64 bits.
func number(s []byte, base uint64) (v uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(s); i++ {
		d := uint64(digits[s[i]])
		if d >= base {
			break
		}
		if i >= 16 && v > (1<<64-1-d)/base {
			return 0, s, false
		}
		v = v*base + d
	}
	if i == 0 || i < len(s) && s[i] != ' ' && s[i] != '\r' && s[i] != '\n' {
		return 0, s, false
	}
	for i < len(s) && s[i] == ' ' {
		i++
	}
	return v, s[i:], true
}

// digits are the values of the digits up to base 16; 255 means that it is not a digit.
var digits = func() (t [256]uint8) {
	for i := range t {
		t[i] = 255
	}
	for i, c := range []byte("0123456789abcdef") {
		t[c] = uint8(i)
	}
	for i, c := range []byte("ABCDEF") {
		t[c] = uint8(10 + i)
	}
	return t
}()

// word cuts the first word off a line.
func word(s []byte) (string, []byte) {
	w, rest, _ := bytes.Cut(bytes.TrimRight(s, "\r\n"), space)
	return string(w), rest
}

// cutLine cuts the first line off data, without its end: \n, \r\n or \r\r\n.
func cutLine(data []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(data, []byte("\n"))
	return bytes.TrimRight(line, "\r"), rest
}

// line returns the record at an entry without its keyword, and the data after it.
func (f *File) line(e entry, keyword string) (line, rest []byte) {
	line, rest = cutLine(f.data[e.off:])
	f.found(line)
	return line[min(len(keyword), len(line)):], rest
}

// numbers parses n numbers of the same base into v.
func numbers(s []byte, base uint64, v ...*uint64) (rest []byte, ok bool) {
	for _, p := range v {
		if *p, s, ok = number(s, base); !ok {
			return s, false
		}
	}
	return s, true
}

// before returns how many entries have a key of at most k.
func before(list []entry, k uint64) int {
	return sort.Search(len(list), func(i int) bool { return list[i].key > k })
}

// named returns the name that a FILE or INLINE_ORIGIN record assigns to a number.
func (f *File) named(list []entry, keyword string, n uint64) (string, bool) {
	i := before(list, n) - 1
	if i < 0 || list[i].key != n {
		return "", false
	}
	line, _ := f.line(list[i], keyword)
	_, name, ok := number(line, 10)
	return string(name), ok
}

func (f *File) fileName(n uint64) string {
	name, _ := f.named(f.files, "FILE ", n)
	return name
}

// Counts has the number of records of each kind.
type Counts struct{ Funcs, Publics, CFI, Win, Files, Origins int }

// Counts returns the number of records in the file.
func (f *File) Counts() Counts {
	return Counts{len(f.funcs), len(f.publics), len(f.cfi), len(f.win0) + len(f.win4), len(f.files), len(f.origins)}
}
