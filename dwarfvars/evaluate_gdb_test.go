package dwarfvars_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// What gdb and we both know of expressions, by fixture and frame of the crashed thread.
var asked = map[string]map[int][]string{
	"amd64-vars-c-O0": {
		0: {"$eax", "$ax", "$al", "$ah", "$eflags", "$st0", "$xmm0.v2_int64", "$xmm0.uint128", "$_siginfo.si_signo", "$_siginfo.si_code", "$_siginfo._sifields._sigfault.si_addr", "$_exitcode"},
		1: {"reals[1] * 2", "reals[1] < 0", "plain[plain[0] == 1 ? 3 : 4]", "plain[1] / 2.0", "-reals[1]", "1e3 + plain[0]", "plain[4] - 7u"},
		2: {"green", "c == green", "c ? sum : 0", "main", "&main", "*main", "main + 1", "(double)sum / 4", "(int)2.9", "1.5f * 3", "(unsigned)0 - 1", "(unsigned)0 == -1", "(unsigned char)200 + 100", "sizeof(struct node)",
			"(float)sum", "'\\n' + 1", "!sum", "sum == 7.0", "here.weight.real + 1", "(enum colour)1", "(struct node *)0", "c > 1 ? 2.5 : 1.5", "1 << 31", "2147483647 + 1", "65536 * 65536", "1 << 31 >> 31", "(1 << 31) < 0", "-2147483648 - 1", "65536L * 65536", "3000000000 * 2", "'a' * 1000000000", "(unsigned char)200 << 24",
			"sum << 31 == 0"},
	},
	"amd64-vars-cxx-O0": {
		1: {"given.size()", "given.empty()", "given[1]", "shop::Colour::green", "fixed.size()"},
		2: {"plain.c == shop::Colour::green", "static_cast<shop::Base *>(&both)", "(shop::Base *)&both", "unique.get()", "shared->b * 2", "both.own / 2.0", "reinterpret_cast<long *>(0)", "base->side == 4 ? both.own : 0",
			"static_cast<int>(shared->b)", "shop::Base::count"},
		3: {"this->value * 2.5", "by > 1 ? value : 0"},
	},
	"amd64-vars-rust-O0": {
		2: {"boxed.x == 1", "slice[1] * 2"},
		3: {"tuple.2 * 2.0", "n as f64", "vars::Colour::Blue", "vars::main", "n as u16 + 1"},
	},
	"amd64-unbounded": {
		4: {"s'first", "s'last", "s'length", "s(2)", "s = \"hello\"", "1 = 1 and 2 /= 3", "not true", "7 mod 4", "d(2) * 2.0"},
	},
}

// TestExpressionsGDB asks gdb the same. Truth is 1 in C.
func TestExpressionsGDB(t *testing.T) {
	t.Parallel()
	fixture.Tools(t)
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("gdb is not installed (Debian: gdb): nothing to compare with")
	}
	done := 0
	for _, c := range fixture.Cases(t) {
		frames, ok := asked[c.Name]
		if !ok {
			continue
		}
		s := ofFixture(t, c)
		target := s.open(t)
		w, err := target.NewWalker()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		stack, _ := w.WalkStack(unwind.NullThread)
		var list []string
		var script strings.Builder
		script.WriteString("import gdb\n")
		for frame, exprs := range frames {
			for _, e := range exprs {
				fmt.Fprintf(&script, "gdb.execute('frame %d', to_string=True)\ntry: r = gdb.execute(%q, to_string=True)\nexcept gdb.error as e: r = 'error: %%s' %% e\nprint('@@@' + r.replace('\\n', ' '))\n", frame, "output "+e)
				list = append(list, evaluated(target.Variables(), stack.Frames, frame, e), c.Name+" #"+fmt.Sprint(frame)+" "+e)
			}
		}
		for i, got := range askGDB(t, s, script.String()) {
			ours, what := withoutType(list[2*i]), list[2*i+1]
			if done++; !sameAnswer(withoutType(got), ours) {
				t.Errorf("%s: gdb %s, here %s", what, got, list[2*i])
			}
		}
	}
	if want := 60; done < want {
		t.Errorf("only %d expressions", done)
	}
}

// askGDB runs a script of Python, and returns what it prints after "@@@".
func askGDB(t *testing.T, s *subject, script string) (list []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ask.py")
	if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	args := []string{"-q", "-nx", "-batch", "-iex", "set sysroot " + s.sysroot, "-iex", "set debug-file-directory " + s.debugDir, "-iex", "set width 0", s.binary, s.core}
	args = append(append(args, printers()...), "-ex", "source "+path)
	cmd := exec.CommandContext(ctx, "gdb", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C.UTF-8")
	out, _ := cmd.Output()
	for line := range strings.Lines(string(out)) {
		if answer, ok := strings.CutPrefix(line, "@@@"); ok {
			list = append(list, strings.TrimSpace(answer))
		}
	}
	return list
}

// withoutType cuts "(int *) " off a value.
func withoutType(s string) string {
	for strings.HasPrefix(s, "(") {
		depth, end := 0, 0
		for i, c := range s {
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				end = i
				break
			}
		}
		rest, ok := strings.CutPrefix(s[end:], ") ")
		if !ok {
			break
		}
		s = rest
	}
	return s
}

func sameAnswer(gdb, ours string) bool {
	switch ours {
	case gdb:
		return true
	case "true":
		return gdb == "1"
	case "false":
		return gdb == "0"
	}
	return strings.HasSuffix(gdb, ".0") && strings.TrimSuffix(gdb, ".0") == ours
}

// Convenience variables are asked for by what follows "$", those of registers are not.
func TestConvenience(t *testing.T) {
	for _, c := range fixture.Cases(t) {
		if c.Name != "amd64-vars-c-O0" {
			continue
		}
		target := openCase(t, c)
		w, err := target.NewWalker()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		stack, _ := w.WalkStack(unwind.NullThread)
		r := target.Variables()
		kept, err := r.Evaluate(stack.Frames, 1, dwarfvars.AllCalls, "plain")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		vars := func(name string) (dwarfvars.Object, bool) {
			names = append(names, name)
			return kept, name != "absent" && name != "$3"
		}
		for expr, want := range map[string]string{"$[1]": "2", "$$[1] + $1[2]": "5", "$$2[0]": "1", "$foo[4]": "5", "$rip == $pc": "true", "sizeof($)": "20",
			"$absent": "error: x86-64 has no register absent, and no convenience variable is called so", "$$3": "error: $$3: no such value was printed before"} {
			names = nil
			ob, err := r.Evaluate(stack.Frames, 2, dwarfvars.AllCalls, expr, vars)
			got := ""
			if err != nil {
				got = "error: " + err.Error()
			} else {
				got = ob.Read(dwarfvars.Options{}).String()
			}
			if got != want {
				t.Errorf("%s: got %s, want %s", expr, got, want)
			}
			if asked := strings.Join(names, " "); expr == "$$[1] + $1[2]" && asked != "$ 1" || expr == "$rip == $pc" && asked != "" {
				t.Errorf("%s asks for %q", expr, asked)
			}
		}
	}
}
