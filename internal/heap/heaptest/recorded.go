package heaptest

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// PageSize is that of the pages of a Recording, in bytes.
const PageSize = 4096

// A Recording is what somebody read of a process to know its heaps. What was not read of a page is zero.
type Recording struct {
	Arch    string
	Maps    []libstate.Mapping
	Modules []Module
	Pages   map[uint64][]byte        // by address
	Symbols map[string]unwind.Symbol // by the path of the module and the name
	Threads []Thread
}

// A Thread is a thread of a recorded process.
type Thread struct {
	ID   unwind.ThreadID
	Regs map[arch.Reg]uint64
}

// A Module is a library of a recorded process.
type Module struct {
	Path     string
	Kind     libstate.Kind
	LoadBias arch.Address
	Maps     []libstate.Mapping
}

func symbolKey(lib *libstate.Library, name string) string { return lib.Path + " " + name }

// A Recorder is a process of which it records what is read, and which symbols are found.
type Recorder struct {
	State
	Names unwind.SymbolReader // may be nil
	Rec   *Recording
}

// State is what is recorded.
type State interface {
	unwind.ProcessState
	Mappings() []libstate.Mapping
	MappingAt(unwind.Address) (libstate.Mapping, bool)
	ThreadName(unwind.ThreadID) string
}

// NewRecorder returns the Recorder of a process of which nothing has been read yet.
func NewRecorder(p State, names unwind.SymbolReader) *Recorder {
	r := &Recorder{p, names, &Recording{Arch: p.Arch().Name, Maps: p.Mappings(), Pages: map[uint64][]byte{}, Symbols: map[string]unwind.Symbol{}}}
	ids, _ := p.ThreadIDs()
	for _, id := range ids {
		if regs, err := p.Registers(id); err == nil {
			known := map[arch.Reg]uint64{}
			for m := regs.Valid; m != 0; m &= m - 1 {
				known[m.First()], _ = regs.Get(m.First())
			}
			r.Rec.Threads = append(r.Rec.Threads, Thread{id, known})
		}
	}
	if libs := p.LibraryTracker(); libs != nil {
		list, _ := libs.Libraries(false)
		for _, l := range list {
			r.Rec.Modules = append(r.Rec.Modules, Module{l.Path, l.Kind, l.LoadBias, l.Mappings})
		}
	}
	return r
}

func (r *Recorder) note(at uint64, b []byte) {
	for len(b) > 0 {
		page, off := at&^(PageSize-1), at%PageSize
		n := min(uint64(len(b)), PageSize-off)
		if r.Rec.Pages[page] == nil {
			r.Rec.Pages[page] = make([]byte, PageSize)
		}
		copy(r.Rec.Pages[page][off:], b[:n])
		at, b = at+n, b[n:]
	}
}

// ReadMem implements arch.Memory.
func (r *Recorder) ReadMem(at arch.Address, b []byte) (int, error) {
	n, err := r.State.ReadMem(at, b)
	r.note(at, b[:n])
	return n, err
}

// ReadWord implements arch.Memory.
func (r *Recorder) ReadWord(at arch.Address) (uint64, error) {
	v, err := r.State.ReadWord(at)
	if err == nil {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		r.note(at, b[:r.State.Arch().WordSize])
	}
	return v, err
}

// SymbolByName implements unwind.SymbolReader.
func (r *Recorder) SymbolByName(lib *libstate.Library, name string) (s unwind.Symbol, ok bool) {
	if r.Names == nil {
		return s, false
	}
	if s, ok = r.Names.SymbolByName(lib, name); ok {
		r.Rec.Symbols[symbolKey(lib, name)] = s
	}
	return s, ok
}

// SymbolAt implements unwind.SymbolReader.
func (r *Recorder) SymbolAt(*libstate.Library, uint64) (s unwind.Symbol, ok bool) { return s, false }

// Write writes the recording into a file.
func (r *Recording) Write(path string) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(r); err != nil {
		return err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return err
	}
	return os.WriteFile(path, z.EncodeAll(b.Bytes(), nil), 0o644)
}

// Recorded reads a recording of testdata/heaps.
func Recorded(tb testing.TB, name string) *Recording {
	tb.Helper()
	packed, err := os.ReadFile(filepath.Join(fixture.Root(tb), "testdata", "heaps", name+".zst"))
	if err != nil {
		tb.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer z.Close()
	data, err := z.DecodeAll(packed, nil)
	if err != nil {
		tb.Fatal(err)
	}
	r := &Recording{}
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(r); err != nil {
		tb.Fatal(err)
	}
	return r
}

// shadow is where AddressSanitizer's runtime of 32 bits has a mapping of which nothing is recorded.
const shadow = 0x1ffff000

// Cut is the recording without what is zero at the ends of its mappings, so that walks are short.
func (r *Recording) Cut() *Recording {
	out := *r
	var pages []uint64 // that are not zero
	for at, b := range r.Pages {
		if slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
			pages = append(pages, at)
		}
	}
	slices.Sort(pages)
	cut := func(list []libstate.Mapping) []libstate.Mapping {
		list = slices.Clone(list)
		for i := range list {
			m := &list[i]
			if m.Start == shadow {
				continue
			}
			last, _ := slices.BinarySearch(pages, uint64(m.End))
			if m.End = m.Start; last > 0 && pages[last-1] >= uint64(m.Start) {
				m.End = arch.Address(pages[last-1] + PageSize)
			}
		}
		return slices.DeleteFunc(list, func(m libstate.Mapping) bool { return m.Start == m.End })
	}
	out.Maps, out.Modules = cut(r.Maps), slices.Clone(r.Modules)
	for i := range out.Modules {
		out.Modules[i].Maps = cut(out.Modules[i].Maps)
	}
	return &out
}

// Process is the recorded process.
func (r *Recording) Process() *Process {
	p := &Process{Recording: r}
	for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.ARM64} {
		if a.Name == r.Arch {
			p.arch = a
		}
	}
	var libs []*libstate.Library
	for _, m := range r.Modules {
		l := &libstate.Library{Path: m.Path, Kind: m.Kind, LoadBias: m.LoadBias}
		l.SetMappings(m.Maps)
		libs = append(libs, l)
	}
	p.libs = libstate.NewTable(libs, 0)
	return p
}

// A Process is a recorded process. It implements State, heap.Process and unwind.SymbolReader.
type Process struct {
	*Recording
	arch *arch.Arch
	libs *libstate.Table
}

// ReadMem implements arch.Memory.
func (p *Process) ReadMem(at arch.Address, b []byte) (n int, err error) {
	for n < len(b) {
		page := p.Pages[(at+uint64(n))&^(PageSize-1)]
		if page == nil {
			return n, &arch.MemError{Addr: at + uint64(n), Err: arch.ErrUnmapped}
		}
		n += copy(b[n:], page[(at+uint64(n))%PageSize:])
	}
	return n, nil
}

// ReadWord implements arch.Memory.
func (p *Process) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	if _, err := p.ReadMem(at, b[:p.arch.WordSize]); err != nil {
		return 0, err
	}
	return p.arch.Word(b[:]), nil
}

// MappingAt returns the mapping that has an address.
func (p *Process) MappingAt(at unwind.Address) (libstate.Mapping, bool) {
	return MappingIn(p.Maps, at)
}

// MappingIn returns that of some mappings, by address, that has an address.
func MappingIn(maps []libstate.Mapping, at unwind.Address) (m libstate.Mapping, ok bool) {
	if i := heap.Within(maps, uint64(at), func(m *libstate.Mapping) (start, end uint64) { return uint64(m.Start), uint64(m.End) }); i >= 0 {
		return maps[i], true
	}
	return m, false
}

// SymbolByName implements unwind.SymbolReader.
func (p *Process) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	s, ok := p.Symbols[symbolKey(lib, name)]
	return s, ok
}

// SymbolNamed is where the first library's symbol with a name is, and how large.
func (p *Process) SymbolNamed(name string) (addr, size uint64, ok bool) {
	if len(p.Modules) == 0 {
		return 0, 0, false
	}
	s, ok := p.Symbols[p.Modules[0].Path+" "+name]
	return uint64(s.Addr), s.Size, ok
}

// TypeOfUnit finds no type: none is recorded.
func (p *Process) TypeOfUnit(uint64, string) (*types.Type, bool) { return nil, false }

// SymbolAt implements unwind.SymbolReader.
func (p *Process) SymbolAt(*libstate.Library, uint64) (s unwind.Symbol, ok bool) { return s, false }

// Mappings are all that the process had.
func (p *Process) Mappings() []libstate.Mapping { return p.Maps }

// LibraryTracker implements unwind.ProcessState.
func (p *Process) LibraryTracker() libstate.LibraryState { return p.libs }

// Arch implements unwind.ProcessState.
func (p *Process) Arch() *arch.Arch { return p.arch }

// ProcessID implements unwind.ProcessState.
func (p *Process) ProcessID() int { return 1 }

// ThreadIDs implements unwind.ProcessState.
func (p *Process) ThreadIDs() (ids []unwind.ThreadID, err error) {
	for _, t := range p.Threads {
		ids = append(ids, t.ID)
	}
	return ids, nil
}

// DefaultThread implements unwind.ProcessState.
func (p *Process) DefaultThread() (unwind.ThreadID, error) {
	if len(p.Threads) == 0 {
		return 0, unwind.ErrNoThread
	}
	return p.Threads[0].ID, nil
}

// Registers implements unwind.ProcessState.
func (p *Process) Registers(id unwind.ThreadID) (s arch.RegSet, err error) {
	for _, t := range p.Threads {
		if t.ID == id {
			for r, v := range t.Regs {
				s.Set(r, v)
			}
			return s, nil
		}
	}
	return s, unwind.ErrNoThread
}

// PreStackwalk implements unwind.ProcessState.
func (p *Process) PreStackwalk(unwind.ThreadID) error { return nil }

// PostStackwalk implements unwind.ProcessState.
func (p *Process) PostStackwalk(unwind.ThreadID) error { return nil }

// IsFirstParty implements unwind.ProcessState.
func (p *Process) IsFirstParty() bool { return false }

// ExecutablePath implements unwind.ProcessState.
func (p *Process) ExecutablePath() string { return "" }

// ThreadName is "": no names are recorded.
func (p *Process) ThreadName(unwind.ThreadID) string { return "" }
