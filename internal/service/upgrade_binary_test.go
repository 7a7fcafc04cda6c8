package service_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// buildBefore builds corewalkd of the newest sources with an older version of the schema, as they are in the repository.
func buildBefore(t *testing.T) (bin, commit string) {
	t.Helper()
	root := fixture.Root(t)
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		if err != nil {
			t.Skipf("the repository has no history here: git %s: %v", args[0], err)
		}
		return strings.TrimSpace(string(out))
	}
	// A migration is a text in the sources. One that was mended before a release is no other version.
	const schema = "internal/service/store/postgres/schema.go"
	now, err := os.ReadFile(filepath.Join(root, schema))
	if err != nil {
		t.Fatal(err)
	}
	for c := range strings.FieldsSeq(git("log", "--format=%H", "--", schema)) {
		if strings.Count(git("show", c+":"+schema), "`") < bytes.Count(now, []byte("`")) {
			commit = c
			break
		}
	}
	if commit == "" {
		t.Skip("the repository has no history of another version of the schema")
	}
	bin = t.TempDir()
	src := filepath.Join(bin, "src")
	if err := os.Mkdir(src, 0o755); err != nil {
		t.Fatal(err)
	}
	archive, unpack := exec.Command("git", "-C", root, "archive", commit), exec.Command("tar", "-C", src, "-x", "--exclude=testdata/cores", "--exclude=testdata/minidumps")
	pipe, err := archive.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	unpack.Stdin = pipe
	if err := archive.Start(); err != nil {
		t.Fatal(err)
	}
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := archive.Wait(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", bin, "./cmd/corewalkd")
	cmd.Dir = src
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin, commit
}

// Programs of the schema before go on while newer ones start on their database, both take and analyse dumps, and the newer ones go on alone: each dump is
// counted once, and nothing is lost.
func TestUpgradeWhileRunning(t *testing.T) {
	fixture.Long(t)
	before, commit := buildBefore(t)
	bin := build(t)
	dir, files := dumps(t, 42)
	_, analysed := triaged(t, bin, dir)
	old := newFleet(t, before)
	defer old.end()
	old.scale(1)
	send(t.Context(), old.serve, files[:14])

	newer := *old
	newer.bin, newer.workers = bin, nil
	newer.serve = newer.program("serve")
	newer.serve.begin()
	newer.serve.token = old.serve.token
	defer newer.end()
	newer.scale(1)
	send(t.Context(), newer.serve, files[14:21])
	send(t.Context(), old.serve, files[21:28])
	old.serve.settled(28)
	for _, p := range append(slices.Clone(old.workers), old.serve) {
		p.cmd.Process.Signal(syscall.SIGTERM)
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("the program of %s ended with %v: %s", commit, err, p.log)
		}
		for line := range strings.Lines(p.log.String()) {
			if strings.Contains(line, "level=ERROR") {
				t.Errorf("the program of %s: %s", commit, line)
			}
		}
	}
	send(t.Context(), newer.serve, files[28:])
	newer.serve.settled(len(files))
	sum := 0
	for _, n := range newer.serve.grouped(analysed) {
		sum += n
	}
	if sum != analysed {
		t.Errorf("%d dumps are in groups, want %d", sum, analysed)
	}
	// An older program does not start on the newer tables, and says why.
	late := old.program("serve")
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // it may start
	defer stop()
	late.cmd = exec.CommandContext(ctx, filepath.Join(late.bin, late.command[0]), append(late.command[1:], "--listen", "127.0.0.1:0")...)
	late.cmd.Env = append(os.Environ(), late.env...)
	if out, err := late.cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "newer version") {
		t.Errorf("%v: %s", err, out)
	}
}
