package command

import "github.com/corewalk/corewalk"

// stamped is the version that the linker put into a release; "" in other builds.
var stamped string

// version returns the version of this program.
func version() string {
	if stamped != "" {
		return stamped
	}
	return corewalk.Version
}
