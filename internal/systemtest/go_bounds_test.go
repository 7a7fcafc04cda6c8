package systemtest

import (
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestGoBounds: of an index or a bound that Go found out of range, the cause names it and what was indexed, with its length or capacity; of an element whose
// slice is wild, of a channel and of a map it names those.
func TestGoBounds(t *testing.T) {
	t.Parallel()
	tests := []struct{ way, n, cause, optimised string }{
		{way: "index", n: "7", cause: `list\[i\], len\(list\) = 3 where i = 7, argument of main\.index at main\.go:\d+; passed as n by main\.main`},
		{way: "index", n: "-7", cause: `list\[i\] where i = -7, argument of main\.index`},
		{way: "goroutine", n: "3", cause: `list\[i\], len\(list\) = 3 where i = 3, argument of main\.index`},
		{way: "next", n: "4", cause: `g\.rows\[r\]\.cells\[c\+1\], len\(g\.rows\[r\]\.cells\) = 3 where c = 4, argument of main\.next`},
		{way: "last", n: "0", cause: `list\[len\(list\)-1\], in main\.last$`},
		{way: "third", n: "0", cause: `list\[3\], len\(list\) = 2, in main\.third$`},
		{way: "global", n: "7", cause: `main\.global\[i\], len\(main\.global\) = 2 where i = 7, argument of main\.ofGlobal`},
		{way: "cached", n: "3", cause: `g\.cache\[k\]\[i\], len\(g\.cache\[k\]\) = 1 where i = 3, argument of main\.cached`},
		{way: "byField", n: "0", cause: `b\[r\.len\], len\(b\) = 3 where r\.len = 9, read by main\.byField`},
		{way: "array", n: "9", cause: `index i where i = 9, argument of main\.array`},
		{way: "cut", n: "9", cause: `list\[:b\], cap\(list\) = 6 where b = 9, argument of main\.cut`},
		{way: "order", n: "4", cause: `\[a:b\], b = 2 where a = 4, argument of main\.cut`},
		{way: "tail", n: "9", cause: `r\.name\[a:\], len\(r\.name\) = 3 where a = 9, argument of main\.tail`},
		{way: "generic", n: "5", cause: `t\.log\[i\], len\(t\.log\) = 2 where i = 5, argument of main\.\(\*table\[`},
		{way: "element", n: "1", cause: `r\.cells\[i\] at 0x7111deadb008, in main\.element$`},
		{way: "send", n: "0", cause: `g\.out is closed, in main\.send$`},
		{way: "closes", n: "0", cause: `c = nil, in main\.closes$`},
		{way: "bump", n: "0", cause: `main\.counts, a map that another goroutine writes to, in main\.bump$`},
		{way: "share", n: "0", cause: `len\(g\.rows\[i\]\.cells\) = 0, in main\.share$`},
		{way: "byLength", n: "0", cause: `index len\(g\.rows\), in main\.byLength$`},
		{way: "byFirst", n: "5", cause: `g\.rows\[path\[0\]\], len\(g\.rows\) = 2 where path\[0\] = 5, read by main\.byFirst`},
		{way: "byKey", n: "5", cause: `index k where k = 5, local of main\.byKey`, optimised: `index k where (the index is 5, in|k = 5, local of) main\.byKey`},
		{way: "says", n: "7"},
	}
	for _, g := range goEverywhere(t) {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			run := goRun(t, "go-bounds", g)
			for _, c := range tests {
				if c.way == "element" && g.arch == "386" {
					continue // its addresses are shorter
				}
				want := c.cause
				if c.way == "cached" && g.arch == "386" {
					want = `index i where i = 3, argument of main\.cached` // what a call for a map returned is not followed there
				}
				if g.optimised && c.optimised != "" {
					want = c.optimised
				}
				goCauses(t, run, want, c.way, c.n)
			}
		})
	}
}

// goEverywhere are the releases that programs of the tests are built with, without optimisation and with it, and two more architectures.
func goEverywhere(t *testing.T) []goBuild {
	var out []goBuild
	for _, release := range goReleases(t) {
		out = append(out, goBuild{release: release}, goBuild{release: release, optimised: true})
	}
	return append(out, goBuild{release: "local", arch: "arm64", optimised: true}, goBuild{release: "local", arch: "386"})
}

// goRun builds a program, and is the command that runs it.
func goRun(t *testing.T, source string, g goBuild) []string {
	t.Helper()
	if g.arch != "" {
		fixture.Tools(t) // all of Go's library is compiled once more
	}
	program := goProgram(t, source, g)
	switch g.arch {
	case "386":
		fixture.Need386(t, "-m32")
	case "arm64":
		if _, err := exec.LookPath("qemu-aarch64-static"); err != nil {
			t.Skip("qemu-aarch64-static is not installed: Debian's qemu-user-static")
		}
		return []string{"qemu-aarch64-static", program}
	}
	return []string{program}
}

// goCauses runs a program until it dies. The only cause must begin with what the expression want matches; there must be none if that is "".
func goCauses(t *testing.T, run []string, want string, args ...string) {
	t.Helper()
	r := analyzeCore(t, fixture.Crash(t, []string{"GOTRACEBACK=crash"}, run[0], append(slices.Clone(run[1:]), args...)...), run[len(run)-1])
	switch got := r.Crash.Causes; {
	case want == "" && len(got) > 0:
		t.Errorf("%s: causes %v, want none", args, got)
	case want != "" && (len(got) != 1 || !regexp.MustCompile("^"+want).MatchString(got[0].Text)):
		t.Errorf("%s: causes %v, want %s", args, got, want)
	}
}
