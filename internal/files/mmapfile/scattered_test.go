//go:build linux

package mmapfile

import (
	"bytes"
	"encoding/binary"
	"os"
	"sync"
	"testing"
	"unsafe"
)

// mapped counts the pages of data that this process has mapped.
func mapped(t *testing.T, data []byte) int {
	t.Helper()
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Skip("no page map to count pages in: ", err)
	}
	defer f.Close()
	page := os.Getpagesize()
	entries := make([]byte, (len(data)+page-1)/page*8)
	if _, err := f.ReadAt(entries, int64(uintptr(unsafe.Pointer(&data[0])))/int64(page)*8); err != nil {
		t.Skip("no page map to count pages in: ", err)
	}
	n := 0
	for ; len(entries) > 0; entries = entries[8:] {
		if binary.LittleEndian.Uint64(entries)>>63 == 1 {
			n++
		}
	}
	return n
}

func TestScattered(t *testing.T) {
	const size = 2 << 20
	path := write(t, size)
	whole, err := os.ReadFile(path) // into the page cache, too
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const off, length = 100, size - 1000
	prepare := f.Scattered(off, length)
	if prepare == nil {
		t.Skip("pages of mapped files cannot be read one by one here")
	}
	before := mapped(t, f.Data())
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for at := uint64(around); at+8 < length; at += around {
				prepare(at, at+8)
				if !bytes.Equal(f.Data()[off+at:off+at+8], whole[off+at:off+at+8]) {
					t.Errorf("other bytes at %#x", at)
				}
			}
		})
	}
	wait.Wait()
	if n, reads := mapped(t, f.Data())-before, size/around; n > 2*reads && !raceDetector {
		t.Errorf("%d reads brought in %d pages", reads, n)
	}
	for _, r := range [][2]uint64{{0, 8}, {length - 8, length}, {length, length + 8}, {length, 1 << 63}, {8, 0}, {1 << 63, 8}, {^uint64(0) - 4, ^uint64(0)}} {
		prepare(r[0], r[1])
	}
	// Where much is read, the kernel maps a block at a time again.
	at := f.Data()[off+around : off+2*around]
	for i := uint64(0); i < around; i += 1024 {
		prepare(around+i, around+i+8)
		_ = at[i]
	}
	if !bytes.Equal(f.Data(), whole) {
		t.Error("other bytes")
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, whole) {
		t.Errorf("the file has changed: %v", err)
	}
}

func TestScatteredNowhere(t *testing.T) {
	f, err := Open(write(t, 100_000))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, r := range [][2]uint64{{0, 100_001}, {100_000, 0}, {1 << 63, 1 << 63}, {1, 4000}, {^uint64(0), 2}} {
		if f.Scattered(r[0], r[1]) != nil {
			t.Errorf("%#x bytes from %#x on are prepared", r[1], r[0])
		}
	}
	if none, err := Open(write(t, 0)); err != nil || none.Scattered(0, 0) != nil {
		t.Errorf("an empty file is prepared: %v", err)
	}
}
