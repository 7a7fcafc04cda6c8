package systemtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/session"
)

const (
	pythonLists = `import os
class Held: pass
def f(big, table, held, ring):
    os.abort()
h = Held(); h.items = list(range(5000))
ring = [1, 2]; ring.append(ring)
f([i*i for i in range(20000)], {"k%d" % i: [i]*300 for i in range(1000)}, [[[[[[[[[h]]]]]]]]], ring)
`
	nodeLists = `function f(big, table, held) { process.abort(); }
f(Array.from({length: 5000}, (x, i) => i*i), new Map(Array.from({length: 500}, (x, i) => ["k" + i, [i, i+1]])), {a: {b: {c: {d: {e: {g: 42}}}}}});
`
	javaLists = `import java.util.*;
public class Lists {
	static void f(int[] big, List<Integer> list, Map<String, int[]> table) throws Exception {
		var u = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
		u.setAccessible(true);
		((sun.misc.Unsafe) u.get(null)).putAddress(0, 0);
		System.out.println("" + big + list + table);
	}
	public static void main(String[] a) throws Exception {
		int[] big = new int[5000];
		for (int i = 0; i < big.length; i++) big[i] = i * i;
		var list = new ArrayList<Integer>();
		var table = new HashMap<String, int[]>();
		for (int i = 0; i < 1000; i++) { list.add(i); table.put("k" + i, big); }
		f(big, list, table);
	}
}
`
)

// TestPartsOfLanguages: parts of lists and maps that no report has are read when an expression names them.
func TestPartsOfLanguages(t *testing.T) {
	for _, c := range []struct {
		program, file, text string
		args                []string
		function            string
		want                map[string]string
	}{
		{"python3", "lists.py", pythonLists, []string{"lists.py"}, "f", map[string]string{"big[15000]": "225000000", "big[-1]": "399960001", `table["k900"][299]`: "900",
			"held[0][0][0][0][0][0][0][0][0].items[4999]": "4999", "ring[2][2][1]": "2"}},
		{"node", "lists.js", nodeLists, []string{"lists.js"}, "f", map[string]string{"big[4999]": "24990001", `table["k499"]`: "{499, 500}", "held.a.b.c.d.e.g": "42"}},
		{"java", "Lists.java", javaLists, []string{"-XX:+CreateCoredumpOnCrash", "-cp", ".", "Lists"}, "Lists.f(int[], List, Map)",
			map[string]string{"big[4999]": "24990001", "list[999]": "999", `table["k999"][4000]`: "16000000"}},
	} {
		t.Run(c.program, func(t *testing.T) {
			fixture.Tools(t)
			path, err := exec.LookPath(c.program)
			if err != nil {
				t.Skipf("%s is not installed (Debian: %s)", c.program, map[string]string{"python3": "python3", "node": "nodejs", "java": "openjdk-17-jdk"}[c.program])
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if c.program == "java" {
				javac := exec.Command("javac", "-g", "-XDignore.symbol.file", "-nowarn", c.file)
				javac.Dir = dir
				if out, err := javac.CombinedOutput(); err != nil {
					t.Skipf("javac is not installed (Debian: openjdk-17-jdk): %v %s", err, out)
				}
			}
			cmd := fixture.Dies(dir, path, c.args...)
			cmd.Dir = dir
			_ = cmd.Run()
			target, err := corewalk.Open(t.Context(), fixture.CoreIn(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			s := session.New(target, session.Options{})
			defer s.Close()
			threads, err := s.Threads(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			frames, _, err := s.Frames(t.Context(), threads[0].ID, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			var at session.FrameID
			var seen []string
			for _, f := range frames {
				if seen = append(seen, f.Function); f.Function == c.function {
					at = f.ID
				}
			}
			if at == 0 {
				t.Fatalf("no %s in %s", c.function, strings.Join(seen, ", "))
			}
			for expr, want := range c.want {
				if v, err := s.Evaluate(t.Context(), at, expr); err != nil || v.Value != want {
					t.Errorf("%s is %q, %v; want %s", expr, v.Value, err, want)
				}
			}
		})
	}
}
