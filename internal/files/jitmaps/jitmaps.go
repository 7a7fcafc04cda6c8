package jitmaps

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/jitmap"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Process is what has to be known of a process.
type Process struct {
	PID    int         // as the process itself knows it
	Owner  fs.FileInfo // of a process that runs on this machine: what has its owner; else nil
	Files  *modules.Set
	Memory arch.Memory
	// Mappings lists the mappings with their files: jitdump files are among them.
	Mappings func() []libstate.Mapping
	// Code reports whether an address is code, and whether it belongs to a library.
	Code func(arch.Address) (code, library bool)
	// Own is what a runtime itself knows of the code at an address, before all files: it is in the process's memory. May be nil.
	Own func(addr unwind.Address) (Code, bool)
	// Warn is told of files that cannot be used.
	Warn func(path string, err error)
	// Kept is what a slim core says: it was there when the files were looked at. Record records what is answered, for Maps.Asked.
	Kept   []slimnote.Made
	Record bool
}

// Code is what a runtime knows of code that it made.
type Code struct {
	Name        string
	Start, Size uint64 // in bytes
	Table       []byte // its .eh_frame, as if it were where jitmap.TableAddr says; nil for none
}

// Maps name the code that a process made. They look for files when they are first asked. They are safe for concurrent use.
type Maps struct {
	p     Process
	kept  kept
	asked asked
	once  sync.Once
	fixed bool          // see there
	maps  []*jitmap.Map // those that know more first
	files []File
}

// A File is one that is used.
type File struct {
	Path string // at which the process wrote it
	Data []byte
}

// New returns the maps of a process.
func New(p Process) *Maps { return &Maps{p: p, kept: newKept(p.Kept)} }

// Used lists the files that name code, as far as they were looked for. Nothing may be asked meanwhile.
func (m *Maps) Used() []File { return m.files }

const (
	// maxFile is how large a file may be, in bytes.
	maxFile = 1 << 27
	// maxDumps is how many jitdump files a process may have.
	maxDumps = 8
)

func (m *Maps) open() {
	m.once.Do(func() {
		mappings := m.p.Mappings()
		m.fixed = fixed(mappings)
		for _, p := range dumpPaths(mappings, m.p.PID) {
			m.add(p, jitmap.ParseJitdump)
		}
		if m.p.PID > 0 {
			m.add("/tmp/perf-"+strconv.Itoa(m.p.PID)+".map", jitmap.ParsePerfMap)
		}
	})
}

// dumpPaths lists the paths of jitdump files: those that are mapped, which is how a process tells perf of them, and the usual one.
func dumpPaths(mappings []libstate.Mapping, pid int) []string {
	var list []string
	seen := map[string]bool{}
	name := "jit-" + strconv.Itoa(pid) + ".dump"
	for i := range mappings {
		p := strings.TrimSuffix(mappings[i].Path, " (deleted)")
		if !seen[p] && path.Base(p) == name && find.MayAsk(p) && len(list) < maxDumps {
			seen[p] = true
			list = append(list, p)
		}
	}
	if p := "/tmp/" + name; pid > 0 && !seen[p] {
		list = append(list, p)
	}
	return list
}

// add reads a file, if there is one.
func (m *Maps) add(path string, parse func([]byte) (*jitmap.Map, error)) {
	data, at, err := m.p.Files.ReadWritten(path, maxFile, m.p.Owner)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var found *jitmap.Map
	if err == nil {
		found, err = parse(data)
	}
	if err == nil {
		err = m.check(found)
	}
	if err != nil {
		m.p.Warn(at, fmt.Errorf("not used: %w", err))
		return
	}
	if found.Damaged != nil {
		m.p.Warn(at, found.Damaged)
	}
	if found.PID == 0 && m.p.Owner == nil && m.fixed {
		m.p.Warn(at, errFixed)
	}
	m.maps = append(m.maps, found)
	m.files = append(m.files, File{path, data})
}

// errFixed is what is said of maps of processes whose addresses are the same each time. Of a running process, the file is not older.
var errFixed = errors.New("nothing proves that they are this process's: its addresses were not random, and one that had its number before may have had code at the same places")

// fixed reports whether the kernel put a process where it puts each one (ADDR_NO_RANDOMIZE, as under gdb): its stack ends where memory does, which that of
// others does once in four million times.
func fixed(mappings []libstate.Mapping) bool {
	const smallest, page = 1 << 38, 1 << 12
	for i := range mappings {
		if end := mappings[i].End; end >= smallest && (end&(end-1) == 0 || (end+page)&(end+page-1) == 0) {
			return true
		}
	}
	return false
}

const (
	// samples is how many records of a map are looked at.
	samples = 1 << 10
	// fewest is what part of them must be in code that the process made: what was thrown away since may have been much.
	fewest = 8
)

// check reports whether a map can be the process's.
func (m *Maps) check(f *jitmap.Map) error {
	if f.PID != 0 && int64(f.PID) != int64(m.p.PID) {
		return fmt.Errorf("it is of process %d", f.PID)
	}
	n, good := 0, 0
	step := max(1, f.Len()/samples)
	for i := 0; i < f.Len(); i += step {
		switch code, library := m.p.Code(f.At(i).Start); {
		case library: // all processes of the same program may have it there
		case code:
			good++
			fallthrough
		default:
			n++
		}
	}
	if good*fewest < n {
		return fmt.Errorf("of %d functions in it that were tried, %d are where the process has code of no library: it may be another process's", n, good)
	}
	return nil
}

// An answer is what is known of the code at an address.
type answer struct {
	name        string
	start, size uint64
	cut         bool
	file        string
	line        int    // 0 if it is not known
	table       []byte // .eh_frame of the function; nil for none
}

// find returns what is known of the code at an address.
func (m *Maps) find(addr unwind.Address) (answer, bool) {
	a, ok := m.kept.find(addr)
	if !ok {
		a, ok = m.look(addr)
	}
	if ok && m.p.Record {
		m.asked.add(addr, a)
	}
	return a, ok
}

// look looks into the files. Where there is no code of the process's own, it does not even look for them: most reports need none.
func (m *Maps) look(addr unwind.Address) (answer, bool) {
	if code, library := m.p.Code(addr); !code || library {
		return answer{}, false
	}
	if m.p.Own != nil {
		if c, ok := m.p.Own(addr); ok && m.ends(&jitmap.Function{Start: c.Start, Size: c.Size}) {
			return answer{name: c.Name, start: c.Start, size: c.Size, table: c.Table}, true
		}
	}
	m.open()
	for _, f := range m.maps {
		if fn, ok := f.Find(addr); ok && m.ends(&fn) && m.same(&fn) {
			a := answer{name: fn.Name, start: fn.Start, size: fn.Size, cut: fn.Cut, table: fn.Table}
			a.file, a.line, _ = fn.Line(addr)
			return a, true
		}
	}
	return answer{}, false
}

// ends reports whether a function ends where the process has code, too. What begins before it may have been mapped in pieces.
func (m *Maps) ends(f *jitmap.Function) bool {
	code, library := m.p.Code(f.Start + f.Size - 1)
	return code && !library
}

// maxCompared is how much of a function is compared, in bytes.
const maxCompared = 1 << 12

// same reports whether the process has the code that was recorded, if that is known: but for one word in eight, as compilers change calls and constants in
// what they made.
func (m *Maps) same(f *jitmap.Function) bool {
	var buf [maxCompared]byte
	n, _ := m.p.Memory.ReadMem(f.Start, buf[:min(len(f.Code), maxCompared)])
	words, differ := 0, 0
	for i := 0; i < n; i += 8 {
		end := min(i+8, n)
		words++
		if string(buf[i:end]) != string(f.Code[i:end]) {
			differ++
		}
	}
	return differ*8 <= words
}

// FunctionAt returns where the function that contains an address begins, and its size, if it is there as it was recorded.
func (m *Maps) FunctionAt(addr unwind.Address) (unwind.Symbol, bool) {
	a, ok := m.find(addr)
	if !ok || a.cut {
		return unwind.Symbol{}, false
	}
	return unwind.Symbol{Name: a.name, Addr: a.start, Size: a.size}, true
}

// TableAt returns the unwind table that the function at an address was recorded with, if it is there as it was recorded.
func (m *Maps) TableAt(addr unwind.Address) (unwind.MadeTable, bool) {
	a, ok := m.find(addr)
	if !ok || a.cut || len(a.table) == 0 {
		return unwind.MadeTable{}, false
	}
	return unwind.MadeTable{Start: a.start, End: a.start + a.size, EHFrame: a.table, Addr: jitmap.TableAddr(a.start, a.size)}, true
}

// CallAt names the code at an address.
func (m *Maps) CallAt(addr unwind.Address) (unwind.Call, bool) {
	a, ok := m.find(addr)
	if !ok {
		return unwind.Call{}, false
	}
	return unwind.Call{Name: a.name, Entry: a.start, File: a.file, Line: a.line}, true
}
