package golang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/tasks"
)

// ProveWith is prove with another offset of a field.
func ProveWith(r tasks.Runtime, structure, field string, offset uint64) error {
	return changed(r, structure, field, offset).prove()
}

// ProveFieldsWith is proveFields with another offset of a field.
func ProveFieldsWith(r tasks.Runtime, structure, field string, offset uint64) error {
	return changed(r, structure, field, offset).proveFields()
}

func changed(r tasks.Runtime, structure, field string, offset uint64) *runtime {
	was := r.(*runtime)
	rec := *was.of(structure)
	rec.fields = maps.Clone(rec.fields)
	rec.fields[field] = offset
	l := *was.layout
	l.records = maps.Clone(l.records)
	l.records[structure] = &rec
	return &runtime{memory: was.memory, lib: was.lib, im: was.im, version: was.version, layout: &l, allgs: was.allgs, count: was.count}
}

// Count returns how many goroutines are in the list.
func Count(r tasks.Runtime) uint64 { return r.(*runtime).count }

// Ends reports whether the list of goroutines may have that length.
func Ends(r tasks.Runtime, count uint64) bool {
	was := r.(*runtime)
	return (&runtime{memory: was.memory, layout: was.layout, allgs: was.allgs, count: count}).ends()
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

// FindWithout is Find with a table of layouts that lacks a version, "1.22"; all if that is "".
func FindWithout(p *tasks.Process, version string) (tasks.Runtime, error) {
	var kept strings.Builder
	skip := false
	for line := range strings.Lines(layoutsText) {
		if f := strings.Fields(line); len(f) > 1 && (f[0] == "layout" || f[0] == "reasons") {
			skip = version == "" || f[1] == version
		}
		if !skip {
			kept.WriteString(line)
		}
	}
	return find(p, kept.String())
}

// Differences compares the layout of a runtime with the table's of its version: what both have must be equal. It also returns how many fields are.
func Differences(r tasks.Runtime) (equal int, differ []string) {
	have := r.(*runtime)
	want := readLayout(layoutsText, image.GoMinor(have.version), machineOf(have.Arch))
	for name, rec := range want.records {
		got := have.of(name)
		if got == nil {
			continue // the program does not have that type
		}
		if got.size != rec.size || len(got.fields) != len(rec.fields) {
			differ = append(differ, fmt.Sprintf("%s: %v, want %v", name, got, rec))
			continue
		}
		for field, off := range rec.fields {
			if at, ok := got.off(field); !ok || at != off {
				differ = append(differ, fmt.Sprintf("%s.%s: %d, want %d", name, field, at, off))
			} else {
				equal++
			}
		}
	}
	if !slices.Equal(have.reasons, want.reasons) {
		differ = append(differ, fmt.Sprintf("reasons: %q, want %q", have.reasons, want.reasons))
	}
	return equal, differ
}

// Source says where the layout of a runtime comes from.
func Source(r tasks.Runtime) string { return r.(*runtime).source }
