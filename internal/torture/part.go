package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Kinds that begin with "part" damage what one parser reads, in memory, and ask of it all that reports ask. They take
// some ten microseconds where a whole report takes milliseconds, so that they go where reports seldom come.

// A part is a parser, and good inputs for it.
type part struct {
	kind  string
	files func() (map[string][]byte, error) // read when the kind's turn comes
	shape func([]byte) *shape
	use   func(data []byte, rng *rand.Rand) // may keep nothing of data
}

// bases lists a part's inputs, which are read later.
func (p part) bases(names ...string) (list []base) {
	for _, name := range names {
		list = append(list, base{kind: "part " + p.kind, name: name, part: true, ready: func(string) (*ready, error) {
			files, err := p.files()
			if err != nil {
				return nil, err
			}
			data := files[name]
			if len(data) == 0 {
				return nil, errNothing
			}
			return partReady(data, p.shape(data), p.use)
		}})
	}
	return list
}

// partReady damages a copy of data, and mends it.
func partReady(data []byte, known *shape, use func([]byte, *rand.Rand)) (*ready, error) {
	if len(known.fields) == 0 && len(known.regions) == 0 {
		return nil, errNothing
	}
	scratch := append([]byte(nil), data...)
	mend := func(edits []edit) error {
		if !sameLength(edits, len(data)) {
			return nil
		}
		for _, e := range edits {
			copy(scratch[e.Off:e.Off+e.Del], data[e.Off:])
		}
		return nil
	}
	r := &ready{data: data, shape: known, repair: mend, close: func() {}}
	r.run = func(edits []edit, rng *rand.Rand) error {
		if !sameLength(edits, len(data)) {
			use(apply(data, edits), rng)
			return nil
		}
		for _, e := range edits {
			copy(scratch[e.Off:], e.Ins)
		}
		use(scratch, rng)
		return mend(edits)
	}
	return r, nil
}

// Bounds on the files that parts are made of, in bytes: of large ones, an input costs as much as a report. No program
// in Go is small.
const (
	maxPart   = 400 << 10
	maxGoPart = 4 << 20
)

// partFiles lists the programs and debug files of cases that a part is found in, if they are small. With suffixes, the
// names end with one of them.
func partFiles(t tb, kind string, cases []fixture.Case, find func([]byte) *shape, use func([]byte, *rand.Rand), suffixes ...string) (list []base) {
	for _, c := range cases {
		for _, rel := range caseFiles(c) {
			if suffixes != nil && !slices.Contains(suffixes, filepath.Ext(rel)) {
				continue
			}
			list = append(list, base{kind: "part " + kind, name: c.Name + "/" + rel, part: true, ready: func(string) (r *ready, err error) {
				err = caught(func() error {
					path := original(t, c, rel)
					limit := int64(maxPart)
					if kind == "gotable" {
						limit = maxGoPart
					}
					if st, err := os.Stat(path); err != nil || st.Size() > limit {
						return errNothing
					}
					data, err := os.ReadFile(path)
					if err == nil {
						r, err = partReady(data, find(data), use)
					}
					return err
				})
				return r, err
			}})
		}
	}
	return list
}

// bytesShape is that of data of which nothing is known but that it is made of words.
func bytesShape(size int) func([]byte) *shape {
	return func(data []byte) *shape {
		s := &shape{regions: []region{{0, len(data)}}}
		s.fields = append(s.fields, words(0, min(len(data), 16<<10), size, roleNumber, nil)...)
		s.fields = append(s.fields, words(0, min(len(data), 4<<10), 1, roleCode, nil)...)
		return s
	}
}

// textShape is that of lines of words.
func textShape(data []byte) *shape {
	return &shape{text: true, regions: []region{{0, len(data)}}}
}

// partBases lists all parts.
func partBases(t tb, cores, dumps []fixture.Case) (list []base) {
	list = append(list, partFiles(t, "elf", cores, elfShape, useELF)...)
	list = append(list, partFiles(t, "dwarf", cores, dwarfShape, useDWARF)...)
	list = append(list, partFiles(t, "cfi", cores, cfiShape, useCFI)...)
	list = append(list, partFiles(t, "gotable", slices.DeleteFunc(slices.Clone(cores), func(c fixture.Case) bool { return !inGo(c) }), goShape, useGo)...)
	list = append(list, partFiles(t, "pe", dumps, peShape, usePE, ".exe", ".dll")...)
	list = append(list, partFiles(t, "pdb", dumps, pdbShape, usePDB, ".pdb")...)
	list = append(list, windowsParts()...)
	list = append(list, packedParts(t)...)
	list = append(list, nameParts(t)...)
	list = append(list, textParts(t)...)
	list = append(list, slimParts()...)
	list = append(list, codeParts()...)
	list = append(list, heapParts(t)...)
	return append(list, processParts()...)
}

// memory is that of a process which has every address: what is not in data is made of the address.
type memory struct {
	a    *arch.Arch
	base uint64
	data []byte
}

func (m memory) ReadMem(addr arch.Address, b []byte) (int, error) {
	if off := addr - m.base; off < uint64(len(m.data)) {
		if n := copy(b, m.data[off:]); n == len(b) {
			return n, nil
		}
	}
	if addr%13 == 0 {
		return 0, &arch.MemError{Addr: addr, Err: errNothing}
	}
	for i := range b {
		b[i] = byte((addr + uint64(i)) * 7 >> 2)
	}
	return len(b), nil
}

func (m memory) ReadWord(addr arch.Address) (uint64, error) {
	return wordAt(m, m.a, addr)
}

func wordAt(m arch.Memory, a *arch.Arch, addr arch.Address) (uint64, error) {
	buf := make([]byte, a.WordSize)
	if _, err := m.ReadMem(addr, buf); err != nil {
		return 0, err
	}
	return a.Word(buf), nil
}
