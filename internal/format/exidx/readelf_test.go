package exidx

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const library = "/usr/arm-linux-gnueabihf/lib/libc.so.6"

// open returns the index of an ELF file.
func open(t testing.TB, path string) *Table {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Skipf("no ARM library is installed (Debian: libc6-armhf-cross): %v", err)
	}
	defer f.Close()
	segments := map[uint64][]byte{}
	var index []byte
	var addr uint64
	for _, p := range f.Progs {
		data := make([]byte, p.Filesz)
		if len(data) == 0 {
			continue
		}
		if _, err := p.ReadAt(data, 0); err != nil {
			t.Fatal(err)
		}
		switch p.Type {
		case elf.PT_LOAD:
			segments[p.Vaddr] = data
		case 0x70000001: // PT_ARM_EXIDX
			index, addr = data, p.Vaddr
		}
	}
	return New(index, addr, binary.LittleEndian, func(at uint64) []byte {
		for start, data := range segments {
			if at >= start && at-start < uint64(len(data)) {
				return data[at-start:]
			}
		}
		return nil
	})
}

var (
	readelfEntry = regexp.MustCompile(`^(0x[0-9a-f]+)(?: <.*>)?: (.*)$`)
	readelfOp    = regexp.MustCompile(`^  ((?:0x[0-9a-f]{2} ?)+) `)
)

// describe formats an entry like readelf -u, without instruction names. readelf shows no
// instructions after a module's own personality routine.
func describe(t *Table, i int) string {
	var e Entry
	switch err := t.entry(i, &e); {
	case errors.Is(err, ErrCantUnwind):
		return fmt.Sprintf("%#x cantunwind", e.Start)
	case err != nil:
		return err.Error()
	case e.Generic:
		return fmt.Sprintf("%#x personality %#x", e.Start, e.Personality)
	}
	return fmt.Sprintf("%#x index %d % x", e.Start, e.Index, e.Ops())
}

func TestAgainstReadelf(t *testing.T) {
	table := open(t, library)
	out, err := exec.Command("arm-linux-gnueabihf-readelf", "-u", library).Output()
	if err != nil {
		t.Skipf("no readelf of ARM is installed (Debian: binutils-arm-linux-gnueabihf): %v", err)
	}
	var want []string
	for _, line := range strings.Split(string(out), "\n") {
		if m := readelfEntry.FindStringSubmatch(line); m != nil {
			want = append(want, m[1])
			if strings.Contains(m[2], "cantunwind") {
				want[len(want)-1] += " cantunwind"
			}
			continue
		}
		if len(want) == 0 {
			continue
		}
		last := &want[len(want)-1]
		if v, ok := strings.CutPrefix(line, "  Compact model index: "); ok {
			*last += " index " + v
		} else if v, ok := strings.CutPrefix(line, "  Personality routine: "); ok {
			*last += " personality " + strings.Fields(v)[0]
		} else if m := readelfOp.FindStringSubmatch(line + " "); m != nil {
			*last += " " + strings.ReplaceAll(strings.TrimSpace(m[1]), "0x", "")
		}
	}
	if len(want) != table.Len() || len(want) < 500 {
		t.Fatalf("%d entries, readelf has %d", table.Len(), len(want))
	}
	for i := range want {
		if got := describe(table, i); got != want[i] {
			t.Errorf("entry %d: %q, readelf has %q", i, got, want[i])
		}
	}
}

// Every function that can be unwound is, with a memory that answers every read.
func TestRunLibrary(t *testing.T) {
	table := open(t, library)
	var e Entry
	ran := 0
	for i := range table.Len() {
		start := table.start(i)
		err := table.Find(start+2, &e)
		if errors.Is(err, ErrCantUnwind) {
			continue
		}
		if err != nil || e.Start != start {
			t.Errorf("%#x: found %#x, %v", start, e.Start, err)
			continue
		}
		f := Frame{Known: 0xffff}
		f.Reg[sp] = 0x1000
		if err := Run(e.Ops(), &f, func(addr uint32) (uint32, error) { return addr, nil }); err != nil {
			t.Errorf("%#x: % x: %v", start, e.Ops(), err)
			continue
		}
		ran++
	}
	if ran < 300 {
		t.Errorf("%d functions unwound", ran)
	}
}

func BenchmarkFindAndRun(b *testing.B) {
	table := open(b, library)
	pc := table.start(table.Len()/2) + 2
	var e Entry
	b.ReportAllocs()
	for b.Loop() {
		if err := table.Find(pc, &e); err != nil && !errors.Is(err, ErrCantUnwind) {
			b.Fatal(err)
		}
		f := Frame{Known: 0xffff}
		Run(e.Ops(), &f, func(addr uint32) (uint32, error) { return addr, nil })
	}
}
