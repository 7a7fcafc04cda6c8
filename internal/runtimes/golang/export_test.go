package golang

import (
	"maps"

	"github.com/corewalk/corewalk/tasks"
)

// ProveWith is prove with another offset of a field.
func ProveWith(r tasks.Runtime, structure, field string, offset uint64) error {
	was := r.(*runtime)
	rec := *was.of(structure)
	rec.fields = maps.Clone(rec.fields)
	rec.fields[field] = offset
	l := *was.layout
	l.records = maps.Clone(l.records)
	l.records[structure] = &rec
	changed := &runtime{memory: was.memory, lib: was.lib, im: was.im, version: was.version, layout: &l, allgs: was.allgs, count: was.count}
	return changed.prove()
}

// Place returns where a field of a structure at an address is, of a task's goroutine if the address is 0.
func Place(r tasks.Runtime, t *tasks.Task, structure, field string, at uint64) uint64 {
	if at == 0 {
		at = t.Handle.(object).at
	}
	off, ok := r.(*runtime).of(structure).off(field)
	if !ok {
		panic("no field " + field)
	}
	return at + off
}

// List returns where the list of goroutines is.
func List(r tasks.Runtime) uint64 { return r.(*runtime).allgs }
