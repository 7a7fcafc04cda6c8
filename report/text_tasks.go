package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// scheduler returns how many threads only wait for something to run: threads of Go's scheduler without a goroutine.
// It takes them out of the threads to show.
func (t *textWriter) scheduler(threads []Thread) ([]Thread, int) {
	if t.opts.unfolded() || !slices.ContainsFunc(t.r.Tasks, func(x Task) bool { return x.Runtime == "go" }) {
		return threads, 0
	}
	shown := slices.DeleteFunc(slices.Clone(threads), func(th Thread) bool {
		if th.Crashed || len(t.tasks.runs[th.ID]) > 0 {
			return false
		}
		return slices.ContainsFunc(th.Frames, func(f Frame) bool { return f.Function == "runtime.mstart" || f.Function == "runtime.rt0_go" }) &&
			!slices.ContainsFunc(th.Frames, func(f Frame) bool { return f.Function == "runtime.cgocallback" })
	})
	return shown, len(threads) - len(shown)
}

// taskIndex finds the tasks that belong to a thread.
type taskIndex struct {
	waits map[int]*Task   // threads that wait
	runs  map[int][]*Task // what threads run
}

func (t *textWriter) indexTasks() {
	t.tasks = taskIndex{map[int]*Task{}, map[int][]*Task{}}
	for i := range t.r.Tasks {
		task := &t.r.Tasks[i]
		switch {
		case task.Kind == "thread":
			t.tasks.waits[task.ID] = task
		case task.Thread != 0:
			t.tasks.runs[task.Thread] = append(t.tasks.runs[task.Thread], task)
		}
	}
}

// maxDeadlocks and maxBehind limit what the text shows of deadlocks.
const (
	maxDeadlocks = 8
	maxCircle    = 16
	maxBehind    = 16
)

// deadlocks writes who waits for whom, in each deadlock.
func (t *textWriter) deadlocks() {
	for i := range t.r.Deadlocks[:min(len(t.r.Deadlocks), maxDeadlocks)] {
		d := &t.r.Deadlocks[i]
		if len(d.Tasks) == 0 {
			continue
		}
		t.put(red, "  deadlock")
		t.line(plain, " ["+brief(d.Certainty, maxName)+"]: "+d.eachOther(""))
		for k, ref := range d.Tasks {
			if k == maxCircle {
				t.line(dim, fmt.Sprintf("    and %d more", len(d.Tasks)-k))
				break
			}
			s := t.named(ref)
			if task := t.find(ref); task != nil && task.Wait != nil {
				s += " " + waitText(task.Wait, t.sourceText)
				if k < len(d.Places) && d.Places[k].Function != "" {
					s += ", in " + brief(d.Places[k].Function, maxName)
					if place := t.sourceText(d.Places[k].Source); place != "" {
						s += " at " + place
					}
				}
			}
			t.put(plain, "    ")
			t.wrap(plain, 6, s)
		}
		if len(d.Behind) > 0 {
			t.put(plain, "    ")
			t.wrap(plain, 6, "behind it: "+refList(d.Behind, maxBehind))
		}
	}
	if n := len(t.r.Deadlocks) - maxDeadlocks; n > 0 {
		t.line(dim, fmt.Sprintf("  %d more deadlocks are in the JSON", n))
	}
}

// named is a task with the name that the program gave it, if any.
func (t *textWriter) named(ref TaskRef) string {
	if i := slices.IndexFunc(t.r.Threads, func(th Thread) bool { return ref.Kind == "thread" && th.ID == ref.ID }); i >= 0 {
		return "thread " + threadName(&t.r.Threads[i])
	}
	s := ref.text()
	if task := t.find(ref); task != nil && task.Name != "" && task.Kind != "goroutine" { // their names are those of functions
		s += ` "` + brief(task.Name, maxName) + `"`
	}
	return s
}

func (r TaskRef) text() string { return r.Kind + " " + taskID(r.Kind, r.ID) }

// kinds is a kind of tasks, of which there are more than one.
func kinds(kind string) string {
	if strings.HasSuffix(kind, "s") {
		return kind + "es"
	}
	return kind + "s"
}

// taskID writes the number of a task, or its address if it has no number.
func taskID(kind string, id int) string {
	switch kind {
	case "coroutine", "fiber", "async-task":
		return Addr(id).String()
	case "process": // as Erlang writes it
		return fmt.Sprintf("<0.%d.%d>", id&(1<<28-1), id>>28)
	}
	return strconv.Itoa(id)
}

func refList(refs []TaskRef, limit int) string {
	var words []string
	for _, r := range refs[:min(len(refs), limit)] {
		words = append(words, r.text())
	}
	if n := len(refs) - limit; n > 0 {
		words = append(words, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(words, ", ")
}

func (t *textWriter) find(ref TaskRef) *Task {
	i := slices.IndexFunc(t.r.Tasks, func(x Task) bool { return x.Kind == ref.Kind && x.ID == ref.ID })
	if i < 0 {
		return nil
	}
	return &t.r.Tasks[i]
}

// text names an object: "q.mu (sync.Mutex at 0xc000010000, locked)".
func (o *WaitObject) text() string {
	what := brief(o.Type, maxName)
	if what == "" {
		what = "memory"
	}
	if o.Address != 0 {
		what += " at " + o.Address.String()
	}
	if o.Detail != "" {
		what += ", " + brief(o.Detail, maxName)
	}
	if o.Name == "" {
		return what
	}
	return brief(o.Name, maxName) + " (" + what + ")"
}

// waitText says what a task waits for: "waits for q.mu (...), held by thread 7".
// source writes a place in source code; without it, places are left out.
func waitText(w *Wait, source func(Source) string) string {
	var b strings.Builder
	switch w.Kind {
	case "join":
		b.WriteString("waits for the end of ")
		for i, h := range w.Holders {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(TaskRef{h.Kind, h.ID}.text())
		}
		if len(w.Holders) == 0 {
			b.WriteString("another thread")
		}
		return b.String()
	case "timer":
		return "waits for a time"
	case "forever":
		return "waits for ever: " + brief(w.Reason, maxName)
	case "io":
		b.WriteString("waits for input or output")
		if w.Object != nil {
			b.WriteString(": " + brief(w.Reason, maxName) + " of " + w.Object.text())
		}
	case "signal":
		b.WriteString("waits for a signal")
		if w.Object != nil {
			b.WriteString(": " + w.Object.text())
		}
	case "process":
		b.WriteString("waits for the end of ")
		if w.Object != nil {
			b.WriteString(w.Object.text())
		} else {
			b.WriteString("another process")
		}
	case "runtime":
		return brief(w.Reason, maxName)
	case "select":
		b.WriteString("waits for one of " + strconv.Itoa(len(w.Cases)) + ": ")
		for i := range w.Cases {
			if i == 4 {
				fmt.Fprintf(&b, ", and %d more", len(w.Cases)-i)
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(verb(w.Cases[i].Kind) + w.Cases[i].Object.text())
		}
	default:
		b.WriteString("waits ")
		switch v := verb(w.Kind); {
		case w.Object == nil:
			b.WriteString("in " + brief(w.Reason, maxName))
		case v != "":
			b.WriteString("to " + v + w.Object.text())
		default:
			b.WriteString("for " + w.Object.text())
		}
	}
	if w.Timed {
		b.WriteString(", with a time limit")
	}
	if n := len(w.Holders); n > 0 && w.Kind == "future" {
		if b.WriteString(", "); w.Holders[0].Certainty != "certain" {
			b.WriteString("possibly ")
		}
		b.WriteString("by " + several(w.Holders))
	} else if n > 0 && w.Holders[0].Certainty != "certain" && !strings.Contains(w.Kind, "lock") && w.Kind != "once" {
		b.WriteString(", which " + sharers(w.Holders))
	} else {
		for i, h := range w.Holders[:min(n, maxHolders)] {
			switch {
			case i > 0:
				b.WriteString(", ")
			case h.Certainty == "certain":
				b.WriteString(", held by ")
			default:
				b.WriteString(", possibly held by ")
			}
			b.WriteString(TaskRef{h.Kind, h.ID}.text())
			if h.AcquiredAt != nil && h.AcquiredAt.Function != "" && source != nil {
				b.WriteString(" (" + takenText(h.AcquiredAt, source(h.AcquiredAt.Source)) + ")")
			}
		}
		if n > maxHolders {
			fmt.Fprintf(&b, ", and %d more", n-maxHolders)
		}
	}
	if w.Note != "" {
		b.WriteString(" (" + brief(w.Note, maxName) + ")")
	}
	return b.String()
}

// maxHolders is how many of those who can end a wait are named.
const maxHolders = 4

// sharers says who else has what a task waits for: "goroutines 10, 18, 26, 34 and others have, too". Of many only some are known.
func sharers(all []Holder) string {
	if len(all) == 1 {
		return several(all) + " has, too"
	}
	return several(all) + " have, too"
}

// several names tasks: "goroutines 10, 18, 26, 34 and others".
func several(all []Holder) string {
	if len(all) == 1 {
		return TaskRef{all[0].Kind, all[0].ID}.text()
	}
	mixed := slices.ContainsFunc(all, func(h Holder) bool { return h.Kind != all[0].Kind })
	var b strings.Builder
	for i, h := range all[:min(len(all), maxHolders)] {
		switch {
		case i == 0:
		case i == len(all)-1:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		switch {
		case mixed:
			b.WriteString(h.Kind + " ")
		case i == 0:
			b.WriteString(kinds(h.Kind) + " ")
		}
		b.WriteString(taskID(h.Kind, h.ID))
	}
	if len(all) > maxHolders {
		b.WriteString(" and others")
	}
	return b.String()
}

// takenText says where a lock was taken: "taken in move at bank.c:14".
func takenText(at *AcquiredAt, place string) string {
	s := "taken "
	if at.Certainty != "certain" {
		s = strings.Replace(at.Certainty, "possible", "possibly", 1) + " " + s
	}
	s += "in " + brief(at.Function, maxName)
	if place != "" {
		s += " at " + place
	}
	return s
}

// severally is what waitText writes, of several tasks.
func severally(s string) string {
	if rest, ok := strings.CutPrefix(s, "waits"); ok {
		return "wait" + rest
	}
	return s
}

func verb(kind string) string {
	switch kind {
	case "channel-receive":
		return "receive from "
	case "channel-send":
		return "send to "
	case "read-lock":
		return "read under "
	}
	return ""
}

// maxWaitLines is how many different objects a group of threads is said to wait for.
const maxWaitLines = 4

// notes writes what runtimes know of the threads of a group, each on a line.
func (t *textWriter) notes(group []*Thread) {
	for _, th := range group {
		if len(th.Notes) == 0 {
			continue
		}
		text := brief(strings.Join(th.Notes, "; "), maxWords)
		if len(group) > 1 {
			text = strconv.Itoa(th.ID) + " " + text
		}
		t.put(plain, "  ")
		t.wrap(plain, 4, text)
	}
}

// waitLines writes what the threads of a group wait for, and which goroutines they run.
func (t *textWriter) waitLines(group []*Thread) {
	t.notes(group)
	var texts []string
	byText := map[string][]int{}
	for _, th := range group {
		task := t.tasks.waits[th.ID]
		if task == nil || task.Wait == nil {
			continue
		}
		s := waitText(task.Wait, t.sourceText)
		if byText[s] == nil {
			texts = append(texts, s)
		}
		byText[s] = append(byText[s], th.ID)
	}
	for i, s := range texts {
		if i == maxWaitLines {
			t.line(dim, fmt.Sprintf("  and %d more (--no-fold shows each)", len(texts)-i))
			break
		}
		if len(group) > 1 {
			ids := byText[s]
			who := strconv.Itoa(ids[0])
			if len(ids) > 1 {
				who, s = strconv.Itoa(len(ids))+" of them", severally(s)
			}
			if len(ids) == len(group) {
				who = "all"
			}
			s = who + " " + s
		}
		t.put(plain, "  ")
		t.wrap(yellow, 4, s)
	}
	if len(group) == 1 {
		for _, task := range t.tasks.runs[group[0].ID] {
			t.line(plain, "  runs "+t.named(TaskRef{task.Kind, task.ID})+lockedText(task))
		}
	}
}

func lockedText(task *Task) string {
	if task.Locked {
		return ", locked to this thread"
	}
	return ""
}

// otherTasks writes the tasks that no thread runs: those with one stack and one kind of wait
// together, in the order of the runtime.
func (t *textWriter) otherTasks() {
	type group struct {
		tasks  []*Task
		stacks []*Thread
	}
	var groups []*group
	at := map[string]*group{}
	hidden := 0
	shown := map[int]bool{} // threads, whose stacks have the frames of what they run
	for i := range t.r.Threads {
		shown[t.r.Threads[i].ID] = true
	}
	type stack struct {
		first *Frame
		end   string
	}
	keys := map[stack]string{} // tasks may share their frames
	for i := range t.r.Tasks {
		task := &t.r.Tasks[i]
		if task.Kind == "thread" || task.Thread != 0 && shown[task.Thread] {
			continue
		}
		if task.System && !t.opts.AllTasks && !t.opts.unfolded() {
			hidden++
			continue
		}
		th := &Thread{ID: task.ID, Frames: task.Frames, End: task.End, EndDetail: task.EndDetail}
		var key string
		if len(task.Frames) > 0 {
			key = keys[stack{&task.Frames[0], task.End}]
		}
		if key == "" {
			key = StackKey(th)
			if len(task.Frames) > 0 {
				keys[stack{&task.Frames[0], task.End}] = key
			}
		}
		key += task.Kind + task.Status + task.Certainty + lockedText(task)
		g := at[key]
		if g == nil || t.opts.AllTasks || t.opts.unfolded() {
			g = &group{}
			at[key] = g
			groups = append(groups, g)
		}
		g.tasks, g.stacks = append(g.tasks, task), append(g.stacks, th)
	}
	left := 0
	for i, g := range groups {
		line, leave := t.brevity.short(i + 1) // the crashed thread is stack 0
		if t.short = line; leave {
			left += len(g.tasks)
			continue
		}
		t.end()
		t.taskHeading(g.tasks)
		t.kind = g.tasks[0].Kind
		t.stack(g.stacks)
		t.kind = ""
		if c := g.tasks[0].CreatedBy; c != nil && c.Function != "" {
			s := "created by " + brief(c.Function, maxName)
			if place := t.sourceText(c.Source); place != "" {
				s += " at " + place
			}
			if len(g.tasks) == 1 && c.Task != nil {
				s += ", in " + c.Task.text()
			}
			t.put(plain, "  ")
			t.wrap(dim, 4, s)
		}
	}
	t.short = false
	if left > 0 {
		t.variables.partly = true
		t.end()
		t.line(dim, fmt.Sprintf("and %s, left out", plural(left, "other task")))
	}
	if hidden > 0 {
		t.end()
		t.line(dim, fmt.Sprintf("%d of the runtime's own are left out (--tasks all shows them)", hidden))
	}
}

// named reports whether a task has a name that none of its frames says: of goroutines it is that of their first function.
func (t *Task) named() bool {
	return t.Name != "" && !slices.ContainsFunc(t.Frames, func(f Frame) bool { return f.Function == t.Name })
}

// tells reports whether what a task of a kind waits for says more than the words of its runtime, which the heading has.
func (w *Wait) tells(kind string) bool {
	switch {
	case w == nil || w.Kind == "runtime":
		return false
	case w.Object != nil || len(w.Cases) > 0:
		return true
	case w.Kind == "join":
		return len(w.Holders) > 0
	}
	return kind == "async-task" && w.Kind == "io"
}

// taskHeading writes which tasks a stack is of, and what they wait for.
func (t *textWriter) taskHeading(group []*Task) {
	first := group[0]
	kind := strings.ToUpper(first.Kind[:1]) + first.Kind[1:]
	var b strings.Builder
	if len(group) == 1 {
		b.WriteString(kind + " " + taskID(first.Kind, first.ID))
		if first.named() {
			b.WriteString(" (" + brief(first.Name, maxName) + ")")
		}
	} else {
		b.WriteString(kinds(kind) + " ")
		for i, task := range group {
			if i >= maxHeading && len(group) > maxHeading+1 {
				fmt.Fprintf(&b, " and %d more", len(group)-maxHeading)
				break
			}
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(taskID(task.Kind, task.ID))
		}
		var names []string
		for _, task := range group {
			if task.named() {
				names = append(names, task.Name)
			}
		}
		if text := allNames(names); text != "" {
			b.WriteString(" (" + brief(text, 2*maxName) + ")")
		}
	}
	t.put(bold, b.String())
	s := ", " + brief(first.Status, maxName)
	if first.Status == "" {
		s = ", " + first.State
	}
	if len(group) > 1 {
		s = fmt.Sprintf(": %d with this stack", len(group)) + s
	}
	if first.Wait != nil && len(group) == 1 && first.Wait.Seconds >= 60 {
		s += fmt.Sprintf(", at least %d minutes", int(first.Wait.Seconds/60))
	}
	if first.Locked {
		s += ", locked to a thread"
	}
	if first.Certainty == "possible" {
		s += " [possible]"
	}
	t.line(plain, s)
	var texts []string
	count := map[string]int{}
	for _, task := range group {
		if !task.Wait.tells(task.Kind) {
			continue
		}
		text := waitText(task.Wait, t.sourceText)
		if count[text]++; count[text] == 1 {
			texts = append(texts, text)
		}
	}
	for i, text := range texts {
		if i == maxWaitLines {
			t.line(dim, fmt.Sprintf("  and %d more", len(texts)-i))
			break
		}
		if len(group) > 1 && len(texts) > 1 {
			n := count[text]
			if n > 1 {
				text = severally(text)
			}
			text = fmt.Sprintf("%d of them %s", n, text)
		}
		t.put(plain, "  ")
		t.wrap(yellow, 4, text)
	}
	for _, l := range first.Labels {
		if len(group) == 1 {
			t.line(plain, "  label "+brief(l.Key, maxName)+" = "+brief(l.Value, maxName))
		}
	}
}
