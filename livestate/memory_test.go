//go:build linux

package livestate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

const pages = `
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	/* readable, inaccessible, readable, not there */
	char *p = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 'a', 3 * 4096);
	mprotect(p + 4096, 4096, PROT_NONE);
	munmap(p + 3 * 4096, 4096);
	puts("ready");
	printf("%p\n", (void *)p);
	for (char c;;) { if (read(0, &c, 1) != 1) return 0; p[0]++; puts("done"); }
}
`

// Memory is read as far as it goes; pages that the process itself may not read are
// read as well; while the process stands still, what was read stays.
func TestMemory(t *testing.T) {
	for _, flags := range [][]string{nil, {"-m32"}} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) { testMemory(t, cProgram(t, pages, flags...)) })
	}
}

func testMemory(t *testing.T, exe string) {
	cmd := exec.Command(exe)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	_, lines := start(t, cmd)
	lines.Scan()
	var base arch.Address
	if _, err := fmt.Sscanf(lines.Text(), "0x%x", &base); err != nil {
		t.Fatal(lines.Text(), err)
	}
	p := attach(t, cmd.Process.Pid)
	buf := make([]byte, 5*4096)
	for _, held := range []bool{false, true} {
		if held {
			if err := p.StopAll(); err != nil {
				t.Fatal(err)
			}
		}
		for _, off := range []uint64{0, 1, 4095, 4096, 2*4096 + 7} {
			n, err := p.ReadMem(base+off, buf)
			var me *arch.MemError
			if want := 3*4096 - int(off); n != want || !errors.As(err, &me) || me.Addr != base+3*4096 || !errors.Is(err, arch.ErrUnmapped) {
				t.Errorf("held %v, %#x: %d bytes of %d, %v", held, off, n, want, err)
			}
			if !bytes.Equal(buf[:n], bytes.Repeat([]byte{'a'}, n)) {
				t.Errorf("held %v, %#x: other bytes than are there", held, off)
			}
		}
		small := make([]byte, 16)
		if n, err := p.ReadMem(base+3*4096-8, small); n != 8 || !errors.Is(err, arch.ErrUnmapped) {
			t.Errorf("held %v: across the end: %d, %v", held, n, err)
		}
		var word [8]byte
		copy(word[:p.Arch().WordSize], "aaaaaaaa")
		want := binary.LittleEndian.Uint64(word[:])
		if v, err := p.ReadWord(base + 4093); err != nil || v != want {
			t.Errorf("held %v: across pages: %#x, %v", held, v, err)
		}
		for _, bad := range []arch.Address{0, 1 << 33, ^arch.Address(0) - 3, base + 3*4096} {
			if _, err := p.ReadWord(bad); !errors.Is(err, arch.ErrUnmapped) {
				t.Errorf("held %v: %#x: %v", held, bad, err)
			}
		}
	}
	if err := p.ResumeAll(); err != nil {
		t.Fatal(err)
	}
	// A new stop sees what has changed since the last.
	for want := byte('b'); want < 'e'; want++ {
		fmt.Fprint(in, "x")
		if !lines.Scan() || lines.Text() != "done" {
			t.Fatal(lines.Text())
		}
		if err := p.StopAll(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.ReadMem(base, buf[:1]); err != nil || buf[0] != want {
			t.Errorf("%c, want %c, %v", buf[0], want, err)
		}
		if err := p.ResumeAll(); err != nil {
			t.Fatal(err)
		}
	}
}

// A snapshot keeps the stacks as they were, and counts what is read of the rest.
func TestSnapshotIsOfOneMoment(t *testing.T) {
	cmd := exec.Command(cProgram(t, pages))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	_, lines := start(t, cmd)
	lines.Scan()
	var base arch.Address
	if _, err := fmt.Sscanf(lines.Text(), "0x%x", &base); err != nil {
		t.Fatal(err)
	}
	p := attach(t, cmd.Process.Pid)
	s, err := p.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	regs, err := s.Registers(-1)
	if err != nil {
		t.Fatal(err)
	}
	sp, _ := regs.Get(s.Arch().SP)
	stack := make([]byte, 512)
	if _, err := s.ReadMem(sp, stack); err != nil || s.PagesReadLate() != 0 {
		t.Errorf("the stack: %v, %d late", err, s.PagesReadLate())
	}
	var b [1]byte
	if _, err := s.ReadMem(base, b[:]); err != nil || b[0] != 'a' || s.PagesReadLate() != 1 {
		t.Errorf("%c, %v, %d late", b[0], err, s.PagesReadLate())
	}
	fmt.Fprint(in, "x")
	lines.Scan()
	if _, err := s.ReadMem(base, b[:]); err != nil || b[0] != 'a' || s.PagesReadLate() != 1 {
		t.Errorf("read twice: %c, %v, %d late", b[0], err, s.PagesReadLate())
	}
	// When no more pages are kept, one is not read for each word of it.
	for at := arch.Address(1); len(s.pages) < maxCached; at++ {
		s.pages[at] = nil
	}
	first, err := s.page(base + 4096)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.page(base + 4097); again != first {
		t.Errorf("a page that is not kept for long was read twice: %v", err)
	}
	for at := arch.Address(1); len(s.recent) < maxRecent; at++ {
		s.recent[at] = nil
	}
	if _, err := s.ReadMem(base+2*4096, b[:]); err != nil || len(s.recent) != 1 {
		t.Errorf("%v, %d pages are kept", err, len(s.recent))
	}
	clear(s.recent)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for !p.gone() {
	}
	clear(s.pages)
	again := make([]byte, 512)
	if _, err := s.ReadMem(sp, again); err != nil || !bytes.Equal(stack, again) {
		t.Errorf("the stack after the end: %v", err)
	}
	if _, err := s.ReadWord(base + 2*4096); err == nil {
		t.Error("memory of a process that has ended, which nobody has read before")
	}
}
