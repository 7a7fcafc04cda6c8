package ruby

import "github.com/corewalk/corewalk/tasks"

func (r *runtime) variables(c *call, locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
	return nil, nil
}
