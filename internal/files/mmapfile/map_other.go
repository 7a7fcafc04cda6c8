//go:build !unix

package mmapfile

import (
	"io"
	"io/fs"
	"os"
)

func mapFile(f *os.File, size int) ([]byte, error) {
	data := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), data)
	return data, err
}

func release([]byte) {}

func mapPrivate(f *os.File, size int) ([]byte, error) { return mapFile(f, size) }

func unmap([]byte) error { return nil }

func idOf(path string, info fs.FileInfo) ID {
	return ID{Size: info.Size(), MtimeNs: info.ModTime().UnixNano(), Path: absolute(path)}
}

func mapRange(f *os.File, off int64, size int) ([]byte, error) {
	data := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(f, off, int64(size)), data)
	return data, err
}
