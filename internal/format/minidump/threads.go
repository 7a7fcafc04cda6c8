package minidump

// A Thread is an entry of the thread list, with information from other streams.
type Thread struct {
	ID            uint32
	Suspend       uint32 // suspend count
	PriorityClass uint32
	Priority      uint32
	TEB           uint64 // address of the thread environment block; in Crashpad's Linux dumps, the thread pointer
	StackStart    uint64 // start of the part of its stack that is in the dump
	StackSize     uint64
	Context       []byte // the part of its CONTEXT record that is in the file, or nil

	Name string
	Info *ThreadInfo // nil if unknown

	stack location
}

// A ThreadInfo is an entry of the ThreadInfoList.
type ThreadInfo struct {
	Flags      uint32 // MINIDUMP_THREAD_INFO_...
	Error      uint32 // HRESULT of the writer's failure to get information
	ExitStatus uint32
	// CreateTime and ExitTime are in units of 100 ns since 1601, KernelTime and UserTime in
	// units of 100 ns.
	CreateTime, ExitTime, KernelTime, UserTime uint64
	StartAddress                               uint64
	Affinity                                   uint64
}

// Flags of a ThreadInfo.
const (
	ThreadErrors         = 1
	ThreadWritingDump    = 2
	ThreadExited         = 4
	ThreadInvalidInfo    = 8
	ThreadInvalidContext = 0x10
	ThreadInvalidTEB     = 0x20
)

// readThreads decodes MINIDUMP_THREAD_LIST.
func (f *File) readThreads(s []byte) { f.threadList(ThreadListStream, s, 48) }

// readThreadsEx decodes MINIDUMP_THREAD_EX_LIST, whose entries also describe Itanium's
// register stack.
func (f *File) readThreadsEx(s []byte) {
	if len(f.Threads) > 0 {
		f.warnf("both ThreadList and ThreadExList exist: using ThreadList")
		return
	}
	f.threadList(ThreadExListStream, s, 64)
}

func (f *File) threadList(t StreamType, s []byte, size int) {
	body, n := f.plainList(t, s, size)
	f.Threads = make([]Thread, 0, n)
	seen := make(map[uint32]bool, n)
	for i := range n {
		c := f.cursor(body[i*size : (i+1)*size])
		th := Thread{ID: c.U32(), Suspend: c.U32(), PriorityClass: c.U32(), Priority: c.U32(), TEB: c.U64(), StackStart: c.U64()}
		th.stack = readLocation(&c)
		th.StackSize = th.stack.size
		th.Context = f.context(th.ID, readLocation(&c))
		if size == 64 {
			if at, loc := c.U64(), readLocation(&c); loc.size > 0 && loc.off > 0 {
				f.addRange(at, loc.off, loc.size, fromThread)
			}
		}
		if seen[th.ID] {
			f.warnf("thread %d occurs twice", th.ID)
		}
		seen[th.ID] = true
		f.Threads = append(f.Threads, th)
	}
}

// context returns the bytes of a CONTEXT record.
func (f *File) context(tid uint32, loc location) []byte {
	if loc.size == 0 || loc.off == 0 {
		return nil
	}
	b := f.bytes(loc)
	if uint64(len(b)) < loc.size {
		f.warnf("thread %d: its context of %d bytes at offset %#x is truncated", tid, loc.size, loc.off)
	}
	return b
}

// addStacks adds the threads' stacks to the memory, if the memory lists do not have them.
func (f *File) addStacks() {
	for i := range f.Threads {
		if th := &f.Threads[i]; th.stack.size > 0 && th.stack.off > 0 {
			f.addRange(th.StackStart, th.stack.off, th.stack.size, fromThread)
		}
	}
}

// thread returns the thread with an id, or nil.
func (f *File) thread(id uint32) *Thread {
	for i := range f.Threads {
		if f.Threads[i].ID == id {
			return &f.Threads[i]
		}
	}
	return nil
}

// threadsByID indexes the threads.
func (f *File) threadsByID() map[uint32]*Thread {
	m := make(map[uint32]*Thread, len(f.Threads))
	for i := range f.Threads {
		m[f.Threads[i].ID] = &f.Threads[i]
	}
	return m
}

// readThreadInfo decodes MINIDUMP_THREAD_INFO_LIST.
func (f *File) readThreadInfo(s []byte) {
	body, n, stride := f.sizedList(ThreadInfoListStream, s, 4, 64)
	byID := f.threadsByID()
	for i := range n {
		c := f.cursor(body[i*stride : (i+1)*stride])
		th := byID[c.U32()]
		info := &ThreadInfo{Flags: c.U32(), Error: c.U32(), ExitStatus: c.U32(), CreateTime: c.U64(), ExitTime: c.U64(),
			KernelTime: c.U64(), UserTime: c.U64(), StartAddress: c.U64(), Affinity: c.U64()}
		if th != nil {
			th.Info = info
		}
	}
}

// readThreadNames decodes MINIDUMP_THREAD_NAME_LIST, whose offsets have 64 bits.
func (f *File) readThreadNames(s []byte) {
	const size = 12
	body, n := f.plainList(ThreadNamesStream, s, size)
	byID := f.threadsByID()
	for i := range n {
		c := f.cursor(body[i*size : (i+1)*size])
		id := c.U32()
		name, ok := f.stringAt(c.U64())
		if th := byID[id]; th != nil && ok {
			th.Name = name
		} else if !ok {
			f.warnf("thread %d: its name is not in the file", id)
		}
	}
}
