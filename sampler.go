package corewalk

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Sampler takes Moments of a process one after the other, also with the tasks of its own schedulers (goroutines) and the
// calls of Python, Java and JavaScript. A goroutine's stack that has not changed since the last Moment is not walked again.
// Only one goroutine may use a Sampler at a time.
type Sampler struct {
	t         *Target
	subject   subject.Subject
	walking   []func(process func() *tasks.Process) walkingRuntime // those that were found, at a moment
	shown     []tasks.Finder                                       // of those whose frames are in memory
	runtimes  []tasks.Sampled
	known     map[tasks.Key]knownStack
	scheduler map[unwind.Address]bool // whether code is of a function in which a scheduler's own threads begin
	seed      maphash.Seed
	buf       []byte
	walks     int
}

// A knownStack is what a task's stack was at the last Moment.
type knownStack struct {
	sum   uint64
	addrs []unwind.Address
	whole bool
}

// A TaskStack is where a task was at one Moment.
type TaskStack struct {
	Task *tasks.Task
	// Addrs are the addresses to look up (unwind.Frame.LookupAddr), youngest first. They must not be changed.
	Addrs []unwind.Address
	Whole bool // the walk reached the bottom of the stack
}

// NewSampler returns a Sampler. It finds the schedulers in the process's program; there may be none.
func (t *Target) NewSampler() (*Sampler, error) {
	s := &Sampler{t: t, subject: t.subject, known: map[tasks.Key]knownStack{}, scheduler: map[unwind.Address]bool{}, seed: maphash.MakeSeed()}
	err := t.guard(func() {
		for _, r := range findRuntimes(s.process(t.subject), schedulers()) {
			if r, ok := r.(tasks.Sampled); ok {
				s.runtimes = append(s.runtimes, r)
			}
		}
		p := t.processOf(t.subject)()
		for i := range runtimeKinds {
			k := &runtimeKinds[i]
			switch {
			case k.again != nil:
				if r := found(k.find(p)); r != nil {
					s.walking = append(s.walking, func(process func() *tasks.Process) walkingRuntime { return k.again(r, process) })
				}
			case k.shows != nil:
				// The frames are in memory that changes with each call, so the process is stopped while they are read.
				if r, err := k.find(p); r != nil || err != nil {
					s.shown, s.subject = append(s.shown, k.find), subject.Held(t.subject)
				}
			}
		}
	})
	return s, err
}

func found(r tasks.Runtime, _ error) tasks.Runtime { return r }

// HasTasks reports whether the process has schedulers of its own.
func (s *Sampler) HasTasks() bool { return len(s.runtimes) > 0 }

func (s *Sampler) process(state subject.State) *tasks.Process {
	p := &tasks.Process{State: state, Files: s.t.images, Symbols: s.t.lookup, Names: s.t.lookup}
	if libs := s.t.subject.LibraryTracker(); libs != nil {
		if exe, ok := libs.AOut(); ok {
			p.Modules = []*libstate.Library{exe}
		}
	}
	return p
}

// Next takes the next Moment, as Target.Moment does, and fills in Moment.Tasks and Moment.Calls as well.
func (s *Sampler) Next(ctx context.Context, opts ...unwind.Option) (*Moment, error) {
	now, err := s.subject.Moment(func(mem arch.Memory, take func([][2]arch.Address)) {
		for _, r := range s.runtimes {
			r.Needs(mem, take)
		}
	})
	if err != nil {
		return nil, err
	}
	defer now.Release()
	m := &Moment{}
	fault := s.t.guard(func() {
		if err = s.walk(ctx, m, now, opts); err == nil {
			err = s.tasks(ctx, m, now, opts)
		}
	})
	if fault != nil {
		return nil, fault
	}
	if err != nil {
		return nil, err
	}
	m.Pause = now.Pause()
	return m, nil
}

// walk walks the threads' stacks, and finds the calls of languages in them.
func (s *Sampler) walk(ctx context.Context, m *Moment, now subject.Moment, opts []unwind.Option) error {
	if len(s.walking) == 0 && len(s.shown) == 0 {
		return m.walk(ctx, s.t, now, opts)
	}
	process := s.t.processOf(now.State)
	var framers []tasks.Framer
	var by []unwind.FrameStepper
	for _, at := range s.walking {
		r := at(process)
		by, framers = append(by, r), append(framers, r)
	}
	w, err := s.t.newWalkerBy(now.State, by, opts)
	if err != nil {
		return err
	}
	if err := m.walkWith(ctx, w, now); err != nil {
		return err
	}
	for _, find := range s.shown {
		if f, ok := found(find(process())).(tasks.Framer); ok {
			framers = append(framers, f)
		}
	}
	m.Calls = map[unwind.ThreadID][]tasks.Stretch{}
	for _, st := range m.Stacks {
		for _, f := range framers {
			list, _ := f.Stretches(ctx, st.Thread, st.Frames) // what is damaged has no calls
			m.Calls[st.Thread] = append(m.Calls[st.Thread], list...)
		}
		slices.SortStableFunc(m.Calls[st.Thread], func(a, b tasks.Stretch) int { return cmp.Compare(a.From, b.From) })
	}
	return nil
}

// tasks adds the tasks of a moment, and the threads that run none and are not the scheduler's.
func (s *Sampler) tasks(ctx context.Context, m *Moment, now subject.Moment, opts []unwind.Option) error {
	if len(s.runtimes) == 0 {
		return nil
	}
	w, err := s.t.newWalker(now.State, opts)
	if err != nil {
		return err
	}
	defer w.Close()
	threads := make(map[unwind.ThreadID]*unwind.Stack, len(m.Stacks))
	for _, st := range m.Stacks {
		threads[st.Thread] = st
	}
	known := make(map[tasks.Key]knownStack, len(s.known))
	for _, r := range s.runtimes {
		for t, err := range r.At(s.process(now.State)).Tasks(ctx) {
			if err != nil {
				continue // of a moment in which it changes
			}
			if st := threads[t.Thread]; t.Thread > 0 && st != nil {
				delete(threads, t.Thread)
				m.Tasks = append(m.Tasks, ofStack(t, st))
				continue
			}
			k, ok := s.stack(w, t)
			if ok {
				known[t.Key] = k
				m.Tasks = append(m.Tasks, TaskStack{t, k.addrs, k.whole})
			}
		}
	}
	s.known = known
	for _, st := range m.Stacks {
		if threads[st.Thread] != nil && !s.ofScheduler(st) {
			t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(st.Thread)}, Thread: st.Thread, State: tasks.StateRunning}
			m.Tasks = append(m.Tasks, ofStack(t, st))
		}
	}
	return nil
}

func ofStack(t *tasks.Task, st *unwind.Stack) TaskStack {
	addrs := make([]unwind.Address, len(st.Frames))
	for i, f := range st.Frames {
		addrs[i] = f.LookupAddr()
	}
	return TaskStack{t, addrs, st.End == unwind.EndBottom}
}

// stack walks the stack of a task that no thread runs, if that is not as it was.
func (s *Sampler) stack(w *unwind.Walker, t *tasks.Task) (knownStack, bool) {
	if t.Start == nil {
		return knownStack{}, false
	}
	sum, ok := s.sum(w, t)
	if k, same := s.known[t.Key]; ok && same && k.sum == sum {
		return k, true
	}
	f, err := tasks.FirstFrame(w, t)
	if err != nil {
		return knownStack{}, false
	}
	s.walks++
	st, _ := w.WalkStackFromFrame(f) // its End says what there is to say
	of := ofStack(t, st)
	return knownStack{sum, of.Addrs, of.Whole}, len(of.Addrs) > 0
}

// maxSummed limits the stacks that are compared, in bytes.
const maxSummed = 1 << 20

// sum identifies the bytes of a task's stack and the registers at which its walk begins.
func (s *Sampler) sum(w *unwind.Walker, t *tasks.Task) (uint64, bool) {
	a := w.ProcessState().Arch()
	sp, _ := t.Start.Regs.Get(a.SP)
	if sp >= t.Stack[1] || t.Stack[1]-sp > maxSummed {
		return 0, false
	}
	n := t.Stack[1] - sp
	if uint64(len(s.buf)) < n+24 {
		s.buf = make([]byte, n+24)
	}
	b := s.buf[:n+24]
	for i, r := range []arch.Reg{a.PC, a.SP, a.FP} {
		v, _ := t.Start.Regs.Get(r)
		a.ByteOrder.PutUint64(b[8*i:], v)
	}
	got, err := w.ProcessState().ReadMem(sp, b[24:])
	return maphash.Bytes(s.seed, b), err == nil && uint64(got) == n
}

// ofScheduler reports whether a thread only waits for something to run: it began in a scheduler, and is not in code that
// the program called from there.
func (s *Sampler) ofScheduler(st *unwind.Stack) bool {
	begins := false
	for _, f := range st.Frames {
		at := f.LookupAddr()
		is, ok := s.scheduler[at]
		if !ok {
			name, _, err := s.t.lookup.LookupAtAddr(at)
			name = strings.TrimSuffix(name, "()")
			is = err == nil && (name == "runtime.mstart" || strings.HasPrefix(name, "runtime.rt0_go"))
			s.scheduler[at] = is
		}
		begins = begins || is
	}
	return begins
}
