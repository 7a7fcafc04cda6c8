package analysis

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A language has objects, or says why they are not known.
type language struct {
	heap.Objects
	unknown string
}

func (l *language) Unknown() string { return l.unknown }
func (l *language) Name() string    { return "language" }
func (l *language) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(func(*tasks.Task, error) bool) {}
}

// An unreadable language is there, and nothing can be read of it.
type unreadable struct{}

func (unreadable) Name() string { return "unreadable" }
func (unreadable) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) { yield(nil, errors.New("no layout is known")) }
}

// withLibraries is a process with a list of libraries.
type withLibraries struct{ *proc }

func (withLibraries) LibraryTracker() libstate.LibraryState { return libstate.NewTable(nil, 0) }

// TestUnknownObjects: why a language's objects are not known is told.
func TestUnknownObjects(t *testing.T) {
	p := withLibraries{&proc{threads: []unwind.ThreadID{1}}}
	e := &Engine{Parts: Parts{Proc: p, Runtimes: func([]*libstate.Library, *budget.Budget) []tasks.Runtime { return nil }}}
	known := &language{}
	for _, r := range []tasks.Runtime{nil, known, &language{unknown: "another form"}, unreadable{}} {
		e.Languages = append(e.Languages, Language{Find: func([]*libstate.Library, *budget.Budget) tasks.Runtime { return r }})
	}
	_, objects, unknown := e.heaps(p, heapBounds{})
	if len(objects) != 1 || objects[0] != heap.Objects(known) {
		t.Errorf("%v", objects)
	}
	slices.Sort(unknown)
	if !slices.Equal(unknown, []string{"another form", "no layout is known"}) {
		t.Errorf("%q", unknown)
	}
}
