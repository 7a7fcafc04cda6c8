package native

import (
	"context"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A machine is a process of threads 1 and 2 whose memory is what a test says.
type machine struct {
	unwind.ProcessState
	mem  map[uint64]uint32
	libs libstate.LibraryState
}

func (m *machine) ProcessID() int                          { return 50 }
func (m *machine) Arch() *arch.Arch                        { return arch.AMD64 }
func (m *machine) ThreadIDs() ([]unwind.ThreadID, error)   { return []unwind.ThreadID{1, 2}, nil }
func (m *machine) LibraryTracker() libstate.LibraryState   { return m.libs }
func (m *machine) DefaultThread() (unwind.ThreadID, error) { return 1, nil }
func (m *machine) Registers(unwind.ThreadID) (arch.RegSet, error) {
	return arch.RegSet{}, errors.New("no registers")
}

func (m *machine) ReadMem(addr arch.Address, buf []byte) (int, error) {
	for i := 0; i+4 <= len(buf); i += 4 {
		v, ok := m.mem[addr+uint64(i)]
		if !ok {
			return i, &arch.MemError{Addr: addr + uint64(i), Err: arch.ErrUnmapped}
		}
		binary.LittleEndian.PutUint32(buf[i:], v)
	}
	return len(buf), nil
}

func (m *machine) ReadWord(addr arch.Address) (uint64, error) {
	var b [8]byte
	_, err := m.ReadMem(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// names is a lookup in which every address is of one function.
type names string

func (n names) LookupAtAddr(unwind.Address) (string, any, error) { return string(n), nil, nil }

const lockAt = 0x5000

// waiting is thread 1 in a futex call of a function, as memory and registers are after change.
func waiting(t *testing.T, function string, change func(mem map[uint64]uint32, regs *arch.RegSet)) *tasks.Task {
	t.Helper()
	libc := &libstate.Library{Path: "/lib/libc.so.6", Start: 0x1000, End: 0x2000}
	m := &machine{mem: map[uint64]uint32{ // a pthread_mutex_t that thread 2 holds, and more of the page
		lockAt: 2, lockAt + 4: 0, lockAt + 8: 2, lockAt + 12: 1, lockAt + 16: 0, lockAt + 20: 0, lockAt + 24: 0, lockAt + 28: 0,
	}, libs: libstate.NewTable([]*libstate.Library{libc}, 0)}
	var regs arch.RegSet
	interrupted := int64(-restartSys)
	for r, v := range map[arch.Reg]uint64{arch.RIP: 0x1100, arch.RSP: 0x9000, arch.RAX: uint64(interrupted), arch.OrigRAX: 202,
		arch.RDI: lockAt, arch.RSI: 0x80, arch.RDX: 2, arch.R10: 0} {
		regs.Set(r, v)
	}
	change(m.mem, &regs)
	w, err := unwind.NewWalker(m, unwind.WithSymbolLookup(names(function)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := unwind.NewFrame(0x1100, 0x9000, 0, w)
	if err != nil {
		t.Fatal(err)
	}
	for r := range arch.Reg(arch.AMD64.NumRegs()) {
		if v, ok := regs.Get(r); ok && r != arch.RIP && r != arch.RSP {
			f.SetReg(r, v, unwind.Location{})
		}
	}
	found, err := Find(&tasks.Process{State: m, Names: names(function)})
	if err != nil || found == nil {
		t.Fatal("no runtime", err)
	}
	r := found.(*runtime)
	task := r.Thread(1, []*unwind.Frame{f})
	if task != nil {
		task.Wait = r.Wait(context.Background(), task, []*unwind.Frame{f})
	}
	return task
}

// TestCertain: a thread is only said to wait for another one for certain if all of memory agrees.
func TestCertain(t *testing.T) {
	const lock = "pthread_mutex_lock"
	for _, c := range []struct {
		name     string
		function string
		change   func(mem map[uint64]uint32, regs *arch.RegSet)
		want     tasks.Certainty // of thread 2 as the holder; "" for none
		proved   bool
	}{
		{"held", lock, func(map[uint64]uint32, *arch.RegSet) {}, tasks.Certain, true},
		{"with the prefix of the library's own use", "__GI___" + lock, func(map[uint64]uint32, *arch.RegSet) {}, tasks.Certain, true},
		{"being woken", lock, func(_ map[uint64]uint32, regs *arch.RegSet) { regs.Set(arch.RDX, 1) }, "", false},
		{"free", lock, func(mem map[uint64]uint32, regs *arch.RegSet) { mem[lockAt] = 0; regs.Set(arch.RDX, 0) }, "", false},
		{"owner not written yet", lock, func(mem map[uint64]uint32, _ *arch.RegSet) { mem[lockAt+8] = 0 }, "", false},
		{"owner has ended", lock, func(mem map[uint64]uint32, _ *arch.RegSet) { mem[lockAt+8] = 77 }, "", true},
		{"owner died, robust", lock, func(mem map[uint64]uint32, regs *arch.RegSet) {
			mem[lockAt+16], mem[lockAt], mem[lockAt+8] = kindRobust, 0x80000000|ownerDied, 2
			regs.Set(arch.RDX, 0x80000000|ownerDied)
		}, "", false},
		{"robust, given up", lock, func(mem map[uint64]uint32, regs *arch.RegSet) {
			mem[lockAt+16], mem[lockAt], mem[lockAt+8] = kindRobust, 2, ownerLost
		}, "", false},
		{"robust, taken over from a dead owner", lock, func(mem map[uint64]uint32, regs *arch.RegSet) {
			mem[lockAt+16], mem[lockAt], mem[lockAt+8] = kindRobust, 0x80000000|2, 0x7fffffff
			regs.Set(arch.RDX, 0x80000000|2)
		}, tasks.Certain, true},
		{"priority-protected", lock, func(mem map[uint64]uint32, regs *arch.RegSet) {
			mem[lockAt+16], mem[lockAt] = kindPP, 5<<19|2
			regs.Set(arch.RDX, 5<<19|2)
		}, tasks.Certain, true},
		{"priority-protected, free", lock, func(mem map[uint64]uint32, regs *arch.RegSet) {
			mem[lockAt+16], mem[lockAt] = kindPP, 5<<19
			regs.Set(arch.RDX, 5<<19)
		}, "", false},
		{"no mutex: an impossible kind", lock, func(mem map[uint64]uint32, _ *arch.RegSet) { mem[lockAt+16] = 0x12345678 }, "", false},
		{"memory is not there", lock, func(mem map[uint64]uint32, _ *arch.RegSet) { delete(mem, lockAt+8) }, "", false},
		{"a function that waits for something else", "work", func(map[uint64]uint32, *arch.RegSet) {}, "", false},
		{"a rwlock without a writer", "pthread_rwlock_rdlock", func(map[uint64]uint32, *arch.RegSet) {}, "", false},
		{"joined", "pthread_join", func(map[uint64]uint32, *arch.RegSet) {}, tasks.Certain, true},
		{"joined, and gone", "pthread_join", func(mem map[uint64]uint32, regs *arch.RegSet) { mem[lockAt] = 77; regs.Set(arch.RDX, 77) }, "", false},
	} {
		task := waiting(t, c.function, c.change)
		if task == nil || task.Wait == nil {
			t.Errorf("%s: it does not wait", c.name)
			continue
		}
		var got tasks.Certainty
		if i := slices.IndexFunc(task.Wait.Holders, func(h tasks.Holder) bool { return h.ID == 2 }); i >= 0 {
			got = task.Wait.Holders[i].Certainty
		} else if len(task.Wait.Holders) > 0 {
			t.Errorf("%s: held by %v", c.name, task.Wait.Holders)
		}
		if got != c.want || task.Wait.Proved != c.proved {
			t.Errorf("%s: held %q, proved %v (%s); want %q, %v", c.name, got, task.Wait.Proved, task.Wait.Note, c.want, c.proved)
		}
	}
}

// TestHeldByNobody: a mutex whose owner is no thread of the process.
func TestHeldByNobody(t *testing.T) {
	for _, c := range []struct {
		owner, kind uint32
		want        string
		holders     int
	}{
		{77, 0, "the thread that held it has ended", 0},
		{50, 0, "the thread that held it has ended", 0},
		{40, 0, "held by thread 40 of the process that this one was forked from", 0},
		{40, kindShared, "held by thread 40 of another process", 1},
	} {
		task := waiting(t, "pthread_mutex_lock", func(mem map[uint64]uint32, _ *arch.RegSet) {
			mem[lockAt+8], mem[lockAt+16] = c.owner, c.kind
		})
		if w := task.Wait; w == nil || w.Note != c.want || len(w.Holders) != c.holders || c.holders > 0 && w.Holders[0].Certainty != tasks.Possible {
			t.Errorf("owner %d, kind %#x: %+v, want %q", c.owner, c.kind, w, c.want)
		}
	}
}

// TestAwake: a thread whose call is over, or that calls something else, does not wait.
func TestAwake(t *testing.T) {
	for name, change := range map[string]func(map[uint64]uint32, *arch.RegSet){
		"the call has returned":      func(_ map[uint64]uint32, r *arch.RegSet) { r.Set(arch.RAX, 0) },
		"it timed out":               func(_ map[uint64]uint32, r *arch.RegSet) { v := int64(-110); r.Set(arch.RAX, uint64(v)) },
		"no call":                    func(_ map[uint64]uint32, r *arch.RegSet) { r.Set(arch.OrigRAX, ^uint64(0)) },
		"another call":               func(_ map[uint64]uint32, r *arch.RegSet) { r.Set(arch.OrigRAX, 500) },
		"a read that is over":        func(_ map[uint64]uint32, r *arch.RegSet) { r.Set(arch.OrigRAX, 0); r.Set(arch.RAX, 5) },
		"fcntl that does not lock":   func(_ map[uint64]uint32, r *arch.RegSet) { r.Set(arch.OrigRAX, 72); r.Set(arch.RSI, 3) },
		"a futex call that wakes":    func(_ map[uint64]uint32, r *arch.RegSet) { r.Set(arch.RSI, 0x81) },
		"an address that is no word": func(_ map[uint64]uint32, r *arch.RegSet) { r.Set(arch.RDI, lockAt+1) },
	} {
		if task := waiting(t, "pthread_mutex_lock", change); task != nil && task.Wait != nil {
			t.Errorf("%s: it waits: %+v", name, task.Wait)
		}
	}
}

// TestCalls: threads that wait in system calls, by the registers of the calls.
func TestCalls(t *testing.T) {
	for name, c := range map[string]struct {
		number, first, second, third uint64
		want                         tasks.Wait
	}{
		"read":                             {0, 5, 0, 0, tasks.Wait{Kind: tasks.WaitIO, Reason: "read", Object: tasks.Object{Type: "descriptor 5"}}},
		"poll of one":                      {7, lockAt + 4, 1, ^uint64(0), tasks.Wait{Kind: tasks.WaitIO, Reason: "poll", Object: tasks.Object{Type: "descriptor 0"}}},
		"poll of more":                     {7, lockAt, 2, 100, tasks.Wait{Kind: tasks.WaitIO, Reason: "poll", Object: tasks.Object{Type: "descriptors 2, 2"}, Timed: true}},
		"poll of memory that is not there": {7, 0x9999000, 5, 100, tasks.Wait{Kind: tasks.WaitIO, Reason: "poll", Timed: true}},
		"epoll":                            {232, 9, 0, 0, tasks.Wait{Kind: tasks.WaitIO, Reason: "epoll_wait", Object: tasks.Object{Type: "descriptor 9"}, Timed: true}},
		"sleep":                            {35, 0, 0, 0, tasks.Wait{Kind: tasks.WaitTimer, Reason: "nanosleep"}},
		"pause":                            {34, 0, 0, 0, tasks.Wait{Kind: tasks.WaitSignal, Reason: "pause"}},
		"a process":                        {61, 77, 0, 0, tasks.Wait{Kind: tasks.WaitProcess, Reason: "wait4", Object: tasks.Object{Type: "process 77"}}},
		"any child":                        {61, ^uint64(0), 0, 0, tasks.Wait{Kind: tasks.WaitProcess, Reason: "wait4"}},
		"flock":                            {73, 3, 2, 0, tasks.Wait{Kind: tasks.WaitLock, Reason: "flock", Object: tasks.Object{Type: "lock on the file of descriptor 3"}}},
		"F_SETLKW":                         {72, 3, 7, 0, tasks.Wait{Kind: tasks.WaitLock, Reason: "fcntl", Object: tasks.Object{Type: "lock on the file of descriptor 3"}}},
	} {
		task := waiting(t, "work", func(_ map[uint64]uint32, r *arch.RegSet) {
			r.Set(arch.OrigRAX, c.number)
			r.Set(arch.RDI, c.first)
			r.Set(arch.RSI, c.second)
			r.Set(arch.RDX, c.third)
		})
		c.want.Proved = true
		if task == nil || task.Wait == nil {
			t.Errorf("%s: it does not wait", name)
		} else if !reflect.DeepEqual(*task.Wait, c.want) {
			t.Errorf("%s: %+v, want %+v", name, *task.Wait, c.want)
		}
	}
}
