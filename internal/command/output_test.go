package command

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/internal/stranger"
)

// safe checks what a command wrote, as its --format says.
func safe(t *testing.T, args []string, out, errs string) {
	t.Helper()
	all := strings.Join(args, " ")
	var err error
	switch {
	case strings.Contains(all, "--format=html"):
		if out != "" { // else nothing was analysed
			err = stranger.HTML(out)
		}
	case strings.Contains(all, "--format=json"), strings.Contains(all, "--format=sarif"), strings.Contains(all, "--format="+formatStackwalk), strings.HasPrefix(all, "triage export"):
		err = stranger.JSON([]byte(out))
	default:
		err = stranger.Lines(out, strings.Contains(all, "--color=always"))
	}
	if err != nil {
		t.Errorf("%.80q: %v", args, err)
	}
	if err := stranger.Lines(errs, false); err != nil {
		t.Errorf("%.80q: on standard error: %v", args, err)
	}
}

// asProcess runs a command that starts itself as another process, and checks what it wrote.
func asProcess(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("corewalk", args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run()
	safe(t, args, stdout.String(), stderr.String())
	return stdout.String(), stderr.String()
}

// inProcess runs a command and checks what it wrote.
func inProcess(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	run(args, env{context.Background(), strings.NewReader(""), &stdout, &stderr, nil, nil})
	safe(t, args, stdout.String(), stderr.String())
	return stdout.String(), stderr.String()
}

// Operands and values of flags are texts of strangers, too: a script passes on what it found.
func TestOperandsAreSafe(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	named := "\x1b[31m\n" + stranger.Mark + "\xff\u202e" // the file system has such names
	if err := os.WriteFile(named, []byte("\x1b]0;no core\a"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := 0
	for i, text := range []string{stranger.Text, named, "inf\x1bo", "\x1b[31m"} {
		inProcess(t, text)
		for _, c := range allCommands() {
			words := strings.Fields(c.name)
			with := func(more ...string) {
				if _, errs := inProcess(t, append(words[:len(words):len(words)], more...)...); strings.Contains(errs, "31m") {
					said++
				}
			}
			if c.name == "triage" { // its operands are for another process
				asProcess(t, "triage", "--no-db", strings.ReplaceAll(text, "\x00", ""))
				words = append(words, "--jobs=-1")
			}
			with(text)
			with(text, text)
			with(text, text, text)
			with("--" + text)
			with("--" + text + "=1")
			with("-" + text)
			with("--", text)
			if c.flags == nil || i > 0 {
				continue
			}
			c.flags().VisitAll(func(f *pflag.Flag) {
				if f.Name != "worker" && f.Name != "output" && f.Name != "db" {
					with("--"+f.Name+"="+text, "nowhere")
				}
			})
			with("--for="+text, text)
		}
	}
	if said < 100 {
		t.Errorf("only %d errors name the text", said)
	}
}

// strangeDumps writes dumps whose every string is hostile, under names that are not UTF-8.
func strangeDumps(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "\xff\n\x1b[31m")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	dumps := dumpbuild.Strange(stranger.Text)
	core := corebuild.New()
	core.Thread(7, 11, corebuild.AMD64Regs(nil))
	core.PSInfo(7, "\x1b[31m\xff\n\u202e", stranger.Text)
	core.Files(corebuild.Mapping{Start: 0x400000, End: 0x401000, Path: "/" + strings.ReplaceAll(stranger.Text, "\x00", "")})
	core.Note(stranger.Text[:60], 77, []byte(stranger.Text))
	dumps["core"] = core.Bytes()
	dumps["no.dmp"] = []byte("MDMP" + stranger.Text)
	for name, data := range dumps {
		if err := os.WriteFile(filepath.Join(dir, "\xfe\x1b]0;"+name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReportsAreSafe(t *testing.T) {
	dir := strangeDumps(t)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		for _, format := range []string{"--format=text", "--color=always", "--format=json", "--format=html", "--format=" + formatStackwalk} {
			inProcess(t, format, "--explain", "--registers", "--locals=all", "--env=all", "--memory", "--verify", "--debug-dir", dir, path)
		}
		inProcess(t, "--width=60", path, path)
		for _, more := range []string{"--format=text", "--format=json", "--missing", "--color=always"} {
			inProcess(t, "info", "--memory", more, "--search", dir, path)
		}
		inProcess(t, "triage", "--no-db", "--sandbox=off", "--explain-signature", path)
	}
}

// Triage finds, keeps and shows dumps whose names are not UTF-8.
func TestTriageNames(t *testing.T) {
	t.Parallel()
	dir := strangeDumps(t)
	db := filepath.Join(t.TempDir(), "\xff.db")
	triage := func(args ...string) string {
		t.Helper()
		out, errs := asProcess(t, append([]string{"triage"}, append(args, "--db="+db)...)...)
		return out + errs
	}
	first := triage("--format=json", "--search", dir, dir)
	if strings.Count(first, `"type":"dump"`) != 5 || strings.Count(first, `"path_bytes"`) != 5 || strings.Contains(first, "no such file") || strings.Count(first, `"error"`) != 1 {
		t.Errorf("not all dumps were found:\n%s", first)
	}
	if again := triage("--format=json", "--search", dir, dir); strings.Count(again, `"seen_before":true`) != 4 || strings.Count(again, `"path_bytes"`) != 5 {
		t.Errorf("the ledger has lost dumps:\n%s", again)
	}
	for _, format := range []string{"text", "json", "sarif", "html"} {
		triage("--format="+format, dir)
		triage("list", "--format="+format)
		triage("export", "--format="+format)
	}
	triage("diff", "--all")
	triage("diff", "--format=json")
	ids := map[string]bool{}
	for _, part := range strings.Split(first, `"group":"`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		ids[id] = true
	}
	for id := range ids {
		for _, format := range []string{"text", "json", "sarif", "html"} {
			if out := triage("show", "--format="+format, id); format == "text" && !strings.Contains(out, `\xfe\x1b]0;`) {
				t.Errorf("group %s does not name its dump: %s", id, out)
			} else if format == "html" && (!strings.Contains(out, "The group, of which this is a dump") || !strings.Contains(out, "The thread that crashed")) {
				t.Errorf("group %s has no page of its dump: %.500s", id, out)
			}
		}
	}
}

// A process with hostile names, and its core: its program is found by the bytes of its path.
func TestLiveIsSafe(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(stranger.Text, "\x00", "")
	named := filepath.Join(t.TempDir(), "\xff\n\x1b[31m\u202e")
	exe := program(t, "#include <stdlib.h>\n#include <sys/prctl.h>\n#include <unistd.h>\nint main(int argc, char **argv) {\n\tprctl(15, argv[1]);\n\tvolatile char *said = argv[1];\n\tclose(1);\n\tpause();\n\treturn said[0];\n}\n")
	if err := os.Rename(exe, named); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(named, text)
	cmd.Env = append(os.Environ(), "STRANGE="+text)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	out.Read(make([]byte, 1)) // it has closed it
	pid := strconv.Itoa(cmd.Process.Pid)
	core := filepath.Join(t.TempDir(), "\xfe\ncore")
	live(t, "--core", core, pid)
	for _, format := range []string{"text", "json"} {
		for _, args := range [][]string{{"live", pid}, {core}} {
			all := append(args, "--format="+format, "--locals=all", "--env=all", "--memory")
			if got, _ := inProcess(t, all...); !strings.Contains(got, "prog.c") || !strings.Contains(got, "said") {
				t.Errorf("%q: the program was not found:\n%s", all, got)
			}
		}
		inProcess(t, "info", "--format="+format, core)
	}
	inProcess(t, "live", "--core", core, pid)
	inProcess(t, "live", "--every=1ms", "--for=5ms", pid)
}
