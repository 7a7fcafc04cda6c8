package command

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/spf13/pflag"
)

// tool returns the path of a program, or skips the test.
func tool(t *testing.T, name, pkg string) string {
	t.Helper()
	fixture.Tools(t)
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed (Debian: %s)", name, pkg)
	}
	return path
}

// output runs corewalk in this process.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(args, env{context.Background(), nil, &out, &errs, nil, nil}); status != exitComplete || errs.Len() > 0 {
		t.Fatalf("%v: status %d, %s", args, status, errs.String())
	}
	return out.String()
}

// completed are command lines, the word to complete last, and what completes it.
var completed = []struct {
	line string
	want []string // these are among the completions
	not  string   // this is not
}{
	{"inf", []string{"info"}, "live"},
	{"--disas", []string{"--disassemble"}, "--explain"},
	{"--format mini", []string{"minidump-stackwalk-json"}, "json"},
	{"info --miss", []string{"--missing"}, "--memory"},
	{"info --format ", []string{"text", "json"}, "minidump-stackwalk-json"},
	{"triage ex", []string{"export"}, "list"},
	{"triage --fail-on ", []string{"new"}, ""},
	{"triage list --gr", []string{"--grep"}, "--jobs"},
	{"triage --work", nil, "--worker"},
	{"schema ", []string{"info", "report"}, "man"},
	{"completion f", []string{"fish"}, "bash"},
	{"help tri", []string{"triage"}, "info"},
	{"--sysroot top", []string{"topdir"}, "topfile"},
}

// completionDir makes a directory with files to complete.
func completionDir(t *testing.T) string {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "topdir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "topfile"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBashCompletion(t *testing.T) {
	bash := tool(t, "bash", "bash")
	script := output(t, "completion", "bash") + `
complete_line() {
    COMP_WORDS=(corewalk "$@") COMP_CWORD=$#
    _corewalk
    printf '%s\n' "${COMPREPLY[@]}"
}
complete_line "$@"
`
	dir := completionDir(t)
	check := func(want []string, not string, words ...string) {
		t.Helper()
		cmd := exec.Command(bash, append([]string{"--norc", "-c", script, "bash"}, words...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		got := strings.Fields(string(out))
		for _, w := range want {
			if err != nil || !slices.Contains(got, w) {
				t.Errorf("%q: no %s in %q (%v)", words, w, got, err)
			}
		}
		if not != "" && slices.Contains(got, not) {
			t.Errorf("%q: %s in %q", words, not, got)
		}
	}
	for _, tt := range completed {
		check(tt.want, tt.not, strings.Split(tt.line, " ")...)
	}
	// Bash takes a word apart at an equals sign.
	check([]string{"never"}, "auto", "--color", "=", "n")
	check([]string{"never", "auto"}, "", "--color", "=")
}

func TestFishCompletion(t *testing.T) {
	fish := tool(t, "fish", "fish")
	script := filepath.Join(t.TempDir(), "corewalk.fish")
	if err := os.WriteFile(script, []byte(output(t, "completion", "fish")), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := completionDir(t)
	// One process for all: each prints its completions after a line with its number.
	commands := "source " + script + "\n"
	for _, tt := range completed {
		commands += "echo ==\ncomplete -C 'corewalk " + tt.line + "'\n"
	}
	cmd := exec.Command(fish, "--no-config", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	parts := strings.Split(string(out), "==\n")
	if err != nil || len(parts) != len(completed)+1 {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, tt := range completed {
		var got []string
		for line := range strings.Lines(parts[i+1]) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, strings.TrimSuffix(word, "/"))
		}
		for _, w := range tt.want {
			if !slices.Contains(got, w) {
				t.Errorf("%q: no %s in %q", tt.line, w, got)
			}
		}
		if tt.not != "" && slices.Contains(got, tt.not) {
			t.Errorf("%q: %s in %q", tt.line, tt.not, got)
		}
	}
}

// Zsh completes at a terminal only: of its script the syntax is checked, and that it is loaded.
func TestZshCompletion(t *testing.T) {
	t.Parallel()
	zsh := tool(t, "zsh", "zsh")
	script := filepath.Join(t.TempDir(), "_corewalk")
	text := output(t, "completion", "zsh")
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(zsh, "-f", "-c", "autoload -Uz compinit && compinit -u -D && source "+script+" && print $_comps[corewalk]")
	cmd.Dir = filepath.Dir(script)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "_corewalk\n" {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{"'--missing=-[", "'*--search=[", ":(text json)'", ":DIR:_files -/'", "triage list"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the script", want)
		}
	}
}

// The values that completion and help tell of are those that a command takes.
func TestChoices(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	seen := 0
	for _, c := range allCommands() {
		if c.flags == nil {
			continue
		}
		c.flags().VisitAll(func(f *pflag.Flag) {
			values := f.Annotations[choices]
			for _, v := range append(values, "none of them") {
				var out, errs bytes.Buffer
				sep, args := " ", strings.Fields(c.name)
				if f.NoOptDefVal != "" {
					sep = "="
					args = append(args, "--"+f.Name+"="+v)
				} else {
					args = append(args, "--"+f.Name, v)
				}
				if len(values) == 0 || c.name == "triage diff" && f.Name == "format" {
					continue
				}
				seen++
				ctx, cancel := context.WithCancel(t.Context())
				if c.name == "serve" {
					cancel() // it would serve for ever
				}
				run(args, env{ctx, nil, &out, &errs, nil, nil})
				cancel()
				if refused := strings.Contains(errs.String(), "--"+f.Name+sep+v+":"); refused != (v == "none of them") {
					t.Errorf("%q: refused: %v; %s", args, refused, errs.String())
				}
			}
		})
	}
	if seen < 30 {
		t.Errorf("%d values", seen)
	}
}

// The manual pages have every command and every flag, and groff finds no fault with them.
func TestManPage(t *testing.T) {
	for _, p := range []struct {
		program, page, example string
		commands               []command
	}{{"corewalk", output(t, "man"), "corewalk core.4242 ./server", allCommands()}, {"corewalkd", daemonManPage(), "corewalkd worker --db postgres://", operatorCommands()}} {
		for _, c := range p.commands {
			if c.usage != "" && c.name != "" && !strings.Contains(p.page, "\n.SS "+p.program+" "+c.name+"\n") {
				t.Errorf("no section for %s", c.name)
			}
			for _, f := range c.help() {
				if !strings.Contains(p.page, `\fB\-\-`+strings.ReplaceAll(f.name, "-", `\-`)+`\fR`) {
					t.Errorf("nothing of --%s of %s %s", f.name, p.program, c.name)
				}
			}
		}
		t.Run("groff "+p.program, func(t *testing.T) {
			cmd := exec.Command(tool(t, "groff", "groff-base"), "-man", "-Tutf8", "-ww", "-rLL=100n")
			cmd.Stdin = strings.NewReader(p.page)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			text, err := cmd.Output()
			if err != nil || errs.Len() > 0 || !bytes.Contains(text, []byte(p.example)) {
				t.Errorf("%v, %s\n%s", err, errs.String(), text)
			}
		})
	}
}
