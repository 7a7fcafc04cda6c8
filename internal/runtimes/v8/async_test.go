package v8_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/v8"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// TestAsync: the async functions that wait are those that the program says, each awaited by the next, at its lines.
func TestAsync(t *testing.T) {
	source, err := os.ReadFile("testdata/async.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes(t) {
		for _, option := range []string{"--no-opt", "--always-sparkplug"} {
			t.Run(version(t, node)+option, func(t *testing.T) {
				dir := t.TempDir()
				program := filepath.Join(dir, "async.js")
				if err := os.WriteFile(program, source, 0o644); err != nil {
					t.Fatal(err)
				}
				printed, _ := fixture.Dies(dir, node, option, program).Output()
				var want []string
				for s := bufio.NewScanner(bytes.NewReader(printed)); s.Scan(); {
					var chain [][2]any
					if err := json.Unmarshal(s.Bytes(), &chain); err != nil {
						t.Fatalf("%q: %v", s.Text(), err)
					}
					var line []string
					for _, c := range chain {
						line = append(line, fmt.Sprintf("%v:%v", c[0], c[1]))
					}
					want = append(want, strings.Join(line, " < "))
				}
				target, err := corewalk.Open(context.Background(), fixture.CoreIn(t, dir))
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				var got []string
				for task, err := range target.Tasks(context.Background()) {
					if err != nil {
						t.Error(err)
						continue
					}
					if task.Kind != tasks.KindAsync || task.Runtime != "V8" {
						continue
					}
					var line []string
					ours := false
					for _, f := range task.Suspended {
						ours = ours || f.File == program
						line = append(line, fmt.Sprintf("%s:%d", f.Function, f.Line))
					}
					if !ours {
						t.Logf("Node's own: %q", line)
						continue
					}
					if task.State != tasks.StateWaiting || task.Wait == nil || task.Wait.Object.Address == 0 {
						t.Errorf("%q is %s, waits for %+v", line, task.State, task.Wait)
					}
					got = append(got, strings.Join(line, " < "))
				}
				slices.Sort(got)
				slices.Sort(want)
				if len(want) == 0 || !slices.Equal(got, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		}
	}
}

// patched is a process some of whose words are others.
type patched struct {
	unwind.ProcessState
	words map[uint64]uint64
}

func (p *patched) ReadMem(at uint64, b []byte) (int, error) {
	n, err := p.ProcessState.ReadMem(at, b)
	for w, v := range p.words {
		var bytes [8]byte
		binary.LittleEndian.PutUint64(bytes[:], v)
		for i, c := range bytes {
			if a := w + uint64(i); a >= at && a-at < uint64(n) {
				b[a-at] = c
			}
		}
	}
	return n, err
}

func (p *patched) ReadWord(at uint64) (uint64, error) {
	var b [8]byte
	_, err := p.ReadMem(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// TestAsyncGuards: what does not look like a suspended function in every way is none, and circles end.
func TestAsyncGuards(t *testing.T) {
	source, err := os.ReadFile("testdata/async.js")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "async.js")
	if err := os.WriteFile(program, source, 0o644); err != nil {
		t.Fatal(err)
	}
	_, _ = fixture.Dies(dir, nodes(t)[0], program).Output()
	target, err := corewalk.Open(context.Background(), fixture.CoreIn(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	var process *tasks.Process
	for range target.Tasks(context.Background(), func(p *tasks.Process) (tasks.Runtime, error) { process = p; return nil, nil }) {
		break
	}
	// list are the suspended functions by name, those of Node left out.
	list := func(words map[uint64]uint64) map[string]*tasks.Task {
		p := &tasks.Process{State: &patched{process.State, words}, Symbols: process.Symbols, Modules: process.Modules}
		rt, err := v8.Find(p)
		if err != nil || rt == nil {
			t.Fatalf("%v, %v", rt, err)
		}
		out := map[string]*tasks.Task{}
		for task, err := range rt.Tasks(context.Background()) {
			if err != nil {
				t.Error(err)
				continue
			}
			out[task.Suspended[len(task.Suspended)-1].Function] = task
		}
		return out
	}
	all := list(nil)
	arrow, outer := all["arrow"], all["outer"]
	if arrow == nil || outer == nil || arrow.Wait == nil {
		t.Fatalf("functions are missing: %v", all)
	}
	word := func(at uint64) uint64 { w, _ := process.State.ReadWord(at); return w }
	g := arrow.ID
	for name, words := range map[string]map[uint64]uint64{
		"it runs":                     {g + 64: 1<<64 - 2<<32},
		"its state is no number":      {g + 64: g + 1},
		"it is behind its bytecode":   {g + 48: 1 << 50},
		"its place is no number":      {g + 48: g + 1},
		"what it saved is no array":   {g + 72: g + 1},
		"it has saved too few values": {word(g+72) - 1 + 8: 0},
		"it has saved too many":       {word(g+72) - 1 + 8: 100 << 32},
		"its function is none":        {g + 24: g + 1},
		"it has no map":               {g: 0},
	} {
		if f := list(words)["arrow"]; f != nil {
			t.Errorf("%s, but it is listed: %+v", name, f.Suspended)
		}
	}
	p := uint64(arrow.Wait.Object.Address)
	for name, words := range map[string]map[uint64]uint64{
		"the promise is fulfilled":    {p + 32: 1 << 32},
		"it is no promise":            {p: 0},
		"its reactions are something": {p + 24: p + 1},
	} {
		if f := list(words)["arrow"]; f != nil && f.Wait != nil {
			t.Errorf("%s, but awaited", name)
		}
	}
	reaction := word(p + 24)
	circle := list(map[uint64]uint64{reaction - 1 + 8: reaction, reaction - 1 + 16: reaction})
	if circle["order"] == nil {
		t.Error("a circle of reactions hides the functions that await other promises")
	}
}
