package command

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/live/sample"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// sampleFlags are the flags of corewalk live that sample a process.
type sampleFlags struct {
	every, long   time.Duration
	folded, pprof string
	onCPU         bool
}

func (f *sampleFlags) register(fs *pflag.FlagSet) {
	fs.DurationVar(&f.every, "every", 0, "sample the process every `TIME`, such as 100ms, and print its stacks merged as a tree of calls")
	fs.DurationVar(&f.long, "for", 10*time.Second, "sample for this `TIME`; 0 until Ctrl-C")
	fs.BoolVar(&f.onCPU, "on-cpu", false, "sample only threads that run: that are running, or have run since the last sample; of a Go program threads, too, not goroutines")
	fs.StringVar(&f.folded, "folded", "", "write the samples to `FILE` as folded stacks, one line for each different stack, for flame graphs")
	fs.StringVar(&f.pprof, "pprof", "", "write the samples to `FILE` for pprof (go tool pprof FILE)")
}

// leastEvery limits how often a process is stopped.
const leastEvery = time.Millisecond

func (f *sampleFlags) check(fs *pflag.FlagSet, format string) error {
	if !fs.Changed("every") {
		for _, name := range []string{"for", "folded", "pprof", "on-cpu"} {
			if fs.Changed(name) {
				return fmt.Errorf("--%s is for sampling: give --every, too", name)
			}
		}
		return nil
	}
	switch {
	case f.every < leastEvery:
		return fmt.Errorf("--every %v: must be %v or more", f.every, leastEvery)
	case f.long < 0:
		return fmt.Errorf("--for %v: must be 0 or more", f.long)
	case format != formatText:
		return errors.New("--format " + format + ": samples are printed as text; --pprof and --folded are for programs")
	}
	return nil
}

// sampleFrames limits the frames of a stack, unless --max-frames is given.
const sampleFrames = 1024

// sample samples a process until the time is up, Ctrl-C, or the end of the process.
func (f *liveFlags) sample(e env, t *corewalk.Target, o wanted) int {
	outputs, err := f.create()
	if err != nil {
		return e.fail(err)
	}
	defer outputs.close()
	frames := o.MaxFrames
	if frames == 0 {
		frames = sampleFrames
	}
	names := &namer{t: t, modules: map[*libstate.Library]*sample.Module{}, numbers: map[sample.Call]uint64{}}
	p := sample.New(f.every, names.place)
	if lib, ok := t.ProcessState().LibraryTracker().AOut(); ok {
		p.Program = names.module(lib)
	}
	early := 0
	// Goroutines are what a Go program does; its threads only run them.
	byTask := !o.NoTasks && !f.onCPU && len(o.Threads) == 0
	s, err := t.NewSampler()
	if err != nil {
		return e.fail(err)
	}
	next := s.Next
	if byTask = byTask && s.HasTasks(); !byTask && len(o.Tasks) > 0 {
		return e.fail(errors.New("--task: the process has no goroutines that can be sampled"))
	}
	var last map[unwind.ThreadID]time.Duration
	err = p.Collect(e.ctx, f.long, func() ([]sample.Stack, time.Duration, error) {
		// Complete a sample that has begun.
		m, err := next(context.WithoutCancel(e.ctx), unwind.WithMaxFrames(frames))
		if err != nil {
			return nil, 0, err
		}
		if f.onCPU {
			last = keepRunning(m, last)
		}
		if byTask {
			return f.tasksOf(m, o.Tasks, &early), m.Pause, nil
		}
		return names.stacksOf(m, o.Threads, &early), m.Pause, nil
	})
	status := exitComplete
	if _, _, ended := t.Live().Exited(); ended && p.Samples > 0 {
		e.say("the process has ended")
	} else if err != nil && p.Samples > 0 {
		e.say("%v", err)
		status = exitIncomplete
	} else if err != nil {
		return e.fail(err)
	}
	if early > 0 {
		e.say("%d of %d stacks ended before their bottom (corewalk live shows why)", early, p.Stacks)
	}
	if err := outputs.write(p); err != nil {
		return e.fail(err)
	}
	rows := 0
	if isTerminal(e.stdout) {
		rows = defaultRows
	}
	return e.written(p.WriteTree(e.stdout, sample.TreeOptions{MaxRows: rows}), status)
}

// keepRunning leaves in m the threads that are running, or have run since the last moment,
// whose CPU times are last; it returns those of m.
func keepRunning(m *corewalk.Moment, last map[unwind.ThreadID]time.Duration) map[unwind.ThreadID]time.Duration {
	times := make(map[unwind.ThreadID]time.Duration, len(m.Stacks))
	kept := 0
	for i, s := range m.Stacks {
		did := m.Activity[i]
		times[s.Thread] = did.CPU
		if before, seen := last[s.Thread]; did.State == 'R' || seen && did.CPU > before {
			m.Stacks[kept], m.Names[kept], m.Activity[kept] = s, m.Names[i], did
			kept++
		}
	}
	m.Stacks, m.Names, m.Activity = m.Stacks[:kept], m.Names[:kept], m.Activity[:kept]
	return times
}

// stacksOf returns the parts of a moment that a profile needs.
func (n *namer) stacksOf(m *corewalk.Moment, wanted []unwind.ThreadID, early *int) []sample.Stack {
	out := make([]sample.Stack, 0, len(m.Stacks))
	for i, s := range m.Stacks {
		if len(wanted) > 0 && !slices.Contains(wanted, s.Thread) || len(s.Frames) == 0 {
			continue
		}
		if s.End != unwind.EndBottom {
			*early++
		}
		out = append(out, sample.Stack{Thread: report.Clean(m.Names[i]), Addrs: n.addrs(s.Frames, m.Calls[s.Thread])})
	}
	return out
}

// addrs are the addresses of frames, with the calls that stretches of them stand for in their place.
func (n *namer) addrs(frames []*unwind.Frame, stretches []tasks.Stretch) []uint64 {
	addrs := make([]uint64, 0, len(frames))
	at := 0
	for _, st := range stretches {
		if st.From < at || st.To < st.From || st.To > len(frames) {
			continue
		}
		for ; at < st.From; at++ {
			addrs = append(addrs, frames[at].LookupAddr())
		}
		for _, c := range st.Calls {
			if st.Folded {
				break
			}
			addrs = append(addrs, n.call(c))
		}
		at = st.To
	}
	for ; at < len(frames); at++ {
		addrs = append(addrs, frames[at].LookupAddr())
	}
	return addrs
}

// firstCall is the first of the numbers that stand for calls of languages where addresses are meant: no code is there.
const firstCall = 1 << 63

// call is the number of a call.
func (n *namer) call(c tasks.Call) uint64 {
	k := sample.Call{Name: report.Clean(c.Function), SystemName: report.Clean(c.Symbol), File: report.Clean(c.File), Line: c.Line}
	number, ok := n.numbers[k]
	if !ok {
		number = firstCall + uint64(len(n.calls))
		n.numbers[k] = number
		n.calls = append(n.calls, k)
	}
	return number
}

// tasksOf returns the parts of a moment that a profile of tasks needs. The runtime's own goroutines count while they run.
func (f *liveFlags) tasksOf(m *corewalk.Moment, wanted []uint64, early *int) []sample.Stack {
	names := make(map[unwind.ThreadID]string, len(m.Stacks))
	for i, s := range m.Stacks {
		names[s.Thread] = report.Clean(m.Names[i])
	}
	out := make([]sample.Stack, 0, len(m.Tasks))
	for i := range m.Tasks {
		s := &m.Tasks[i]
		t := s.Task
		switch {
		case len(s.Addrs) == 0, len(wanted) > 0 && (t.Kind == tasks.KindThread || !slices.Contains(wanted, t.ID)),
			t.System && t.Thread <= 0 && f.tasks.show != tasksAll && len(wanted) == 0:
			continue
		}
		if !s.Whole {
			*early++
		}
		one := sample.Stack{Addrs: s.Addrs, Thread: names[t.Thread]}
		if t.State != tasks.StateRunning {
			one.State = report.Clean(strings.TrimSuffix(t.Status, " (scan)"))
		}
		for _, l := range t.Labels {
			one.Labels = append(one.Labels, sample.Label{Key: report.Clean(l.Key), Value: report.Clean(l.Value)})
		}
		out = append(out, one)
	}
	return out
}

// sampleFiles are the files that samples are written to. They are opened before the
// first sample, so that an error costs no samples.
type sampleFiles []sampleFile

type sampleFile struct {
	*os.File
	write func(*sample.Profile, io.Writer) error
}

func (f *sampleFlags) create() (sampleFiles, error) {
	var out sampleFiles
	for _, o := range []struct {
		path  string
		write func(*sample.Profile, io.Writer) error
	}{{f.folded, (*sample.Profile).WriteFolded}, {f.pprof, (*sample.Profile).WritePprof}} {
		if o.path == "" {
			continue
		}
		file, err := os.Create(o.path)
		if err != nil {
			out.close()
			return nil, err
		}
		out = append(out, sampleFile{file, o.write})
	}
	return out, nil
}

func (s sampleFiles) write(p *sample.Profile) error {
	for _, f := range s {
		err := f.write(p, f.File)
		if st, serr := f.Stat(); serr == nil && st.Mode().IsRegular() { // pipes and devices have nothing to wait for
			err = errors.Join(err, f.Sync())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return nil
}

func (s sampleFiles) close() {
	for _, f := range s {
		f.Close()
	}
}

// A namer returns the name of the code at an address.
type namer struct {
	t       *corewalk.Target
	modules map[*libstate.Library]*sample.Module
	calls   []sample.Call          // of languages
	numbers map[sample.Call]uint64 // of calls
}

func (n *namer) place(addr uint64) sample.Place {
	if i := addr - firstCall; addr >= firstCall && i < uint64(len(n.calls)) {
		return sample.Place{Calls: []sample.Call{n.calls[i]}}
	}
	lib, known := n.t.ProcessState().LibraryTracker().LibraryAt(addr)
	var p sample.Place
	if known {
		p.Module = n.module(lib)
	}
	if l, ok := n.t.SymbolLookup().(unwind.CallLookup); ok {
		calls, _ := l.LookupCalls(addr, nil)
		for _, c := range calls {
			if c.Name != "" {
				p.Calls = append(p.Calls, sample.Call{Name: report.Clean(c.Name), SystemName: report.Clean(c.LinkageName), File: report.Clean(c.File), Line: c.Line})
			}
		}
	}
	if len(p.Calls) == 0 {
		name := "[unknown]"
		if known {
			name = "[" + report.Clean(filepath.Base(lib.Path)) + "]"
		}
		p.Calls = []sample.Call{{Name: name}}
	}
	return p
}

// module returns a library in the form that a profile needs: with its first mapping
// that has code.
func (n *namer) module(lib *libstate.Library) *sample.Module {
	if m := n.modules[lib]; m != nil {
		return m
	}
	m := &sample.Module{Path: report.Clean(lib.Path), BuildID: hex.EncodeToString(lib.BuildID), Start: lib.Start, End: lib.End}
	for _, x := range lib.Mappings {
		if x.Perm&libstate.Exec != 0 {
			m.Start, m.End, m.Offset = x.Start, x.End, x.Offset
			break
		}
	}
	n.modules[lib] = m
	return m
}
