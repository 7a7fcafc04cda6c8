package systemtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A file that another process cuts short between Open and Analyze is an error of
// its own, and no crash of the program.
func TestFilesCutWhileRead(t *testing.T) {
	c := fixture.Get(t, "amd64-recursion-O0")
	for _, which := range []string{"core", c.Program} {
		t.Run(which, func(t *testing.T) {
			dir := t.TempDir()
			copySparse(t, c.Core(t), filepath.Join(dir, "core"))
			copySparse(t, c.Binary(t), filepath.Join(dir, c.Program))
			target, err := corewalk.Open(context.Background(), filepath.Join(dir, "core"), corewalk.WithSysroot(c.Sysroot(t)),
				corewalk.WithDebugDir(t.TempDir()), corewalk.WithExecutable(filepath.Join(dir, c.Program)))
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			if err := os.Truncate(filepath.Join(dir, which), 0); err != nil {
				t.Fatal(err)
			}
			for range 2 { // what the first left behind does not trip the second
				_, err = target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
				if !errors.Is(err, corewalk.ErrChanged) && which == "core" {
					t.Errorf("Analyze: %v", err)
				}
			}
			in := target.Info()
			if which == "core" && (len(in.Warnings) == 0 || in.Warnings[len(in.Warnings)-1].Code != report.WarnChanged) {
				t.Errorf("Info: %+v", in.Warnings)
			}
			if len(in.Mappings) == 0 {
				t.Errorf("Info leaves out what was read before: %+v", in)
			}
		})
	}
}

// A core may have millions of notes without a name or contents.
func TestEndlessNotes(t *testing.T) {
	core := corebuild.New()
	core.Thread(7, 11, corebuild.AMD64Regs(nil))
	core.Note(strings.Repeat("\x00long name", 1<<20), 5, nil)
	core.RawNotes(bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0}, 2<<20))
	before := allocated()
	target, err := corewalk.OpenReader(context.Background(), bytes.NewReader(core.Bytes()), "core")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	in := target.Info()
	if err := report.WriteInfoText(io.Discard, in, report.TextOptions{}); err != nil {
		t.Error(err)
	}
	var js bytes.Buffer
	if err := report.WriteInfoJSON(&js, in); err != nil || js.Len() > 20<<20 {
		t.Errorf("%d bytes of JSON, %v", js.Len(), err)
	}
	if n := len(in.Notes); n < 100_000 || n > 200_000 || len(in.Warnings) == 0 {
		t.Errorf("%d notes, %v", n, in.Warnings)
	}
	if n := allocated() - before; n > runAllocs/2 {
		t.Errorf("allocated %d MB", n>>20)
	}
}

// FuzzOpen opens bytes as a core, with a fixture's program and libraries for it.
func FuzzOpen(f *testing.F) {
	c := fixture.Get(f, "amd64-recursion-O0")
	for _, name := range []string{c.Name, "amd64-signal-altstack", "amd64-vdso"} {
		data, err := os.ReadFile(fixture.Get(f, name).Core(f))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 24<<10)]) // headers, notes, the first pages
	}
	core := corebuild.New()
	core.Thread(7, 11, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RSP: 0x7000, arch.RIP: 0x1010, arch.RBP: 0x7008}))
	core.PSInfo(7, "small", "small core")
	core.Files(corebuild.Mapping{Start: 0x1000, End: 0x2000, Path: "/opt/corewalk-fixtures/recursion-O0/recursion"})
	core.Load(0x1000, elffile.PF_R|elffile.PF_X, 0x1000, nil)
	core.Load(0x7000, elffile.PF_R|elffile.PF_W, 0x100, make([]byte, 0x100))
	f.Add(core.Bytes())
	opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(f)), corewalk.WithExecutable(c.Binary(f)), corewalk.WithDebugDir(f.TempDir())}
	f.Fuzz(func(t *testing.T, data []byte) {
		everything(func() (*corewalk.Target, error) {
			return corewalk.OpenReader(context.Background(), bytes.NewReader(data), "fuzz", opts...)
		})
	})
}
