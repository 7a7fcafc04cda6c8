// Package livestate makes a running process an unwind.ProcessState: its threads,
// registers, memory and libraries, read through ptrace(2).
//
// Attach traces a running process, Launch starts one, and Adopt uses one that the caller
// traces. A Walker of a Process stops a thread while it walks the thread's stack. StopAll
// stops all threads. Snapshot stops all threads, copies what walks need, and lets the
// process continue.
//
// Threads are attached with PTRACE_SEIZE and stopped with PTRACE_INTERRUPT, so
// that a stopped process stays stopped, and no signal is added or lost (ptrace(2)). A stop
// has one visible effect, as under every debugger: some system calls (epoll_wait, semop,
// sigtimedwait and others listed in signal(7)) return EINTR.
//
// Memory is read with process_vm_readv(2), or from /proc/PID/mem where that fails.
// Registers are decoded as those of cores are (arch.DecodeGRegSet).
//
// All ptrace calls of a Process are made on one thread of this program, which
// also waits for the target's events, records them and resumes the target. If this
// program dies, the kernel detaches and the target continues.
//
// On hosts other than Linux, everything fails with ErrUnsupported.
package livestate
