package perl

import (
	"context"
	"iter"

	"github.com/corewalk/corewalk/tasks"
)

// Tasks implements tasks.Runtime: Perl schedules none.
func (r *runtime) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(func(*tasks.Task, error) bool) {}
}
