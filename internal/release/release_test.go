package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// An archive has what it was given, with the given time, whenever it is made.
func TestArchives(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 30, 0, 0, time.UTC)
	files := []file{{"corewalk", bytes.Repeat([]byte("program "), 10_000), true}, {"sub/README.md", []byte("read me\n"), false}}
	packed, err := tarOf("corewalk-1", files, at)
	if err != nil {
		t.Fatal(err)
	}
	tar, err := exec.LookPath("tar")
	if err != nil {
		t.Skip("tar is not installed (Debian: tar)")
	}
	cmd := exec.Command(tar, "--utc", "--numeric-owner", "-tvzf", "-")
	cmd.Stdin = bytes.NewReader(packed)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "-rwxr-xr-x 0/0           80000 2026-11-01 12:30 corewalk-1/corewalk\n") ||
		!strings.Contains(string(out), "-rw-r--r-- 0/0               8 2026-11-01 12:30 corewalk-1/sub/README.md\n") {
		t.Errorf("%v\n%s", err, out)
	}
	packed, err = zipOf("corewalk-1", files, at)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(z.File) != 2 || z.File[0].Name != "corewalk-1/corewalk" || z.File[0].UncompressedSize64 != 80_000 ||
		z.File[0].Mode() != 0o755 || !z.File[1].Modified.Equal(at) {
		t.Errorf("%v, %+v", err, z)
	}
}

func TestStamp(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1000")
	if at, err := stamp(0); err != nil || at.Unix() != 1000 {
		t.Error(at, err)
	}
	if at, err := stamp(7); err != nil || at.Unix() != 7 {
		t.Error(at, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := stamp(0); err == nil {
		t.Error("yesterday is a time")
	}
}

// touched ends the files of each package below src with a comment, and returns how many packages these are: the go command compiles them
// again, with the paths of src, and takes from its cache what is no part of the module and lies where it lay for the first build.
func touched(t *testing.T, src string) (n int) {
	t.Helper()
	dirs := map[string]bool{}
	err := filepath.WalkDir(src, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		dirs[filepath.Dir(path)] = true
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "// %s\n", src)
		return errors.Join(err, f.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(dirs)
}

// Two releases of the same sources, from different directories, are equal byte for byte; the
// sums are right, and the program says the version.
func TestReproducible(t *testing.T) {
	fixture.Long(t)
	root := fixture.Root(t)
	target := runtime.GOOS + "/" + runtime.GOARCH
	// Another system's is built once; TestTargets has all of them.
	all := []string{target, "windows/arm64"}
	tool := filepath.Join(t.TempDir(), "release.exe") // a name that every system runs
	build := exec.Command("go", "build", "-o", tool, "./internal/release")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	packages := packagesCan(t, root)
	dirs := [2]string{}
	for i := range dirs {
		src := root
		if i == 1 { // the same sources elsewhere
			src = filepath.Join(t.TempDir(), "elsewhere")
			if out, err := exec.Command("cp", "-r", root, src).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if n := touched(t, src); n < 100 {
				t.Errorf("%d packages are compiled again", n)
			}
			all = all[:1]
		}
		dirs[i] = t.TempDir()
		cmd := exec.Command(tool, append([]string{"-o", dirs[i], "-version", "9.8.7", "-time", "1700000000", "-archives=" + strconv.FormatBool(!packages)}, all...)...)
		cmd.Dir = src
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	name := fmt.Sprintf("corewalk-9.8.7-%s-%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	if runtime.GOOS == "windows" {
		t.Skip("the archive of this system is another one")
	}
	var both [2][]byte
	for i, dir := range dirs {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		both[i] = data
		sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name); err != nil || !strings.Contains(string(sums), want) {
			t.Errorf("%v, no %s in\n%s", err, want, sums)
		}
	}
	if packages {
		checkPackages(t, dirs, "9.8.7")
	}
	if !bytes.Equal(both[0], both[1]) {
		t.Errorf("two builds differ: %d and %d bytes", len(both[0]), len(both[1]))
	}
	out, err := exec.Command("tar", "-C", dirs[0], "-xzf", filepath.Join(dirs[0], name)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program := filepath.Join(dirs[0], strings.TrimSuffix(name, ".tar.gz"), "corewalk")
	if out, err := exec.Command(program, "triage", "list", "--db", filepath.Join(t.TempDir(), "db")).CombinedOutput(); err != nil {
		t.Errorf("triage list: %v: %s", err, out)
	}
	out, err = exec.Command(program, "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "corewalk 9.8.7 (go") {
		t.Errorf("%v: %s", err, out)
	}
	if bytes.Contains(both[0], []byte(root)) {
		t.Error("the archive has this machine's paths")
	}
}
