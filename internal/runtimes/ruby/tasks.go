package ruby

import (
	"context"
	"iter"

	"github.com/corewalk/corewalk/tasks"
)

// Tasks implements tasks.Runtime.
func (r *runtime) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {}
}
