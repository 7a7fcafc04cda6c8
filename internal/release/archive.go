package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"time"
)

func (f *file) mode() int64 {
	if f.exec {
		return 0o755
	}
	return 0o644
}

// tarOf makes a compressed tar archive of files in a directory.
func tarOf(dir string, files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: dir + "/" + f.name, Size: int64(len(f.data)), Mode: f.mode(), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// zipOf makes a zip archive of files in a directory.
func zipOf(dir string, files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: dir + "/" + f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(fs.FileMode(f.mode()))
		out, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := out.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
