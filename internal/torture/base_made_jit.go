package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/corewalk/corewalk"
)

// The files in which compilers describe their code are as large as is read, and say as much as they can.
const jitFile = 1<<27 - 4096

// jitRecord is a record of a jitdump file.
func jitRecord(id uint32, body ...[]byte) []byte {
	b := bytes.Join(body, nil)
	le := binary.LittleEndian
	head := le.AppendUint32(le.AppendUint32(nil, id), uint32(16+len(b)))
	return append(append(head, make([]byte, 8)...), b...)
}

// jitLoad is a record of so much code at an address.
func jitLoad(addr, size uint64, name string) []byte {
	return jitRecord(0, u64(7), u64(addr), u64(addr), u64(size), u64(0), str(name), bytes.Repeat([]byte{0x90}, int(size)))
}

// jitDump is a file of records, which are repeated until it is full.
func jitDump(first []byte, again func(i int) []byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, 40, jitFile)
	le.PutUint32(b, 0x4a695444)
	le.PutUint32(b[4:], 1)
	le.PutUint32(b[8:], 40)
	le.PutUint32(b[12:], 62)
	le.PutUint32(b[20:], 7)
	b = append(b, first...)
	for i := 0; ; i++ {
		r := again(i)
		if len(b)+len(r) > jitFile {
			return b
		}
		b = append(b, r...)
	}
}

// madeJITs are those files, by name: the name of each begins with that of what it is.
var madeJITs = map[string]func() []byte{
	"dump of damaged records": func() []byte { // of which each could be told
		return jitDump(jitLoad(madeJIT, 64, "f"), func(int) []byte { return jitRecord(1) })
	},
	"dump of lines without code": func() []byte {
		return jitDump(jitLoad(madeJIT, 64, "f"), func(i int) []byte {
			return jitRecord(2, u64(uint64(i)*16), u64(1), u64(0), le32(1, 1), []byte("f\x00"))
		})
	},
	"dump of lines that say more than there is": func() []byte {
		return jitDump(jitLoad(madeJIT, 64, "f"), func(i int) []byte { return jitRecord(2, u64(uint64(i)*16), u64(1<<60), u64(0)) })
	},
	"dump of code at one place": func() []byte {
		return jitDump(nil, func(i int) []byte { return jitLoad(madeJIT, 16, "f") })
	},
	"dump of code that overlaps": func() []byte {
		return jitDump(nil, func(i int) []byte { return jitLoad(madeJIT+uint64(i%4096), 16, fmt.Sprint("f", i)) })
	},
	"dump of code that moves": func() []byte {
		return jitDump(jitLoad(madeJIT, 64, "f"), func(i int) []byte {
			return jitRecord(1, u64(7), u64(0), u64(madeJIT+uint64(i)), u64(madeJIT+uint64(i)+1), u64(64), u64(0))
		})
	},
	"dump of one long line table": func() []byte {
		entries := bytes.Repeat(slices.Concat(u64(madeJIT), le32(1, 0), []byte{0xff, 0}), 3_000_000)
		return jitDump(append(jitRecord(2, u64(madeJIT), u64(3_000_000), entries), jitLoad(madeJIT, 64, "f")...), func(int) []byte { return make([]byte, jitFile) })
	},
	"dump of unwind tables": func() []byte {
		table := bytes.Repeat([]byte{0xff}, 1<<16)
		return jitDump(nil, func(i int) []byte {
			return append(jitRecord(4, u64(1<<16), u64(0), u64(1<<16), table), jitLoad(madeJIT+uint64(i), 64, "f")...)
		})
	},
	"dump of records of nothing": func() []byte {
		return jitDump(jitLoad(madeJIT, 64, "f"), func(int) []byte { return jitRecord(99) })
	},
	"map of short lines": func() []byte { return bytes.Repeat([]byte("300000 1 f\n"), jitFile/11) },
	"map of all addresses": func() []byte {
		var b []byte
		for i := 0; len(b) < jitFile-64; i++ {
			b = fmt.Appendf(b, "%x ffffffffffff %d\n", madeJIT+i%4096, i)
		}
		return b
	},
	"map of one line":      func() []byte { return bytes.Repeat([]byte("3"), jitFile) },
	"map of one name":      func() []byte { return append([]byte("300000 1000 "), bytes.Repeat([]byte("n"), jitFile-64)...) },
	"map of no lines":      func() []byte { return bytes.Repeat([]byte("\n"), jitFile) },
	"map of damaged lines": func() []byte { return append([]byte("300000 1000 f\n"), bytes.Repeat([]byte("x\n"), jitFile/2-64)...) },
	"map of spaces":        func() []byte { return append([]byte("300000"), bytes.Repeat([]byte(" "), jitFile-64)...) },
}

func madeJITReady(name, dir string) (*ready, error) {
	c, e := newCore(10), newELF()
	c.jit = true
	core, exe, root := filepath.Join(dir, "core"), filepath.Join(dir, "program"), filepath.Join(dir, "root")
	if err := os.MkdirAll(filepath.Join(root, "tmp"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(core, c.bytes(), 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(exe, e.bytes(), 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(root, "tmp", "jit-7.dump")
	if name[:3] == "map" {
		path = filepath.Join(root, "tmp", "perf-7.map")
	}
	data := madeJITs[name]()
	s, err := stage(path, data)
	if err != nil {
		return nil, err
	}
	r := &ready{data: data, shape: &shape{regions: []region{{0, 1 << 16}}}, repair: s.mend, close: s.close}
	r.run = func(edits []edit, rng *rand.Rand) error {
		return s.with(edits, func() {
			r.last = service(func(opts ...corewalk.Option) (*corewalk.Target, error) {
				return corewalk.Open(context.Background(), core, append(opts, corewalk.WithExecutable(exe), corewalk.WithSysroot(root), corewalk.WithDebugDir(filepath.Join(dir, "none")))...)
			}, rng)
		})
	}
	return r, nil
}
