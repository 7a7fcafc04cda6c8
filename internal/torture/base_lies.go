package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/runtimes/beam"
	"github.com/corewalk/corewalk/internal/runtimes/lua"
	"github.com/corewalk/corewalk/internal/runtimes/perl"
	"github.com/corewalk/corewalk/internal/runtimes/php"
	"github.com/corewalk/corewalk/internal/runtimes/python"
	"github.com/corewalk/corewalk/internal/runtimes/ruby"
	"github.com/corewalk/corewalk/tasks"
)

// Structures that lie consistently: a core gets memory in which every list is long, every pointer leads back, and every text and number has no end, and the words
// that its report reads lead there, or say that there is more.

// recordedLanguages finds the runtimes of the recorded cores, which a report would find by functions in files that are not there.
var recordedLanguages = map[string]tasks.Finder{"beam": beam.Find, "lua": lua.Find, "perl": perl.Find, "php": php.Find, "python": python.Find, "ruby": ruby.Find}

// liarCases are the fixtures whose programs have runtimes or code made at run time, and some without.
func isLiar(c fixture.Case) bool {
	for _, part := range []string{"-go-", "-jit-", "-threads", "-tasks", "-rust-", "-cpp-", "-locks", "-inline-tail-O2", "-haskell-", "-ocaml", "-fiber", "-boost"} {
		if strings.Contains(c.Name, part) && !strings.HasPrefix(c.Name, "i386") {
			return true
		}
	}
	return false
}

func lieBases(t tb, cases []fixture.Case) (list []base) {
	for _, c := range cases {
		if isLiar(c) {
			list = append(list, base{kind: "lies", name: c.Name, ready: func(dir string) (*ready, error) { return caseLies(t, c, dir) }})
		}
	}
	rooms := filepath.Join(fixture.Root(t), "internal", "runtimes")
	for lang, find := range recordedLanguages {
		cores, _ := filepath.Glob(filepath.Join(rooms, lang, "testdata", "recorded", "*.zst"))
		for _, path := range cores {
			if strings.Contains(path, "windows") {
				continue
			}
			name := lang + " " + strings.TrimSuffix(filepath.Base(path), ".zst")
			list = append(list, base{kind: "lies", name: name, ready: func(dir string) (*ready, error) {
				packed, err := os.Open(path)
				if err != nil {
					return nil, err
				}
				defer packed.Close()
				z, err := decompress.NewReader(packed, decompress.Zstd)
				if err != nil {
					return nil, err
				}
				defer z.Close()
				var b bytes.Buffer
				if _, err := b.ReadFrom(z); err != nil {
					return nil, err
				}
				empty := filepath.Join(dir, "none")
				return lyingReady(b.Bytes(), dir, corewalk.FactsOptions{Runtimes: []tasks.Finder{find}}, nil, corewalk.WithSysroot(empty), corewalk.WithDebugDir(empty))
			}})
		}
	}
	return list
}

func caseLies(t tb, c fixture.Case, dir string) (r *ready, err error) {
	err = caught(func() error {
		data, err := readFile(c.Core(t))
		if err != nil {
			return err
		}
		files := append(debugDir(t, c, c.Dir), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithSearch(c.Dir))
		for _, d := range c.Search(t) {
			files = append(files, corewalk.WithSearch(d))
		}
		r, err = lyingReady(data, dir, corewalk.FactsOptions{}, []corewalk.Option{corewalk.WithExecutable(c.Binary(t))}, files...)
		return err
	})
	return r, err
}

// Where the memory that lies is, and how large each part is.
const (
	liesAt   = 0x3fff00000000
	liesSize = 64 << 20
	liesPart = 64 << 10 // of which there are copies
	rampSize = 8 << 20
)

// The parts of it.
const (
	lieRamp = iota // each word leads to the next one: lists are as long as this is large
	lieRing        // each word leads to the first
	lieOnes        // sizes and counts that are the largest
	lieText        // letters
	lieZero
	lieSmall // words that are 1
	lieParts
)

func lieAt(part int) uint64 { return liesAt + uint64(part)*2*liesSize }

// withLies adds the memory to a core. The other parts are many times the same bytes of the file.
func withLies(core []byte) ([]byte, *elffile.File, error) {
	f, err := elffile.Parse(core)
	if err != nil {
		return nil, nil, err
	}
	if f.Class != 64 || f.Order.Uint16([]byte{1, 0}) != 1 {
		return nil, nil, errNothing
	}
	out := slices.Clone(core)
	align := func() {
		for len(out)%4096 != 0 {
			out = append(out, make([]byte, 4096-len(out)%4096)...)
		}
	}
	le := binary.LittleEndian
	table := bytes.Clone(core[le.Uint64(core[32:]):][:56*len(f.Progs)])
	load := func(at, off, size uint64) {
		table = le.AppendUint32(le.AppendUint32(table, elffile.PT_LOAD), elffile.PF_R|elffile.PF_W)
		for _, v := range []uint64{off, at, 0, size, size, 4096} {
			table = le.AppendUint64(table, v)
		}
	}
	for part := range lieParts {
		align()
		off, at := uint64(len(out)), lieAt(part)
		if part == lieRamp {
			for i := range uint64(rampSize / 8) {
				out = le.AppendUint64(out, at+8*(i+1))
			}
			load(at, off, rampSize)
			continue
		}
		var word []byte
		switch part {
		case lieRing:
			word = u64(at)
		case lieOnes:
			word = u64(^uint64(0))
		case lieText:
			word = []byte("abcdefgh")
		case lieZero:
			word = u64(0)
		default:
			word = u64(1)
		}
		out = append(out, bytes.Repeat(word, liesPart/8)...)
		for i := uint64(0); i < liesSize; i += liesPart {
			load(at+i, off, liesPart)
		}
	}
	align()
	le.PutUint64(out[32:], uint64(len(out)))
	le.PutUint16(out[56:], uint16(len(table)/56))
	return append(out, table...), f, nil
}

// lieWords are what a word, and those after it, say instead.
func lieWords(at uint64) (list [][]uint64) {
	for part := range lieParts {
		list = append(list, []uint64{lieAt(part)}, []uint64{lieAt(part), 1 << 30, 1 << 30})
	}
	return append(list, []uint64{lieAt(lieRamp) + rampSize/2}, []uint64{lieAt(lieRing) + 1}, []uint64{at}, []uint64{1 << 20}, []uint64{1<<31 - 1}, []uint64{1 << 40}, []uint64{^uint64(0)},
		[]uint64{lieAt(lieText), 1 << 16}, []uint64{lieAt(lieRing), 1 << 20}, []uint64{lieAt(lieRamp), 1 << 20})
}

// lyingReady changes words that the report of a core reads. own are options of the dump, files those of its files.
func lyingReady(core []byte, dir string, how corewalk.FactsOptions, own []corewalk.Option, files ...corewalk.Option) (*ready, error) {
	data, f, err := withLies(core)
	if err != nil {
		return nil, err
	}
	s, err := stage(filepath.Join(dir, "core"), data)
	if err != nil {
		return nil, err
	}
	cache := corewalk.NewCache(context.Background(), 0, files...)
	r := &ready{data: data, repair: s.mend, close: func() { cache.Close(); s.close() }}
	reads := &corestate.Reads{}
	open := func(more ...corewalk.Option) (*corewalk.Target, error) {
		return corewalk.Open(context.Background(), s.path, append(more, append(own, corewalk.WithCache(cache))...)...)
	}
	// What is read for the report of the core as it is.
	r.last = serviceWith(func(more ...corewalk.Option) (*corewalk.Target, error) {
		return open(append(more, corewalk.WithCoreOptions(corestate.Record(reads)))...)
	}, rand.New(rand.NewPCG(1, 4)), how)
	if r.last == nil {
		r.close()
		return nil, errors.New("no report")
	}
	sh := &shape{word: 8}
	for part := range lieParts {
		sh.addrs = append(sh.addrs, lieAt(part), lieAt(part)+liesSize/2)
	}
	var addrs []uint64
	for page := range reads.Pages() {
		for at := page; at < page+corestate.ReadPage; at += 8 {
			if off, ok := fileOffset(f, at); ok && (reads.Was(at) || reads.Was(at+4)) && (followed(reads, u64At(core, off)) || off >= 8 && followed(reads, u64At(core, off-8))) {
				sh.fields = append(sh.fields, field{off, 8, roleAddr, nil})
				addrs = append(addrs, at)
			}
		}
	}
	if len(addrs) == 0 {
		r.close()
		return nil, errNothing
	}
	r.shape = sh
	r.lie = func(word, kind int) []edit {
		all := lieWords(addrs[word])
		return lieEdit(len(core), sh.fields[word].off, all[kind%len(all)])
	}
	r.words = len(addrs)
	r.run = func(edits []edit, rng *rand.Rand) error {
		return s.with(edits, func() {
			r.last = serviceWith(func(more ...corewalk.Option) (*corewalk.Target, error) {
				if r.reads != nil {
					more = append(more, corewalk.WithCoreOptions(corestate.Record(r.reads)))
				}
				return open(more...)
			}, rng, how)
		})
	}
	return r, nil
}

// followed reports whether a word may have been taken for a pointer: near to where it leads something was read.
func followed(reads *corestate.Reads, to uint64) bool {
	if to < 4096 {
		return false
	}
	for off := uint64(0); off < 128; off += 4 {
		if reads.Was(to + off) {
			return true
		}
	}
	return false
}

func u64At(b []byte, off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }

// lieEdit overwrites words, as far as a core of so many bytes goes.
func lieEdit(size, off int, words []uint64) []edit {
	var b []byte
	for _, w := range words {
		if off+len(b)+8 <= size {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	}
	return []edit{{Off: off, Del: len(b), Ins: b}}
}

// fileOffset returns where in a core the word at an address is.
func fileOffset(f *elffile.File, at uint64) (int, bool) {
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == elffile.PT_LOAD && at >= p.Vaddr && at-p.Vaddr+8 <= p.Filesz {
			return int(p.Off + at - p.Vaddr), true
		}
	}
	return 0, false
}

// believed reports whether memory that lies was read.
func (r *ready) believed() bool {
	for page := range r.reads.Pages() {
		if page-liesAt < lieAt(lieParts)-liesAt {
			return true
		}
	}
	return false
}

// lies makes the edits of one input: a lie, or some.
func (r *ready) lies(rng *rand.Rand) (list []edit) {
	for {
		list = append(list, r.lie(rng.IntN(r.words), rng.IntN(1<<16))...)
		if rng.IntN(3) != 0 || len(list) == 8 {
			return list
		}
	}
}
