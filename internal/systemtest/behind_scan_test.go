package systemtest

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// The frame pointer of a frame that was found by scanning is a guess: what lies where it leads, in that frame and in its
// callers, is marked, and nothing before it.
func TestBehindScan(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for amd64")
	}
	for _, compiler := range []string{"gcc", "clang"} { // which place arguments by the CFA, and by the frame pointer
		t.Run(compiler, func(t *testing.T) { behindScan(t, compiler) })
	}
}

func behindScan(t *testing.T, compiler string) {
	exe := fixture.Compile(t, compiler, "behind_scan.c", "-g", "-O0", "-no-pie")
	core := fixture.Crash(t, nil, exe)
	r := analyzeCore(t, core, exe)
	found := false
	for i := range r.Threads[0].Frames {
		f := &r.Threads[0].Frames[i]
		scanned := f.Function == "caller"
		if scanned && (f.Trust != report.TrustScan || len(f.Args) != 2 || f.Args[0].Value == "16") {
			t.Errorf("caller is %s, %+v", f.Trust, f.Args)
		}
		if f.Doubtful != found { // the call before the return address in caller calls the function
			t.Errorf("%s is doubtful: %v", f.Function, f.Doubtful)
		}
		found = found || scanned
		for _, v := range append(f.Args, f.Locals...) {
			if v.Value != "" && v.Doubtful != found {
				t.Errorf("%s: %s = %s is doubtful: %v", f.Function, v.Name, v.Value, v.Doubtful)
			}
		}
	}
	if compiler == "gcc" {
		evaluatedBehindScan(t, core, exe)
	}
	var text strings.Builder
	if err := report.WriteText(&text, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := text.String(); !found || !strings.Contains(s, "caller(n?=0, s?=") || !strings.Contains(s, "[doubtful]") {
		t.Error(s)
	}
}

// evaluatedBehindScan asks for values of the scanned frame by expressions.
func evaluatedBehindScan(t *testing.T, core, exe string) {
	t.Helper()
	target, err := corewalk.Open(t.Context(), core, corewalk.WithExecutable(exe))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	s := session.New(target, session.Options{})
	defer s.Close()
	stacks, err := s.Threads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	frames, _, err := s.Frames(t.Context(), stacks[0].ID, 0, 20)
	at := slices.IndexFunc(frames, func(f session.Frame) bool { return f.Function == "caller" })
	if err != nil || at < 0 {
		t.Fatal(at, err)
	}
	for expression, doubtful := range map[string]bool{"n": true, "&n": true, "n + 1": true, "$rbp": true, "$rsp": false, "$pc": false, "7": false} {
		v, err := s.Evaluate(t.Context(), frames[at].ID, expression)
		if err != nil || v.Doubtful != doubtful {
			t.Errorf("%s is doubtful: %v, %v", expression, v.Doubtful, err)
		}
	}
}

// What a caller passed proves nothing if the caller was found by way of a guess: a constant, too, also where it is asked for again. It does if the
// stack pointer led there.
func TestPassedBehindScan(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for amd64")
	}
	for _, c := range []struct{ how, want string }{
		{"-DPLAIN", "caller n=21 twice=42 again again again again again outer n=11 main?"},
		{"-UPLAIN", "caller n?=21 twice?=42 again? again? again? again? again? outer? n?=11 main?"},
	} {
		exe := fixture.Compile(t, "gcc", "behind_scan_entry.c", "-g", "-O2", "-no-pie", c.how)
		r := analyzeCore(t, fixture.Crash(t, nil, exe), exe)
		mark := map[bool]string{true: "?"}
		var got []string
		for i := range r.Threads[0].Frames {
			f := &r.Threads[0].Frames[i]
			if !slices.Contains([]string{"caller", "again", "outer", "main"}, f.Function) {
				continue
			}
			if scanned := f.Function == "caller"; scanned != (f.Trust == report.TrustScan) {
				t.Errorf("%s: %s is %s", c.how, f.Function, f.Trust)
			}
			got = append(got, f.Function+mark[f.Doubtful])
			for _, v := range append(f.Args, f.Locals...) {
				if slices.Contains([]string{"n", "twice"}, v.Name) && v.Value != "" {
					got = append(got, v.Name+mark[v.Doubtful]+"="+v.Value)
				}
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.how, s, c.want)
		}
	}
}
