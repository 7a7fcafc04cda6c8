package native

import (
	"context"
	"testing"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A windowsMachine is a process of Windows with handles.
type windowsMachine struct {
	*machine
	minidump.Held
}

func (windowsMachine) OS() string { return "Windows" }

// callNames names the code of a stack: a call for each page of addresses.
type callNames []string

func (n callNames) LookupAtAddr(at unwind.Address) (string, any, error) {
	if i := int(at>>8) - 0x10; i >= 0 && i < len(n) {
		return n[i], nil, nil
	}
	return "", nil, unwind.ErrNoSymbol
}

// onWindows is thread 1 in the functions of a stack, of which the one that waits has words in its registers and memory.
func onWindows(t *testing.T, words []uint64, mem map[uint64]uint32, handles []minidump.Handle, functions ...string) *tasks.Task {
	t.Helper()
	ntdll := &libstate.Library{Path: `C:\Windows\System32\NTDLL.dll`, Start: 0x1000, End: 0x2000, Mappings: []libstate.Mapping{{Start: 0x1000, End: 0x2000}}}
	m := &windowsMachine{&machine{mem: mem, libs: libstate.NewTable([]*libstate.Library{ntdll}, 0)}, minidump.Hold(&minidump.File{Handles: handles})}
	w, err := unwind.NewWalker(m, unwind.WithSymbolLookup(callNames(functions)))
	if err != nil {
		t.Fatal(err)
	}
	var frames []*unwind.Frame
	for i := range functions {
		f, err := unwind.NewFrame(0x1010+uint64(i)<<8, 0x9000, 0, w)
		if err != nil {
			t.Fatal(err)
		}
		f.SetNonCall(true)
		for k, r := range []arch.Reg{arch.RBX, arch.RSI, arch.RDI} {
			f.SetReg(r, 0, unwind.Location{})
			if i == len(functions)-1 && k < len(words) {
				f.SetReg(r, words[k], unwind.Location{})
			}
		}
		frames = append(frames, f)
	}
	found, err := Find(&tasks.Process{State: m, Names: callNames(functions)})
	if err != nil || found == nil {
		t.Fatal("no runtime", err)
	}
	r := found.(*runtime)
	task := r.Thread(1, frames)
	if task != nil {
		task.Wait = r.Wait(context.Background(), task, frames)
	}
	return task
}

// section is the memory of critical sections: free, that of a thread, that of another.
func section(mem map[uint64]uint32, at uint64, debug uint32, locks, recursion int32, owner uint32) {
	for i := range uint64(10) {
		mem[at+4*i] = 0
	}
	mem[at], mem[at+8], mem[at+12], mem[at+16] = debug, uint32(locks), uint32(recursion), owner
	if debug == ^uint32(0) {
		mem[at+4] = debug
	}
}

// TestCriticalSection: who is in a critical section is certain if the frames point to one only.
func TestCriticalSection(t *testing.T) {
	const none = ^uint32(0)
	mem := map[uint64]uint32{}
	section(mem, 0x5000, none, -6, 1, 2)   // thread 2 is in it
	section(mem, 0x5040, none, -1, 0, 0)   // free
	section(mem, 0x5080, none, -2, 1, 1)   // the thread's own
	section(mem, 0x50c0, none, -2, 1, 77)  // of a thread that is gone
	section(mem, 0x5100, none, -2, 1, 2)   // another of thread 2
	section(mem, 0x5140, 0x6000, -2, 1, 2) // with debug information about it
	section(mem, 0x5180, 0x6000, -2, 1, 2) // not about it
	mem[0x6008], mem[0x600c] = 0x5140, 0
	for name, c := range map[string]struct {
		words []uint64
		want  uint64 // the address; 0 for unknown
	}{
		"one":                         {[]uint64{3, 0x5000, 0x5040}, 0x5000},
		"also its own":                {[]uint64{0x5080, 0x5000}, 0x5000},
		"two":                         {[]uint64{0x5000, 0x5100}, 0},
		"free":                        {[]uint64{0x5040}, 0},
		"of a thread that is gone":    {[]uint64{0x50c0}, 0},
		"with debug information":      {[]uint64{0x5140}, 0x5140},
		"debug information of others": {[]uint64{0x5180}, 0},
		"memory that is not there":    {[]uint64{0x7000}, 0},
		"none":                        {nil, 0},
	} {
		task := onWindows(t, c.words, mem, nil, "NtWaitForAlertByThreadId", "RtlpWaitOnCriticalSection", "RtlpEnterCriticalSectionContended", "RtlEnterCriticalSection")
		if task == nil || task.Wait == nil || task.Wait.Kind != tasks.WaitLock || task.Wait.Object.Type != "CRITICAL_SECTION" {
			t.Errorf("%s: %+v", name, task)
			continue
		}
		w := task.Wait
		if w.Object.Address != c.want || w.Proved != (c.want != 0) || len(w.Holders) != map[bool]int{true: 1}[c.want != 0] {
			t.Errorf("%s: %+v, want %#x", name, w, c.want)
		}
	}
}

// TestHandles: the handle that a thread waits for is known if its frames have one only that one can wait for.
func TestHandles(t *testing.T) {
	handles := []minidump.Handle{{Value: 0x40, Type: "Mutant", Object: `\BaseNamedObjects\gate`}, {Value: 0x44, Type: "Event"}, {Value: 0x48, Type: "File"}}
	for name, c := range map[string]struct {
		words []uint64
		want  tasks.Wait
	}{
		"a mutex": {[]uint64{0x40, 0x48}, tasks.Wait{Kind: tasks.WaitLock, Object: tasks.Object{Name: `\BaseNamedObjects\gate`, Type: "mutant, handle 0x40"}}},
		"two":     {[]uint64{0x40, 0x44}, tasks.Wait{Kind: tasks.WaitAddress}},
		"a file":  {[]uint64{0x48}, tasks.Wait{Kind: tasks.WaitAddress}},
	} {
		task := onWindows(t, c.words, map[uint64]uint32{}, handles, "NtWaitForSingleObject", "WaitForSingleObjectEx")
		if task == nil || task.Wait == nil || task.Wait.Kind != c.want.Kind || task.Wait.Object != c.want.Object || task.Wait.Proved {
			t.Errorf("%s: %+v", name, task.Wait)
		}
	}
	if task := onWindows(t, nil, map[uint64]uint32{}, nil, "NtClose", "RtlEnterCriticalSection"); task != nil {
		t.Errorf("it waits: %+v", task.Wait)
	}
}
