package systemtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// anyAddress is one that is another in each run.
var anyAddress = regexp.MustCompile(`0x[0-9a-f]{6,}(?: <[^>]*>)?`)

// anyContext is one that has nothing: what that is depends on the release.
var anyContext = regexp.MustCompile(`Context = .*?, key`)

// Values of Go that lie elsewhere than their variables: what interfaces hold, by types of packages whose paths have slashes and whose
// names are alike; variables and parameters on the heap, under their own names; large keys and elements of maps.
func TestGoValues(t *testing.T) {
	t.Parallel()
	zeros := "{0 <repeats 20 times>}"
	wants := map[string]map[string]string{
		"main.escaped": {"count": "9", "at": "{X = 2, Y = 8}", "text": `"s"`, "result": "7", "total": "14"},
		"main.apart": {
			"text": "[]int (len 3, cap 3) = {1, 2, 3}", "pass": `"passed"`, "result": "nil", "room": "[]int (len 0, cap 5)", "head": "[]int (len 2, cap 3) = {1, 2}",
			"tail": "[]int (len 2, cap 2) = {2, 3}", "when": "1970-01-01 00:16:40 UTC", "name": `"constant"`, "pairs": "{left = 3, right = 11}",
		},
		"main.told": {
			"p": `0x*: {Name = "ann", Next = 0x*}`, "nobody": "0x0", "number": "0x*: {neg = false, abs = math/big.nat (len 2, cap 2) = {0, 2}}",
			"err": `(*fmt.wrapError) 0x*: {msg = "load: open /etc/x: gone", err = (*fs.PathError) 0x*: {Op = "open", Path = "/etc/x", Err = (*errors.errorString) 0x*: {s = "gone"}}}`,
			"ctx": `(*context.valueCtx) 0x*: {Context = ..., key = (main.key) "user", val = (string) "ann"}`,
			"t":   "main.high (2)", "strange": "5", "odd": "-1", "a": "main.canRead (1)", "all": "main.canRead | main.canRun (5)", "much": "9",
			"two": "main.both (2)", "three": "3", "span": "1m30s", "mode": "-rw-r--r--", "day": "time.Wednesday (3)",
			"text": `0x*: "ann"`, "again": "0x*",
			"long": "0x*: {List = {{X = 0, Y = 7}, {X = 1, Y = 7}, {X = 2, Y = 7}, {X = 3, Y = 7}, {X = 4, Y = 7}, {X = 5, Y = 7}, {X = 6, Y = 7}, {X = 7, Y = 7}, {X = 8, Y = 7}, {X = 9, Y = 7}, {...} ...}}",
			"wide": "0x*", "holds": "0x*: {Any = (*main.person) 0x*}",
		},
		"main.held": {
			"pointer": "(*main.point) 0x*: {X = 1, Y = 2}",
			"opts":    `(dep.Opts) {Host = "localhost", Port = 8080}`,
			"level":   "(dep.Level) 3",
			"named":   `(dep.Level) "high"`,
			"err":     `(dep.Err) {Code = 42, Why = "boom"}`,
			"list": `[]interface {} (len 4, cap 4) = {(dep.Opts) {Host = "localhost", Port = 8080}, ` +
				`([]dep.Level) []fixtures/deep/go-values/dep.Level (len 2, cap 2) {1, 2}, nil, (float64) 2.5}`,
			"date":  "2024-02-29 12:14:15.123456789 UTC",
			"never": "0001-01-01 00:00:00 UTC",
			"now":   "2023-11-14 22:13:20.000000005 UTC",
			"big":   `map[main.large]main.large (len 1) = {[{Pad = ` + zeros + `, Name = "key"}] = {Pad = ` + zeros + `, Name = "value"}}`,
		},
	}
	for _, release := range goReleases(t) {
		for _, optimised := range []bool{false, true} {
			g := goBuild{release: release, optimised: optimised}
			t.Run(g.name(), func(t *testing.T) {
				t.Parallel()
				r := goCrash(t, goProgram(t, "go-values", g))
				if optimised { // its arguments are in registers up to the call, and on the stack from the return address on
					if f := frameOf(t, r, "runtime.sigtrampgo"); len(f.Args) == 0 || f.Args[0].Value != "6" {
						t.Errorf("runtime.sigtrampgo: %v, want sig = 6, SIGABRT", f.Args)
					}
				}
				for function, want := range wants {
					f := frameOf(t, r, function)
					seen := 0
					for _, v := range slices.Concat(f.Args, f.Locals) {
						text, ok := want[v.Name]
						v.Value = anyContext.ReplaceAllString(anyAddress.ReplaceAllString(v.Value, "0x*"), "Context = ..., key")
						if strings.Contains(v.Value, " (len or cap ") { // one of them was not kept
							v.Value = regexp.MustCompile(`len or cap (\d+)`).ReplaceAllString(v.Value, "len $1, cap $1")
						}
						if v.Name == "now" && optimised && release == "local" && !strings.Contains(v.Reason, "unnamed words") {
							t.Errorf("of %s one word is kept: %s %s", v.Name, v.Value, v.Reason)
						}
						switch {
						case !ok:
						case optimised && (v.Status != report.StatusSuccess || strings.Contains(v.Value, "<optimised out>")): // nothing tells where it is
						case v.Status != report.StatusSuccess || v.Value != text:
							t.Errorf("%s: %s = %s %s, want %s", function, v.Name, v.Value, v.Reason, text)
						default:
							seen++
						}
					}
					if function == "main.told" {
						shapedPointer(t, r)
					}
					if seen < len(want) && !optimised {
						t.Errorf("%s: %d variables, want %d", function, seen, len(want))
					}
				}
			})
		}
	}
}

// shapedPointer checks that a pointer whose type is one for all pointers in generic functions is not followed.
func shapedPointer(t *testing.T, r *report.Report) {
	for i := range r.Threads {
		for _, f := range r.Threads[i].Frames {
			if !strings.HasPrefix(f.Function, "main.shaped[") {
				continue
			}
			for _, v := range f.Args {
				if v.Name == "of" && !regexp.MustCompile("^0x[0-9a-f]+$").MatchString(v.Value) && v.Status == report.StatusSuccess {
					t.Errorf("%s: of = %s", f.Function, v.Value)
				}
			}
			return
		}
	}
	t.Error("no generic function")
}

// Of more goroutines than all variables are read of, the variables of the first are, and the report says of how many.
func TestGoManyVariables(t *testing.T) {
	t.Parallel()
	r := goCrash(t, goProgram(t, "go-values", goBuild{release: "local"}), "many")
	read := 0
	for i := range r.Tasks {
		for k := range r.Tasks[i].Frames {
			if f := &r.Tasks[i].Frames[k]; f.Function == "main.wait" && len(f.Args) > 0 {
				read++
			}
		}
	}
	said := slices.ContainsFunc(r.Warnings, func(w report.Warning) bool {
		return w.Code == report.WarnVariables && strings.Contains(w.Message, "the variables of 200 of ")
	})
	if read < 150 || read > 200 || !said {
		t.Errorf("variables of %d goroutines, warnings %v", read, r.Warnings)
	}
}
