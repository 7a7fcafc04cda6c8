package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

func gz(b []byte) []byte {
	return through(b, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}
func zl(b []byte) []byte {
	return through(b, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}
func zs(b []byte) []byte {
	return through(b, func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z })
}
func xzip(b []byte) []byte {
	return through(b, func(w io.Writer) io.WriteCloser { z, _ := xz.NewWriter(w); return z })
}
func lz(b []byte) []byte {
	return through(b, func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) })
}

func through(data []byte, open func(io.Writer) io.WriteCloser) []byte {
	var b bytes.Buffer
	w := open(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// bz needs the program bzip2; without it, the container is empty.
func bz(data []byte) []byte {
	cmd := exec.Command("bzip2", "-c")
	cmd.Stdin = bytes.NewReader(data)
	out, _ := cmd.Output()
	return out
}

func tarOf(dump []byte) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		name string
		data []byte
	}{{"notes.txt", []byte("what happened")}, {"deep/core", dump}} {
		w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: 0o600})
		w.Write(f.data)
	}
	w.Close()
	return b.Bytes()
}

// apport makes a report of apport with a packed dump.
func apport(packed []byte) []byte {
	var b bytes.Buffer
	b.WriteString("ProblemType: Crash\nArchitecture: amd64\nExecutablePath: /usr/bin/app\nProcMaps:\n 400000-401000 r-xp\n 402000: rw-p\nCoreDump: base64\n")
	for len(packed) > 0 {
		n := min(1<<16, len(packed))
		fmt.Fprintf(&b, " %s\n", base64.StdEncoding.EncodeToString(packed[:n]))
		packed = packed[n:]
	}
	b.WriteString("Signal: 11\n")
	return b.Bytes()
}

// containers are a dump in every container, by kind of container.
var containers = map[string]func([]byte) []byte{
	"gz": gz, "zlib": zl, "zst": zs, "xz": xzip, "lz4": lz, "bz2": bz, "tar": tarOf,
	"tar.gz":    func(b []byte) []byte { return gz(tarOf(b)) },
	"tar.zst":   func(b []byte) []byte { return zs(tarOf(b)) },
	"crash":     func(b []byte) []byte { return apport(gz(b)) },
	"old.crash": func(b []byte) []byte { return apport(zl(b)) },
	"zst.crash": func(b []byte) []byte { return apport(zs(b)) },
}

// packedCases are small dumps.
var packedCases = []string{"aarch64-crash-O0", "riscv64-signal", "m68k-crash-O1", "amd64-clang-O2-fault"}

func packedBases(t tb) (list []base) {
	for _, name := range packedCases {
		for kind, pack := range containers {
			list = append(list, base{kind: "packed", name: name + "." + kind, ready: func(dir string) (*ready, error) {
				var r *ready
				err := caught(func() (err error) {
					r, err = packedReady(t, fixture.Get(t, name), pack, dir)
					return err
				})
				return r, err
			}})
		}
	}
	return list
}

func packedReady(t tb, c fixture.Case, pack func([]byte) []byte, dir string) (*ready, error) {
	dump, err := readFile(c.Core(t))
	if err != nil {
		return nil, err
	}
	data := pack(dump)
	if len(data) == 0 {
		return nil, errNothing
	}
	s, err := stage(filepath.Join(dir, "core"), data)
	if err != nil {
		return nil, err
	}
	files := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(t.dir)}
	for _, d := range c.Search(t) {
		files = append(files, corewalk.WithSearch(d))
	}
	cache := corewalk.NewCache(context.Background(), 0, files...)
	exe := corewalk.WithExecutable(c.Binary(t))
	known := &shape{fields: words(0, min(len(data), 1024), 1, roleNumber, nil), regions: []region{{0, min(len(data), 64)}, {0, min(len(data), 1024)}, {max(0, len(data)-64), 64}}}
	r := &ready{data: data, shape: known, repair: s.mend, close: func() { cache.Close(); s.close() }}
	r.run = func(edits []edit, rng *rand.Rand) error {
		return s.with(edits, func() {
			service(func(opts ...corewalk.Option) (*corewalk.Target, error) {
				return corewalk.Open(context.Background(), s.path, append(opts, exe, corewalk.WithCache(cache))...)
			}, rng)
		})
	}
	return r, nil
}
