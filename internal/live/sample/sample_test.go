package sample

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

var program = &Module{Path: "/usr/bin/prog", BuildID: "c0ffee", Start: 0x1000, End: 0x9000}

// places are the addresses of the test program.
var places = map[uint64]Place{
	0x1000: {Calls: []Call{{Name: "main", File: "/src/main.c", Line: 10}}, Module: program},
	0x1100: {Calls: []Call{{Name: "hash", File: "/src/hash.h", Line: 3}, {Name: "work", File: "/src/main.c", Line: 20}}, Module: program},
	0x1108: {Calls: []Call{{Name: "work", File: "/src/main.c", Line: 21}}, Module: program},
	0x1200: {Calls: []Call{{Name: "ns::wait(int; ?)", SystemName: "_ZN2ns4waitEi"}}},
}

func profile(t *testing.T) *Profile {
	asked := map[uint64]int{}
	p := New(10*time.Millisecond, func(a uint64) Place {
		if asked[a]++; asked[a] > 1 {
			t.Errorf("%#x is asked for again", a)
		}
		return places[a]
	})
	for range 3 {
		p.Add(Stack{Thread: "main", Addrs: []uint64{0x1100, 0x1000}})
	}
	p.Add(Stack{Thread: "worker", Addrs: []uint64{0x1108, 0x1000}})
	p.Add(Stack{Thread: "worker", Addrs: []uint64{0x1200, 0x1108, 0x1000}})
	p.Add(Stack{Thread: "worker", Addrs: []uint64{0x1200, 0x1108, 0x1000}})
	p.Program = &Module{Path: "/usr/bin/main", Start: 0x10000, End: 0x20000}
	p.Samples, p.Duration = 3, 30*time.Millisecond
	p.Pauses = []time.Duration{300 * time.Microsecond, 100 * time.Microsecond, 2 * time.Millisecond}
	return p
}

func TestTree(t *testing.T) {
	var b bytes.Buffer
	if err := profile(t).WriteTree(&b, TreeOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = `3 samples in 30ms, 6 stacks
each stopped the process for 300µs (median; shortest 100µs, longest 2ms)

stacks       %  ending
     6  100.0%            main
     6  100.0%       1    work
     3   50.0%       3    + hash
     2   33.3%       2    + ns::wait(int; ?)
`
	if got := b.String(); got != want {
		t.Errorf("got:\n%s", got)
	}
	b.Reset()
	if err := profile(t).WriteTree(&b, TreeOptions{MaxRows: 2}); err != nil || !strings.HasSuffix(b.String(), "work\n2 more lines not shown\n") {
		t.Errorf("cut: %v\n%s", err, &b)
	}
}

func TestFolded(t *testing.T) {
	var b bytes.Buffer
	if err := profile(t).WriteFolded(&b); err != nil {
		t.Fatal(err)
	}
	const want = "main;work 1\nmain;work;hash 3\nmain;work;ns::wait(int: ?) 2\n"
	if b.String() != want {
		t.Errorf("got:\n%s", &b)
	}
}

// What waits has its wait as its youngest function, in all three formats, and apart from what runs.
func TestStates(t *testing.T) {
	p := New(time.Second, func(a uint64) Place { return places[a] })
	p.Add(Stack{Addrs: []uint64{0x1000}})
	p.Add(Stack{Addrs: []uint64{0x1000}, State: "chan receive"})
	p.Add(Stack{Addrs: []uint64{0x1000}, State: "chan receive", Labels: []Label{{"request", "42"}}})
	var b bytes.Buffer
	if err := p.WriteFolded(&b); err != nil || b.String() != "main 1\nmain;[chan receive] 2\n" {
		t.Errorf("%v\n%s", err, &b)
	}
	b.Reset()
	if err := p.WriteTree(&b, TreeOptions{}); err != nil || !strings.Contains(b.String(), "     2   66.7%       2    + [chan receive]\n") {
		t.Errorf("%v\n%s", err, &b)
	}
	e := pprofEncoder{functions: map[Call]uint64{}, modules: map[*Module]uint64{}, places: map[*Place]uint64{}}
	out := e.profile(p)
	for _, s := range []string{"request", "42", "[chan receive]"} {
		if !bytes.Contains(out, []byte(s)) || len(e.places) != 2 {
			t.Errorf("%d places, %s in %q", len(e.places), s, out)
		}
	}
	if len(p.kept) != 3 {
		t.Errorf("%d different stacks", len(p.kept))
	}
}

// pprof itself reports what the profile contains. The go command builds it first, of many packages.
func TestPprof(t *testing.T) {
	fixture.Long(t)
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("not compared: go is not installed (Debian: golang-go)")
	}
	file := filepath.Join(t.TempDir(), "prof.pb.gz")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(profile(t).WritePprof(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want []string
	}{
		{"-top -sample_index=samples", []string{`Type: samples`, `3 50.00% 50.00% +3 50.00% +hash`, `1 16.67% .* 6 +100% +work`, `2 33.33% .* ns::wait`}},
		{"-top -sample_index=wall", []string{`Type: wall`, `30ms 50.00% 50.00% +30ms 50.00% +hash`}},
		{"-top -sample_index=samples -tagfocus=thread=worker", []string{`0 +0% .* 3 50.00% +main`}},
		{"-traces -lines -sample_index=samples", []string{`thread: +main\n +3 +hash /src/hash.h:3 \(inline\)\n +work /src/main.c:20\n +main /src/main.c:10`}},
		{"-raw", []string{`(?m)^1: 0x10000/0x20000/0x0 /usr/bin/main  \[FN\]`, `(?m)^2: 0x1000/0x9000/0x0 /usr/bin/prog c0ffee \[FN\]`, `PeriodType: wall nanoseconds`, `Period: 10000000`}},
	} {
		cmd := exec.Command(goTool, append(append([]string{"tool", "pprof"}, strings.Fields(c.args)...), file)...)
		cmd.Env = append(os.Environ(), "PPROF_BINARY_PATH="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("pprof %s: %v\n%s", c.args, err, out)
		}
		for _, w := range c.want {
			if !regexp.MustCompile(w).Match(out) {
				t.Errorf("pprof %s does not say %s:\n%s", c.args, w, out)
			}
		}
	}
}

func TestCollect(t *testing.T) {
	boom := errors.New("boom")
	p := New(time.Nanosecond, func(a uint64) Place { return places[a] })
	n := 0
	err := p.Collect(context.Background(), 0, func() ([]Stack, time.Duration, error) {
		if n++; n > 5 {
			return nil, 0, boom
		}
		return []Stack{{Thread: "x", Addrs: []uint64{0x1000}}}, time.Duration(n), nil
	})
	if !errors.Is(err, boom) || p.Samples != 5 || p.Stacks != 5 || len(p.Pauses) != 5 {
		t.Errorf("%v; %d samples, %d stacks", err, p.Samples, p.Stacks)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = p.Collect(ctx, time.Hour, func() ([]Stack, time.Duration, error) { cancel(); return nil, 0, nil })
	if err != nil || p.Samples != 6 {
		t.Errorf("%v; %d samples", err, p.Samples)
	}
}

// A very deep stack, as from recursion, and many different stacks.
func TestManyAndDeep(t *testing.T) {
	p := New(time.Second, func(a uint64) Place { return Place{Calls: []Call{{Name: "f"}}} })
	deep := make([]uint64, 100_000)
	p.Add(Stack{Thread: "", Addrs: deep})
	for i := range maxStacks + 10 {
		p.Add(Stack{Thread: "", Addrs: []uint64{uint64(i)}})
	}
	if p.Dropped != 11 || p.Stacks != maxStacks+11 {
		t.Errorf("%d of %d dropped", p.Dropped, p.Stacks)
	}
	var b bytes.Buffer
	if err := errors.Join(p.WriteTree(&b, TreeOptions{MaxRows: 3}), p.WriteFolded(&b), p.WritePprof(&b)); err != nil {
		t.Error(err)
	}
}
