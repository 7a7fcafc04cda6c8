package livestate

import (
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// An EventKind is the kind of an Event.
type EventKind uint8

const (
	EventThreadCreate  EventKind = iota // Thread has begun
	EventThreadExit                     // Thread has ended
	EventLibraryLoad                    // Library was loaded
	EventLibraryUnload                  // Library was unloaded
	EventSignal                         // Signal is being delivered to Thread
	EventStop                           // Signal has stopped the process (job control)
	EventFork                           // Thread made the process Child, which is not traced
	EventExec                           // the process has become another program
	EventExit                           // the process has ended, with Status or by Signal
	EventLost                           // events before this one were not read in time, and are lost
)

var eventNames = [...]string{"thread_create", "thread_exit", "library_load", "library_unload", "signal", "stop", "fork", "exec", "exit", "lost"}

func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "?"
}

// An Event is something that happened to a process. Fields that its kind does not
// mention are zero.
type Event struct {
	Kind    EventKind
	Thread  unwind.ThreadID
	Signal  int
	Fatal   bool // EventSignal: it is going to end the process
	Child   int
	Status  int
	Library *libstate.Library
}
