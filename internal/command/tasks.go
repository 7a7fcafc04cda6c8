package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/report"
)

// What --tasks shows of goroutines and other tasks.
const (
	tasksNone   = "none"
	tasksFolded = "folded"
	tasksAll    = "all"
)

// taskFlags select what is reported of tasks.
type taskFlags struct {
	show string
	only []string
	ids  []uint64
	have map[uint64]bool // those of ids that were reported by themselves
}

func (f *taskFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.show, "tasks", tasksFolded, "print goroutines and what threads wait for: `HOW` is none, folded (those with one stack together), or all (each, also the runtime's own)")
	choose(fs, "tasks", tasksNone, tasksFolded, tasksAll)
	fs.StringSliceVar(&f.only, "task", nil, "report only the goroutines or other tasks with these `IDs`, and no threads (repeatable, or with commas)")
}

func (f *taskFlags) apply(o *wanted) error {
	switch f.show {
	case tasksNone, tasksFolded, tasksAll:
	default:
		return fmt.Errorf("--tasks %s: must be none, folded or all", f.show)
	}
	o.NoTasks = f.show == tasksNone
	for _, v := range f.only {
		id, err := strconv.ParseUint(strings.TrimSpace(v), 0, 63)
		if err != nil {
			return fmt.Errorf("--task %s: not the number of a task", v)
		}
		o.Tasks = append(o.Tasks, id)
	}
	if len(o.Tasks) > 0 && o.NoTasks {
		return fmt.Errorf("--task and --tasks none exclude each other: use one")
	}
	f.ids = o.Tasks
	return nil
}

// found takes note of a task that was reported by itself.
func (f *taskFlags) found(t *report.Task) {
	if slices.Contains(f.ids, uint64(t.ID)) {
		if f.have == nil {
			f.have = map[uint64]bool{}
		}
		f.have[uint64(t.ID)] = true
	}
}

// missing returns the tasks that were asked for and are not in the report.
func (f *taskFlags) missing(r *report.Report) []uint64 {
	var missing []uint64
	for _, id := range f.ids {
		found := f.have[id]
		for i := range r.Tasks {
			found = found || uint64(r.Tasks[i].ID) == id
		}
		if !found {
			missing = append(missing, id)
		}
	}
	return missing
}
