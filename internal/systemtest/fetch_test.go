package systemtest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// A shelf is a fetcher that has files by build-id and kind, and notes what it is
// asked for.
type shelf struct {
	files map[string]string
	mu    sync.Mutex
	asked []string
}

func (s *shelf) Fetch(_ context.Context, buildID []byte, kind string) (string, error) {
	name := fmt.Sprintf("%x/%s", buildID, kind)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, name)
	if path := s.files[name]; path != "" {
		return path, nil
	}
	return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

func fetched(t *testing.T, ctx context.Context, name string, s *shelf) (*report.Info, *report.Report) {
	t.Helper()
	c := fixture.Get(t, name)
	target, err := corewalk.Open(ctx, c.Core(t), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(t.TempDir()), corewalk.WithFetcher(s))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	before := target.Info()
	if len(s.asked) != 0 {
		t.Errorf("asked for a list of modules: %q", s.asked)
	}
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	asked := len(s.asked)
	if target.Info(); len(s.asked) != asked {
		t.Errorf("asked for a list of modules after the report: %q", s.asked[asked:])
	}
	return before, r
}

func text(t *testing.T, r *report.Report) string {
	var b strings.Builder
	if err := report.WriteText(&b, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each file is asked for once, when a stack needs it, and what a list of modules
// found before is forgotten then.
func TestFetcher(t *testing.T) {
	const pack = "2f0fc63b3fda74bcc26678fbda2fac99c8aeb218"
	c := fixture.Get(t, "amd64-build-id")
	s := &shelf{files: map[string]string{
		pack + "/executable": c.Binary(t),
		pack + "/debuginfo":  filepath.Join(c.Dir, "debug", ".build-id", pack[:2], pack[2:]+".debug"),
	}}
	before, r := fetched(t, context.Background(), "amd64-build-id", s)
	if m := before.Modules[0]; m.Status != report.ModuleMissing || m.DebugFile != "" {
		t.Errorf("before: %+v", m)
	}
	m := r.Modules[slices.IndexFunc(r.Modules, func(m report.Module) bool { return m.Main })]
	if m.Status != "matched" || m.Symbols != report.SymbolsDWARF || m.File != s.files[pack+"/executable"] || m.DebugFile != s.files[pack+"/debuginfo"] {
		t.Errorf("after: %+v", m)
	}
	if out := text(t, r); !strings.Contains(out, "at pack.c:27 [inlined]") {
		t.Error(out)
	}
	sorted := slices.Clone(s.asked)
	slices.Sort(sorted)
	if len(slices.Compact(slices.Clone(sorted))) != len(sorted) || len(sorted) != 3 {
		t.Errorf("asked for %q", s.asked)
	}
}

// Debug information that several files share is asked for as well.
func TestFetchShared(t *testing.T) {
	const pack, shared = "2f0fc63b3fda74bcc26678fbda2fac99c8aeb218", "9b92589e583025c9226460ce4404a01819ee1bb8"
	c := fixture.Get(t, "amd64-dwz")
	alone := filepath.Join(t.TempDir(), "pack")
	copyFile(t, c.Binary(t), alone)
	s := &shelf{files: map[string]string{pack + "/executable": alone, shared + "/debuginfo": filepath.Join(c.Dir, "pack.dwz")}}
	if _, r := fetched(t, context.Background(), "amd64-dwz", s); !strings.Contains(text(t, r), "at pack.c:27 [inlined]") || !slices.Contains(s.asked, shared+"/debuginfo") {
		t.Errorf("%q\n%s", s.asked, text(t, r))
	}
}

// A fetcher that answers with other files, or none at all, changes nothing.
func TestFetcherWrong(t *testing.T) {
	const pack, libc = "2f0fc63b3fda74bcc26678fbda2fac99c8aeb218", "93ac61ec5a8eb1396f9fbd350e3169a558528a40"
	c := fixture.Get(t, "amd64-build-id")
	other := fixture.Get(t, "amd64-pie").Binary(t)
	debug := filepath.Join(c.Dir, "debug", ".build-id", pack[:2], pack[2:]+".debug")
	for name, files := range map[string]map[string]string{
		"another build": {pack + "/executable": other, libc + "/debuginfo": other},
		"debug file":    {pack + "/executable": debug},
		"no file":       {pack + "/executable": "/nonexistent/file", libc + "/debuginfo": "/nonexistent/file"},
		"the binary":    {libc + "/debuginfo": filepath.Join(c.Sysroot(t), "usr/lib/x86_64-linux-gnu/libc.so.6")},
	} {
		_, r := fetched(t, context.Background(), "amd64-build-id", &shelf{files: files})
		if out := text(t, r); strings.Contains(out, "pack.c") || !strings.Contains(out, "1 missing") {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

// When the context is done nobody is asked.
func TestFetcherDone(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := &shelf{}
	if fetched(t, ctx, "amd64-build-id", s); len(s.asked) != 0 {
		t.Errorf("asked for %q", s.asked)
	}
}

func copyFile(t *testing.T, from, to string) {
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}
