package mono

import (
	"errors"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Process is what has to be known of a process.
type Process struct {
	Memory arch.Memory
	Arch   *arch.Arch
	// Libraries lists its libraries, and Symbol returns the address of a function that one of them exports.
	Libraries func() []*libstate.Library
	Symbol    func(lib *libstate.Library, name string) (unwind.Address, bool)
	// MappingAt returns the mapping of an address, and ReadMapped the contents of a file that was mapped; nil if there is none of which is says that it is the one.
	MappingAt  func(addr unwind.Address) (libstate.Mapping, bool)
	ReadMapped func(path string, is func(data []byte) bool) []byte
	// Warn is told of a runtime that is there and cannot be used.
	Warn func(lib *libstate.Library, err error)
}

// Methods are those that Mono compiled in a process. They look for it when they are first asked. They are safe for concurrent use.
type Methods struct {
	p    Process
	once sync.Once
	r    *runtime

	mu     sync.Mutex
	asked  map[unwind.Address]Method // Size 0: none
	chunks int                       // that were searched
}

const (
	// maxAsked is of how many addresses the answers are kept: most frames return to few places.
	maxAsked = 1 << 14
	// maxSearched is how many chunks of tables are searched for all frames of a process, and not more for one whose memory was made to keep us.
	maxSearched = 1 << 17
)

// New returns the methods of a process.
func New(p Process) *Methods { return &Methods{p: p} }

// A Method is one that was compiled, or a stub of the runtime.
type Method struct {
	Name        string // "Shop.Order`1/Line:Total"
	Start, Size uint64 // its code, in bytes
	Table       []byte // .eh_frame of a stub that is entered in another way than functions are, as if it were where jitmap.TableAddr says; nil for others
}

// At returns the method whose code is at an address.
func (m *Methods) At(addr unwind.Address) (Method, bool) {
	m.once.Do(func() { m.r = find(m.p) })
	if m.r == nil {
		return Method{}, false
	}
	m.mu.Lock()
	found, known := m.asked[addr]
	spent := m.chunks >= maxSearched
	m.mu.Unlock()
	if !known && !spent {
		var searched int
		found, searched = m.r.at(addr)
		m.keep(addr, found, searched)
	}
	return found, found.Size != 0
}

func (m *Methods) keep(addr unwind.Address, found Method, searched int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.chunks += searched
	if m.asked == nil || len(m.asked) >= maxAsked {
		m.asked = map[unwind.Address]Method{}
	}
	m.asked[addr] = found
}

// A runtime is Mono in a process.
type runtime struct {
	procmem.Reader
	symbol  func(name string) (uint64, bool)
	fields  fields
	domains []domain
	chunks  uint32 // of all of them
	files   files
}

// fields are offsets in structures of Mono.
type fields struct {
	codeStart, codeSize   uint64 // of MonoJitInfo
	methodName, ofClass   uint64 // of MonoMethod
	image, nestedIn       uint64 // of MonoClass
	className, nameSpaces uint64
	guid                  uint64 // of MonoImage
}

// rootDomain is the function by which Mono is recognised.
const rootDomain = "mono_get_root_domain"

// errLayout is why a runtime is not used.
var errLayout = errors.New("methods of Mono: its functions or its memory are not those of a known version, or it had not started")

// find finds Mono among the libraries of a process; nil if there is none, or none that is known.
func find(p Process) *runtime {
	if p.Arch == nil || p.Arch.WordSize != 8 {
		return nil
	}
	for _, lib := range p.Libraries() {
		if !strings.Contains(lib.Path[strings.LastIndexAny(lib.Path, `/\`)+1:], "mono") {
			continue // mono-sgen, libmonosgen-2.0.so.1, libmonobdwgc-2.0.so, mono-2.0-bdwgc.dll
		}
		if _, ok := p.Symbol(lib, rootDomain); !ok {
			continue
		}
		r := &runtime{Reader: procmem.Reader{Memory: p.Memory, Arch: p.Arch}, symbol: func(name string) (uint64, bool) { return p.Symbol(lib, name) }, files: files{p: p}}
		if r.open() {
			return r
		}
		p.Warn(lib, errLayout)
	}
	return nil
}

// open finds the layout and the domains.
func (r *runtime) open() bool {
	f := &r.fields
	for _, x := range []struct {
		name string
		to   *uint64
	}{
		{"mono_jit_info_get_code_start", &f.codeStart}, {"mono_jit_info_get_code_size", &f.codeSize},
		{"mono_method_get_name", &f.methodName}, {"mono_method_get_class", &f.ofClass},
		{"mono_class_get_image", &f.image}, {"mono_class_get_nesting_type", &f.nestedIn},
		{"mono_image_get_guid", &f.guid},
	} {
		var ok bool
		if *x.to, ok = r.field(x.name); !ok {
			return false
		}
	}
	f.className, f.nameSpaces = f.image+8, f.image+16 // their functions do more than return them
	root, ok := r.variable(rootDomain)
	return ok && r.addDomain(root) && r.others(root)
}

// maxDomains is how many domains of programs are looked at.
const maxDomains = 64

// others adds the domains that the program made itself, as Unity does for the game: they are in a list, at whose beginning is the first one.
func (r *runtime) others(root uint64) bool {
	r.uses("mono_domain_get_by_id", func(at uint64) bool {
		list := r.Word(at)
		if list == 0 || r.Word(list) != root && r.Word(list+8) != root {
			return true
		}
		for i := range uint64(maxDomains) {
			if d, ok := r.LookupWord(list + 8*i); !ok || d != 0 && d != root && !r.addDomain(d) {
				break
			}
		}
		return false
	})
	return true
}
