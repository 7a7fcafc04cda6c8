//go:build unix

package mmapfile

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func mapFile(f *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_PRIVATE)
}

// mapRange maps a part of a file; off is a multiple of the page size.
func mapRange(f *os.File, off int64, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), off, size, unix.PROT_READ, unix.MAP_PRIVATE)
}

// release tells the kernel that a part of a mapping, whole pages, is not needed soon.
func release(data []byte) { _ = unix.Madvise(data, unix.MADV_DONTNEED) }

func mapPrivate(f *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
}

func unmap(data []byte) error { return unix.Munmap(data) }

func idOf(path string, info fs.FileInfo) ID {
	id := ID{Size: info.Size(), MtimeNs: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.Dev, id.Ino, id.CtimeNs = uint64(st.Dev), uint64(st.Ino), changed(st)
	} else {
		id.Path = absolute(path)
	}
	return id
}
