package command

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A statusRow is a row of the table of exit statuses.
type statusRow struct {
	what                       string
	report, info, live, triage string // "-": the command does not do this
}

// statusTable is the table of exit statuses, of which TestStatuses tries each row and TestStatusPage makes docs/reference/statuses.md.
var statusTable = []statusRow{
	{"all was read and walked; variables, symbols or files of modules may be missing, if no caller was guessed for that", "0", "0", "0", "0"},
	{"the reader of the output stopped early (`corewalk core | head`)", "0", "0", "0", "0"},
	{"there is no such file, or it is not a dump, or is an archive with none or with several", "1", "1", "-", "1; 3 if other dumps could be read"},
	{"there is no such process, or it may not be examined", "-", "-", "1", "-"},
	{"the dump has no threads, or is of an architecture or system whose stacks cannot be walked; `corewalk info` shows its contents", "1", "3", "-", "1; 3 if other dumps could be read"},
	{"the output cannot be written", "1", "1", "1", "1"},
	{"the command line is wrong", "2", "2", "2", "2"},
	{"the dump is truncated, or could be unpacked in part only", "3", "3", "-", "0"},
	{"the file found for a module is from a different build", "3", "3", "3", "0"},
	{"the `BINARY` could not be used, and no other file was found for the program", "3", "3", "-", "-"},
	{"a stack could not be walked to its bottom, `--max-frames` aside", "3", "0", "3", "0"},
	{"the file of a module is missing, and the caller of a frame in it could only be guessed from the stack", "3", "0", "3", "0"},
	{"a thread of `--thread` does not exist", "3; 1 if none does", "-", "3; 1 if none does", "-"},
	{"Ctrl-C after something was analysed", "3", "0", "3; 0 with `--every`", "3"},
	{"the program that `live` started ended without a crash, or `--parity` found differences", "-", "-", "1", "-"},
	{"there are new groups, and `--fail-on new` asks for them", "-", "-", "-", "4"},
}

// cells are the cells of a row by command.
func (r statusRow) cells() map[string]string {
	return map[string]string{"report": r.report, "info": r.info, "live": r.live, "triage": r.triage}
}

// Each row of the table of exit statuses holds: for each command that it names there is a
// command line here, except for live, whose processes have tests of their own.
func TestStatuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c, other := fixture.Get(t, "amd64-pie"), fixture.Get(t, "amd64-mismatch")
	core := must(os.ReadFile(c.Core(t)))
	write("core", core)
	write("pack", must(os.ReadFile(c.Binary(t))))
	write("alone/core", core)
	write("cut", core[:200_000])
	write("lost/core", must(os.ReadFile(fixture.Get(t, "amd64-bad-sp").Core(t))))
	write("text", []byte("hello\n"))
	write("older/core", must(os.ReadFile(other.Core(t))))
	write("older/version", must(os.ReadFile(filepath.Join(other.Dir, "version.other"))))
	threadless, _ := foreign("threadless")
	write("threadless", threadless)
	if err := os.Mkdir(filepath.Join(dir, "none"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := []string{"--sysroot", c.Sysroot(t), "--debug-dir", filepath.Join(dir, "none")}
	triage := append([]string{"triage", "--no-db"}, files...)
	info := append([]string{"info"}, files...)
	with := func(list []string, more ...string) []string { return append(list[:len(list):len(list)], more...) }
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	gone, filled := failing{&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}}, failing{syscall.ENOSPC}

	// here runs in this process, with an output that fails or a context that is over.
	here := func(e env, args []string) int {
		var b bytes.Buffer
		if e.stderr = &b; e.stdout == nil {
			e.stdout = &b
		}
		if e.ctx == nil {
			e.ctx = context.Background()
		}
		return run(args, e)
	}
	// there runs the command.
	there := func(args []string) int {
		cmd := exec.Command("corewalk", args...)
		cmd.Dir = dir
		cmd.Run()
		return cmd.ProcessState.ExitCode()
	}
	inDir := func(name string) string { return filepath.Join(dir, name) }
	type runs map[string][]int // the first is the cell's first number, the others those after it
	table := map[string]func() runs{
		"all was read": func() runs {
			return runs{"report": {there(with(files, "core", "pack")), there(with(files, "--max-frames", "1", "core", "pack"))}, "info": {there(with(info, "core", "none"))},
				"triage": {there(with(triage, "core"))}}
		},
		"the reader of": func() runs {
			return runs{"report": {here(env{stdout: gone}, with(files, inDir("core"), inDir("pack")))}, "info": {here(env{stdout: gone}, with(info, inDir("core"), inDir("pack")))},
				"triage": {here(env{stdout: gone}, []string{"triage", "--help"})}}
		},
		"there is no such file": func() runs {
			return runs{"report": {there(with(files, "nothing")), there(with(files, "text"))}, "info": {there(with(info, "text"))},
				"triage": {there(with(triage, "text")), there(with(triage, "text", "core"))}}
		},
		"there is no such process": func() runs { return runs{"live": {there([]string{"live", "2000000000"})}} },
		"the dump has no threads": func() runs {
			return runs{"report": {there(with(files, "threadless"))}, "info": {there(with(info, "threadless"))},
				"triage": {there(with(triage, "threadless")), there(with(triage, "threadless", "core"))}}
		},
		"the output cannot": func() runs {
			return runs{"report": {here(env{stdout: filled}, with(files, inDir("core")))}, "info": {here(env{stdout: filled}, with(info, inDir("core")))},
				"triage": {there(with(triage, "-o", "none/none/none", "core"))}}
		},
		"the command line": func() runs {
			return runs{"report": {there([]string{"--none", "core"})}, "info": {there([]string{"info"})}, "live": {there([]string{"live"})}, "triage": {there([]string{"triage"})}}
		},
		"the dump is truncated": func() runs {
			return runs{"report": {there(with(files, "cut", "pack"))}, "info": {there(with(info, "cut", "pack"))}, "triage": {there(with(triage, "cut"))}}
		},
		"the file found for": func() runs {
			return runs{"report": {there(with(files, "older/core"))}, "info": {there(with(info, "older/core"))}, "triage": {there(with(triage, "older/core"))}}
		},
		"the `BINARY` could": func() runs {
			return runs{"report": {there(with(files, "alone/core", "text"))}, "info": {there(with(info, "alone/core", "text"))}}
		},
		"the file of a module is": func() runs {
			return runs{"report": {there(with(files, "alone/core"))}, "info": {there(with(info, "alone/core"))}, "triage": {there(with(triage, "alone/core"))}}
		},
		"a stack could not": func() runs {
			return runs{"report": {there(with(files, "lost/core"))}, "info": {there(with(info, "lost/core"))},
				"triage": {there(with(triage, "lost/core"))}}
		},
		"a thread of": func() runs {
			return runs{"report": {there(with(files, "--thread", "1,4180", "core", "pack")), there(with(files, "--thread", "1", "core", "pack"))}}
		},
		"Ctrl-C after": func() runs {
			return runs{"report": {here(env{ctx: stopped}, with(files, inDir("core"), inDir("pack")))}, "info": {here(env{ctx: stopped}, with(info, inDir("core"), inDir("pack")))}}
		},
		"the program that": func() runs { return runs{"live": {there([]string{"live", "--", "true"})}} },
		"there are new groups": func() runs {
			return runs{"triage": {there(with(triage, "--fail-on", "new", "core"))}}
		},
	}
	if len(statusTable) != len(table) {
		t.Errorf("the table has %d rows, the test %d", len(statusTable), len(table))
	}
	for _, row := range statusTable {
		var try func() runs
		for begin, f := range table {
			if strings.HasPrefix(row.what, begin) {
				try = f
			}
		}
		if try == nil {
			t.Errorf("no test for the row %q", row.what)
			continue
		}
		got := try()
		for command, cell := range row.cells() {
			list := got[command]
			if cell == "-" || len(list) == 0 {
				if (cell == "-") != (len(list) == 0) && command != "live" && !(command == "triage" && strings.HasPrefix(row.what, "Ctrl-C")) {
					t.Errorf("%s: %s: the cell is %q, and %d command lines are for it", row.what, command, cell, len(list))
				}
				continue
			}
			want := strings.Split(cell, "; ")
			for i, status := range list {
				w := want[min(i, len(want)-1)]
				if n, err := strconv.Atoi(strings.Fields(w)[0]); err != nil || n != status {
					t.Errorf("%s: %s: status %d, the table says %s", row.what, command, status, w)
				}
			}
		}
	}
}
