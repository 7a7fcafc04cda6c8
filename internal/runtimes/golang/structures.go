package golang

// A Structure names a structure of Go's runtime and library, and the fields of it that are read.
type Structure struct {
	Name   string // in layouts.txt
	Of     string // the type; of names separated by "|" the first counts that there is
	Fields string // a field that a release does not have is left out; "new|old" are two names of one
}

// Structures lists what is read. layouts.txt has it of each release, the debug information of a program those of its own.
func Structures() []Structure {
	return []Structure{
		{"g", "runtime.g", "stack.lo stack.hi m sched.sp sched.pc sched.lr sched.bp syscallsp syscallpc syscallbp atomicstatus goid " +
			"waitsince waitreason lockedm parentGoid gopc startpc waiting labels timer sig sigpc asyncSafePoint param runningCleanups bubble|syncGroup"},
		{"m", "runtime.m", "g0 gsignal curg procid alllink p incgo id"},
		{"p", "runtime.p", "status m timers timer0When"},
		{"sudog", "runtime.sudog", "g next prev elem elem.vu isSelect parent waitlink waittail c c.vu|c.maybeTraceablePtr.vu"},
		{"hchan", "runtime.hchan", "qcount dataqsiz buf elemsize closed elemtype timer recvq.first sendq.first"},
		{"semaroot", "runtime.semaRoot", "lock treap nwait"},
		{"polldesc", "runtime.pollDesc", "fd rg wg"},
		{"pollfd", "internal/poll.FD", "Sysfd pd"},
		{"moduledata", "runtime.moduledata", "text types"},
		{"rtype", "internal/abi.Type|runtime._type", "Size_|size Str|str"},
		{"mutex", "internal/sync.Mutex|sync.Mutex", "state sema"},
		{"rwmutex", "sync.RWMutex", "w writerSem readerSem readerCount readerWait"},
		{"waitgroup", "sync.WaitGroup", "state|state1 sema"},
		{"cond", "sync.Cond", "L notify"},
		{"notifylist", "sync.notifyList", "wait notify head tail"},
		{"once", "sync.Once", "done m"},
		{"timer", "runtime.timer", "when period"},
		{"mheap", "runtime.mheap", "allspans"},
		{"mspan", "runtime.mspan", "startAddr npages freeindex nelems allocBits spanclass state elemsize"},
	}
}
