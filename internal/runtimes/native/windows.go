package native

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Threads of Windows wait in system calls whose arguments are gone from the registers of a dump. What they wait
// for is in the frames of the functions that called: those still need it when the wait is over.

// ofWindows reports whether the process is one of Windows.
func (r *runtime) ofWindows() bool {
	s, ok := r.p.State.(interface{ OS() string })
	return ok && strings.EqualFold(s.OS(), "windows")
}

// A windowsWait is a function of Windows that waits.
type windowsWait struct {
	names []string
	kind  tasks.WaitKind
	typ   string
	how   windowsObject
}

type windowsObject uint8

const (
	nothingMore windowsObject = iota
	criticalSection
	waitedHandle
)

var windowsWaits = []windowsWait{
	{[]string{"RtlEnterCriticalSection", "RtlpEnterCriticalSection", "RtlpEnterCriticalSectionContended", "EnterCriticalSection"}, tasks.WaitLock, "CRITICAL_SECTION", criticalSection},
	{[]string{"RtlAcquireSRWLockExclusive", "AcquireSRWLockExclusive"}, tasks.WaitLock, "SRWLOCK", nothingMore},
	{[]string{"RtlAcquireSRWLockShared", "AcquireSRWLockShared"}, tasks.WaitReadLock, "SRWLOCK", nothingMore},
	{[]string{"RtlSleepConditionVariableCS", "RtlSleepConditionVariableSRW", "SleepConditionVariableCS", "SleepConditionVariableSRW"}, tasks.WaitCondition, "CONDITION_VARIABLE", nothingMore},
	{[]string{"RtlRunOnceBeginInitialize", "InitOnceBeginInitialize", "RtlRunOnceExecuteOnce", "InitOnceExecuteOnce"}, tasks.WaitOnce, "INIT_ONCE", nothingMore},
	{[]string{"WaitForSingleObject", "WaitForSingleObjectEx", "WaitForMultipleObjects", "WaitForMultipleObjectsEx", "SignalObjectAndWait"}, tasks.WaitAddress, "", waitedHandle},
	{[]string{"SleepEx", "Sleep", "NtDelayExecution", "ZwDelayExecution"}, tasks.WaitTimer, "", nothingMore},
	{[]string{"GetQueuedCompletionStatus", "GetQueuedCompletionStatusEx", "NtRemoveIoCompletion", "NtRemoveIoCompletionEx", "NtReadFile", "NtWriteFile"}, tasks.WaitIO, "", nothingMore},
	{[]string{"RtlWaitOnAddress", "WaitOnAddress"}, tasks.WaitAddress, "", nothingMore},
}

// maxWindowsDepth is how many frames above the system call the function is that waits.
const maxWindowsDepth = 12

// windowsWaiting finds the function that waits, if the thread is in a system call that may; nil otherwise. A function further out
// tells more, except that waiting at an address is all that is known of many.
func (r *runtime) windowsWaiting(frames []*unwind.Frame) (*windowsWait, int) {
	if len(frames) == 0 {
		return nil, 0
	}
	n, err := frames[0].Name()
	if err != nil || !strings.HasPrefix(n, "NtWait") && !strings.HasPrefix(n, "ZwWait") && !strings.HasPrefix(n, "NtDelay") && !strings.HasPrefix(n, "ZwDelay") &&
		!strings.HasPrefix(n, "NtRemoveIoCompletion") && !strings.HasPrefix(n, "NtReadFile") && !strings.HasPrefix(n, "NtWriteFile") {
		return nil, 0
	}
	var last *windowsWait
	at := 0
	for i, f := range frames[:min(len(frames), maxWindowsDepth)] {
		if !r.ofSystem(f) {
			break
		}
		for _, n := range r.namesAt(f) {
			if k := slices.IndexFunc(windowsWaits, func(w windowsWait) bool { return slices.Contains(w.names, n) }); k >= 0 {
				last, at = &windowsWaits[k], i
			}
		}
	}
	return last, at
}

// ofSystem reports whether a frame is in one of the libraries that make system calls.
func (r *runtime) ofSystem(f *unwind.Frame) bool {
	for _, name := range []string{"ntdll.", "kernelbase.", "kernel32."} {
		if r.inLibrary(f, name) {
			return true
		}
	}
	return false
}

// waitOfWindows describes what a thread of Windows waits for; frames end with that of the function that waits.
func (r *runtime) waitOfWindows(b *windowsWait, tid uint64, frames []*unwind.Frame) *tasks.Wait {
	w := &tasks.Wait{Kind: b.kind, Object: tasks.Object{Type: b.typ}}
	w.Reason, _ = frames[len(frames)-1].Name()
	var words []uint64
	for _, f := range frames {
		words = append(words, r.windowsWords(f)...)
	}
	switch b.how {
	case criticalSection:
		r.criticalSection(tid, words, w)
	case waitedHandle:
		r.handle(words, w)
	}
	return w
}

// windowsWords are the words of a frame, and the registers that only Windows preserves.
func (r *runtime) windowsWords(f *unwind.Frame) []uint64 {
	words := r.words(f)
	if r.Arch == arch.AMD64 {
		regs := f.Registers()
		for _, reg := range []arch.Reg{arch.RSI, arch.RDI} {
			if v, ok := regs.Get(reg); ok {
				words = append(words, v)
			}
		}
	}
	return words
}

// criticalSection finds the critical section that another thread is in, and to which the frames of one that waits point
// (RTL_CRITICAL_SECTION of winnt.h: DebugInfo, LockCount, RecursionCount, OwningThread). It is certain if there is only one.
func (r *runtime) criticalSection(tid uint64, words []uint64, w *tasks.Wait) {
	ptr := uint64(r.Arch.WordSize)
	var found []uint64
	var owner uint64
	for _, v := range words {
		if v == 0 || v%ptr != 0 || slices.Contains(found, v) {
			continue
		}
		count, ok := r.U32(v + ptr)
		recursion, ok2 := r.U32(v + ptr + 4)
		thread := r.Word(v + ptr + 8)
		if !ok || !ok2 || int32(count) == -1 || int32(recursion) < 1 || thread == tid || !r.lives(thread) || !r.ownDebugInfo(v, ptr) {
			continue
		}
		found, owner = append(found, v), thread
	}
	if len(found) == 1 {
		w.Object.Address = found[0]
		r.heldBy(w, owner, false)
	}
}

// ownDebugInfo reports whether what should be a critical section has no debug information, or such that is about it.
func (r *runtime) ownDebugInfo(at, ptr uint64) bool {
	info, ok := r.LookupWord(at)
	if !ok {
		return false
	}
	none := ^uint64(0)
	if ptr == 4 {
		none = 1<<32 - 1
	}
	return info == 0 || info == none || r.Word(info+ptr) == at // RTL_CRITICAL_SECTION_DEBUG: two 16-bit numbers, then the section
}

// handle finds for which handle a thread waits, if the dump lists handles and the frames have one of those that one can wait for.
func (r *runtime) handle(words []uint64, w *tasks.Wait) {
	dump, ok := r.p.State.(minidump.Holder)
	if !ok {
		return
	}
	var found []minidump.Handle
	for _, h := range minidump.Of(dump).Handles {
		if h.Value != 0 && slices.Contains(words, h.Value) && waitable(h.Type) != "" && !slices.ContainsFunc(found, func(x minidump.Handle) bool { return x.Value == h.Value }) {
			found = append(found, h)
		}
	}
	if len(found) != 1 {
		return
	}
	h := found[0]
	w.Kind = waitable(h.Type)
	w.Object.Type = fmt.Sprintf("%s, handle %#x", strings.ToLower(h.Type), h.Value)
	w.Object.Name = h.Object
}

// waitable is what kind of wait one for a handle of this type is; "" if one does not wait for it.
func waitable(typ string) tasks.WaitKind {
	switch typ {
	case "Mutant":
		return tasks.WaitLock
	case "Semaphore":
		return tasks.WaitSemaphore
	case "Event":
		return tasks.WaitCondition
	case "Thread":
		return tasks.WaitJoin
	case "Process":
		return tasks.WaitProcess
	case "Timer":
		return tasks.WaitTimer
	}
	return ""
}
