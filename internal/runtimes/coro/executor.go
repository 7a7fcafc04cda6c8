package coro

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Executors keep each task in an object of its own, which begins with a header: its state and a vtable. The vtable's
// functions are instances of generic ones, whose names and types tell the future's type. tokio's tasks are in a list of
// their scheduler, a handle to which is in a thread-local variable of each thread that runs tasks; of async-task,
// which is what async-std and smol use, the executor is a static variable or an object, and keeps their wakers.

// An executor is a library that runs futures.
type executor struct {
	name   string
	tokio  bool
	vtable uint64   // in the header, in words
	state  uint64   // the same
	entry  uint64   // the function of the vtable that runs the future, in words
	symbol []string // its name has all of these
}

var executors = []executor{
	{"tokio", true, 2, 0, 0, []string{"tokio", "7runtime4task3raw", "4poll"}},
	{"async-task", false, 0, 1, 5, []string{"10async_task3raw", "RawTask", "3run"}},
	{"async-task", false, 3, 0, 5, []string{"10async_task3raw", "RawTask", "3run"}}, // as declared; the compiler orders
}

// A cell is what the objects of one kind of task look like.
type cell struct {
	exec   *executor
	future *types.Type
	off    uint64 // where the future is
	whole  *types.Type
	// Of tokio; have are those that are known.
	id, next, scheduler uint64
	have                bool
	list                *types.Type // what the scheduler is, behind a pointer
}

// An ownedTask is one object of an executor.
type ownedTask struct {
	at    unwind.Address
	cell  *cell
	owned bool // it is in the list of its scheduler
	id    uint64
	state uint64
}

// Flags in the state of tokio's tasks.
const (
	tokioRunning  = 1
	tokioComplete = 2
	tokioNotified = 4
)

// Flags in the state of async-task's tasks.
const (
	asyncScheduled = 1
	asyncRunning   = 2
	asyncCompleted = 4
	asyncClosed    = 8
)

// header notes a task if an object begins with the header of one. words has the first words of the object.
func (s *reach) header(at unwind.Address, words []uint64) bool {
	if s.futures.tasks[at] != nil {
		return true
	}
	for i := range executors {
		e := &executors[i]
		if e.vtable >= uint64(len(words)) || words[e.vtable]%s.word != 0 || s.data(words[e.vtable]) == nil {
			continue
		}
		c := s.cellOf(e, words[e.vtable])
		if c == nil || len(s.futures.tasks) >= maxFrames {
			continue
		}
		t := &ownedTask{at: at, cell: c, state: words[e.state]}
		if c.have {
			t.id, _ = s.ReadWord(at + c.id)
		}
		s.futures.tasks[at] = t
		if s.err == nil {
			s.err = s.p.Spend(frameCost)
		}
		s.queue = append(s.queue, span{at, at + min(c.off+c.future.Size()+4*s.word, maxObject)})
		return true
	}
	return false
}

// isHeader reports whether a task is at an address, and notes it.
func (s *reach) isHeader(at unwind.Address) *ownedTask {
	if t := s.futures.tasks[at]; t != nil {
		return t
	}
	if at < 4096 || at%s.word != 0 || at>>47 != 0 {
		return nil
	}
	if words, ok := s.Words(at, 4); !ok || !s.header(at, words) {
		return nil
	}
	return s.futures.tasks[at]
}

// cellOf returns what tasks with a vtable look like; nil if it is none of an executor.
func (s *reach) cellOf(e *executor, vtable unwind.Address) *cell {
	key := cellKey{e, vtable}
	if c, ok := s.futures.cells[key]; ok {
		return c
	}
	c := s.newCell(e, vtable)
	s.futures.cells[key] = c
	return c
}

type cellKey struct {
	exec   *executor
	vtable unwind.Address
}

func (s *reach) newCell(e *executor, vtable unwind.Address) *cell {
	entry, err := s.ReadWord(vtable + e.entry*s.word)
	if err != nil {
		return nil
	}
	lib, ok := s.code(entry)
	if !ok {
		return nil
	}
	sym, ok := s.p.Symbols.SymbolAt(lib, entry)
	if !ok || sym.Addr != entry || slices.ContainsFunc(e.symbol, func(part string) bool { return !strings.Contains(sym.Name, part) }) {
		return nil
	}
	im := s.libs[lib]
	fn, ok := im.DWARF().FuncAt(entry - im.Bias(lib.LoadBias))
	if !ok || s.p.Spend(cellCost) != nil {
		return nil
	}
	if e.tokio {
		return s.tokioCell(e, lib, fn.DIE, vtable)
	}
	return s.asyncCell(e, fn.DIE, vtable)
}

// cellCost is what a kind of tasks costs of the budget.
const cellCost = 4096

// tokioCell reads tokio's Cell<T, S>: header, core with the scheduler, the id and the future, and trailer with the links
// of the list. fn is poll<T, S>.
func (s *reach) tokioCell(e *executor, lib *libstate.Library, fn dwarf.DIE, vtable unwind.Address) *cell {
	var t *types.Type
	if harness := s.local(fn, "Harness<"); harness != nil {
		if f := fieldNamed(harness.Members().Fields, "cell"); f != nil {
			t = s.pointsAt(s.types.OfField(f))
		}
	}
	if t == nil {
		t = s.sibling(fn, "tokio::runtime::task::core::Cell<")
	}
	if t == nil || !strings.HasPrefix(t.FullName(), "tokio::runtime::task::core::Cell<") {
		return nil
	}
	c := &cell{exec: e, whole: t}
	stage, off, ok := s.part(t, "Stage<")
	if !ok || t.Members().Fields == nil || stage.Members().Variant == nil {
		return nil
	}
	for i := range stage.Members().Variant.Variants {
		for _, f := range stage.Members().Variant.Variants[i].Fields {
			if in := s.types.OfField(&f).Strip(); in.BareName == "Running" || strings.HasPrefix(in.BareName, "Running<") {
				if m := in.Members().Fields; len(m) == 1 {
					c.future, c.off = s.types.OfField(&m[0]), off+f.Off+m[0].Off
				}
			}
		}
	}
	if c.future == nil || strings.Contains(c.future.FullName(), "::blocking::task::BlockingTask<") {
		return nil
	}
	core := fieldNamed(t.Members().Fields, "core")
	links, trailer, ok := s.part(t, "Pointers<")
	if core == nil || !ok || !s.says(vtable, trailer, 16) {
		return c
	}
	inner := s.types.OfField(core).Strip().Members().Fields
	id, scheduler := fieldNamed(inner, "task_id"), fieldNamed(inner, "scheduler")
	next, nextOff, ok := s.part(links, "PointersInner<")
	if id == nil || scheduler == nil || !ok {
		return c
	}
	f := fieldNamed(next.Members().Fields, "next")
	if f == nil {
		return c
	}
	c.have = true
	c.id, c.scheduler, c.next = core.Off+id.Off, core.Off+scheduler.Off, trailer+nextOff+f.Off
	c.list = s.pointsAt(s.types.OfField(scheduler))
	return c
}

// says reports whether one of the first n words of a vtable is near what the type says: the offset of the part that has the
// links. Else the function was merged with another instance's.
func (s *reach) says(vtable unwind.Address, off, n uint64) bool {
	for i := range n {
		if v, err := s.ReadWord(vtable + i*s.word); err == nil && v <= off && off < v+4*s.word && v > 3*s.word {
			return true
		}
	}
	return false
}

// asyncCell reads async-task's objects: header, the function that schedules, and the future. The vtable has a description of the
// layout, in which the offset of the future must be. fn is RawTask<F, T, S>::run.
func (s *reach) asyncCell(e *executor, fn dwarf.DIE, vtable unwind.Address) *cell {
	raw := s.local(fn, "RawTask<")
	if raw == nil {
		raw = s.sibling(fn, "async_task::raw::RawTask<")
	}
	if raw == nil || !s.headed(e, raw) {
		return nil
	}
	future, out, schedule := raw.TypeArg(0), raw.TypeArg(1), raw.TypeArg(2)
	if future == nil || out == nil || schedule == nil {
		return nil
	}
	c := &cell{exec: e, future: future}
	info, err := s.ReadWord(vtable + 7*s.word)
	if err != nil {
		return nil
	}
	least := 4*s.word + schedule.Size()
	size := max(future.Size(), out.Size())
	for i := range uint64(6) { // the future's and the result's offset are the same, and the largest below the size of all
		v, err := s.ReadWord(info + i*s.word)
		if err != nil {
			return nil
		}
		if v >= least && v < least+64 && v >= c.off {
			c.off = v
		}
	}
	if c.off == 0 || size == 0 {
		return nil
	}
	return c
}

// headed reports whether the header of a RawTask<F, T, S> has its vtable and its state where an executor has them: what lies before one
// layout's header looks like the beginning of another's.
func (s *reach) headed(e *executor, raw *types.Type) bool {
	pointer := fieldNamed(raw.Members().Fields, "header")
	if pointer == nil {
		return false
	}
	header := s.pointsAt(s.types.OfField(pointer))
	if header == nil {
		return false
	}
	vtable, state := fieldNamed(header.Members().Fields, "vtable"), fieldNamed(header.Members().Fields, "state")
	return vtable != nil && state != nil && vtable.Off == e.vtable*s.word && state.Off == e.state*s.word
}

// local returns the type, the name of which begins with name, of a variable of a function; nil if it has none.
func (r *runtime) local(fn dwarf.DIE, name string) *types.Type {
	var e dwarf.Entry
	u := fn.Unit
	c := u.Cursor(fn.Off)
	c.Next(&e)
	for n := 0; n < maxChildren && c.Level() > 0 && c.Next(&e); n++ {
		switch e.Tag {
		case dwarf.TagLexicalBlock, 0:
			continue
		case dwarf.TagVariable:
			if _, ref := declared(u, e.Off); ref.Valid() {
				if t := r.types.Of(ref).Strip(); strings.HasPrefix(t.BareName, name) {
					return t
				}
			}
		}
		c.SkipChildren()
	}
	return nil
}

// sibling returns a type of the unit of a function with the same arguments.
func (r *runtime) sibling(fn dwarf.DIE, name string) *types.Type {
	_, args, ok := strings.Cut(declaredName(fn), "<")
	if !ok {
		return nil
	}
	die, ok := r.types.Named(fn.Unit, name+args)
	if !ok {
		return nil
	}
	return r.types.At(die).Strip()
}

// declaredName is the name of a function, which may be that of its declaration.
func declaredName(fn dwarf.DIE) string {
	u, off := fn.Unit, fn.Off
	for range 4 {
		v := u.Value(off, dwarf.AttrName)
		if v.Present() {
			return u.Text(&v)
		}
		v = u.Value(off, dwarf.AttrSpecification)
		if !v.Present() {
			v = u.Value(off, dwarf.AttrAbstractOrigin)
		}
		to, err := u.Ref(&v)
		if !v.Present() || err != nil || !to.Valid() {
			break
		}
		u, off = to.Unit, to.Off
	}
	return ""
}

// Limits on the search for a part of a type.
const (
	maxPartDepth  = 12
	maxPartFields = 256
)

// part finds the part of a type whose name begins with one, and its offset.
func (r *runtime) part(t *types.Type, name string) (found *types.Type, off uint64, ok bool) {
	left := maxPartFields
	return r.partIn(t, name, &left, 0)
}

func (r *runtime) partIn(t *types.Type, name string, left *int, depth int) (*types.Type, uint64, bool) {
	t = t.Strip()
	if strings.HasPrefix(t.BareName, name) {
		return t, 0, true
	}
	if !t.Aggregate() || depth > maxPartDepth {
		return nil, 0, false
	}
	fields := t.Members().Fields
	for i := range fields {
		f := &fields[i]
		if *left--; *left < 0 {
			break
		}
		if f.Static || f.Expr.Present() || f.Bits != 0 {
			continue
		}
		if found, off, ok := r.partIn(r.types.OfField(f), name, left, depth+1); ok {
			return found, f.Off + off, true
		}
	}
	return nil, 0, false
}

// pointsAt is what a type points to that is a pointer but for its wrapping, as an Arc.
func (r *runtime) pointsAt(t *types.Type) *types.Type {
	for range maxWrap {
		if t = t.Strip(); t.Pointer() {
			return t.Target().Strip()
		}
		if !t.Aggregate() {
			return nil
		}
		fields := t.Members().Fields
		i := slices.IndexFunc(fields, func(f types.Field) bool {
			in := r.types.OfField(&f)
			return !f.Static && f.Off == 0 && in.Size() == r.word
		})
		if i < 0 {
			return nil
		}
		t = r.types.OfField(&fields[i])
	}
	return nil
}

// owned walks the lists of the schedulers that tasks lead to. They have tasks that nothing else leads to.
func (s *reach) owned() {
	walked := s.futures.lists
	for changed := true; changed && !s.stopped(); {
		changed = false
		for _, t := range s.futures.inOrder() {
			c := t.cell
			if !c.have || c.list == nil {
				continue
			}
			at, err := s.ReadWord(t.at + c.scheduler)
			if _, ok := walked[at]; ok || err != nil {
				continue
			}
			more, whole := s.ownedBy(at, c.list)
			walked[at] = whole
			changed = more || changed
		}
	}
}

// maxShards is how many lists of tasks a scheduler may have: up to 64 thousand threads have four each.
const maxShards = 1 << 18

// ownedBy walks the lists of tasks in a scheduler of a type. more says that they had tasks that were not known, whole that they were walked to their ends.
// Recent releases of tokio (1.43) have several, each behind a lock of its own; older ones, and those of a LocalSet, have one.
func (s *reach) ownedBy(at unwind.Address, scheduler *types.Type) (more, whole bool) {
	for _, name := range []string{"OwnedTasksInner<", "CountedOwnedTasksInner<"} {
		if owned, off, ok := s.part(scheduler, name); ok {
			return s.listed(at+off, owned)
		}
	}
	owned, off, ok := s.part(scheduler, "OwnedTasks<")
	if !ok {
		return false, false
	}
	sharded, shardedOff, ok := s.part(owned, "ShardedList<")
	if !ok {
		return false, false
	}
	lists := fieldNamed(sharded.Members().Fields, "lists")
	if lists == nil {
		return false, false
	}
	fields := s.types.OfField(lists).Strip().Members().Fields
	data, length := fieldNamed(fields, "data_ptr"), fieldNamed(fields, "length")
	if data == nil || length == nil {
		return false, false
	}
	shard := s.pointsAt(s.types.OfField(data))
	slice := at + off + shardedOff + lists.Off
	first, err := s.ReadWord(slice + data.Off)
	n, err2 := s.ReadWord(slice + length.Off)
	if shard == nil || shard.Size() == 0 || err != nil || err2 != nil || n > maxShards {
		return false, false
	}
	whole = true
	for i := range n {
		if s.stopped() || s.p.Spend(shardCost) != nil {
			return more, false
		}
		m, w := s.listed(first+i*shard.Size(), shard)
		more, whole = more || m, whole && w
	}
	return more, whole
}

// shardCost is what a list of tasks costs of the budget, however short.
const shardCost = 16

// listed walks the list that is in an object of a type.
func (s *reach) listed(at unwind.Address, owner *types.Type) (more, whole bool) {
	list, off, ok := s.part(owner, "LinkedList<")
	if !ok {
		return false, false
	}
	head := fieldNamed(list.Members().Fields, "head")
	if head == nil {
		return false, false
	}
	next, err := s.ReadWord(at + off + head.Off)
	seen := map[unwind.Address]bool{}
	for err == nil && next != 0 && !seen[next] && len(seen) < maxFrames && !s.stopped() {
		seen[next] = true
		had := len(s.futures.tasks)
		t := s.isHeader(next)
		if t == nil || !t.cell.have {
			break
		}
		more = more || len(s.futures.tasks) > had
		t.owned = true
		next, err = s.ReadWord(t.at + t.cell.next)
	}
	return more, err == nil && next == 0
}

// inOrder returns the tasks that were found, by the numbers that tokio gave them.
func (f *futures) inOrder() []*ownedTask {
	all := make([]*ownedTask, 0, len(f.tasks))
	for _, t := range f.tasks {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *ownedTask) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.at, b.at)) })
	return all
}

// executed makes futures of the tasks that have not ended.
func (s *reach) executed() {
	for _, t := range s.futures.inOrder() {
		if t.ended() || s.dropped(t) {
			continue
		}
		at := t.at + t.cell.off
		typ, in, _ := s.inside(t.cell.future, at, 0)
		f := s.futures.found[in]
		if typ == nil {
			typ, in, f = t.cell.future.Strip(), at, nil
		}
		if f == nil {
			f = &future{at: in, typ: typ}
			s.futures.order = append(s.futures.order, f)
			s.futures.found[in] = f
		}
		f.task = t
	}
}

// dropped reports whether a task is not in the list of its scheduler any more: its memory may have been given back.
func (s *reach) dropped(t *ownedTask) bool {
	if !t.cell.have || t.owned {
		return false
	}
	at, err := s.ReadWord(t.at + t.cell.scheduler)
	return err != nil || s.futures.lists[at]
}

// ended reports whether a task has its result, or was cancelled.
func (t *ownedTask) ended() bool {
	if t.cell.exec.tokio {
		return t.state&tokioComplete != 0
	}
	return t.state&(asyncCompleted|asyncClosed) != 0
}

// describe gives a task what its executor says of it.
func (t *ownedTask) describe(out *tasks.Task) {
	out.ID, out.Runtime = t.at, t.cell.exec.name
	if t.owned {
		out.Certainty = tasks.Certain
	}
	running, ready := t.state&asyncRunning != 0, t.state&asyncScheduled != 0
	if t.cell.exec.tokio {
		running, ready = t.state&tokioRunning != 0, t.state&tokioNotified != 0
		if t.cell.have {
			out.Labels = []tasks.Label{{Key: "id", Value: fmt.Sprint(t.id)}}
		}
	}
	switch {
	case running:
		out.State, out.Status, out.Wait = tasks.StateRunning, "running, or about to", nil
	case ready:
		out.State, out.Status, out.Wait = tasks.StateRunnable, "scheduled", nil
	}
}

// threadLocals scans the thread-local variables of the program itself, which are below or above a thread's pointer.
func (s *reach) threadLocals(regs *arch.RegSet) {
	const size = 4096
	switch s.Arch {
	case arch.AMD64:
		if tp, ok := regs.Get(arch.FSBase); ok && tp > size {
			s.scan(span{tp - size, tp}, true)
		}
	case arch.X86:
		r, _ := s.Arch.RegByName("gs_base")
		if tp, ok := regs.Get(r); ok && tp > size {
			s.scan(span{tp - size, tp}, true)
		}
	}
}
