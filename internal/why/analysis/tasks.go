package analysis

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A threadReader is the runtime that says what the process's own threads wait for.
type threadReader interface {
	tasks.Waiter
	// Thread returns a thread as a task; nil if it does not wait, as far as is known.
	Thread(id unwind.ThreadID, frames []*unwind.Frame) *tasks.Task
}

// A taskList collects the tasks of the process while its threads are walked.
type taskList struct {
	threads threadReader
	ids     []uint64      // of the process's threads
	all     []*tasks.Task // those that wait, and those of other runtimes
	frames  map[tasks.Key]*taskStack
	modules []*libstate.Library                // where threads begin, and the program: another runtime may be in them
	known   map[*libstate.Library]bool         // modules
	created map[unwind.Address]report.Creation // by the address of the code
	names   map[unwind.Address]objectName
	held    map[sharedHolders][]report.Holder
}

// A taskStack is what is kept of a task's stack for the report.
type taskStack struct {
	frames      []report.Frame
	places      []report.FramePlace // where the frames are, if they are those of another stack
	end, more   string
	sharedStack *taskStack    // the stack that the frames are of
	reported    *reportedWait // what has been said of the task; nil if nothing has
}

// A reportedWait is what of a task's wait has been said to Options.Task.
type reportedWait struct {
	wait   *tasks.Wait
	proved bool
	note   string
}

// maxOrigin is how many of the oldest frames of a thread tell in which module it began.
const maxOrigin = 4

// walked takes note of a thread's stack.
func (in *question) walked(ctx context.Context, s *unwind.Stack) {
	l := &in.tasks
	if in.Runtimes == nil || in.opts.NoTasks || len(s.Frames) == 0 {
		return
	}
	if libs := in.Proc.LibraryTracker(); libs != nil {
		for _, f := range s.Frames[max(0, len(s.Frames)-maxOrigin):] {
			if lib, ok := libs.LibraryAt(f.RA()); ok && !l.known[lib] {
				if l.known == nil {
					l.known = map[*libstate.Library]bool{}
				}
				l.known[lib] = true
				l.modules = append(l.modules, lib)
			}
		}
	}
	if l.threads == nil {
		return
	}
	t := l.threads.Thread(s.Thread, s.Frames)
	if t == nil {
		return
	}
	if t.Wait = in.wait(l.threads.Wait(ctx, t, s.Frames)); t.Wait != nil {
		in.nameObjects(s.Frames, t.Wait)
		l.all = append(l.all, t)
	}
}

// wait makes a wait uncertain whose memory is of another moment than the registers.
func (in *Engine) wait(w *tasks.Wait) *tasks.Wait {
	if w != nil && in.ReadsLate {
		w.Proved = false
		for i := range w.Holders {
			h := &w.Holders[i]
			h.Certainty = tasks.Possible
			if h.AcquiredAt != nil {
				h.AcquiredAt = &tasks.AcquiredAt{PC: h.AcquiredAt.PC, Certainty: tasks.Possible}
			}
		}
	}
	return w
}

// findThreads finds the runtime of the process's own threads, before they are walked.
func (in *question) findThreads() {
	if in.Runtimes == nil || in.opts.NoTasks {
		return
	}
	for _, r := range in.Runtimes(nil, in.Budget) {
		if tr, ok := r.(threadReader); ok {
			in.tasks.threads = tr
		}
	}
}

// manyTasks is of how many tasks of a runtime the variables are read; the report says when there are more.
const manyTasks = 200

// listTasks reports the tasks of the process, who waits for whom, and what they wait for. c is what is known of the crash; nil for none.
func (in *question) listTasks(ctx context.Context, r *report.Report, c *report.Crash) {
	l := &in.tasks
	if in.Runtimes == nil || in.opts.NoTasks {
		return
	}
	if libs := in.Proc.LibraryTracker(); libs != nil {
		if exe, ok := libs.AOut(); ok && !l.known[exe] {
			l.modules = append(l.modules, exe)
		}
	}
	l.frames = map[tasks.Key]*taskStack{}
	for _, rt := range append(in.Runtimes(l.modules, in.Budget), in.Found...) {
		if _, ok := rt.(threadReader); ok {
			continue
		}
		in.listRuntime(ctx, r, rt)
	}
	if len(l.all) == 0 {
		return
	}
	if rs, ok := l.threads.(tasks.Resolver); ok {
		before := make([]unwind.Address, len(l.all))
		for i, t := range l.all {
			if t.Wait != nil {
				before[i] = t.Wait.Object.Address
			}
		}
		rs.Resolve(ctx, l.all, func(ctx context.Context, id unwind.ThreadID) []*unwind.Frame {
			return in.walk(ctx, id).Frames
		})
		for i, t := range l.all {
			if t.Wait = in.wait(t.Wait); t.Wait != nil && t.Wait.Object.Address != before[i] { // the name was that of another object
				t.Wait.Object.Name = ""
				in.nameObjects(in.walk(ctx, t.Thread).Frames, t.Wait)
			}
		}
	}
	in.resolveLanguages(ctx)
	l.all = tasks.Bind(l.all)
	g := tasks.NewGraph(in.withHolders(l.all))
	l.ids = in.threadNumbers()
	g.Threads(l.ids)
	noteCrashed(c, l.all)
	var deadlocks []report.Deadlock
	for _, d := range g.Deadlocks() {
		deadlocks = append(deadlocks, in.deadlock(r.Threads, &d))
	}
	r.Deadlocks = in.asleep(c, r.Threads, deadlocks)
	for _, c := range g.Contended() {
		rc := report.Contended{Kind: string(c.Kind), Object: object(&c.Object), Waiters: refs(c.Waiters), Holders: in.holders(c.Holders)}
		r.Contended = append(r.Contended, rc)
	}
	news := 0
	for _, t := range l.all {
		if in.isNews(t) {
			news++
		}
	}
	r.Tasks = make([]report.Task, 0, news)
	for _, t := range l.all {
		if in.isNews(t) {
			r.Tasks = append(r.Tasks, in.task(t))
		}
	}
}

// Waits lists the threads and the tasks of the process, with what each waits for.
func (e *Engine) Waits(ctx context.Context) []*tasks.Task {
	in := e.question(Options{Locals: LocalsNone, NoBlame: true})
	in.keepsStarts = true
	r := &report.Report{}
	in.findThreads()
	c := in.threads(ctx, r)
	in.listTasks(ctx, r, c.report(ctx, c.receivedFirst(ctx, r.Threads)))
	all := in.tasks.all
	listed := map[tasks.Key]bool{}
	for _, t := range all {
		listed[t.Key] = true
	}
	for _, id := range in.threadNumbers() {
		if key := (tasks.Key{Kind: tasks.KindThread, ID: id}); !listed[key] {
			all = append(all, &tasks.Task{Key: key, Thread: unwind.ThreadID(id), State: tasks.StateRunning})
		}
	}
	return all
}

// threadNumbers returns the numbers of all threads of the process; nil if they are not known.
func (in *Engine) threadNumbers() []uint64 {
	ids, err := in.Walker.AvailableThreads()
	if err != nil {
		return nil
	}
	out := make([]uint64, len(ids))
	for i, id := range ids {
		out[i] = uint64(id)
	}
	return out
}

// listRuntime adds the tasks of one runtime.
func (in *question) listRuntime(ctx context.Context, r *report.Report, rt tasks.Runtime) {
	from := len(in.tasks.all)
	w := taskWalk{named: map[string]*taskStack{}}
	w.waiter, _ = rt.(tasks.Waiter)
	if linker, ok := rt.(tasks.Linker); ok && in.opts.Tasks == nil {
		w.links = linker.Links()
		defer func() {
			w.links.Link(ctx)
			for _, t := range in.tasks.all[from:] {
				t.Wait = in.wait(t.Wait)
			}
		}()
	}
	locals := in.opts.Locals
	defer func() { in.opts.Locals = locals }()
	walked := 0
	walk := func(list ...*tasks.Task) bool {
		for _, t := range list {
			if in.Budget.Err() != nil || ctx.Err() != nil {
				return false
			}
			in.tasks.all = append(in.tasks.all, t)
			in.walkTask(ctx, t, &w)
			in.announce(t)
			if !in.keepsStarts {
				t.Start, t.Handle = nil, nil // a kilobyte, and there may be a hundred thousand
			}
			if walked++; walked%forgetEvery == 0 {
				tasks.ForgetPages(in.Proc)
			}
		}
		return true
	}
	var first []*tasks.Task // the others are walked as they come
	found, whole := 0, true
	for t, err := range rt.Tasks(ctx) {
		if err != nil {
			r.Warnings = append(r.Warnings, report.Warning{Code: report.WarnTasks, Message: rt.Name() + ": " + err.Error()})
			continue
		}
		if in.opts.Tasks != nil && !slices.Contains(in.opts.Tasks, t.ID) {
			continue
		}
		if found++; found <= manyTasks {
			first = append(first, t)
			continue
		}
		if first != nil {
			whole, first = walk(first...), nil
			in.opts.Locals = LocalsNone
		}
		if whole = whole && walk(t); !whole {
			break
		}
	}
	if found > manyTasks && locals != LocalsNone && in.Variables != nil {
		r.Warnings = append(r.Warnings, report.Warning{Code: report.WarnVariables,
			Message: fmt.Sprintf("%s: the variables of %d of %d tasks were read", rt.Name(), manyTasks, found),
			Advice:  "--task with the ID of another one reads its variables"})
	}
	if whole = whole && walk(first...); !whole {
		r.Warnings = append(r.Warnings, report.Warning{Code: report.WarnTasks,
			Message: fmt.Sprintf("%s: analysis stopped after %d tasks", rt.Name(), walked)})
	}
}

// forgetEvery is after how many tasks the pages of the dump that they were read from are given back.
const forgetEvery = 4096

// announce calls Options.Task with a task, and keeps of its stack what a deadlock's place is found in.
func (in *question) announce(t *tasks.Task) {
	if in.opts.Task == nil {
		return
	}
	s := in.tasks.frames[t.Key]
	out := in.task(t)
	in.opts.Task(&out)
	var kept taskStack
	switch {
	case s == nil:
	case s.sharedStack != nil:
		kept.frames = s.sharedStack.frames
	default:
		kept.frames = s.frames
	}
	kept.reported = &reportedWait{wait: t.Wait}
	if t.Wait != nil {
		kept.reported.proved, kept.reported.note = t.Wait.Proved, t.Wait.Note
	}
	in.tasks.frames[t.Key] = &kept
}

// isNews reports whether more is known of a task than Options.Task was told.
func (in *question) isNews(t *tasks.Task) bool {
	s := in.tasks.frames[t.Key]
	if s == nil || s.reported == nil {
		return true
	}
	if t.Seconds != 0 || t.Wait != s.reported.wait {
		return true
	}
	return t.Wait != nil && (len(t.Wait.Holders) > 0 || t.Wait.Proved != s.reported.proved || t.Wait.Note != s.reported.note)
}

// A taskWalk is what the walks of one runtime's tasks share.
type taskWalk struct {
	waiter tasks.Waiter
	links  tasks.Links
	named  map[string]*taskStack // by the addresses of the code
}

// walkTask walks a task's stack, and finds out what it waits for.
func (in *question) walkTask(ctx context.Context, t *tasks.Task, w *taskWalk) {
	if len(t.Suspended) > 0 {
		in.tasks.frames[t.Key] = in.suspended(t)
		return
	}
	if t.Start == nil && in.opts.Tasks != nil && t.Thread > 0 {
		s := in.walk(ctx, t.Thread)
		in.tasks.frames[t.Key] = in.taskStack(ctx, s, w.named)
		return
	}
	if t.Start == nil { // its frames are those of the thread that runs it
		if w.waiter != nil {
			t.Wait = in.wait(w.waiter.Wait(ctx, t, nil))
		}
		if w.links != nil {
			w.links.Saw(t, in.ofThread(ctx, t))
		}
		return
	}
	f, err := tasks.FirstFrame(in.Walker, t)
	if err != nil {
		return
	}
	s := in.walkFrom(ctx, f)
	if w.waiter != nil {
		if t.Wait = in.wait(w.waiter.Wait(ctx, t, s.Frames)); t.Wait != nil {
			in.nameObjects(s.Frames, t.Wait)
		}
	}
	if w.links != nil {
		w.links.Saw(t, s.Frames)
	}
	in.tasks.frames[t.Key] = in.taskStack(ctx, s, w.named)
}

// walkFrom walks the stack of a task as far as the report has it.
func (in *question) walkFrom(ctx context.Context, top *unwind.Frame) *unwind.Stack {
	if n := in.opts.MaxFrames; n > 0 {
		s := &unwind.Stack{Frames: []*unwind.Frame{top}, End: unwind.EndMaxFrames, Err: unwind.ErrMaxFrames}
		_ = in.Walker.WalkMore(ctx, s, n) // how it ended is in the stack
		s.Cut(n)
		return s
	}
	s, _ := in.Walker.WalkStackFromFrame(top)
	return s
}

// ofThread walks the stack of a task that a thread runs.
func (in *question) ofThread(ctx context.Context, t *tasks.Task) []*unwind.Frame {
	if t.Thread <= 0 {
		return nil
	}
	s := in.walk(ctx, t.Thread)
	if s.Err != nil {
		return nil
	}
	return s.Frames
}

// taskStack makes the entries of a task's stack. Of stacks with the same code the names are looked up once, if only the
// names are wanted. Where the text shows such stacks once, they are one.
func (in *question) taskStack(ctx context.Context, s *unwind.Stack, named map[string]*taskStack) *taskStack {
	if in.walkedByLanguage(s.Frames) { // one address may stand for any function
		t, n := in.thread(ctx, s, false)
		n.addLanguageCalls(ctx, &t, s, nil)
		return &taskStack{frames: t.Frames, end: s.End.String(), more: in.endDetail(s)}
	}
	if in.opts.Locals != LocalsNone || in.Explain && slices.ContainsFunc(s.Frames, (*unwind.Frame).Tracing) || in.Verify && slices.ContainsFunc(s.Frames, (*unwind.Frame).Verified) {
		t, _ := in.thread(ctx, s, false)
		return &taskStack{frames: t.Frames, end: s.End.String(), more: in.endDetail(s)}
	}
	more := in.endDetail(s)
	var buf [256]byte
	key := buf[:0]
	for _, f := range s.Frames {
		key = binary.LittleEndian.AppendUint64(key, uint64(f.RA()))
	}
	key = append(append(key, byte(s.End)), more...)
	like := named[string(key)]
	if like == nil {
		t, _ := in.thread(ctx, s, false)
		like = &taskStack{frames: t.Frames, end: s.End.String(), more: more}
		named[string(key)] = like
		return like
	}
	if in.Explain {
		in.unexplained += len(s.Frames)
	}
	if in.Verify {
		in.unverified += len(s.Frames) - 1
	}
	if in.foldsThreads() {
		return like
	}
	if in.opts.ShareFrames || in.opts.Task != nil {
		if places := in.places(s, like.frames); places != nil {
			return &taskStack{frames: like.frames, places: places, end: like.end, more: like.more, sharedStack: like}
		}
	}
	out := &taskStack{frames: slices.Clone(like.frames), end: like.end, more: like.more, sharedStack: like}
	for i := range out.frames {
		e := &out.frames[i]
		f := s.Frames[e.Physical]
		e.SP, e.CFA = report.Addr(f.SP()), 0
		if cfa, ok := f.CFA(); ok {
			e.CFA = report.Addr(cfa)
		}
		if !e.ReturnAddressLocation.IsZero() {
			e.ReturnAddressLocation = in.returnAddressOf(f)
		}
	}
	if in.Budget.Spend(entryCost*len(out.frames)) != nil {
		out.frames = out.frames[:min(len(out.frames), 1)]
	}
	return out
}

// places says where the frames of a stack are; nil if that is not all in which they differ from others of the same code.
func (in *Engine) places(s *unwind.Stack, like []report.Frame) []report.FramePlace {
	places := make([]report.FramePlace, len(s.Frames))
	for i, f := range s.Frames {
		places[i].SP = report.Addr(f.SP())
		if cfa, ok := f.CFA(); ok {
			places[i].CFA = report.Addr(cfa)
		}
		places[i].ReturnAddress = in.returnAddressOf(f).Address
	}
	for i := range like {
		e := &like[i]
		if e.Physical >= len(places) || !e.ReturnAddressLocation.IsZero() && (e.ReturnAddressLocation.Register != "" || places[e.Physical].ReturnAddress == 0) {
			return nil
		}
	}
	return places
}

// withHolders adds the tasks that hold what others wait for and do not wait themselves: threads.
func (in *Engine) withHolders(all []*tasks.Task) []*tasks.Task {
	have := make(map[tasks.Key]bool, len(all))
	for _, t := range all {
		have[t.Key] = true
	}
	ids, _ := in.Walker.AvailableThreads()
	threads := make(map[unwind.ThreadID]bool, len(ids))
	for _, id := range ids {
		threads[id] = true
	}
	exists := func(id uint64) bool { return threads[unwind.ThreadID(id)] }
	for _, t := range all {
		if t.Wait == nil {
			continue
		}
		for _, h := range t.Wait.Holders {
			if h.Kind == tasks.KindThread && !have[h.Key] && exists(h.ID) {
				have[h.Key] = true
				all = append(all, &tasks.Task{Key: h.Key, State: tasks.StateRunning})
			}
		}
	}
	return all
}

// framesOf returns the frames of a task in the report, with its threads.
func (in *question) framesOf(threads []report.Thread, k tasks.Key) []report.Frame {
	if s := in.tasks.frames[k]; s != nil {
		return s.frames
	}
	for i := range threads {
		if k.Kind == tasks.KindThread && uint64(threads[i].ID) == k.ID {
			return threads[i].Frames
		}
	}
	return nil
}

// needsTasks reports whether what is said of the crash depends on the other threads and tasks: the process may have
// been ended because it hung, or a goroutine crashed.
func (c *crash) needsTasks(known *report.Crash) bool {
	if c.tasks.threads == nil {
		return false
	}
	if known.MayBeHang() { // of a single thread, too: it may wait for what it holds itself
		return true
	}
	return slices.ContainsFunc(c.named.Frames, func(f report.Frame) bool {
		return f.Function == "runtime.goexit" || f.Function == "runtime.mstart" || f.Function == "runtime.rt0_go"
	})
}
