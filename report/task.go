package report

// A TaskRef names a task: its kind, "thread", "goroutine", "async-task", "coroutine", "fiber" or "process" (of Erlang), and its number.
type TaskRef struct {
	Kind string `json:"kind"` // as Task.Kind
	ID   int    `json:"id"`   // as the runtime prints it; the address of a task that has no number
}

// A Task is something that the program schedules: a goroutine, or a thread of which is known what it waits for.
type Task struct {
	Kind string `json:"kind"`           // "thread", "goroutine", "async-task", "coroutine", "fiber" or "process" (of Erlang)
	ID   int    `json:"id"`             // as the runtime prints it; the address of a task that has no number
	Name string `json:"name,omitempty"` // the function that it began with, or the program's name for it
	// Runtime is what schedules it: "go", "native".
	Runtime string `json:"runtime"`
	// Thread is the thread that runs it; 0 if none does.
	Thread int `json:"thread,omitempty"`
	// State is "running", "runnable", "syscall", "waiting" or "dead". Status is the state in the words of the
	// runtime: "chan receive".
	State  string `json:"state"`
	Status string `json:"status,omitempty"`
	// Certainty is "possible" if the memory of a coroutine may have been freed; "" or "certain" if the task is surely there.
	Certainty string `json:"certainty,omitempty"`
	Locked    bool   `json:"locked,omitempty"` // runs on one thread only
	System    bool   `json:"system,omitempty"` // the runtime's own; the text leaves it out
	// Wait is what it waits for; nil if it does not wait, or if that is not known.
	Wait      *Wait     `json:"wait,omitempty"`
	CreatedBy *Creation `json:"created_by,omitempty"`
	Labels    []Label   `json:"labels,omitempty"`
	// End and EndDetail are as in Thread. Frames are left out of a thread's task: they are in Report.Threads.
	End       string  `json:"end,omitempty"`
	EndDetail string  `json:"end_detail,omitempty"`
	Frames    []Frame `json:"frames"`
	// Places, if not nil, say where each of Frames is on this task's stack, by Frame.Physical: the Frames are those of another
	// task with the same code. WriteJSON puts both together.
	Places []FramePlace `json:"-"`
}

// A FramePlace is where a frame is on a stack: the Frame's SP, CFA and the Address of its ReturnAddressLocation.
type FramePlace struct{ SP, CFA, ReturnAddress Addr }

// A Label is a key and a value that the program attached to a task.
type Label struct {
	Key   string `json:"key"`   // as the program chose it
	Value string `json:"value"` // as the program chose it
}

// A Creation is where a task was created.
type Creation struct {
	Task     *TaskRef `json:"task,omitempty"`     // nil if not known
	Function string   `json:"function,omitempty"` // that created it
	Source   Source   `json:"source,omitzero"`
}

// A Wait is what a task waits for.
type Wait struct {
	// Kind is one of "lock", "read-lock", "condition", "semaphore", "barrier", "once", "join", "future",
	// "channel-send", "channel-receive", "select", "timer", "io", "process", "signal", "address", "runtime" and "forever".
	Kind string `json:"kind"`
	// Reason is in the runtime's own words: "sync.Mutex.Lock".
	Reason string `json:"reason,omitempty"`
	// Certainty is "certain" if the process's memory proves that the task waits for the object, else "possible".
	Certainty string      `json:"certainty,omitempty"`
	Object    *WaitObject `json:"object,omitempty"`
	Cases     []WaitCase  `json:"cases,omitempty"` // of a select
	Holders   []Holder    `json:"holders,omitempty"`
	// All says that all holders must act before the wait ends, not only one.
	All   bool `json:"all,omitempty"`
	Timed bool `json:"timed,omitempty"` // the wait ends by itself
	// Seconds is how long the task has waited, about; 0 if not known.
	Seconds float64 `json:"seconds,omitempty"`
	Note    string  `json:"note,omitempty"` // a remark: that the lock's owner has ended
}

// A WaitObject is a lock, a channel or whatever tasks wait for.
type WaitObject struct {
	Address Addr   `json:"address"`          // in the process
	Name    string `json:"name,omitempty"`   // in the program: "d.mu"
	Type    string `json:"type,omitempty"`   // "pthread_mutex_t", "chan int"
	Detail  string `json:"detail,omitempty"` // its state: "0 of 4 buffered"
}

// A WaitCase is one of the things that a select waits for.
type WaitCase struct {
	Kind   string     `json:"kind"` // as Wait.Kind: "channel-send" or "channel-receive"
	Object WaitObject `json:"object"`
}

// A Holder is a task that could end a wait: who holds the lock.
type Holder struct {
	Kind      string `json:"kind"`      // as Task.Kind
	ID        int    `json:"id"`        // as Task.ID
	Certainty string `json:"certainty"` // "certain" or "possible"
	// AcquiredAt is where it took the lock that it holds; nil if that is not known.
	AcquiredAt *AcquiredAt `json:"taken,omitempty"`
}

// An AcquiredAt is where a task took a lock.
type AcquiredAt struct {
	Function string `json:"function,omitempty"` // as Frame.Function: the youngest that is not of a library that locks for others
	Module   string `json:"module,omitempty"`   // path
	Source   Source `json:"source,omitzero"`    // of the call
	// Certainty is "certain" if an object there that unlocks when it is destroyed still has the lock, "likely" if code there
	// locked it and has not unlocked it, and memory proves who holds it, else "possible".
	Certainty string `json:"certainty"`
}

// A Deadlock is a set of tasks each of which waits for another of them, or that all sleep for ever.
type Deadlock struct {
	// Certainty is "certain" if every wait and every holder in it is, or if Go's runtime found that all goroutines are
	// asleep, else "possible".
	Certainty string `json:"certainty"`
	// Tasks are in the order of waiting: each waits for the next, the last for the first.
	Tasks   []TaskRef    `json:"tasks"`
	Objects []WaitObject `json:"objects"` // what each of Tasks waits for
	// Places are where each of Tasks waits, in the program's own code. A place without a function is not known.
	Places []WaitPlace `json:"places"`
	// Behind are tasks outside the cycle that wait for it.
	Behind []TaskRef `json:"behind,omitempty"`
	// Asleep says that Tasks are in no circle that is known, but can never go on, as Go's runtime found: they are all other goroutines of
	// the program, as Report.Tasks lists them.
	Asleep bool `json:"asleep,omitempty"`
}

// A WaitPlace is the youngest function of a task that waits which is not of a library that waits for others.
type WaitPlace struct {
	Function string `json:"function,omitempty"` // as Frame.Function
	Module   string `json:"module,omitempty"`   // path
	Source   Source `json:"source,omitzero"`    // of the call
}

// A Contended object is one that several tasks wait for.
type Contended struct {
	Kind    string     `json:"kind"` // as Wait.Kind, of the first that waits
	Object  WaitObject `json:"object"`
	Waiters []TaskRef  `json:"waiters"`
	Holders []Holder   `json:"holders,omitempty"`
}
