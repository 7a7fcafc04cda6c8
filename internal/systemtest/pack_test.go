package systemtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestPack: the report of a pack, with nothing but the pack, is that of the core with its files.
func TestPack(t *testing.T) {
	ctx := context.Background()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for i, c := range fixture.Cases(t) {
		if i%20 != 0 && !strings.HasPrefix(c.Name, "amd64-jit-") && !fixture.IsLong(t) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			text := func(target *corewalk.Target) string {
				r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
				if err != nil {
					t.Fatal(err)
				}
				var b bytes.Buffer
				if err := report.WriteText(&b, r, report.TextOptions{AllLocals: true}); err != nil {
					t.Fatal(err)
				}
				return b.String()
			}
			full, err := corewalk.Open(ctx, c.Core(t), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(c.Dir), corewalk.WithSearch(c.Dir), corewalk.WithExecutable(c.Binary(t)), corewalk.ForSlim())
			if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			want := text(full)
			var slim, pack bytes.Buffer
			if _, err := full.WriteSlim(ctx, &slim, corewalk.SlimOptions{}); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			core := filepath.Join(dir, "slim")
			if err := os.WriteFile(core, slim.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := full.WritePack(&pack, c.Core(t), core); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "pack")
			if err := os.WriteFile(path, pack.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			st, err := os.Stat(c.Core(t))
			if err != nil {
				t.Fatal(err)
			}
			os.Chtimes(path, st.ModTime(), st.ModTime())
			// Nothing of this machine is looked at.
			small, err := corewalk.Open(ctx, path, corewalk.WithDebugDir(dir))
			if err != nil {
				t.Fatal(err)
			}
			defer small.Close()
			if got := text(small); got != want {
				t.Errorf("the report of the pack: %s\nof the core: %s", got, want)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "corewalk-pack-*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestPackOfImage: the files of a pack are taken out of an image, here an archive of docker save with a compressed layer.
func TestPackOfImage(t *testing.T) {
	ctx := context.Background()
	t.Setenv("TMPDIR", t.TempDir())
	for _, c := range fixture.Cases(t) {
		if c.Name != "amd64-abort" {
			continue
		}
		dir := t.TempDir()
		image := filepath.Join(dir, "image.tar")
		if err := os.WriteFile(image, dockerSave(t, c.Sysroot(t)), 0o600); err != nil {
			t.Fatal(err)
		}
		frames := func(target *corewalk.Target) string {
			r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range r.Modules {
				if m.Status != report.ModuleMatched {
					t.Errorf("%s is %s", m.Path, m.Status)
				}
			}
			var b bytes.Buffer
			if err := report.WriteText(&b, r, report.TextOptions{AllLocals: true}); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		with := []corewalk.Option{corewalk.WithSysroot(image), corewalk.WithDebugDir(dir), corewalk.WithSearch(c.Dir), corewalk.WithExecutable(c.Binary(t))}
		full, err := corewalk.Open(ctx, c.Core(t), with...)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		want := frames(full)
		path := filepath.Join(dir, "pack")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := full.WritePack(file, c.Core(t), c.Core(t))
		if err = errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		if len(packed.Files) < 3 {
			t.Errorf("%+v", packed.Files)
		}
		st, err := os.Stat(c.Core(t))
		if err != nil {
			t.Fatal(err)
		}
		os.Chtimes(path, st.ModTime(), st.ModTime())
		if err := os.Remove(image); err != nil {
			t.Fatal(err)
		}
		small, err := corewalk.Open(ctx, path, corewalk.WithDebugDir(dir))
		if err != nil {
			t.Fatal(err)
		}
		defer small.Close()
		if got := frames(small); got != want {
			t.Errorf("the report of the pack: %s\nof the core: %s", got, want)
		}
		return
	}
	t.Error("no such case")
}

// TestPackElsewhere: in an empty root directory without a network, a corewalk for another architecture makes the same report of
// a pack as this one.
func TestPackElsewhere(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
	emulator, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		t.Skip("qemu-aarch64-static is not installed: Debian's qemu-user-static")
	}
	if out, err := exec.Command("unshare", "--net", "chroot", "/", "true").CombinedOutput(); err != nil {
		t.Skipf("no root directory can be changed here: %v: %s", err, out)
	}
	dir, root := t.TempDir(), t.TempDir()
	here := filepath.Join(dir, "corewalk")
	fixture.Programs(t, dir, nil, "corewalk")
	fixture.Programs(t, root, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64"}, "corewalk")
	static, err := os.ReadFile(emulator)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "qemu"), static, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range fixture.Cases(t) {
		if !slices.Contains([]string{"amd64-abort", "amd64-cxx-virtual", "amd64-deleted", "aarch64-crash-O0"}, c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			files := []string{"--no-cache", "--sysroot", c.Sysroot(t), "--debug-dir", c.Dir, "--search", c.Dir, c.Core(t), c.Binary(t)}
			pack := filepath.Join(root, "crash.cwz")
			os.Remove(pack)
			if out, err := exec.Command(here, append([]string{"pack", "-o", pack}, files...)...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			// The pack's date is printed where the core has none.
			st, err := os.Stat(c.Core(t))
			if err != nil {
				t.Fatal(err)
			}
			os.Chtimes(pack, st.ModTime(), st.ModTime())
			report := func(cmd *exec.Cmd) string {
				cmd.Env = []string{"HOME=/", "TZ=UTC", "PATH=" + os.Getenv("PATH")}
				out, err := cmd.Output()
				if exit := (&exec.ExitError{}); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
					t.Fatalf("%v: %v", cmd.Args, err)
				}
				return string(out)
			}
			want := report(exec.Command(here, files...))
			got := report(exec.Command("unshare", "--net", "chroot", root, "/qemu", "/corewalk", "--no-cache", "/crash.cwz"))
			if len(want) < 100 || got != want {
				t.Errorf("there: %s\nhere: %s", got, want)
			}
		})
	}
}

// dockerSave makes an archive of docker save with one compressed layer, the files below dir.
func dockerSave(t *testing.T, dir string) []byte {
	t.Helper()
	var layer, image bytes.Buffer
	z := gzip.NewWriter(&layer)
	w := tar.NewWriter(z)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	w = tar.NewWriter(&image)
	for _, f := range []struct {
		name string
		data []byte
	}{
		{"manifest.json", []byte(`[{"Config":"config.json","Layers":["layer.tar"]}]`)},
		{"config.json", []byte(`{"architecture":"amd64","os":"linux"}`)},
		{"layer.tar", layer.Bytes()},
	} {
		err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data))})
		if _, werr := w.Write(f.data); errors.Join(err, werr) != nil {
			t.Fatal(err, werr)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return image.Bytes()
}
