package analysis

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
)

// tracked is a process with libraries.
type tracked struct {
	Process
	libs libstate.LibraryState
}

func (p tracked) LibraryTracker() libstate.LibraryState { return p.libs }

// aheadParts is a process in which thread n runs in library n; two threads are in library 3.
func aheadParts(t *testing.T) (p Parts, completed func() []string) {
	var libs []*libstate.Library
	for i := range uint64(60) {
		name := string(rune('A' + i))
		start := i << 16
		libs = append(libs, &libstate.Library{Path: name, Start: start, End: start + 0x10000,
			Mappings: []libstate.Mapping{{Start: start, End: start + 0x10000, Perm: libstate.Read | libstate.Exec, Path: name}}})
	}
	var threads []unwind.ThreadID
	for i := range 40 {
		threads = append(threads, unwind.ThreadID(i+1))
	}
	p = newParts(t, threads...)
	p.Proc = tracked{p.Proc, libstate.NewTable(libs, 0)}
	var mu sync.Mutex
	var list []string
	p.Files = fakeFiles{
		lacks: func(*libstate.Library) bool { return true },
		complete: func(l *libstate.Library) {
			mu.Lock()
			defer mu.Unlock()
			list = append(list, l.Path)
		},
	}
	return p, func() []string { slices.Sort(list); return list }
}

// The libraries of the requested threads are completed, each once.
func TestAhead(t *testing.T) {
	for _, tt := range []struct {
		threads []unwind.ThreadID
		want    int
	}{{nil, 40}, {[]unwind.ThreadID{4, 7, 77}, 2}, {[]unwind.ThreadID{}, 0}} {
		p, completed := aheadParts(t)
		if err := NewEngine(p).FetchAhead(context.Background(), Options{Threads: tt.threads}); err != nil {
			t.Error(err)
		}
		got := completed()
		if len(got) != tt.want || len(slices.Compact(slices.Clone(got))) != tt.want || slices.Contains(got, "A") {
			t.Errorf("%v: %q", tt.threads, got)
		}
	}
}

// Ahead does nothing if there is at most one file to fetch, and if it was cancelled.
func TestAheadNothing(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for name, change := range map[string]func(*Parts, *context.Context){
		"one lacks": func(p *Parts, _ *context.Context) {
			p.Files = fakeFiles{lacks: func(l *libstate.Library) bool { return l.Path == "C" }}
		},
		"no files":     func(p *Parts, _ *context.Context) { p.Files = nil },
		"cancelled":    func(_ *Parts, ctx *context.Context) { *ctx = done },
		"no libraries": func(p *Parts, _ *context.Context) { p.Proc = tracked{p.Proc, nil} },
	} {
		p, completed := aheadParts(t)
		ctx := context.Background()
		change(&p, &ctx)
		if err := NewEngine(p).FetchAhead(ctx, Options{}); err != nil || len(completed()) != 0 {
			t.Errorf("%s: %v, %q", name, err, completed())
		}
	}
}

// A file that is cut short meanwhile is an error, on any goroutine.
func TestAheadCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := mmapfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	p, _ := aheadParts(t)
	var sum byte
	var mu sync.Mutex
	p.Files = fakeFiles{
		lacks: func(*libstate.Library) bool { return true },
		complete: func(*libstate.Library) {
			mu.Lock()
			defer mu.Unlock()
			sum += m.Data()[1<<15]
		},
	}
	if err := NewEngine(p).FetchAhead(context.Background(), Options{}); !errors.Is(err, mmapfile.ErrChanged) {
		t.Errorf("%v, %d", err, sum)
	}
}

// fakeFiles has no files, and fetches by functions.
type fakeFiles struct {
	lacks    func(*libstate.Library) bool
	complete func(*libstate.Library)
}

func (f fakeFiles) Resolve(*libstate.Library) modules.Resolution { return modules.Resolution{} }
func (f fakeFiles) Lacks(l *libstate.Library) bool               { return f.lacks(l) }
func (f fakeFiles) FetchAll(l *libstate.Library)                 { f.complete(l) }
func (f fakeFiles) Unreachable() []string                        { return nil }
func (f fakeFiles) Release(_, _ string) []byte                   { return nil }
func (f fakeFiles) Unusable() []string                           { return nil }

func (f fakeFiles) SourceFile(*libstate.Library, string) (*modules.SourceFile, error) {
	return nil, fs.ErrNotExist
}
