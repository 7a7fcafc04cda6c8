package command

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

// block matches a block of code in a page, with the marks before it.
var block = regexp.MustCompile("(?ms)((?:^<!-- [^\n]* -->\n)*)^```(\\w*)\n(.*?)^```$")

// mark matches what a page says before a block of commands that cannot be run in a test:
//
//	<!-- not run, REASON: PREFIX -->
//	<!-- flags only, REASON: PREFIX -->
//
// It holds for the block's commands that begin with PREFIX. A command that is marked as
// "flags only" is started, and may fail for any reason but its command line.
var mark = regexp.MustCompile(`(?m)^<!-- (not run|flags only), [^:\n]+: (corewalk.*) -->$`)

// pages calls f for each block of code of the documentation, with the marks before it.
func pages(t *testing.T, f func(page, marks, kind, text string)) {
	t.Helper()
	root := fixture.Root(t)
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob(filepath.Join(root, "docs", "*", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(append(files, below...), filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			f(filepath.Base(file), m[1], m[2], m[3])
		}
	}
}

// place makes a directory with the files that the commands and programs of the pages
// name.
func place(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c := fixture.Get(t, "amd64-vars-c-O0")
	core, binary := must(os.ReadFile(c.Core(t))), must(os.ReadFile(c.Binary(t)))
	for name, data := range map[string][]byte{"core": core, "core.4242": core, "core.zst": core, "crashes/core.4242": core, "cores/core.1": core,
		"crashes/core.cxx-sort.zst": core, "server": binary, "crash.dmp": dumpbuild.Samples()["windows.dmp"], "build/server": binary, "builds/1234/server": binary,
		"symbols/server": binary, "rootfs/server": binary, "srv/symbols/server": binary} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Words of a command line of the pages, which the shell takes apart.
var word = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// marked returns the first mark that holds for a command, "" if there is none. It adds the
// prefix of the mark to used.
func marked(marks, command string, used map[string]bool) string {
	for _, m := range mark.FindAllStringSubmatch(marks, -1) {
		if strings.HasPrefix(command, m[2]) {
			used[m[2]] = true
			return m[1]
		}
	}
	return ""
}

func TestMarked(t *testing.T) {
	const marks = "<!-- flags only, no such process: corewalk live -->\n<!-- not run, a pipe: corewalk export | -->\n<!-- a comment -->\n"
	used := map[string]bool{}
	for command, want := range map[string]string{"corewalk live 1": "flags only", "corewalk export | jq": "not run", "corewalk export": "", "corewalk": ""} {
		if got := marked(marks, command, used); got != want {
			t.Errorf("%s: %q; want %q", command, got, want)
		}
	}
	if len(used) != 2 {
		t.Errorf("used: %v", used)
	}
}

// The commands of the pages are right: each runs to its end, with files of its names,
// unless the page marks it.
func TestDocsCommands(t *testing.T) {
	t.Parallel()
	dir := place(t)
	ran, parsed := 0, 0
	pages(t, func(page, marks, kind, text string) {
		used := map[string]bool{}
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			line, _, _ = strings.Cut(line, " #")
			if !strings.HasPrefix(line, "corewalk ") || kind == "go" || strings.Contains(line, toJQ) {
				continue // TestDocsJQ runs those for jq
			}
			if handles, ok := strings.CutPrefix(line, "corewalk handle "); ok {
				// Never run, whatever the page marks: as root it changes the settings of the machine.
				if err := new(handleFlags).set().Parse(strings.Fields(strings.TrimSuffix(handles, "&"))); err != nil {
					t.Errorf("%s: %s: %v", page, line, err)
				}
				continue
			}
			how := marked(marks, line, used)
			if how == "not run" {
				continue
			}
			there := how == ""
			var args []string
			for _, w := range word.FindAllString(strings.TrimSpace(line), -1)[1:] {
				w = strings.Trim(w, `'"`)
				if rest, ok := strings.CutPrefix(w, "/"); ok {
					w = filepath.Join(dir, rest) // /crashes, /builds
				}
				args = append(args, w)
			}
			cmd := exec.Command("corewalk", args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "DEBUGINFOD_URLS=")
			out, err := cmd.CombinedOutput()
			status := cmd.ProcessState.ExitCode()
			switch {
			case status == exitUsage || status < 0:
				t.Errorf("%s: %s: status %d, %v\n%s", page, line, status, err, out)
			case there && status == exitNothing:
				t.Errorf("%s: %s: did nothing: %s", page, line, out)
			case there:
				ran++
			default:
				parsed++
			}
		}
		for _, m := range mark.FindAllStringSubmatch(marks, -1) {
			if !used[m[2]] {
				t.Errorf("%s: no command for the mark %s", page, m[0])
			}
		}
	})
	t.Logf("%d commands ran, %d were parsed", ran, parsed)
	if ran < 15 {
		t.Errorf("only %d commands ran", ran)
	}
}

// toJQ is in the command lines that jq reads from.
const toJQ = " | jq "

// The command lines for jq, of the pages and of the help, print something: their keys exist.
func TestDocsJQ(t *testing.T) {
	t.Parallel()
	sh := tool(t, "sh", "dash")
	tool(t, "jq", "jq")
	var list []string
	add := func(text string) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); strings.Contains(line, toJQ) && !strings.HasPrefix(line, "corewalk live ") {
				list = append(list, line)
			}
		}
	}
	pages(t, func(_, _, _, text string) { add(text) })
	for _, c := range allCommands() {
		add(c.usage)
	}
	if len(list) < 10 {
		t.Errorf("%d command lines", len(list))
	}
	dir := place(t)
	for _, line := range append([]string{"corewalk triage crashes"}, list...) { // the first fills the ledger
		cmd := exec.Command(sh, "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "DEBUGINFOD_URLS=")
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		text := strings.TrimSpace(string(out))
		if err != nil || text == "" || text == "null" || strings.Contains(text, "null: null") || strings.Contains(errs.String(), "jq: ") {
			t.Errorf("%s: %v %s\n%s", line, err, errs.String(), text)
		}
	}
}

// The Go programs of the pages are built and run; of parts of programs the syntax is
// checked.
func TestDocsPrograms(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("go is not installed (Debian: golang-go)")
	}
	fixture.Long(t) // it links programs
	dir := place(t)
	root := fixture.Root(t)
	programs := 0
	pages(t, func(page, _, kind, text string) {
		if kind != "go" {
			return
		}
		if !strings.HasPrefix(text, "package main\n") {
			// A fragment is statements, or declarations.
			_, err := parser.ParseFile(token.NewFileSet(), page, "package p\nfunc _() {\n"+text+"}\n", 0)
			if _, declared := parser.ParseFile(token.NewFileSet(), page, "package p\n"+text, 0); err != nil && declared != nil {
				t.Errorf("%s: %v:\n%s", page, err, text)
			}
			return
		}
		programs++
		// A package below the repository needs no module of its own.
		src, err := os.MkdirTemp(filepath.Join(root, "testdata"), "docs")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(src)
		file, exe := filepath.Join(src, "main.go"), filepath.Join(dir, "program")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		build := exec.Command(goTool, "build", "-o", exe, file)
		build.Dir = root
		build.Env = append(os.Environ(), "XDG_CACHE_HOME="+userCache) // Go's own cache
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", page, err, out)
			return
		}
		cmd := exec.Command(exe)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if strings.Contains(text, "/crashself\"") { // it is to die, and says where that is kept
			if !strings.Contains(string(out), "panic: ") || !strings.Contains(string(out), "\ncrashself: ") {
				t.Errorf("%s: %v\n%s", page, err, out)
			}
			return
		}
		if err != nil || !strings.Contains(string(out), "main") && !strings.Contains(string(out), " bytes: ") {
			t.Errorf("%s: %v\n%s", page, err, out)
		}
	})
	if programs < 2 {
		t.Errorf("%d programs found", programs)
	}
}
