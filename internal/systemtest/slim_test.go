package systemtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestSlim: the report of a slim core is that of the core, to the byte but for its path and its size.
func TestSlim(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range fixture.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			c.ThirdOnly(t)
			opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(c.Dir), corewalk.WithSearch(c.Dir), corewalk.WithExecutable(c.Binary(t))}
			reports := func(path string) []string {
				target, err := corewalk.Open(ctx, path, opts...)
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				var out []string
				for _, o := range []corewalk.AnalyzeOptions{
					{},
					{For: report.Whole{Trees: true}, Include: corewalk.Include{Details: true}, Locals: corewalk.LocalsAll},
					{Locals: corewalk.LocalsNone, Include: corewalk.Include{Memory: true, Code: true, Environment: corewalk.EnvironmentMasked}},
				} {
					r, err := target.Analyze(ctx, o)
					if err != nil {
						t.Fatal(err)
					}
					r.Dump.Path, r.Dump.Size = "core", 0
					r.Dump.Time = r.Dump.Time.Truncate(0)
					var b bytes.Buffer
					if err := errors.Join(report.WriteText(&b, r, report.TextOptions{}), report.WriteJSON(&b, r)); err != nil {
						t.Fatal(err)
					}
					out = append(out, b.String())
				}
				return out
			}
			full := c.Core(t)
			target, err := corewalk.Open(ctx, full, append(opts, corewalk.ForSlim())...)
			if err != nil {
				t.Skip(err)
			}
			defer target.Close()
			if target.Core() == nil {
				t.Skip("not an ELF core")
			}
			path := filepath.Join(t.TempDir(), "slim")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			w, err := target.WriteSlim(ctx, f, corewalk.SlimOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if st, err := os.Stat(full); err == nil {
				os.Chtimes(path, st.ModTime(), st.ModTime())
			}
			t.Logf("%d of %d bytes: %v", w.Size, w.Was, w.Kept)
			var red bytes.Buffer
			if _, err := target.WriteSlim(ctx, &red, corewalk.SlimOptions{Redact: true}); err != nil {
				t.Fatal(err)
			}
			redacted, err := corewalk.OpenReader(ctx, &red, "redacted", opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer redacted.Close()
			if _, _, err := corewalk.SameStacks(target, redacted); err != nil {
				t.Error("redacted:", err)
			}
			want, got := reports(full), reports(path)
			for i := range want {
				if want[i] != got[i] {
					t.Errorf("report %d of the slim core: %s\nof the core: %s", i, got[i], want[i])
					break
				}
			}
		})
	}
}

// secrets are given to the program by its arguments and its environment, or made by it.
var secrets = []string{"Wolfgang-Ludwig", "hunter2-correct-horse-battery", "env-sesame-open-9876543", "tok-hunter2"}

// dumpSecrets builds and runs the program with the secrets, and returns it and its core.
func dumpSecrets(t *testing.T, flags ...string) (exe, core string) {
	t.Helper()
	exe = fixture.Compile(t, "gcc", "slim/secrets.c", append([]string{"-g", "-pthread"}, flags...)...)
	library := fixture.Compile(t, "gcc", "slim/secrets.c", append([]string{"-shared", "-fPIC"}, flags...)...)
	link := filepath.Join(t.TempDir(), secrets[1]+".so") // the dynamic linker's name for it is not the file's
	if err := os.Symlink(library, link); err != nil {
		t.Fatal(err)
	}
	return exe, fixture.Crash(t, []string{"SECRET=" + secrets[2]}, exe, secrets[0], secrets[1], link)
}

// leaks returns pieces of the secrets that are in b: six characters of one, as bytes, and as characters of
// four bytes, and a number.
func leaks(b []byte) []string {
	var found []string
	for _, s := range secrets {
		for i := 0; i+6 <= len(s); i++ {
			piece := s[i : i+6]
			var wide []byte
			for _, c := range []byte(piece) {
				wide = append(wide, c, 0, 0, 0)
			}
			if bytes.Contains(b, []byte(piece)) || bytes.Contains(b, wide) {
				found = append(found, piece)
			}
		}
	}
	if bytes.Contains(b, binary.LittleEndian.AppendUint64(nil, 4929131832784715)) {
		found = append(found, "the card's number")
	}
	return found
}

// TestRedact: no secret is in a redacted core; stacks, and the shape of values, are as before.
func TestRedact(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, flags := range [][]string{{"-O0"}, {"-O2"}, {"-m32"}, {"-z", "execstack"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			exe, core := dumpSecrets(t, flags...)
			full, err := corewalk.Open(ctx, core, corewalk.WithExecutable(exe), corewalk.ForSlim())
			if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			for _, redact := range []bool{false, true} {
				var b bytes.Buffer
				if _, err := full.WriteSlim(ctx, &b, corewalk.SlimOptions{Redact: redact}); err != nil {
					t.Fatal(err)
				}
				found := leaks(b.Bytes())
				if redact && len(found) > 0 {
					at := bytes.Index(b.Bytes(), []byte(found[0]))
					t.Errorf("the redacted core has %q, first at %#x: %.80q", found, at, b.Bytes()[at-16:])
				}
				if !redact && len(found) < 20 {
					t.Errorf("the slim core has only %q: the program has no secrets to blank", found)
				}
				small, err := corewalk.OpenReader(ctx, &b, "slim", corewalk.WithExecutable(exe))
				if err != nil {
					t.Fatal(err)
				}
				defer small.Close()
				if threads, frames, err := corewalk.SameStacks(full, small); err != nil || threads != 2 || frames < 8 {
					t.Errorf("%d threads, %d frames, %v", threads, frames, err)
				}
				r, err := small.Analyze(ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, Include: corewalk.Include{Environment: corewalk.EnvironmentAll}})
				if err != nil {
					t.Fatal(err)
				}
				var text bytes.Buffer
				if err := report.WriteText(&text, r, report.TextOptions{AllLocals: true}); err != nil {
					t.Fatal(err)
				}
				if !redact {
					continue
				}
				if found := leaks(text.Bytes()); len(found) > 0 {
					t.Errorf("the report of the redacted core has %q", found)
				}
				if !bytes.Contains(small.Core().Bytes(), []byte("\x00/lib")) {
					t.Error("the redacted core does not have the names by which the dynamic linker knows libraries")
				}
				wants := []string{"alues in it were blanked", "secrets.c:37"}
				if flags[0] == "-O0" {
					wants = append(wants, strings.Repeat("x", len(secrets[1])), "u->next", "rdx = 0xda")
				}
				for _, want := range wants {
					if !strings.Contains(text.String(), want) {
						t.Errorf("the report of the redacted core lacks %q: %s", want, text.String())
					}
				}
			}
		})
	}
}
