package hotspot

import "github.com/corewalk/corewalk/internal/runtimes/remote"

// memory is the memory of the virtual machine's process.
type memory struct{ remote.Memory }
