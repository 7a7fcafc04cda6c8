package corestate

import "github.com/corewalk/corewalk/unwind"

// A threadIndex numbers the threads of a dump in its order.
type threadIndex struct {
	ids     []unwind.ThreadID
	byID    map[unwind.ThreadID]int // the first of several threads with one id
	crashed int                     // the default thread's index
}

// addID adds the id of the next thread. first is false if another thread has it
// already.
func (x *threadIndex) addID(id unwind.ThreadID) (first bool) {
	if x.byID == nil {
		x.byID = map[unwind.ThreadID]int{}
	}
	if _, dup := x.byID[id]; !dup {
		x.byID[id] = len(x.ids)
		first = true
	}
	x.ids = append(x.ids, id)
	return first
}

// index returns a thread's index; for NullThread that of the default thread.
func (x *threadIndex) index(tid unwind.ThreadID) (int, bool) {
	if tid == unwind.NullThread {
		return x.crashed, len(x.ids) > 0
	}
	i, ok := x.byID[tid]
	return i, ok
}

// ThreadIDs lists the threads: the default thread first, then the others in the
// dump's order.
func (x *threadIndex) ThreadIDs() ([]unwind.ThreadID, error) {
	if len(x.ids) == 0 {
		return nil, ErrNoThreads
	}
	ids := make([]unwind.ThreadID, 0, len(x.ids))
	ids = append(ids, x.ids[x.crashed])
	for i, id := range x.ids {
		if i != x.crashed && x.byID[id] == i {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// DefaultThread returns the thread that died. In a minidump it is the thread of the
// exception, or else the one that requested the dump, or else the first.
func (x *threadIndex) DefaultThread() (unwind.ThreadID, error) {
	if len(x.ids) == 0 {
		return 0, ErrNoThreads
	}
	return x.ids[x.crashed], nil
}
