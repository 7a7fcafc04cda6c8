package command

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/ulikunitz/xz"

	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/internal/sandbox"
)

// userCache is where whoever runs the tests has caches, of Go too; "" for the usual place.
var userCache = os.Getenv("XDG_CACHE_HOME")

func TestMain(m *testing.M) {
	os.Unsetenv("DEBUGINFOD_URLS")                                 // no test asks the servers of whoever runs it
	if !strings.HasPrefix(filepath.Base(os.Args[0]), "corewalk") { // no test uses what is kept of the runs of whoever runs it
		if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
			os.Exit(2) // a test ran a command, which takes this program for corewalk: it would run all tests
		}
		os.Setenv("XDG_CACHE_HOME", "/dev/null/none")
		fixture.AtOnce(4) // most scripts wait for the command
	}
	testscript.Main(m, map[string]func(){
		"corewalk":  func() { Main(nil) },
		"corewalkd": func() { Main(new(serving.Fleet)) }, // without what needs servers
	})
}

// TestScripts runs the scripts of testdata with the command itself. Besides
// testscript's own commands they have those of commands, and the variables
//
//	SYSROOT, SYS     the fixtures' libraries, and --sysroot with them
//	SRC              the fixtures' sources
//	BOX              --sandbox, where the system has all of it
//	NODEBUG, NODBG   an empty directory, and --debug-dir with it: nothing of this machine
func TestScripts(t *testing.T) {
	programs := t.TempDir()
	fixture.Programs(t, programs, []string{"XDG_CACHE_HOME=" + userCache}, "testdata/src/fits")
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			root := filepath.Join(fixture.Root(t), "testdata", "sysroot", "amd64")
			none := filepath.Join(e.WorkDir, ".nodebug")
			e.Setenv("SYSROOT", root)
			e.Setenv("NODEBUG", none)
			e.Setenv("SRC", filepath.Join(fixture.Root(t), "testdata", "src"))
			e.Setenv("SYS", "--sysroot="+root)
			e.Setenv("NODBG", "--debug-dir="+none)
			e.Setenv("TERM", "xterm")
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			e.Setenv("BOX", "--sandbox="+map[bool]string{true: sandboxOn, false: sandboxOff}[len(sandbox.Missing()) == 0])
			return os.Mkdir(none, 0o755)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: commands(t, programs),
	})
}

// commands are what scripts make files with. programs is where those are that they run.
func commands(t *testing.T, programs string) map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// fixture NAME sets CORE, BINARY and DIR to those of testdata/cores/amd64-NAME.
		"fixture": func(ts *testscript.TestScript, _ bool, args []string) {
			c := fixture.Get(t, "amd64-"+args[0])
			ts.Setenv("CORE", c.Core(t))
			ts.Setenv("BINARY", c.Binary(t))
			ts.Setenv("DIR", c.Dir)
		},
		// pack KIND FROM TO compresses a file.
		"pack": func(ts *testscript.TestScript, _ bool, args []string) {
			data, err := os.ReadFile(ts.MkAbs(args[1]))
			ts.Check(err)
			var b bytes.Buffer
			ts.Check(compress(&b, args[0], data))
			ts.Check(os.WriteFile(ts.MkAbs(args[2]), b.Bytes(), 0o644))
		},
		// archive FILE FILES... makes a tar archive.
		"archive": func(ts *testscript.TestScript, _ bool, args []string) {
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			for _, name := range args[1:] {
				data, err := os.ReadFile(ts.MkAbs(name))
				ts.Check(err)
				ts.Check(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}))
				w.Write(data)
			}
			ts.Check(w.Close())
			ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
		},
		// crash CORE FILE makes a report of apport.
		"crash": func(ts *testscript.TestScript, _ bool, args []string) {
			data, err := os.ReadFile(ts.MkAbs(args[0]))
			ts.Check(err)
			var b bytes.Buffer
			ts.Check(compress(&b, "gz", data))
			text := "ProblemType: Crash\nExecutablePath: /opt/corewalk-fixtures/pack\nPackage: pack 1.2-3\nCoreDump: base64\n"
			for line := range slices.Chunk(b.Bytes(), 10_000) {
				text += " " + base64.StdEncoding.EncodeToString(line) + "\n"
			}
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text+"Signal: 11\n"), 0o644))
		},
		// fits NAME FILE holds each line of a file against a schema that allows no further keys.
		"fits": func(ts *testscript.TestScript, _ bool, args []string) {
			cmd := exec.Command(filepath.Join(programs, "fits"), args[0])
			cmd.Stdin = strings.NewReader(ts.ReadFile(args[1]))
			if out, err := cmd.CombinedOutput(); err != nil {
				ts.Fatalf("%s: %v: %s", args[1], err, out)
			}
		},
		// head N FROM TO copies the first N bytes.
		"head": func(ts *testscript.TestScript, _ bool, args []string) {
			n, err := strconv.Atoi(args[0])
			ts.Check(err)
			data, err := os.ReadFile(ts.MkAbs(args[1]))
			ts.Check(err)
			ts.Check(os.WriteFile(ts.MkAbs(args[2]), data[:min(n, len(data))], 0o644))
		},
		// minidump NAME FILE writes one of dumpbuild's samples.
		"minidump": func(ts *testscript.TestScript, _ bool, args []string) {
			data, ok := dumpbuild.Samples()[args[0]+".dmp"]
			if !ok {
				ts.Fatalf("unknown minidump %s", args[0])
			}
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o644))
		},
		// foreign WHAT FILE makes a core that cannot be walked.
		"foreign": func(ts *testscript.TestScript, _ bool, args []string) {
			data, ok := foreign(args[0])
			if !ok {
				ts.Fatalf("unknown core %s", args[0])
			}
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o644))
		},
		// movedcore FROM TO PROGRAM copies a core and puts PROGRAM where the core then
		// says that its program was.
		"movedcore": func(ts *testscript.TestScript, _ bool, args []string) {
			dir, err := os.MkdirTemp("/tmp", "cw")
			if err != nil {
				ts.Logf("%v: no directory with a short name", err)
				ts.Check(err)
			}
			ts.Defer(func() { os.RemoveAll(dir) })
			program, err := os.ReadFile(ts.MkAbs(args[2]))
			ts.Check(err)
			ts.Check(os.WriteFile(filepath.Join(dir, "pack"), program, 0o755))
			data, err := os.ReadFile(ts.MkAbs(args[0]))
			ts.Check(err)
			was := "/opt/corewalk-fixtures/static/pack"
			now := dir + strings.Repeat("/", len(was)-len(dir)-len("pack")) + "pack"
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), bytes.ReplaceAll(data, []byte(was), []byte(now)), 0o644))
		},
		// status N PROGRAM ARGS... runs a command that must exit with N.
		"status": func(ts *testscript.TestScript, _ bool, args []string) {
			err := ts.Exec(args[1], args[2:]...)
			got := 0
			if err != nil {
				got = -1
				if x, ok := err.(interface{ ExitCode() int }); ok {
					got = x.ExitCode()
				}
			}
			if strconv.Itoa(got) != args[0] {
				ts.Fatalf("exit status %d (%v), want %s", got, err, args[0])
			}
		},
		// oneline FILE wants one line in a file or stream.
		"oneline": func(ts *testscript.TestScript, _ bool, args []string) {
			s := ts.ReadFile(args[0])
			if strings.Count(s, "\n") != 1 || !strings.HasSuffix(s, "\n") {
				ts.Fatalf("%s has not one line:\n%s", args[0], s)
			}
		},
	}
}

// foreign makes a core that cannot be walked.
func foreign(what string) ([]byte, bool) {
	c := corebuild.New()
	switch what {
	case "ia64":
		c.Machine = emIA64
		c.Thread(77, 11, make([]byte, 34*8))
	case "threadless":
	default:
		return nil, false
	}
	c.PSInfo(77, "stranger", "stranger --far")
	c.Load(0x400000, 5, 4096, nil)
	return c.Bytes(), true
}

func compress(out io.Writer, kind string, data []byte) error {
	var w io.WriteCloser
	var err error
	switch kind {
	case "zstd":
		w, err = zstd.NewWriter(out)
	case "lz4":
		w = lz4.NewWriter(out)
	case "xz":
		w, err = xz.NewWriter(out)
	case "gz":
		w = gzip.NewWriter(out)
	default:
		err = fmt.Errorf("unknown compression %s", kind)
	}
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Close()
}

// emIA64 is a machine whose stacks are not walked.
const emIA64 = 50
