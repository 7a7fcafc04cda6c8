package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/fixture"
)

// split returns a stripped program, and the directory with its debug file, whose sections are compressed.
func split(t *testing.T) (program, debugDir string) {
	t.Helper()
	fixture.Tools(t)
	objcopy, err := exec.LookPath("objcopy")
	if err != nil {
		t.Skip("objcopy is not installed: no debug file can be made (Debian: binutils)")
	}
	whole := fixture.Compile(t, "gcc", "files/ranges.c", "-g", "-O1", "-ffunction-sections", "-Wl,--build-id")
	made := fixture.Made(t, []string{"split"}, []string{whole, objcopy}, func(dir string) {
		for _, args := range [][]string{{"--only-keep-debug", "--compress-debug-sections", whole, filepath.Join(dir, "debug")}, {"--strip-debug", whole, filepath.Join(dir, "program")}} {
			if out, err := exec.Command(objcopy, args...).CombinedOutput(); err != nil {
				t.Skipf("objcopy %v: %v: %s", args, err, out)
			}
		}
		im, err := OpenAlone(filepath.Join(dir, "program"), find.New(context.Background(), find.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("%x", im.elf.BuildID())
		im.Close()
		to := filepath.Join(dir, ".build-id", id[:2])
		if err := errors.Join(os.MkdirAll(to, 0o755), os.Rename(filepath.Join(dir, "debug"), filepath.Join(to, id[2:]+".debug"))); err != nil {
			t.Fatal(err)
		}
	})
	program = filepath.Join(made, "program")
	fixture.Settle(t, program)
	return program, made
}

// visit opens a program over a room, has its debug information decompressed, and closes it. Addresses of functions are looked up if asked is.
func visit(t *testing.T, room *kept.Room, program, debugDir string, asked bool, and func(c *Cache)) {
	t.Helper()
	c := NewCache(find.New(context.Background(), find.Options{DebugDirs: []string{debugDir}}))
	c.Kept = room
	and(c)
	im, err := c.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	d := im.DWARF()
	if d == nil {
		t.Fatal("no debug information")
	}
	data, need, err := im.debugFile().elf.LazyDebugSection("info")
	if err != nil || need == nil || len(data) < minFresh || need(0, uint64(len(data))) != nil {
		t.Fatalf("%d bytes of .debug_info: %v", len(data), err)
	}
	if asked { // otherwise .debug_aranges is looked at first when it is to be kept
		data, need, err := im.debugFile().elf.LazyDebugSection("aranges")
		if err != nil || need == nil || len(data) < minKept {
			t.Fatalf("%d bytes of .debug_aranges: %v", len(data), err)
		}
		for i := range 8 {
			if s, ok := im.SymbolByName(fmt.Sprintf("f0000%d", i%4)); !ok {
				t.Error("no symbol")
			} else if _, err := d.UnitForPC(s.Value); err != nil {
				t.Error(err)
			}
		}
	}
	closed := make(chan error)
	go func() { closed <- c.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("closing the cache does not end")
	}
}

// TestKeptOfDebugFile: all that a run may have decompressed of a debug file is kept, be the list of units by address asked for only
// when it is to be kept, or before.
func TestKeptOfDebugFile(t *testing.T) {
	program, debugDir := split(t)
	for _, asked := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
		room := kept.New(filepath.Join(t.TempDir(), "kept"), 1<<30)
		for run, asked := range asked {
			visit(t, room, program, debugDir, asked, func(*Cache) {})
			if n := debugEntries(t, room); n != 1 {
				t.Errorf("run %d of %v: %d entries", run, asked, n)
			}
		}
	}
}

// debugEntries counts the entries of debug files.
func debugEntries(t *testing.T, room *kept.Room) (n int) {
	list, err := room.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range list {
		if strings.HasSuffix(in.Path, ".debug") && in.Size > minFresh {
			n++
		}
	}
	return n
}

// TestClosingEnds: a disk that takes nothing keeps nobody from closing the files, and later ones wait for it no more. Files are not
// unmapped under a writer.
func TestClosingEnds(t *testing.T) {
	t.Parallel()
	program, debugDir := split(t)
	room := kept.New(filepath.Join(t.TempDir(), "kept"), 1<<30)
	var began atomic.Int32
	free := make(chan struct{})
	room.Writing = func() error {
		began.Add(1)
		<-free
		return nil
	}
	var caches []*Cache
	for run := range 3 {
		from := time.Now()
		visit(t, room, program, debugDir, true, func(c *Cache) {
			c.closing = 200 * time.Millisecond
			if run > 0 {
				c.closing = 30 * time.Second
			}
			caches = append(caches, c)
		})
		if took := time.Since(from); took > 20*time.Second {
			t.Errorf("run %d took %v", run, took)
		}
		if began.Load() != 1 {
			t.Errorf("run %d: %d writers began", run, began.Load())
		}
	}
	caches[0].mu.Lock()
	open, ended := len(caches[0].byFile), caches[0].keeping
	caches[0].mu.Unlock()
	if open < 2 || ended == nil {
		t.Fatalf("%d files are open while one is written", open)
	}
	if err := caches[0].Close(); err != nil { // neither waits nor closes twice
		t.Error(err)
	}
	close(free)
	<-ended
	for range 1000 {
		caches[0].mu.Lock()
		open = len(caches[0].byFile)
		caches[0].mu.Unlock()
		if open == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if open > 0 {
		t.Errorf("%d files remain open", open)
	}
	// What was cut is not there, and left nothing.
	if left, _ := filepath.Glob(filepath.Join(room.Dir(), "*", "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	// The disk works again.
	visit(t, room, program, debugDir, true, func(*Cache) {})
	if n := debugEntries(t, room); n != 1 {
		t.Errorf("%d entries afterwards", n)
	}
}

// TestClosingFails: a full disk costs what would be kept, and nothing else.
func TestClosingFails(t *testing.T) {
	t.Parallel()
	program, debugDir := split(t)
	room := kept.New(filepath.Join(t.TempDir(), "kept"), 1<<30)
	pieces := 0
	room.Writing = func() error {
		if pieces++; pieces%3 == 0 {
			return syscall.ENOSPC
		}
		return nil
	}
	for range 2 {
		visit(t, room, program, debugDir, true, func(*Cache) {})
	}
	if pieces < 3 {
		t.Fatalf("%d pieces were written", pieces)
	}
	if left, _ := filepath.Glob(filepath.Join(room.Dir(), "*", "tmp-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
