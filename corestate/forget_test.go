package corestate_test

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/fixture"
)

// resident returns how many KiB of a mapped file are in this process's memory.
func resident(t *testing.T, path string) int {
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip("only Linux tells what is resident")
	}
	_, of, ok := strings.Cut(string(smaps), path+"\n")
	_, rss, ok2 := strings.Cut(of, "\nRss:")
	if !ok || !ok2 {
		t.Fatalf("%s is not mapped", path)
	}
	n, _ := strconv.Atoi(strings.Fields(rss)[0])
	return n
}

// TestForgetPages: what was read of a core need not stay in memory, and can be read again.
func TestForgetPages(t *testing.T) {
	path := fixture.Get(t, "amd64-threads").Core(t)
	core, err := corestate.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	read := func() (all []byte) {
		for _, s := range core.Segments() {
			b := make([]byte, s.InDump)
			core.ReadMem(s.Start, b)
			all = append(all, b...)
		}
		return all
	}
	before := read()
	if n := resident(t, path); n*1024 < len(before)/2 {
		t.Fatalf("only %d KiB of %d bytes are in memory", n, len(before))
	}
	core.ForgetPages()
	if n := resident(t, path); n != 0 {
		t.Errorf("%d KiB are still in memory", n)
	}
	if !bytes.Equal(read(), before) {
		t.Error("the memory differs")
	}
}
