package pdb

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The big program: modules of 52 kB each, 1 GB together, like a browser's.
const (
	bigModules  = 19500
	bigProcs    = 60  // of one module
	bigProcSize = 512 // bytes of code
	bigLocals   = 10  // of one function
	bigTypes    = 1 << 20
	bigBlock    = 4096
)

// A msfWriter lays streams one behind the other, and the directory behind them.
type msfWriter struct {
	w      *bufio.Writer
	blocks uint32
	sizes  []uint32
	lists  [][2]uint32 // first block and count
}

// stream writes the next stream.
func (m *msfWriter) stream(b []byte) int {
	n := uint32((len(b) + bigBlock - 1) / bigBlock)
	m.sizes, m.lists = append(m.sizes, uint32(len(b))), append(m.lists, [2]uint32{m.blocks, n})
	m.w.Write(b)
	m.w.Write(make([]byte, int(n)*bigBlock-len(b)))
	m.blocks += n
	return len(m.sizes) - 1
}

func words(v ...uint32) (b []byte) {
	for _, x := range v {
		b = le.AppendUint32(b, x)
	}
	return b
}

func symRecord(kind uint16, body []byte) []byte {
	for len(body)%4 != 2 {
		body = append(body, 0)
	}
	return append(le.AppendUint16(le.AppendUint16(nil, uint16(len(body)+2)), kind), body...)
}

// bigModule is the stream of a module whose code begins at 0 of the first section, and
// the offsets in it that are of code.
func bigModule() (b []byte, symbols, c13 int, code []int) {
	b = words(4)
	for i := range bigProcs {
		at := len(b)
		b = append(b, symRecord(0x1110, append(words(0, 0, 0, bigProcSize, 0, bigProcSize, 0x1000, uint32(i*bigProcSize)), "\x01\x00\x00function\x00"...))...)
		code = append(code, at+32)
		for j := range bigLocals {
			b = append(b, symRecord(0x1111, append(words(uint32(8*j), 0x1000+uint32(j)), fmt.Sprintf("\x4f\x01local%d\x00", j)...))...) // S_REGREL32
		}
		le.PutUint32(b[at+8:], uint32(len(b)))
		b = append(b, symRecord(6, nil)...)
	}
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	symbols = len(b)
	for i := range bigProcs {
		lines := words(uint32(i*bigProcSize), 1, bigProcSize, 0, 64, 12+8*64)
		for j := range 64 {
			lines = append(lines, words(uint32(8*j), uint32(j+1)|1<<31)...)
		}
		code = append(code, len(b)+8)
		b = append(append(b, words(c13Lines, uint32(len(lines)))...), lines...)
	}
	b = append(b, words(c13Checksums, 8, 1, 0)...)
	return b, symbols, len(b) - symbols, code
}

// writeBig writes the program's PDB.
func writeBig(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	m := &msfWriter{w: bufio.NewWriterSize(file, 1<<20), blocks: 3}
	m.w.Write(make([]byte, 3*bigBlock))
	m.stream(nil)                                                                            // the old directory
	m.sizes, m.lists = append(m.sizes, 0, 0, 0, 0), append(m.lists, make([][2]uint32, 4)...) // set below
	mod, symbols, c13, code := bigModule()
	first := len(m.sizes)
	const span = bigProcs * bigProcSize
	for i := range bigModules {
		for _, at := range code {
			le.PutUint32(mod[at:], le.Uint32(mod[at:])%span+uint32(i)*span)
		}
		m.stream(mod)
	}
	var records, addrs []byte
	for i := range bigModules * 8 {
		addrs = le.AppendUint32(addrs, uint32(len(records)))
		name := fmt.Sprintf("\x01\x00?public%d@@YAXXZ\x00", i)
		records = append(records, symRecord(symPublic, append(words(2, uint32(i)*span/8), name...))...)
	}
	recordStream := m.stream(records)
	publicStream := m.stream(append(append(words(0, uint32(len(addrs)), 0, 0, 0, 0, 0), addrs...), 0))
	names := m.stream(append(words(0xeffeeffe, 1, 16), "\x00file.cpp\x00\x00\x00\x00\x00\x00\x00"...))
	section := make([]byte, 40)
	copy(section, ".text")
	le.PutUint32(section[8:], bigModules*span)
	le.PutUint32(section[12:], 0x1000)
	le.PutUint32(section[16:], bigModules*span)
	sections := m.stream(section)

	place := func(n int, b []byte) { // a stream of a certain number
		m.stream(b)
		last := len(m.sizes) - 1
		m.sizes[n], m.lists[n] = m.sizes[last], m.lists[last]
		m.sizes, m.lists = m.sizes[:last], m.lists[:last]
	}
	info := append(words(20000404, 1, 1, 1, 2, 3, 4, 7), "/names\x00"...)
	place(streamInfo, append(info, words(1, 1, 1, 1, 0, 0, uint32(names), 0, 0)...))
	var records2, index []byte
	for i := range bigTypes {
		if len(records2)/8192 != (len(records2)-14)/8192 || i == 0 {
			index = append(index, words(0x1000+uint32(i), uint32(len(records2)))...)
		}
		records2 = append(records2, symRecord(0x1002, words(0x74, 0x1000c))...) // LF_POINTER to int
	}
	hash := m.stream(index)
	tpi := append(words(20040203, 56, 0x1000, 0x1000+bigTypes, uint32(len(records2)), uint32(hash)|0xffff<<16, 4, 0x3ffff, 0, 0, 0, uint32(len(index)), 0, 0), records2...)
	place(streamTPI, tpi)
	place(streamIPI, words(20040203, 56, 0x1000, 0x1000, 0, 0xffffffff, 4, 0x3ffff, 0, 0, 0, 0, 0, 0))
	var mods []byte
	contribs := words(0xeffe0000 + 19970605)
	for i := range bigModules {
		h := make([]byte, 64)
		le.PutUint16(h[34:], uint16(first+i))
		le.PutUint32(h[36:], uint32(symbols))
		le.PutUint32(h[44:], uint32(c13))
		mods = append(append(mods, h...), fmt.Sprintf("obj\\component\\directory\\source_%05d.obj\x00obj\\component\\directory.lib\x00", i)...)
		for len(mods)%4 != 0 {
			mods = append(mods, 0)
		}
		contribs = append(contribs, words(1, uint32(i)*span, span, 0x60000020, uint32(i), 0, 0)...)
	}
	dbi := words(0xffffffff, 19990903, 1, 0xffff, uint32(publicStream), uint32(recordStream), uint32(len(mods)), uint32(len(contribs)), 0, 0, 0, 0, 22, 0, 0x86640000, 0)
	dbi = append(append(dbi, mods...), contribs...)
	debug := make([]byte, 22)
	for i := range 11 {
		le.PutUint16(debug[2*i:], 0xffff)
	}
	le.PutUint16(debug[2*debugSections:], uint16(sections))
	place(streamDBI, append(dbi, debug...))

	dir := words(uint32(len(m.sizes)))
	dir = append(dir, words(m.sizes...)...)
	for _, l := range m.lists {
		for i := range l[1] {
			dir = le.AppendUint32(dir, l[0]+i)
		}
	}
	at, n := m.blocks, uint32((len(dir)+bigBlock-1)/bigBlock)
	var list []byte
	for i := range n {
		list = le.AppendUint32(list, at+i)
	}
	m.w.Write(dir)
	m.w.Write(make([]byte, int(n)*bigBlock-len(dir)))
	m.w.Write(list)
	m.w.Write(make([]byte, bigBlock-len(list)%bigBlock))
	if err := m.w.Flush(); err != nil {
		return err
	}
	total := at + n + uint32((len(list)+bigBlock)/bigBlock)
	_, err = file.WriteAt(append([]byte(magic7), words(bigBlock, 1, total, uint32(len(dir)), 0, at+n)...), 0)
	return err
}

// resident returns the number of pages of the mapping at an address that the process has
// touched.
func resident(b *testing.B, path string) (pages int) {
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		b.Skip(err)
	}
	_, after, ok := strings.Cut(string(data), path)
	if !ok {
		b.Fatal("the mapping is not in smaps")
	}
	_, after, _ = strings.Cut(after, "Rss:")
	var kb int
	fmt.Sscan(after, &kb)
	return kb * 1024 / os.Getpagesize()
}

// BenchmarkBigPDB looks up twenty addresses and their variables in a 1 GB PDB of which no
// page is in memory. "pages" is the number of pages that this touches.
func BenchmarkBigPDB(b *testing.B) {
	dir := b.TempDir()
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < 4<<30 {
		b.Skip("no room for a PDB of 1 GB")
	}
	path := filepath.Join(dir, "big.pdb")
	if err := writeBig(path); err != nil {
		b.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	stat, _ := file.Stat()
	pages := 0
	file.Sync()
	for b.Loop() {
		// Pages in the page cache would be mapped along with those touched.
		unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
		data, err := syscall.Mmap(int(file.Fd()), 0, int(stat.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
		if err != nil {
			b.Fatal(err)
		}
		syscall.Madvise(data, syscall.MADV_RANDOM)
		f, err := Open(data)
		if err != nil {
			b.Fatal(err)
		}
		for i := range uint32(20) {
			rva := 0x1000 + (i*bigModules/20*bigProcs+i)*bigProcSize + 40
			s, ok, err := f.Lookup(rva)
			if err != nil || !ok || s.Name != "function" || len(s.Frames) == 0 || s.Frames[0].Line != 6 {
				b.Fatalf("%#x: %+v, %v, %v", rva, s, ok, err)
			}
			fn, ok, err := f.FuncAt(rva)
			if err != nil || !ok || len(fn.Scope.Vars) != bigLocals {
				b.Fatalf("%#x: %+v, %v, %v", rva, fn, ok, err)
			}
			if typ, ok := f.Type(fn.Scope.Vars[3].Type); !ok || typ.Elem != 0x74 {
				b.Fatalf("%#x: %+v", rva, typ)
			}
			if _, _, err := f.Lookup(rva + 16); err != nil {
				b.Fatal(err)
			}
		}
		pages = resident(b, path)
		syscall.Munmap(data)
	}
	b.ReportMetric(float64(pages), "pages")
	b.ReportMetric(float64(stat.Size())/(1<<20), "MB-file")
}
