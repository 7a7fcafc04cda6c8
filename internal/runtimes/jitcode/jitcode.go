// Package jitcode has what steppers share that walk the code which a runtime made in its process, for which there are no unwind tables.
package jitcode

import (
	"context"
	"iter"
	"sync"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Stepper is the part of a stepper that finds its runtime, R: when it is first asked about code that may be R's. The methods may be called concurrently.
type Stepper[R any] struct {
	Silent
	// Process is called once, if at all; nil is no process.
	Process func() *tasks.Process
	// Find finds the runtime; nil if there is none, or none that made code.
	Find func(*tasks.Process) *R

	once sync.Once
	r    *R
}

// Of returns the runtime whose code a frame may run, and the libraries of its process; nil if it is no frame of x86-64, of code that may be R's, in a process
// that has R.
func (s *Stepper[R]) Of(in *unwind.Frame) (*R, libstate.LibraryState) {
	state := in.Walker().ProcessState()
	libs := state.LibraryTracker()
	if libs == nil || state.Arch() != arch.AMD64 {
		return nil, nil
	}
	if _, ok := libs.LibraryAt(in.LookupAddr()); ok {
		return nil, nil
	}
	return s.Runtime(), libs
}

// Runtime returns the runtime; nil if there is none.
func (s *Stepper[R]) Runtime() *R {
	s.once.Do(func() {
		if p := s.Process(); p != nil {
			s.r = s.Find(p)
		}
	})
	return s.r
}

// Silent is a tasks.Runtime and a tasks.Framer that only walks: another one of the same process, or nobody, tells the tasks and what frames stand for.
type Silent struct{}

// Tasks implements tasks.Runtime: there are none.
func (Silent) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(func(*tasks.Task, error) bool) {}
}

// Stretches implements tasks.Framer: frames stand for nothing else.
func (Silent) Stretches(context.Context, unwind.ThreadID, []*unwind.Frame) ([]tasks.Stretch, error) {
	return nil, nil
}
