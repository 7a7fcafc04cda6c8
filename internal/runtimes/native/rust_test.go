package native_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestRustHeld: who holds locks of Rust, in which nothing says it. Unoptimised code proves it; where it does not, and of optimised
// code, it is possible.
func TestRustHeld(t *testing.T) {
	fixture.Long(t)
	const timer = `timer  ""`
	lock := `lock std::sync::Mutex ""`
	for _, c := range []struct {
		name  string
		flags []string
		want  map[string]string
	}{
		{"unoptimised", nil, map[string]string{
			"2": `1 ` + lock + ` held by 2 certain|2 ` + lock + ` held by 1 certain|deadlock certain: 1 2`,
			"5": `1 ` + lock + ` held by 2 certain|2 ` + lock + ` held by 3 certain|3 ` + lock + ` held by 4 certain|4 ` + lock +
				` held by 5 certain|5 ` + lock + ` held by 1 certain|deadlock certain: 1 2 3 4 5`,
			"arc":     `1 ` + lock + ` held by 2 certain|2 ` + lock + ` held by 1 certain|deadlock certain: 1 2`,
			"itself":  `1 ` + lock + ` held by 1 certain|deadlock certain: 1`,
			"read":    `1 ` + timer + `|2 lock std::sync::RwLock "1 readers" held by 1 certain (readers are not recorded)`,
			"dropped": `1 ` + timer + `|2 ` + timer + `|3 ` + lock + ` held by 2 possible`,
			"moved":   `1 ` + timer + `|2 ` + lock + ` held by 1 possible`,
			"flag":    `1 ` + timer + `|2 ` + lock + ` held by 1 possible`,
			"loop":    `1 ` + timer + `|2 ` + timer + `|3 ` + lock + ` held by 2 possible`,
			"condvar": `1 condition std::sync::Condvar ""|2 ` + timer + `|3 ` + lock + ` held by 2 certain`,
		}},
		{"optimised", []string{"-O"}, map[string]string{
			"2":       `1 ` + lock + ` held by 2 possible|2 ` + lock + ` held by 1 possible|deadlock possible: 1 2`,
			"arc":     `1 ` + lock + ` held by 2 possible|2 ` + lock + ` held by 1 possible|deadlock possible: 1 2`,
			"itself":  `1 ` + lock + ` held by 1 possible|deadlock possible: 1`,
			"read":    `1 ` + timer + `|2 lock std::sync::RwLock "1 readers" held by 1 possible (readers are not recorded)`,
			"dropped": `1 ` + timer + `|2 ` + timer + `|3 ` + lock + ` held by 2 possible`,
			"moved":   `1 ` + timer + `|2 ` + lock + ` held by 1 possible`,
			"condvar": `1 condition std::sync::Condvar ""|2 ` + timer + `|3 ` + lock + ` held by 2 possible`,
		}},
		{"unoptimised, aborts", []string{"-C", "panic=abort"}, map[string]string{
			"arc": `1 ` + lock + ` held by 2 possible|2 ` + lock + ` held by 1 possible|deadlock possible: 1 2`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			exe := compile(t, "rustc", "held.rs", append([]string{"--edition", "2021", "-g"}, c.flags...)...)
			for kind, want := range c.want {
				got := strings.ReplaceAll(strings.TrimSpace(show(read(t, core(t, exe, kind), exe))), "\n", "|")
				got = strings.TrimPrefix(got, `0 timer  ""|`)
				if slices.Contains(c.flags, "-O") { // it depends on what the compiler put into its callers
					got = strings.ReplaceAll(got, "certain", "possible")
				}
				if got != want {
					t.Errorf("%s: got %s\nwant %s", kind, got, want)
				}
			}
		})
	}
}
