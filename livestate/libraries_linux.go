package livestate

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// libraries is the LibraryState of a Process: a Table that is built again when the
// mappings show that libraries came or went.
type libraries struct {
	p     *Process
	table atomic.Pointer[libstate.Table]
	built atomic.Uint64 // the fingerprint of the mappings it was built from
	seen  atomic.Uint64 // the generation in which that was last looked at

	mu   sync.Mutex // held while building
	file func(*libstate.Library) *elffile.File
}

var seed = maphash.MakeSeed()

// fingerprint tells two lists of mapped files apart.
func fingerprint(maps []libstate.Mapping) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range maps {
		if m := &maps[i]; m.Path != "" {
			maphash.WriteComparable(&h, *m)
		}
	}
	return h.Sum64()
}

// BuildLibraries finds the process's libraries and makes them what LibraryTracker
// answers. file finds the file of a library whose headers cannot be read in
// memory; it may be nil (see libstate.Source).
func (p *Process) BuildLibraries(file func(*libstate.Library) *elffile.File) (*libstate.Table, []string) {
	p.libs.mu.Lock()
	defer p.libs.mu.Unlock()
	p.libs.file = file
	warnings := p.libs.build()
	return p.libs.table.Load(), warnings
}

// build makes or renews the table. The lock is held.
func (l *libraries) build() []string {
	gen := l.p.gen.Load()
	maps := l.p.maps()
	if maps == nil {
		maps = &mapList{}
	}
	pr := l.p.program.Load()
	table, warnings := libstate.Build(libstate.Source{
		Arch: pr.arch, Mem: l.p, Mappings: append([]libstate.Mapping(nil), maps.list...), Auxv: pr.auxv, ExecPath: pr.path, ELF: l.file,
	})
	if old := l.table.Load(); old != nil {
		libs, _ := table.Libraries(false)
		old.Replace(libs, table.LibTrapAddress())
	} else {
		l.table.Store(table)
	}
	l.built.Store(maps.files)
	l.seen.Store(gen + 1)
	return warnings
}

// current is the table, renewed if it has to be.
func (l *libraries) current() *libstate.Table {
	t := l.table.Load()
	if t != nil && l.seen.Load() == l.p.gen.Load()+1 {
		return t
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	gen := l.p.gen.Load()
	if t = l.table.Load(); t != nil {
		if maps := l.p.maps(); maps == nil || maps.files == l.built.Load() {
			l.seen.Store(gen + 1)
			return t
		}
	}
	l.build()
	return l.table.Load()
}

// LibraryTracker is the process's libraries. What it answers is renewed when
// libraries have come or gone since the process was last stopped.
func (p *Process) LibraryTracker() libstate.LibraryState { return &p.libs }

func (l *libraries) LibraryAt(addr arch.Address) (*libstate.Library, bool) {
	return l.current().LibraryAt(addr)
}

func (l *libraries) Libraries(refresh bool) ([]*libstate.Library, error) {
	if refresh {
		if err := l.Refresh(); err != nil {
			return nil, err
		}
	}
	return l.current().Libraries(false)
}

func (l *libraries) AOut() (*libstate.Library, bool)      { return l.current().AOut() }
func (l *libraries) Libc() (*libstate.Library, bool)      { return l.current().Libc() }
func (l *libraries) Libthread() (*libstate.Library, bool) { return l.current().Libthread() }
func (l *libraries) LibTrapAddress() arch.Address         { return l.current().LibTrapAddress() }

// Refresh reads the mappings and the dynamic linker's list again.
func (l *libraries) Refresh() error {
	l.p.gen.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.build()
	return nil
}

func (l *libraries) Subscribe(f func(*libstate.Library, libstate.Change)) (cancel func()) {
	return l.current().Subscribe(f)
}
