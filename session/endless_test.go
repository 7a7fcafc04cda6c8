package session_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/session"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// endlessTasks is a runtime that lists tasks as long as it may, as one does whose list was made a circle.
type endlessTasks struct{ p *tasks.Process }

func (endlessTasks) Name() string { return "endless" }

func (r endlessTasks) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		for n := uint64(1); r.p.Spend(1<<10) == nil; n++ {
			if !yield(&tasks.Task{Key: tasks.Key{Kind: tasks.KindFiber, ID: n}, Thread: unwind.NullThread, State: tasks.StateWaiting}, nil) {
				return
			}
			if n > 1<<22 {
				panic("nothing limits the list")
			}
		}
	}
}

// TestEndlessTasks: a question about tasks ends, like a report.
func TestEndlessTasks(t *testing.T) {
	s := session.New(open(t, fixture.Get(t, "amd64-pie")), session.Options{Runtimes: []tasks.Finder{func(p *tasks.Process) (tasks.Runtime, error) { return endlessTasks{p}, nil }}})
	defer s.Close()
	list, more, err := s.Tasks(context.Background(), 0, 5)
	if err != nil || len(list) != 5 || !more {
		t.Errorf("%d tasks, more %v, %v", len(list), more, err)
	}
	if _, err := s.FindTask(context.Background(), 0); !errors.Is(err, session.ErrUnknown) {
		t.Error(err)
	}
}
