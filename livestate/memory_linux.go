package livestate

import (
	"encoding/binary"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// pageSize is the unit of the cache and of reads that fail in part: a page of every
// processor, or a part of a page.
const pageSize = 4096

// A memory reads the target's memory, from any goroutine. It keeps pages while the
// target is stopped.
type memory struct {
	p *Process

	mu    sync.RWMutex // guards what is below; no other lock is taken inside
	held  bool
	pages map[arch.Address]*[pageSize]byte
	file  *os.File // /proc/PID/mem, opened when needed
	late  []span   // where reads did not return
	wait  patient
}

// maxCached limits the pages kept during one stop.
const maxCached = 64 << 20 / pageSize

// hold says whether the target is stopped from now on.
func (m *memory) hold(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = on
	clear(m.pages)
}

// forget drops the pages when the target has become another program.
func (m *memory) forget() {
	m.close()
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.pages)
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file != nil {
		m.file.Close()
		m.file = nil
	}
}

// smallRead is up to where reads go through the cache, in bytes.
const smallRead = 4 * pageSize

func (m *memory) read(addr arch.Address, buf []byte) (int, error) {
	if len(buf) > smallRead || !m.caching() {
		return m.direct(addr, buf)
	}
	for n := 0; n < len(buf); {
		a := addr + uint64(n)
		if a < addr {
			return n, &arch.MemError{Addr: a, Err: arch.ErrUnmapped}
		}
		page, err := m.page(a &^ (pageSize - 1))
		if err != nil {
			return n, &arch.MemError{Addr: a, Err: err.Err}
		}
		n += copy(buf[n:], page[a&(pageSize-1):])
	}
	return len(buf), nil
}

func (m *memory) caching() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.held
}

// page returns the page at base, which must not be changed.
func (m *memory) page(base arch.Address) (*[pageSize]byte, *arch.MemError) {
	m.mu.RLock()
	page := m.pages[base]
	m.mu.RUnlock()
	if page != nil {
		return page, nil
	}
	page = new([pageSize]byte)
	if _, err := m.direct(base, page[:]); err != nil {
		return nil, err.(*arch.MemError)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held {
		if m.pages == nil || len(m.pages) >= maxCached {
			m.pages = make(map[arch.Address]*[pageSize]byte)
		}
		m.pages[base] = page
	}
	return page, nil
}

// present reads the memory as it is now, whatever was read before in this stop.
type present struct{ p *Process }

func (m present) ReadMem(addr arch.Address, buf []byte) (int, error) {
	return m.p.mem.direct(addr, buf)
}

func (m present) ReadWord(addr arch.Address) (uint64, error) {
	a := m.p.Arch()
	buf := make([]byte, 8)
	if _, err := m.p.mem.direct(addr, buf[:a.WordSize]); err != nil {
		return 0, err
	}
	return decodeWord(buf, a.WordSize, a.ByteOrder), nil
}

// direct reads the memory as it is now.
func (m *memory) direct(addr arch.Address, buf []byte) (int, error) {
	n := 0
	for n < len(buf) && !m.p.gone() { // another process may have its number soon
		a := addr + uint64(n)
		if a < addr || m.p.limit != 0 && a > m.p.limit {
			break
		}
		got := m.patiently(a, buf[n:], m.readv)
		if got == 0 {
			// Read the page that failed in the other way, which also reads pages that
			// the process itself may not read.
			end := min(len(buf), n+int(pageSize-a&(pageSize-1)))
			got = m.patiently(a, buf[n:end], m.pread)
		}
		if got == 0 {
			break
		}
		n += got
	}
	m.p.trap.Load().hide(addr, buf[:n])
	if n == len(buf) {
		return n, nil
	}
	return n, m.why(addr + uint64(n))
}

// patiently reads in one of two ways. Where a read does not return, none is tried again.
func (m *memory) patiently(addr arch.Address, buf []byte, read func(arch.Address, []byte) int) int {
	m.mu.RLock()
	for _, l := range m.late {
		if addr >= l.start && addr < l.end {
			m.mu.RUnlock()
			return 0
		}
		if addr < l.start && uint64(len(buf)) > l.start-addr {
			buf = buf[:l.start-addr]
		}
	}
	m.mu.RUnlock()
	n, late := m.wait.read(buf, func(b []byte) int { return read(addr, b) })
	if late && m.lateRanges() < maxStuck {
		s := span{addr, addr + uint64(min(len(buf), maxPiece))}
		if mp, ok := m.p.MappingAt(addr); ok {
			s = span{min(s.start, mp.Start), max(s.end, mp.End)}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.late = append(m.late, s)
	}
	return n
}

func (m *memory) lateRanges() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.late)
}

// readv reads with process_vm_readv, up to the first page that cannot be read.
func (m *memory) readv(addr arch.Address, buf []byte) int {
	if addr != arch.Address(uintptr(addr)) {
		return 0
	}
	for range 2 {
		local := []unix.Iovec{{Base: &buf[0]}}
		local[0].SetLen(len(buf))
		remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(buf)}}
		n, err := unix.ProcessVMReadv(m.p.living(), local, remote, 0)
		if err == nil {
			return max(n, 0)
		}
		if err != unix.ESRCH || !m.p.anotherThread() {
			return 0
		}
	}
	return 0
}

func (m *memory) pread(addr arch.Address, buf []byte) int {
	f := m.open()
	if f == nil || int64(addr) < 0 {
		return 0
	}
	n, _ := f.ReadAt(buf, int64(addr))
	return max(n, 0)
}

func (m *memory) open() *os.File {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil && !m.p.gone() {
		m.file, _ = os.Open(procPath(m.p.living(), "mem"))
	}
	return m.file
}

// why returns the reason why a byte cannot be read.
func (m *memory) why(addr arch.Address) *arch.MemError {
	e := &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	if maps := m.p.maps(); maps != nil {
		if _, ok := maps.at(addr); ok {
			e.Err = arch.ErrUnreadable
		}
	}
	return e
}

// word reads one pointer.
func (m *memory) word(addr arch.Address, size int, order binary.ByteOrder) (uint64, error) {
	if off := addr & (pageSize - 1); off <= pageSize-uint64(size) && m.caching() {
		page, err := m.page(addr &^ (pageSize - 1))
		if err != nil {
			return 0, &arch.MemError{Addr: addr, Err: err.Err}
		}
		return decodeWord(page[off:], size, order), nil
	}
	buf := make([]byte, 8)
	if _, err := m.read(addr, buf[:size]); err != nil {
		return 0, err
	}
	return decodeWord(buf, size, order), nil
}

func decodeWord(b []byte, size int, order binary.ByteOrder) uint64 {
	if size == 4 {
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}

// A mapList has the process's mappings at one time.
type mapList struct {
	list  []libstate.Mapping
	gen   uint64 // generation of the process's runs and stops
	files uint64 // a fingerprint of the file mappings
}

func (l *mapList) at(addr arch.Address) (libstate.Mapping, bool) {
	lo, hi := 0, len(l.list)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if l.list[mid].End <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(l.list) && l.list[lo].Start <= addr {
		return l.list[lo], true
	}
	return libstate.Mapping{}, false
}
