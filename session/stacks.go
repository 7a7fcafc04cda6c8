package session

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A StackID is the number of a stack in a Session, from 1 on.
type StackID int

// A Stack is what has one: a thread, or a goroutine or another task that no thread runs.
type Stack struct {
	ID      StackID
	Kind    string // "thread", "goroutine", "async-task", "coroutine", "fiber" or "process" (of Erlang)
	Number  uint64 // of the thread or task, as its system or runtime prints it
	Name    string // "" if it has none
	State   string // of a task: "waiting"; "" if not known
	Status  string // of a task, in the words of its runtime: "chan receive"
	Crashed bool   // the process died in this thread
}

// Title says which stack it is, with the number as the runtime writes it: "thread 4242", "process <0.129.0>".
func (s *Stack) Title() string { return tasks.Key{Kind: tasks.Kind(s.Kind), ID: s.Number}.String() }

// A stack is a Stack with what is known of it.
type stack struct {
	Stack
	task  *tasks.Task
	facts *corewalk.StackFacts // nil before anything was asked
	named []report.Frame       // its first entries
	whole bool                 // named has all
	end   string               // why the walk ended, if whole
	ids   []FrameID
	read  map[int]variables // of entries whose variables only a report has

	library func(*report.Frame) bool // as analysis.Library says of the first told of named; nil before it was asked
	told    int
}

// variables are those of an entry, as a report has them.
type variables struct{ args, locals []report.Variable }

// frames returns the frames that were walked.
func (st *stack) frames() []*unwind.Frame {
	if st.facts == nil {
		return nil
	}
	return st.facts.Frames()
}

// Threads lists the threads: the one that died first, then the others by number.
func (s *Session) Threads(ctx context.Context) (list []Stack, err error) {
	err = s.guarded(ctx, func() error {
		if err := s.listThreads(); err != nil {
			return err
		}
		for _, st := range s.stacks[:s.threads] {
			list = append(list, st.Stack)
		}
		return nil
	})
	return list, err
}

func (s *Session) listThreads() error {
	if s.threads > 0 {
		return nil
	}
	ids, err := s.facts.Threads()
	if err != nil {
		return err
	}
	died, _ := s.t.Died()
	slices.SortFunc(ids, func(a, b unwind.ThreadID) int {
		if (a == died) != (b == died) {
			if a == died {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
	for _, id := range ids {
		s.add(&stack{Stack: Stack{Kind: string(tasks.KindThread), Number: uint64(id), Name: s.t.ThreadName(id), Crashed: id == died}})
	}
	s.threads = len(ids)
	return nil
}

func (s *Session) add(st *stack) StackID {
	st.ID = StackID(len(s.stacks) + 1)
	s.stacks = append(s.stacks, st)
	return st.ID
}

// A taskList has the tasks that were not listed yet.
type taskList struct {
	next func() (*tasks.Task, error, bool)
	stop func()
	done bool
}

// Tasks lists n tasks that no thread runs, from number first on: goroutines and others. more says that others follow. Tasks
// of the runtime itself are left out. Those after the page are not looked for.
func (s *Session) Tasks(ctx context.Context, first, n int) (list []Stack, more bool, err error) {
	err = s.guarded(ctx, func() error {
		if err := s.listThreads(); err != nil {
			return err
		}
		more, err = s.listTasks(after(first, n))
		if err != nil {
			return err
		}
		all := s.stacks[s.threads:]
		all = all[min(max(first, 0), len(all)):]
		more = more || len(all) > n
		for _, st := range all[:min(max(n, 0), len(all))] {
			list = append(list, st.Stack)
		}
		return nil
	})
	return list, more, err
}

// listTasks lists tasks until there are n. It reports whether there may be more.
func (s *Session) listTasks(n int) (more bool, err error) {
	if s.rest == nil {
		// The list outlives the question that begins it.
		next, stop := iter.Pull2(s.facts.Tasks(context.Background()))
		s.rest = &taskList{next: next, stop: stop}
	}
	for !s.rest.done && len(s.stacks)-s.threads < n {
		t, err, ok := s.rest.next()
		if !ok {
			s.rest.done = true
			break
		}
		if err != nil || t == nil || t.System || t.Kind == tasks.KindThread || t.Thread != unwind.NullThread {
			continue
		}
		s.add(&stack{Stack: Stack{Kind: string(t.Kind), Number: t.ID, Name: t.Name, State: string(t.State), Status: t.Status}, task: t})
	}
	return !s.rest.done, nil
}

// stopAll ends the list.
func (l *taskList) stopAll() {
	if l != nil {
		l.stop()
	}
}

// stack returns the stack with a number.
func (s *Session) stack(id StackID) (*stack, error) {
	if err := s.listThreads(); err != nil {
		return nil, err
	}
	if id < 1 || int(id) > len(s.stacks) {
		return nil, unknown("stack", int(id))
	}
	return s.stacks[id-1], nil
}

// Find returns the stack of the thread or task with a kind (Stack.Kind) and the number that its system or runtime prints.
func (s *Session) Find(ctx context.Context, kind string, number uint64) (Stack, error) {
	return s.find(ctx, number, func(k string) bool { return k == kind }, kind == string(tasks.KindThread))
}

// FindTask returns the stack of a task that is no thread.
func (s *Session) FindTask(ctx context.Context, number uint64) (Stack, error) {
	return s.find(ctx, number, func(k string) bool { return k != string(tasks.KindThread) }, false)
}

func (s *Session) find(ctx context.Context, number uint64, kind func(string) bool, thread bool) (found Stack, err error) {
	err = s.guarded(ctx, func() error {
		if err := s.listThreads(); err != nil {
			return err
		}
		for n, more := 64, !thread; ; n *= 2 {
			for _, st := range s.stacks {
				if st.Number == number && kind(st.Kind) {
					found = st.Stack
					return nil
				}
			}
			if !more {
				break
			}
			if more, err = s.listTasks(n); err != nil {
				return err
			}
		}
		return unknown("the thread or task", int(number))
	})
	return found, err
}

// A FrameID is the number of a frame in a Session, from 1 on.
type FrameID int

// A Frame is an entry of a stack: a frame, or a call that was inlined into one.
type Frame struct {
	ID FrameID
	// Frame is the frame as in a report, without variables. Its Index is its number in the stack.
	report.Frame
	// Library says that the frame is not in the program's own code, but in a library of the system, or in a language's runtime
	// or library.
	Library bool
}

// A frameAt says where a frame is.
type frameAt struct {
	st    *stack
	index int
}

// Frames lists n frames of a stack from number first on, the youngest is number 0. more says that others follow. Frames
// after the page are not walked.
func (s *Session) Frames(ctx context.Context, of StackID, first, n int) (list []Frame, more bool, err error) {
	err = s.guarded(ctx, func() error {
		st, err := s.stack(of)
		if err != nil {
			return err
		}
		if first < 0 || n <= 0 {
			return nil
		}
		end := after(first, n)
		if err := s.walk(ctx, st, end); err != nil {
			return err
		}
		for i := first; i < min(end, len(st.named)); i++ {
			list = append(list, s.frame(st, i))
		}
		more = end < len(st.named) || !st.whole
		return nil
	})
	return list, more, err
}

// farthest is a number beyond those of all entries that are asked for by pages.
const farthest = 1 << 28

// after is the number of the entry after n from number first on.
func after(first, n int) int { return min(max(first, 0), farthest) + min(max(n, 0), farthest) }

// frame returns a frame of a stack, and gives it a number.
func (s *Session) frame(st *stack, i int) Frame {
	for len(st.ids) <= i {
		s.frames = append(s.frames, &frameAt{st, len(st.ids)})
		st.ids = append(st.ids, FrameID(len(s.frames)))
	}
	if st.library == nil || st.told != len(st.named) { // the paths of later frames tell more
		st.library, st.told = analysis.Library(st.named), len(st.named)
	}
	f := Frame{st.ids[i], st.named[i], st.library(&st.named[i])}
	f.Args, f.Locals = nil, nil
	return f
}

// End says why the walk of a stack ended, as a report does; "" if it has not been walked to its end.
func (s *Session) End(of StackID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of < 1 || int(of) > len(s.stacks) || !s.stacks[of-1].whole {
		return ""
	}
	return s.stacks[of-1].end
}

// walk walks a stack until it has n named frames.
func (s *Session) walk(ctx context.Context, st *stack, n int) error {
	if st.whole || len(st.named) >= n {
		return nil
	}
	s.open(st)
	named, whole, err := st.facts.Entries(ctx, n)
	if err != nil {
		return err
	}
	st.named, st.whole, st.end = named, whole, st.facts.End()
	return nil
}

// open begins a stack.
func (s *Session) open(st *stack) {
	switch {
	case st.facts != nil:
	case st.task != nil:
		st.facts = s.facts.Task(st.task)
	default:
		st.facts = s.facts.Thread(unwind.ThreadID(st.Number))
	}
}

// maxCallers is how many frames of a stack are walked before variables are read: callers may know what they passed.
const maxCallers = 1 << 14

// callers walks the callers of the frames of a stack.
func (s *Session) callers(ctx context.Context, st *stack) error {
	s.open(st)
	return st.facts.Walk(ctx, maxCallers)
}

// focus returns the number of the frame of a stack to look at first.
func (s *Session) focus(ctx context.Context, st *stack) (int, error) {
	if st.Crashed {
		r, err := s.crash(ctx)
		if err != nil {
			return 0, err
		}
		if r != nil && r.Crash != nil && r.Crash.Frame != nil {
			return *r.Crash.Frame, nil
		}
	}
	if err := s.walk(ctx, st, 64); err != nil {
		return 0, err
	}
	first := -1
	for i := range st.named {
		switch f := &st.named[i]; {
		case f.Source.File == "":
		case !parks(f.Function):
			return i, nil
		case first < 0:
			first = i
		}
	}
	return max(first, 0), nil
}

// parks reports whether a function is of the packages of Go's library that goroutines wait in.
func parks(function string) bool {
	for _, pkg := range [...]string{"runtime.", "sync.", "internal/", "syscall.", "time.Sleep"} {
		if strings.HasPrefix(function, pkg) {
			return true
		}
	}
	return false
}
