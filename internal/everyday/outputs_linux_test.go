package everyday

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// outputs are standard outputs that take nothing.
var outputs = []struct {
	name string
	open func(t *testing.T, cmd *exec.Cmd)
	full bool // what is written is lost, and the status says so
}{
	{name: "nobody reads", open: func(t *testing.T, cmd *exec.Cmd) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		t.Cleanup(func() { w.Close() })
		cmd.Stdout = w
	}},
	{name: "no space", full: true, open: func(t *testing.T, cmd *exec.Cmd) {
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("there is no /dev/full: ", err)
		}
		t.Cleanup(func() { f.Close() })
		cmd.Stdout = f
	}},
	{name: "closed", open: func(t *testing.T, cmd *exec.Cmd) {
		sh, err := exec.LookPath("sh")
		if err != nil {
			t.Skip(err)
		}
		cmd.Path, cmd.Args = sh, append([]string{"sh", "-c", `exec "$@" >&-`, "sh"}, cmd.Args...)
	}},
}

// TestOutputs: a command whose output nobody reads, has no space or is closed ends, with the status that it has else; with 1 if there is no space.
func TestOutputs(t *testing.T) {
	t.Parallel()
	m := &matrix{corewalk: tested(t)}
	s := placed(t, t.TempDir()+"/c", "c", "amd64-vars-c-O2", recordedStates[0])
	s.alone = m.alone(t, s)
	for _, i := range sample() {
		r := &rows[i]
		if r.asks("DIES") || r.asks("GROUP") || len(r.first) > 1 || r.silent && r.varies {
			continue
		}
		for j, o := range outputs {
			if !fixture.IsLongRun() && i%len(outputs) != j {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", strings.Join(r.words, " "), o.name), func(t *testing.T) {
				fixture.TurnPart(t)
				t.Parallel()
				p := newPlace(t)
				if r.asks("PID") {
					p.waits(t)
				}
				stdin := m.stdin(t, r, s, p)
				for _, first := range r.first {
					if _, err := p.run("", m.line(first, s, p)...); err != nil {
						t.Fatal(err)
					}
				}
				cmd := p.command(m.line(r.words, s, p)...)
				var errs bytes.Buffer
				cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &errs
				o.open(t, cmd)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				status, err := wait(cmd)
				if err == nil {
					err = sound(errs.String())
				}
				want := r.status(s, &settings[0])
				if o.full && !r.silent {
					if usual, err := p.run(stdin, m.line(r.words, s, p)...); err != nil || usual.out != "" { // it had something to say
						want = []int{1}
					}
				}
				if err != nil || !slices.Contains(want, status) {
					t.Errorf("status %d, want %v; %v\n%s", status, want, err, tail(errs.String()))
				}
				if o.full && strings.Count(errs.String(), "could not be written") > 1 {
					t.Errorf("more than one line: %s", errs.String())
				}
				if err := p.clean(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
