package command

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A library of the cores below has its header in the first page and code in the
// second.
func library(id []byte) []byte {
	h := corebuild.Lib(
		elffile.Prog{Type: elffile.PT_LOAD, Flags: elffile.PF_R, Filesz: 0x1000, Memsz: 0x1000, Align: 0x1000},
		elffile.Prog{Type: elffile.PT_LOAD, Flags: elffile.PF_R | elffile.PF_X, Off: 0x1000, Vaddr: 0x1000, Filesz: 0x1000, Memsz: 0x1000, Align: 0x1000},
		elffile.Prog{Type: elffile.PT_NOTE, Flags: elffile.PF_R, Off: 0x400, Vaddr: 0x400, Filesz: 36, Memsz: 36, Align: 4},
	)
	file := make([]byte, 0x2000)
	copy(file, h.Bytes())
	copy(file[0x400:], corebuild.BuildIDNote(h.Order, id))
	return file
}

// crowd writes a core with n threads, each in a library of its own, and three
// libraries that no thread is in. A word on the stacks looks like a return address
// in the second of these. It returns the libraries' build-ids.
func crowd(t *testing.T, n int) (core string, ids []string) {
	const base, stack = 0x7f0000000000, 0x7ffff0000000
	c := corebuild.New()
	var files []corebuild.Mapping
	for i := range uint64(n + 3) {
		at := base + i<<20
		id := slices.Repeat([]byte{byte(i + 1)}, 20)
		c.Load(at, elffile.PF_R, 0x1000, library(id)[:0x1000])
		c.Load(at+0x1000, elffile.PF_R|elffile.PF_X, 0x1000, nil)
		files = append(files, corebuild.Mapping{Start: at, End: at + 0x2000, Path: fmt.Sprintf("/opt/lib%d.so", i)})
		ids = append(ids, fmt.Sprintf("%x", id))
		if i < uint64(n) {
			c.Thread(int(100+i), 0, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RIP: at + 0x1010, arch.RSP: stack}))
		}
	}
	c.Files(files...)
	c.Load(stack, elffile.PF_R|elffile.PF_W, 0x1000, c.Word(nil, 0, 0, base+uint64(n+1)<<20+0x1020))
	core = filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(core, c.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return core, ids
}

// A slowServer answers no query of a kind before it has as many of them as are
// wanted at a time.
type slowServer struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	most  map[string]int // of each kind, at a time
	now   map[string]int
	full  map[string]chan struct{}
}

func slowly(t *testing.T, want int) *slowServer {
	s := &slowServer{most: map[string]int{}, now: map[string]int{}, full: map[string]chan struct{}{"executable": make(chan struct{}), "debuginfo": make(chan struct{})}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/buildid/")
		id, kind, _ := strings.Cut(name, "/")
		s.mu.Lock()
		s.asked = append(s.asked, name)
		s.now[kind]++
		if s.now[kind] > s.most[kind] {
			if s.most[kind] = s.now[kind]; s.most[kind] == want {
				close(s.full[kind])
			}
		}
		s.mu.Unlock()
		select {
		case <-s.full[kind]:
		case <-r.Context().Done():
		case <-time.After(10 * time.Second): // one after the other: the test has failed
		}
		s.mu.Lock()
		s.now[kind]--
		s.mu.Unlock()
		if b, err := hex.DecodeString(id); err == nil && kind == "executable" {
			w.Write(library(b))
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// The files of the modules that stacks go through are fetched at a time, and
// nothing else is; the report is the same as when they are there already.
func TestFetchAtATime(t *testing.T) {
	const modules = 6
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	core, ids := crowd(t, modules)
	s := slowly(t, modules)
	report := func() string {
		var out, errs bytes.Buffer
		run([]string{"--debuginfod=" + s.URL, "--debug-dir", t.TempDir(), core}, env{context.Background(), nil, &out, &errs, nil, nil})
		if errs.Len() > 0 {
			t.Error(errs.String())
		}
		return out.String()
	}
	out := report()
	for _, kind := range []string{"executable", "debuginfo"} {
		if s.most[kind] < modules {
			t.Errorf("%d queries for kind %s at a time, want %d", s.most[kind], kind, modules)
		}
	}
	want := []string{ids[modules+1] + "/executable"} // whose code says that nothing was called there
	for _, id := range ids[:modules] {
		want = append(want, id+"/debuginfo", id+"/executable")
	}
	slices.Sort(want)
	slices.Sort(s.asked)
	if !slices.Equal(s.asked, want) {
		t.Errorf("queries\n%q, want\n%q", s.asked, want)
	}
	if again := report(); again != out || len(s.asked) != len(want) {
		t.Errorf("%d queries, report\n%s, before\n%s", len(s.asked), again, out)
	}
}
