package livestate

import "github.com/corewalk/corewalk/unwind/arch"

// A Sleep is a system call in which a thread sleeps.
type Sleep struct {
	Number   uint64
	Args     [6]uint64
	SP, PC   arch.Address
	Switches uint64 // how often the thread has left a processor: as often later means that it slept on
}
