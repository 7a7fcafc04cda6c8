package ada

import (
	"context"
	"iter"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// knownTasks is the list: pointers to tasks, of which some may be null (System.Tasking.Debug.Known_Tasks).
const knownTasks = "system__tasking__debug__known_tasks"

// Of the list, and of a task: its own control block, Ada_Task_Control_Block of System.Tasking. Its second word begins with its state; further on are
//
//	Task_Image     : String (1 .. 256)
//	Task_Image_Len : Natural
//	Call           : a pointer
//	LL.Thread      : the thread of the C library
//	LL.LWP         : the kernel's identifier of it, in a word
const (
	maxTasks = 1000
	maxImage = 256
	maxWords = 96 // before LL.Thread
)

// states are what a task with one of the states waits for.
var states = [...]string{
	3: "waits for tasks that it activates",
	4: "waits for a call of one of its entries",
	5: "waits for an entry that it called",
	6: "waits in an asynchronous select",
	7: "waits in a delay statement",
	8: "waits for the tasks that depend on it",
	9: "waits for the tasks that depend on it",
}

// A task is what is known of one.
type task struct{ name, waits string }

// A runtime is GNAT's library in a process.
type runtime struct {
	procmem.Reader
	p     *tasks.Process
	known uint64 // the list
	once  sync.Once
	tasks map[unwind.ThreadID]task
}

// Shows reports whether a function is one of the library's, for tasks: of a library of its own, most of them have no names.
func Shows(function, module string) bool {
	return strings.HasPrefix(function, "system__tasking__") || strings.HasPrefix(function, "system__task_primitives__") ||
		strings.HasPrefix(module[strings.LastIndexByte(module, '/')+1:], "libgnarl")
}

// Find finds the library among the modules of a process; nil if it is not there.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	if p.State.Arch() == nil {
		return nil, nil
	}
	for _, lib := range p.Modules {
		if s, ok := p.Symbols.SymbolByName(lib, knownTasks); ok {
			return &runtime{Reader: procmem.Of(p.State).Charged(p.Spend), p: p, known: s.Addr}, nil
		}
	}
	return nil, nil
}

// Name implements tasks.Runtime.
func (*runtime) Name() string { return "ada" }

// Tasks implements tasks.Runtime: each task is a thread, and these are listed anyway.
func (*runtime) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(func(*tasks.Task, error) bool) {}
}

// ShownBy implements tasks.Shown.
func (*runtime) ShownBy(function, module string) bool { return Shows(function, module) }

// ThreadName implements tasks.ThreadNamer: it is the task's name.
func (r *runtime) ThreadName(id unwind.ThreadID) string { return r.all()[id].name }

// ThreadNotes implements tasks.ThreadNoter.
func (r *runtime) ThreadNotes(id unwind.ThreadID) []string {
	if waits := r.all()[id].waits; waits != "" {
		return []string{waits}
	}
	return nil
}

// all reads the tasks, once.
func (r *runtime) all() map[unwind.ThreadID]task {
	r.once.Do(func() {
		r.tasks = map[unwind.ThreadID]task{}
		word := uint64(r.p.State.Arch().WordSize)
		for i := range uint64(maxTasks) {
			at, ok := r.LookupWord(r.known + i*word)
			if !ok {
				return
			}
			if at == 0 || at%word != 0 {
				continue
			}
			if id, t, ok := r.read(at, word); ok {
				r.tasks[id] = t
			}
		}
	})
	return r.tasks
}

// read reads a task: it is where a thread of the process is named, with an image before that.
func (r *runtime) read(at, word uint64) (id unwind.ThreadID, t task, ok bool) {
	for i := uint64(maxImage)/word + 4; i < maxWords; i++ {
		own, ok := r.LookupWord(at + (i+1)*word)
		if !ok {
			break
		}
		id, known := r.p.ThreadKnownAs(own)
		if !known || r.Word(at+i*word) == 0 {
			continue
		}
		if t.name, ok = r.image(at + (i-2)*word); !ok {
			continue
		}
		if state, ok := r.U8(at + word); ok && int(state) < len(states) {
			t.waits = states[state]
		}
		return id, t, true
	}
	return 0, task{}, false
}

// image reads the name of a task, of which the length is at an address, and the text before that.
func (r *runtime) image(length uint64) (string, bool) {
	n, ok := r.U32(length)
	if !ok || n == 0 || n > maxImage {
		return "", false
	}
	text := string(r.Bytes(length-maxImage, int(n)))
	if len(text) != int(n) || !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return "", false
	}
	return text, true
}
