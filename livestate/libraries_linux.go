package livestate

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// liveLibraries is the LibraryState of a Process: a Table that is built again when the
// mappings show that libraries came or went.
type liveLibraries struct {
	p     *Process
	table atomic.Pointer[libstate.Table]
	built atomic.Uint64 // the fingerprint of the mappings that it was built from
	seen  atomic.Uint64 // the generation in which that was last checked

	mu    sync.Mutex // held while building; the locks of memory and of files are taken inside
	files modules.Source
}

var seed = maphash.MakeSeed()

// fingerprint returns a hash that differs between lists of mapped files.
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

// BuildLibraries finds the process's libraries, which LibraryTracker then returns. files
// has the files of libraries whose headers cannot be read in memory; it may be nil, and
// is asked only for files that need no fetching.
func (p *Process) BuildLibraries(files modules.Source) (*libstate.Table, []string) {
	p.libs.mu.Lock()
	defer p.libs.mu.Unlock()
	p.libs.files = files
	warnings := p.libs.build()
	return p.libs.table.Load(), warnings
}

// build builds or rebuilds the table. The caller holds the lock.
func (l *liveLibraries) build() []string {
	gen := l.p.gen.Load()
	maps := l.p.maps()
	if maps == nil {
		maps = &mapList{}
	}
	pr := l.p.program.Load()
	table, warnings := libraries.Build(libraries.Source{
		Arch: pr.arch, Mem: l.p, Mappings: append([]libstate.Mapping(nil), maps.list...), Auxv: pr.auxv, ExecPath: pr.path, Files: l.files,
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

// current returns the table, rebuilt if necessary.
func (l *liveLibraries) current() *libstate.Table {
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

// LibraryTracker returns the process's libraries. They are found again if libraries were
// loaded or unloaded since the process was last stopped.
func (p *Process) LibraryTracker() libstate.LibraryState { return &p.libs }

func (l *liveLibraries) LibraryAt(addr arch.Address) (*libstate.Library, bool) {
	return l.current().LibraryAt(addr)
}

func (l *liveLibraries) Libraries(refresh bool) ([]*libstate.Library, error) {
	if refresh {
		if err := l.Refresh(); err != nil {
			return nil, err
		}
	}
	return l.current().Libraries(false)
}

func (l *liveLibraries) AOut() (*libstate.Library, bool)      { return l.current().AOut() }
func (l *liveLibraries) Libc() (*libstate.Library, bool)      { return l.current().Libc() }
func (l *liveLibraries) Libthread() (*libstate.Library, bool) { return l.current().Libthread() }
func (l *liveLibraries) LibTrapAddress() arch.Address         { return l.current().LibTrapAddress() }

// Refresh reads the mappings and the dynamic linker's list again.
func (l *liveLibraries) Refresh() error {
	l.p.gen.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.build()
	return nil
}

func (l *liveLibraries) Subscribe(f func(*libstate.Library, libstate.Change)) (cancel func()) {
	return l.current().Subscribe(f)
}
