package remotetest

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/tasks"
)

// A Victim is a kept dump whose words are changed.
type Victim struct {
	find  tasks.Finder
	tell  func(tb testing.TB, rt tasks.Runtime, p *tasks.Process) int
	p     *tasks.Process
	words []uint64 // that are read
	units int64
	calls int
}

// A Reading is how tests read a runtime in a dump.
type Reading struct {
	Find tasks.Finder
	Tell func(tb testing.TB, rt tasks.Runtime, p *tasks.Process) int // asks for all that a runtime tells, and returns how much that is
	// Noted is how many bytes of each read may be changed, 0 for all, and Units what reading a changed dump may cost.
	Noted int
	Units int64
}

// Victim notes which words of a process are read.
func (r Reading) Victim(tb testing.TB, p *tasks.Process) Victim {
	tb.Helper()
	a := &Asked{ProcessState: p.State, Most: r.Noted}
	q := &tasks.Process{State: a, Symbols: p.Symbols, Modules: p.Modules}
	rt, err := r.Find(q)
	if err != nil || rt == nil {
		tb.Fatalf("no runtime is found: %v", err)
	}
	v := Victim{find: r.Find, tell: r.Tell, p: p, units: r.Units, calls: r.Tell(tb, rt, q)}
	v.words = a.Words
	return v
}

// maxTold is how much more than of the dump as it is may be told of a changed one.
const maxTold = 1 << 18

// harm reads the dump with words of it replaced. Nothing may hang, panic or tell of calls without end. It reports whether a runtime was found.
func (v *Victim) harm(tb testing.TB, to Words) bool {
	tb.Helper()
	p := &tasks.Process{State: &changed{&endless{v.p.State}, to}, Symbols: v.p.Symbols, Modules: v.p.Modules, Budget: budget.Of(v.units)}
	rt, err := v.find(p)
	if err != nil || rt == nil {
		return false
	}
	if n := v.tell(tb, rt, p); n > v.calls+maxTold {
		tb.Errorf("%d is told instead of %d, with %#x", n, v.calls, to)
	}
	return true
}

// maxTook is how long reading a changed dump may take, on a machine that does more.
const maxTook = 20 * time.Second

// Damage changes each step-th word that is read into what it is most likely to be wrong as, and into the address of memory without an end. At least least changes must be tried, and the runtime be found
// in half of them.
func Damage(t *testing.T, list []Victim, step, least int) {
	t.Helper()
	tried, found, worst := 0, 0, time.Duration(0)
	for k := range list {
		v := &list[k]
		for i := k; i < len(v.words); i += step {
			at := v.words[i]
			was, _ := v.p.State.ReadWord(at)
			wrong := []uint64{0, at, was + 8, was ^ 1<<40, 1 << 63, 0x7fffffff, was &^ 0xff, endlessPlace(endlessRamp), endlessPlace(endlessRing), endlessPlace(endlessOnes),
				endlessPlace(endlessText), endlessPlace(endlessFew), endlessPlace(endlessRing) + 1, endlessPlace(endlessRamp) + 1}
			for n, to := range wrong {
				if to == was || slices.Contains(wrong[:n], to) {
					continue
				}
				tried++
				start := time.Now()
				if v.harm(t, Words{at: to}) {
					found++
				}
				if took := time.Since(start); took > worst {
					if worst = took; took > maxTook {
						t.Errorf("dump %d: %v, with %#x at %#x, where %#x was", k, took, to, at, was)
					}
				}
			}
		}
	}
	t.Logf("%d times damaged, %d times a runtime is found, %v at most", tried, found, worst)
	if tried < least || found < tried/2 {
		t.Errorf("%d times damaged, %d times a runtime is found: too few to mean anything", tried, found)
	}
}

// Fuzz changes words as the fuzzer says.
func Fuzz(f *testing.F, list []Victim) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 12 || len(data) > 256 {
			return
		}
		v := &list[int(data[0])%len(list)]
		to := Words{}
		for data = data[1:]; len(data) >= 11; data = data[11:] {
			at := v.words[int(binary.LittleEndian.Uint16(data))%len(v.words)]
			word := binary.LittleEndian.Uint64(data[3:])
			if data[2]&1 != 0 { // another word's address
				word = v.words[word%uint64(len(v.words))] + uint64(data[2]>>1&3)
			}
			to[at] = word
		}
		v.harm(t, to)
	})
}
