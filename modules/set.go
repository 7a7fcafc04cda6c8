// Package modules finds the file of each library of a process, and says how well it matches
// the library: by build-id, or by headers and layout if one of them has no build-id. A Set
// has the Images of one process's libraries. Steppers, lookups and readers of variables take
// a Source: a Set, or the caller's own.
package modules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Match says how a library's file compares with what the process had.
type Match uint8

const (
	Missing    Match = iota // no file was found
	Matched                 // the build-ids are equal
	NoID                    // one of the two has no build-id; the process's memory agrees with the file
	Mismatched              // the only files found are from a different build
)

// String gives the word used in reports.
func (m Match) String() string {
	switch m {
	case Matched:
		return "matched"
	case NoID:
		return "no-id"
	case Mismatched:
		return "mismatched"
	}
	return "missing"
}

// A Resolution is what was found for one library.
type Resolution struct {
	// Image is nil if there is no usable file. If the binary was not found, Image may be its
	// debug file, which has names, lines and perhaps .debug_frame, but no code. Match and
	// Path are about the binary even then.
	Image *Image
	Match Match
	Path  string // of the file used, or of the mismatched one that was refused
	// Forced says that the file is used because the user said so. It is from a different
	// build if Match is Mismatched; if Match is NoID, nothing proves which build it is from.
	Forced bool
	Why    string // for people: why a file was refused, or is in doubt; "" when none was
}

// A Set resolves the libraries of one dump to images.
type Set struct {
	cache  *image.Cache
	finder *find.Finder
	mem    arch.Memory
	force  bool
	open   func(path string) (*image.Image, error)
	// release gives the files back.
	release func() error

	byLib   sync.Map   // *libstate.Library -> *setEntry, to find the entry without its key
	mu      sync.Mutex // guards entries; no other lock is taken inside
	entries map[string]*setEntry

	jitBytes atomic.Uint64

	said *said // nil if the dump says nothing of files

	sourceMu    sync.Mutex // guards the two below; no other lock is taken inside
	sources     map[sourceKey]*sourceEntry
	sourceBytes int // about what they hold
}

type setEntry struct {
	once      sync.Once
	res       Resolution
	debugOnly []*image.Image // debug files of the library that were found on the way

	fetchOnce sync.Once
	debugOnce sync.Once
	fetched   atomic.Pointer[Resolution] // what fetching came to; nil before
	debugDone atomic.Bool                // its debug file has been asked for, too
}

// New returns the set of a process. mem is its memory without what files could add: the
// vDSO is read from it, and headers of files are compared with it. Nothing is fetched
// once ctx is done. Close the set after use.
func New(ctx context.Context, mem arch.Memory, opts ...Option) (*Set, error) {
	c := newConfig(opts)
	finder, images, release, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	open := func(path string) (*image.Image, error) {
		if path == c.find.Executable {
			return images.OpenPacked(ctx, path, decompress.Options{Progress: c.progress})
		}
		return images.Open(path)
	}
	return &Set{cache: images, finder: finder, mem: mem, force: c.force, open: open, release: release, entries: map[string]*setEntry{}, said: c.said}, nil
}

// Keep writes to disk what is to be kept between runs, as Close does, but releases nothing. After it, only Close may
// be called.
func (s *Set) Keep() { s.cache.Keep() }

// Close releases the files. Do not use anything that came from the set afterwards.
func (s *Set) Close() error { return s.release() }

// Image returns the image of lib, or nil. If no directory has the file, it is fetched; if that fails, its debug file is
// fetched; if that fails, too, Image returns SaidImage.
func (s *Set) Image(lib *libstate.Library) *Image {
	if im := s.Obtain(lib).Image; im != nil {
		return im
	}
	e := s.resolved(lib)
	if !s.fetches(lib) {
		return s.said.of(lib)
	}
	e.debugOnce.Do(func() {
		defer e.debugDone.Store(true)
		r := s.Resolve(lib)
		im, err := s.fetchDebugFile(lib)
		if err != nil && !strings.Contains(r.Why, err.Error()) {
			r.Why += "; " + err.Error()
		}
		r.Image = (*Image)(im)
		e.fetched.Store(&r)
	})
	if im := s.Resolve(lib).Image; im != nil {
		return im
	}
	return s.said.of(lib)
}

// fetches reports whether servers can be asked for files of lib.
func (s *Set) fetches(lib *libstate.Library) bool {
	if isPE(lib) {
		return s.finder.FetchesSymbols() && lib.Module.CodeID != ""
	}
	return lib.Kind != libstate.VDSO && !lib.PartialBuildID() && s.finder.Fetches(lib.BuildID)
}

// LocalImage returns the image of lib as far as it is known without fetching, or nil.
func (s *Set) LocalImage(lib *libstate.Library) *Image {
	if im := s.Resolve(lib).Image; im != nil {
		return im
	}
	return s.said.of(lib)
}

// SaidImage implements SaidSource.
func (s *Set) SaidImage(lib *libstate.Library) *Image { return s.said.of(lib) }

// MatchedImage returns the binary of lib; nil if there is none, or only one from a different
// build. It fetches the binary if no directory has it.
func (s *Set) MatchedImage(lib *libstate.Library) *Image {
	if r := s.Obtain(lib); !r.Forced {
		return r.Image
	}
	return nil
}

// Resolve returns what is known about lib's file without fetching it: from the directories,
// or from an earlier Obtain. The answer is kept for libraries with the same addresses,
// identifiers and path.
func (s *Set) Resolve(lib *libstate.Library) Resolution {
	e := s.resolved(lib)
	if r := e.fetched.Load(); r != nil {
		return *r
	}
	return e.res
}

// Obtain is like Resolve, but a binary that no directory has is read from the process's
// memory, if that has all of it, or else fetched.
func (s *Set) Obtain(lib *libstate.Library) Resolution {
	e := s.resolved(lib)
	if e.res.Match == Matched || e.res.Match == NoID || !s.fetches(lib) && !isPE(lib) {
		return e.res
	}
	e.fetchOnce.Do(func() {
		r := e.res
		if im := s.peFromMemory(lib); im != nil && !r.Forced {
			r = Resolution{Image: (*Image)(im), Match: Matched}
		} else if s.fetches(lib) {
			r = s.fetch(lib, e)
		}
		e.fetched.Store(&r)
	})
	if r := e.fetched.Load(); r != nil {
		return *r
	}
	return e.res
}

// Lacks reports whether the first frame in lib would need to fetch something: its file,
// or its debug file. It fetches nothing itself.
func (s *Set) Lacks(lib *libstate.Library) bool {
	e := s.resolved(lib)
	res := e.res
	if r := e.fetched.Load(); r != nil {
		res = *r
	} else if res.Match != Matched && res.Match != NoID {
		return s.fetches(lib) || res.Image.file().SymbolsUnfetched()
	}
	if res.Image == nil {
		return s.fetches(lib) && !e.debugDone.Load()
	}
	return res.Image.file().Unfetched() || res.Image.file().SymbolsUnfetched()
}

// FetchAll fetches what walking and naming frames in lib needs, if Lacks says that
// something is missing.
func (s *Set) FetchAll(lib *libstate.Library) {
	if im := s.Image(lib).file(); im.DWARF() == nil {
		im.PDB()
	}
}

// Unreachable lists the servers that could not be asked so far, each with the
// reason.
func (s *Set) Unreachable() []string { return s.finder.Unreachable() }

// Unusable lists the files of symbol stores that could not be expanded so far, and what
// could not be read of images that are sysroots, each with
// the reason.
func (s *Set) Unusable() []string { return s.finder.Unusable() }

// Release returns the os-release file (os-release(5)) of the system that the process ran on: that of the sysroot, or of this
// machine, in which file is what the process had at path. It returns nil if file is elsewhere, or there is no os-release.
func (s *Set) Release(file, path string) []byte { return s.finder.Release(file, path) }

// fetch asks the servers for a library's binary.
func (s *Set) fetch(lib *libstate.Library, e *setEntry) Resolution {
	res := e.res
	path, err := s.fetchBinary(lib)
	if err == nil {
		var im *image.Image
		if im, err = s.cache.Open(path); err == nil {
			if match, why := s.compare(lib, im); match == Matched && !im.ELF().DebugOnly() {
				return found(im, match, path, e.debugOnly)
			} else if err = errors.New(why); why == "" {
				err = errors.New(path + " has debug information only, not the code")
			}
		}
	}
	if res.Why != "" {
		res.Why += "; "
	}
	res.Why += err.Error()
	return res
}

func found(im *image.Image, match Match, path string, debugOnly []*image.Image) Resolution {
	for _, d := range debugOnly {
		im.AddDebugFile(d)
	}
	return Resolution{Image: (*Image)(im), Match: match, Path: path}
}

// resolved returns the entry of a library, after a search through the directories.
func (s *Set) resolved(lib *libstate.Library) *setEntry {
	v, ok := s.byLib.Load(lib)
	if !ok {
		v, _ = s.byLib.LoadOrStore(lib, s.entry(lib))
	}
	e := v.(*setEntry)
	e.once.Do(func() { e.res, e.debugOnly = s.resolve(lib) })
	return e
}

func (s *Set) entry(lib *libstate.Library) *setEntry {
	m := identity(lib)
	key := fmt.Sprintf("%x %x %x %x %q %q %s", lib.Start, lib.End, lib.HeaderAddr, m.BuildID, m.CodeID, m.DebugID, m.Path)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e == nil {
		e = &setEntry{}
		s.entries[key] = e
	}
	return e
}

// maxMemoryImage limits the bytes read of an image in memory.
const maxMemoryImage = 4 << 20

// resolve searches the directories. debugOnly are files of the library that have only
// debug information.
func (s *Set) resolve(lib *libstate.Library) (res Resolution, debugOnly []*image.Image) {
	switch lib.Kind {
	case libstate.VDSO:
		return s.fromMemory(lib), nil
	case libstate.JIT:
		return s.fromJIT(lib), nil
	}
	m := identity(lib)
	for path := range s.finder.Binaries(m) {
		im, err := s.open(path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) && res.Why == "" {
				res.Why = err.Error()
			}
			continue
		}
		match, why := s.compare(lib, im)
		if im.ELF().DebugOnly() {
			if match == Matched {
				debugOnly = append(debugOnly, im)
			}
			if res.Why == "" {
				res.Why = path + " has debug information only, not the code"
			}
			continue
		}
		switch {
		case match == NoID && why != "" && path != s.finder.Program():
			if s.force || s.finder.Given(path) {
				return Resolution{Image: (*Image)(im), Match: NoID, Path: path, Forced: true, Why: why}, nil
			}
			if res.Why == "" {
				res.Why = path + " was not used: " + why
			}
		case match == Matched || match == NoID:
			s.finder.AddLoadPath(path, im.ELF().RunPath())
			return found(im, match, path, debugOnly), nil
		case res.Match != Mismatched:
			res = Resolution{Match: match, Path: path, Why: why}
			if s.force {
				res.Image, res.Forced = (*Image)(im), true
			}
		}
	}
	if res.Image == nil {
		if im := s.loaded(lib, m); im != nil {
			return found(im, Matched, im.Path(), debugOnly), nil
		}
		d := s.debugFile(lib, debugOnly)
		if d != nil && !d.ELF().DebugOnly() {
			return found(d, Matched, d.Path(), nil), nil
		}
		if d == nil {
			d = s.bare(m)
		}
		res.Image = (*Image)(d)
	}
	return res, debugOnly
}

// loaded looks for a library where the dynamic loader does. This machine's libraries have
// the names of every other machine's: only the build-id tells.
func (s *Set) loaded(lib *libstate.Library, m find.Module) *image.Image {
	for path := range s.finder.Loaded(m) {
		im, err := s.cache.Open(path)
		if err != nil || im.ELF().DebugOnly() {
			continue
		}
		if match, _ := s.compare(lib, im); match == Matched {
			s.finder.AddLoadPath(path, im.ELF().RunPath())
			return im
		}
	}
	return nil
}

func (s *Set) fromMemory(lib *libstate.Library) Resolution {
	size := lib.End - lib.Start
	if size == 0 {
		return Resolution{Why: "nothing of it is mapped"}
	}
	if size > maxMemoryImage {
		return Resolution{Why: fmt.Sprintf("image in memory of %d bytes is too large", size)}
	}
	data := make([]byte, size)
	n, err := s.mem.ReadMem(lib.Start, data)
	if n == 0 {
		return Resolution{Why: err.Error()}
	}
	im, err := image.FromMemory(data[:n], lib.Start)
	if err != nil {
		return Resolution{Why: err.Error()}
	}
	return Resolution{Image: (*Image)(im), Match: Matched}
}

// compare says whether im is the file that the process had loaded as lib. NoID with a reason
// means that nothing speaks against it, but nothing proves it either.
func (s *Set) compare(lib *libstate.Library, im *image.Image) (Match, string) {
	if isPE(lib) || im.PE() != nil {
		return s.comparePE(lib, im)
	}
	want, have := lib.BuildID, im.ELF().BuildID()
	switch {
	case want != nil && have != nil:
		if lib.SameBuildID(have) {
			return Matched, ""
		}
		return Mismatched, fmt.Sprintf("file has build-id %x, the process had %x", have, want)
	case want != nil:
		return Mismatched, fmt.Sprintf("file has no build-id, the process had %x", want)
	}
	match, why := s.compareContents(lib, im.ELF())
	if match == Mismatched && have == nil {
		why += "; the file has no build-id"
	}
	return match, why
}

// compareContents is compare for a library without a build-id to compare.
func (s *Set) compareContents(lib *libstate.Library, f *elffile.File) (Match, string) {
	if lib.HeaderAddr != 0 {
		if why := s.headerDiffers(lib.HeaderAddr, f); why != "" {
			return Mismatched, why
		}
	}
	if why := layoutDiffers(lib, f); why != "" {
		return Mismatched, why
	}
	if why := tooShort(lib, f); why != "" {
		return Mismatched, why
	}
	return s.prove(lib, f)
}

// headerDiffers compares the ELF header and the program headers in memory at addr with the
// file's. Section headers do not count, because stripping moves them.
func (s *Set) headerDiffers(addr arch.Address, f *elffile.File) string {
	head := make([]byte, 4096)
	n, _ := s.mem.ReadMem(addr, head)
	mem, err := elffile.ParseMemory(head[:n], addr)
	if err != nil {
		return ""
	}
	switch {
	case mem.Class != f.Class || mem.Machine != f.Machine || mem.Type != f.Type:
		return "file is of another kind, or for another machine, than the process's"
	case mem.Entry != f.Entry:
		return fmt.Sprintf("file starts at %#x, the process's module at %#x", f.Entry, mem.Entry)
	case len(mem.Progs) != len(f.Progs) && len(mem.Progs) > 0:
		return fmt.Sprintf("file has %d program headers, the process's module %d", len(f.Progs), len(mem.Progs))
	}
	for i := range mem.Progs {
		a, b := mem.Progs[i], f.Progs[i]
		loads := a.Type == elffile.PT_LOAD
		switch {
		case loads != (b.Type == elffile.PT_LOAD):
			return fmt.Sprintf("program header %d differs: only one of the file's and the process's module's is of a segment", i)
		case loads && (a.Vaddr != b.Vaddr || a.Memsz != b.Memsz || a.Off != b.Off):
			return fmt.Sprintf("program header %d differs: the file has a segment of %#x bytes at %#x from offset %#x, the process's module one of %#x at %#x from %#x",
				i, b.Memsz, b.Vaddr, b.Off, a.Memsz, a.Vaddr, a.Off)
		}
	}
	return ""
}

// layoutDiffers checks that the file has a segment for each executable mapping of the
// library.
func layoutDiffers(lib *libstate.Library, f *elffile.File) string {
	const page = 0xffff // the largest page size in use, less one
	for _, m := range lib.Mappings {
		if m.Path == "" || m.Perm&libstate.Exec == 0 {
			continue
		}
		fits := false
		for i := range f.Progs {
			p := &f.Progs[i]
			if p.Type == elffile.PT_LOAD && p.Flags&elffile.PF_X != 0 && m.Offset >= p.Off&^page && m.Offset < p.Off+p.Filesz+page {
				fits = true
			}
		}
		if !fits {
			return fmt.Sprintf("file has no code at offset %#x, where the process had some", m.Offset)
		}
	}
	return ""
}
