package pefile

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"
)

// A table of a million functions has those that ordinals can name.
func TestManyExports(t *testing.T) {
	const n = 1 << 20
	b := binary.LittleEndian.AppendUint32(make([]byte, 16), 1)
	for _, v := range []uint32{n, 0, exportDirectorySize, 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, bytes.Repeat([]byte{1}, 4*n)...)
	f := &File{Data: append(make([]byte, 8), b...), memory: true, ndirs: 1}
	f.dirs[DirExport] = Range{8, exportDirectorySize}
	binary.LittleEndian.PutUint32(f.Data[8+28:], 8+exportDirectorySize)
	got, err := f.exportTable()
	if err != nil || len(got.byRVA) != maxExports {
		t.Fatalf("%d functions, %v", len(got.byRVA), err)
	}
}

// Sections that all have one long name take no more room than they may.
func TestSectionsOfOneLongName(t *testing.T) {
	f := &File{strings: append(make([]byte, 4), bytes.Repeat([]byte("s"), 1<<20)...), Sections: make([]Section, 1000)}
	for i := range f.Sections {
		f.Sections[i].Name = "/4"
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f.nameSections()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(f.Sections))*4*maxSectionName || len(f.Sections[9].Name) != maxSectionName {
		t.Errorf("%d bytes, and a name of %d", n, len(f.Sections[9].Name))
	}
}
