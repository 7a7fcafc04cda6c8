package dwarfvars

import (
	"sync"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Thread-local storage (Drepper, "ELF Handling For Thread-Local Storage"). The program's own
// block begins after the thread pointer (variant I) or ends at it (variant II). The blocks of
// libraries are in the thread's vector (DTV), by the library's number. glibc keeps the number in
// the library's link map, at an offset that it publishes for libthread_db. musl numbers the
// libraries with such storage in the order of its list of libraries.

// A tlsABI is how an architecture lays thread-local storage out.
type tlsABI struct {
	pointer func(*Reader, unwind.ThreadID) (uint64, bool)
	above   bool   // variant I
	tcb     uint64 // bytes between the thread pointer and the program's block
	bias    uint64 // added to the thread pointer, in bytes
	// glibcDTV and muslDTV are where the C libraries keep the address of the DTV, in words from
	// the thread pointer without the bias.
	glibcDTV, muslDTV int64
	// muslEntry is what musl adds to the addresses in the DTV.
	muslEntry uint64
}

// tlsModules are the libraries' numbers in the DTV.
type tlsModules struct {
	once  sync.Once
	index map[arch.Address]uint64 // by load bias
	why   string
	musl  bool
}

func (r *Reader) tlsAddress(tid unwind.ThreadID, lib *libstate.Library, im *image.Image, off uint64) (uint64, error) {
	abi := r.machine.tls
	if abi == nil {
		return 0, &unknown.TLS{Why: "its layout is not known for " + r.arch.Name}
	}
	tp, _ := abi.pointer(r, tid)
	if tp == 0 {
		return 0, &unknown.TLS{Why: "the thread has no thread pointer"}
	}
	start, size, align, ok := tlsSegment(im)
	if !ok {
		return 0, &unknown.TLS{Why: "the file has no thread-local segment"}
	}
	// In split debug information gcc 12 writes the address of a variable's initial value instead
	// of its offset, as an entry of .debug_addr with a plain relocation. A real offset is always
	// in the segment.
	if off >= size && off-start < size {
		off -= start
	}
	tp -= abi.bias
	if lib.Kind == libstate.Executable {
		if abi.above {
			return tp + values.AlignUp(abi.tcb, align) + off, nil
		}
		return tp - values.AlignUp(size, align) + off, nil
	}
	block, err := r.tlsBlock(abi, tp, lib)
	return block + off, err
}

// tlsBlock returns the address of a library's block in the thread with the thread pointer tp,
// which is without the bias.
func (r *Reader) tlsBlock(abi *tlsABI, tp uint64, lib *libstate.Library) (uint64, error) {
	r.tls.once.Do(r.findTLS)
	id, ok := r.tls.index[lib.LoadBias]
	if !ok {
		why := r.tls.why
		if why == "" {
			why = "the dynamic linker does not list the library"
		}
		return 0, &unknown.TLS{Why: why}
	}
	return r.tlsBlockOf(abi, tp, id)
}

// ThreadLocal implements where.Process.
func (w *readerWhere) ThreadLocal(tid unwind.ThreadID, module, offset uint64) (arch.Address, error) {
	r := (*Reader)(w)
	abi := r.machine.tls
	if abi == nil {
		return 0, &unknown.TLS{Why: "its layout is not known for " + r.arch.Name}
	}
	tp, _ := abi.pointer(r, tid)
	if tp == 0 {
		return 0, &unknown.TLS{Why: "the thread has no thread pointer"}
	}
	r.tls.once.Do(r.findTLS)
	block, err := r.tlsBlockOf(abi, tp-abi.bias, module)
	return block + offset, err
}

// tlsBlockOf is tlsBlock by the library's number.
func (r *Reader) tlsBlockOf(abi *tlsABI, tp, id uint64) (uint64, error) {
	w := uint64(r.arch.WordSize)
	at, entry := abi.glibcDTV, 2*w // the pointer to the block, and one to free it
	if r.tls.musl {
		at, entry = abi.muslDTV, w
	}
	dtv, err := r.proc.ReadWord(tp + uint64(at)*w)
	if err != nil {
		return 0, unknown.Reason(err)
	}
	if r.tls.musl {
		// The first word is the number of entries.
		if n, _ := r.proc.ReadWord(dtv); id > n {
			return 0, &unknown.TLS{Why: "the thread has none for the library"}
		}
	}
	block, err := r.proc.ReadWord(dtv + entry*id)
	if err != nil {
		return 0, unknown.Reason(err)
	}
	if block == r.arch.Truncate(^uint64(0)) || block == 0 {
		return 0, &unknown.TLS{Why: "the thread has not used that of the library yet"}
	}
	if r.tls.musl {
		block -= abi.muslEntry
	}
	return block, nil
}

// tlsSegment returns the address in the file, the size and the alignment of the segment of
// initial values.
func tlsSegment(im *image.Image) (start, size, align uint64, ok bool) {
	if im == nil {
		return 0, 0, 0, false
	}
	for i := range im.ELF().Progs {
		if p := &im.ELF().Progs[i]; p.Type == elffile.PT_TLS {
			return p.Vaddr, p.Memsz, max(p.Align, 1), true
		}
	}
	return 0, 0, 0, false
}

// findTLS finds the number of each library in the dynamic linker's list.
func (r *Reader) findTLS() {
	r.tls.index = map[arch.Address]uint64{}
	libs := r.proc.LibraryTracker()
	if libs == nil {
		return
	}
	libc, ok := libs.Libc()
	if !ok {
		r.tls.why = "no known C library"
		return
	}
	var number numberOf
	if _, r.tls.musl = r.file(libc).SymbolByName("_dlstart"); r.tls.musl {
		number = r.muslNumber(libs)
	} else if number, r.tls.why = r.glibcNumber(libc); number == nil {
		return
	}
	const maxLibraries = 1 << 14
	w := uint64(r.arch.WordSize)
	m := r.linkMap(libs)
	for n := 0; n < maxLibraries; n++ {
		bias, err := r.proc.ReadWord(m)
		next, err2 := r.proc.ReadWord(m + 3*w)
		id, ok := number(m)
		if err != nil || err2 != nil || !ok {
			break
		}
		if id != 0 {
			r.tls.index[bias] = id
		}
		m = next
	}
}

// A numberOf returns a library's number by the address of its link map: 0 for a library without
// thread-local storage, false if the list ends there.
type numberOf func(linkMap uint64) (uint64, bool)

// glibcNumber returns a reader of a library's number from its link map, or why there is none.
func (r *Reader) glibcNumber(libc *libstate.Library) (number numberOf, why string) {
	sym, ok := r.file(libc).SymbolByName("_thread_db_link_map_l_tls_modid")
	if !ok {
		return nil, "the C library does not say where it keeps the library's number"
	}
	// A field's size in bits, its count, and its offset: three 32-bit words.
	place, err := r.mem.Int(sym.Value+libc.LoadBias+8, 4, false)
	if err != nil {
		return nil, err.Error()
	}
	return func(m uint64) (uint64, bool) {
		id, err := r.proc.ReadWord(m + place)
		return id, err == nil
	}, ""
}

// muslNumber counts the libraries with thread-local storage. It stops at a library without a
// file, which might have some.
func (r *Reader) muslNumber(libs libstate.LibraryState) numberOf {
	count := uint64(0)
	return func(m uint64) (uint64, bool) {
		dynamic, _ := r.proc.ReadWord(m + 2*uint64(r.arch.WordSize))
		lib, ok := libs.LibraryAt(dynamic)
		if !ok {
			return 0, false
		}
		if lib.Kind == libstate.VDSO {
			return 0, true
		}
		im := r.localFile(lib)
		if im.ELF() == nil {
			return 0, false
		}
		if _, _, _, ok := tlsSegment(im); !ok {
			return 0, true
		}
		count++
		return count, true
	}
}

// linkMap returns the address of the first entry of the dynamic linker's list.
func (r *Reader) linkMap(libs libstate.LibraryState) arch.Address {
	exe, ok := libs.AOut()
	if !ok {
		return 0
	}
	im := r.file(exe)
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
			tag, _ := r.proc.ReadWord(at)
			if tag == 0 {
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
