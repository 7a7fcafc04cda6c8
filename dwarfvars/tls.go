package dwarfvars

import (
	"sync"

	"github.com/corewalk/corewalk/internal/elffile"
	"github.com/corewalk/corewalk/internal/image"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Thread-local storage on x86-64 (Drepper, "ELF Handling For Thread-Local
// Storage", variant II). The program's own block ends at the thread pointer;
// those of libraries are found through the thread's vector (DTV), whose index
// glibc keeps in the library's link map. Where in it glibc says itself, for
// libthread_db.

// tlsModules are the modules' indexes in the DTV, found once.
type tlsModules struct {
	once  sync.Once
	index map[arch.Address]uint64 // by load bias
	why   string
}

// Layout of glibc's DTV: an entry is a pointer and one to free it by.
const (
	dtvEntry   = 16
	dtvInTCB   = 8
	dtvNothing = ^uint64(0) // not allocated for the thread yet
)

func (r *Reader) tlsAddress(tid unwind.ThreadID, lib *libstate.Library, im *image.Image, off uint64) (uint64, error) {
	if r.arch != arch.AMD64 {
		return 0, &NoTLS{"not known for " + r.arch.Name}
	}
	regs, err := r.proc.Registers(tid)
	if err != nil {
		return 0, &NoTLS{err.Error()}
	}
	tp, ok := regs.Get(arch.FSBase)
	if !ok || tp == 0 {
		return 0, &NoTLS{"the thread has no thread pointer"}
	}
	size, align, ok := tlsSegment(im)
	if !ok {
		return 0, &NoTLS{"the file has no such segment"}
	}
	if lib.Kind == libstate.Executable {
		return tp - (size+align-1)/align*align + off, nil
	}
	r.tls.once.Do(r.findTLS)
	id, ok := r.tls.index[lib.LoadBias]
	if !ok {
		why := r.tls.why
		if why == "" {
			why = "the dynamic linker does not list the library"
		}
		return 0, &NoTLS{why}
	}
	dtv, err := r.proc.ReadWord(tp + dtvInTCB)
	if err != nil {
		return 0, reason(err)
	}
	block, err := r.proc.ReadWord(dtv + dtvEntry*id)
	if err != nil {
		return 0, reason(err)
	}
	if block == dtvNothing || block == 0 {
		return 0, &NoTLS{"the thread has not used the library's yet"}
	}
	return block + off, nil
}

func tlsSegment(im *image.Image) (size, align uint64, ok bool) {
	if im == nil {
		return 0, 0, false
	}
	for i := range im.ELF().Progs {
		if p := &im.ELF().Progs[i]; p.Type == elffile.PT_TLS {
			return p.Memsz, max(p.Align, 1), true
		}
	}
	return 0, 0, false
}

// findTLS goes over the dynamic linker's list for the index of each library.
func (r *Reader) findTLS() {
	r.tls.index = map[arch.Address]uint64{}
	libs := r.proc.LibraryTracker()
	if libs == nil {
		return
	}
	libc, ok := libs.Libc()
	if !ok {
		r.tls.why = "no C library that is known"
		return
	}
	sym, ok := r.images(libc).SymbolByName("_thread_db_link_map_l_tls_modid")
	if !ok {
		r.tls.why = "the C library does not tell where it keeps it"
		return
	}
	// A field's size in bits, its count, and its offset: three 32-bit words.
	place, err := r.readInt(sym.Value+libc.LoadBias+8, 4, false)
	if err != nil {
		r.tls.why = err.Error()
		return
	}
	const maxLibraries = 1 << 14
	w := uint64(r.arch.WordSize)
	m := r.linkMap(libs)
	for n := 0; m != 0 && n < maxLibraries; n++ {
		bias, err := r.proc.ReadWord(m)
		id, err2 := r.proc.ReadWord(m + place)
		next, err3 := r.proc.ReadWord(m + 3*w)
		if err != nil || err2 != nil || err3 != nil {
			break
		}
		if id != 0 {
			r.tls.index[bias] = id
		}
		m = next
	}
}

// linkMap is the address of the first entry of the dynamic linker's list.
func (r *Reader) linkMap(libs libstate.LibraryState) arch.Address {
	exe, ok := libs.AOut()
	if !ok {
		return 0
	}
	im := r.images(exe)
	if im == nil {
		return 0
	}
	w := uint64(r.arch.WordSize)
	for i := range im.ELF().Progs {
		p := &im.ELF().Progs[i]
		if p.Type != elffile.PT_DYNAMIC {
			continue
		}
		for n := range min(p.Memsz/(2*w), 1024) {
			at := p.Vaddr + exe.LoadBias + n*2*w
			tag, err := r.proc.ReadWord(at)
			if err != nil || tag == 0 {
				return 0
			}
			if tag == elffile.DT_DEBUG {
				debug, _ := r.proc.ReadWord(at + w)
				first, _ := r.proc.ReadWord(debug + w)
				return first
			}
		}
	}
	return 0
}
