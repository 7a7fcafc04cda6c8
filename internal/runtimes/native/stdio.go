package native

import (
	"fmt"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// glibc's FILE: a magic number in the upper half of its first word, the next of all FILEs, its descriptor, and its lock, which lies elsewhere:
// the word on which threads sleep, how often its owner has it, and that thread's control block.
const (
	fileMagic     = 0xfbad
	fileChain64   = 104
	fileNumber64  = 112
	fileLock64    = 136
	fileChain32   = 52
	fileNumber32  = 56
	fileLock32    = 72
	streamCountAt = 4
	streamOwnerAt = 8
	muslWanted    = 0x40000000 // in the lock of a musl FILE, besides the owner's id: others wait for it
)

// privateType is what the C library's own locks are called.
const privateType = "lock of the C library"

// maxFiles is how many FILEs of a process are looked at.
const maxFiles = 1 << 12

// filesOf lists the FILEs of a process by their locks. The list of them begins where a variable says that glibc exports.
func (r *runtime) filesOf() map[uint64]uint64 {
	lib := r.libcFile()
	if lib == nil || r.p.Symbols == nil {
		return nil
	}
	first, ok := r.p.Symbols.SymbolByName(lib, "_IO_list_all")
	if !ok {
		return nil
	}
	chain, lock := uint64(fileChain64), uint64(fileLock64)
	if r.Arch.WordSize == 4 {
		chain, lock = fileChain32, fileLock32
	}
	found := map[uint64]uint64{}
	for at := r.Word(first.Addr); at != 0 && len(found) < maxFiles && r.p.Spend(1) == nil; at = r.Word(at + chain) {
		flags, ok := r.U32(at)
		l := r.Word(at + lock)
		if _, twice := found[l]; !ok || flags>>16 != fileMagic || twice {
			break
		}
		found[l] = at
	}
	return found
}

// libcFile is the library that has the C library's code: the program itself, if that is static; nil if none is known.
func (r *runtime) libcFile() *libstate.Library {
	libs := r.p.State.LibraryTracker()
	if libs == nil {
		return nil
	}
	if l, ok := libs.Libc(); ok {
		return l
	}
	exe, _ := libs.AOut()
	return exe
}

// threadOf returns the thread that a pointer to glibc's struct pthread stands for. Where no register shows where a thread has
// it, the structure itself has the thread's id: glibc tells libthread_db where.
func (r *runtime) threadOf(control uint64) (tid uint64, ok bool) {
	if tid, ok = r.threadAt(control); ok || control == 0 {
		return tid, ok
	}
	lib := r.libcFile()
	if lib == nil || r.p.Symbols == nil {
		return 0, false
	}
	field, ok := r.p.Symbols.SymbolByName(lib, "_thread_db_pthread_tid")
	if !ok {
		return 0, false
	}
	bits, ok := r.U32(field.Addr)
	number, ok2 := r.U32(field.Addr + 4)
	offset, ok3 := r.U32(field.Addr + 8)
	if !ok || !ok2 || !ok3 || bits != 32 || number != 1 || offset >= maxThreadSize {
		return 0, false
	}
	own, ok := r.U32(control + uint64(offset))
	id, lives := r.p.ThreadKnownAs(uint64(own))
	return uint64(id), ok && lives
}

// maxThreadSize is more than the size of glibc's struct pthread.
const maxThreadSize = 1 << 13

// privateLock describes a lock of glibc's own for which a thread sleeps: that of a FILE, or another.
func (r *runtime) privateLock(c *futexCall, f *unwind.Frame, w *tasks.Wait) {
	if r.libc() == glibc && r.files()[c.addr] != 0 {
		r.stream(c, f, w)
		return
	}
	w.Kind = tasks.WaitLock
	w.Object.Type = privateType
	w.Proved = r.libc() == glibc
}

// stream describes the lock of a FILE.
func (r *runtime) stream(c *futexCall, _ *unwind.Frame, w *tasks.Wait) {
	w.Kind = tasks.WaitLock
	w.Object.Type = "lock of a FILE"
	if r.libc() == musl { // the word has the owner's id
		if lock, ok := r.U32(c.addr); ok && lock&^muslWanted != 0 {
			r.heldBy(w, uint64(lock&^muslWanted), false)
		}
		return
	}
	if r.libc() != glibc {
		return
	}
	if at := r.files()[c.addr]; at != 0 {
		w.Object = tasks.Object{Address: at, Type: "FILE"}
		number := uint64(fileNumber64)
		if r.Arch.WordSize == 4 {
			number = fileNumber32
		}
		if fd, ok := r.U32(at + number); ok && int32(fd) >= 0 {
			w.Object.Detail = fmt.Sprintf("descriptor %d", fd)
		}
		w.Proved = true
	}
	count, ok := r.U32(c.addr + streamCountAt)
	if tid, lives := r.threadOf(r.Word(c.addr + streamOwnerAt)); lives && ok && count > 0 {
		r.held(w, unwind.ThreadID(tid))
	}
}
