// Package livestate gives the walker a running process: its threads, registers,
// memory and libraries, as the debugger interface of Linux shows them.
//
// Attach traces a process that runs already, Launch starts one, Adopt takes one
// over that the caller traces himself. A Process is a unwind.ProcessState: a
// Walker stops the thread that it walks and lets it go on after. StopAll stops
// all threads at once, and Snapshot copies what walks need and lets the process
// go on at once.
//
// Threads are attached with PTRACE_SEIZE and stopped with PTRACE_INTERRUPT, so
// that a process which was stopped stays stopped, and no signal is made up or
// lost (ptrace(2)). What a stop cannot hide: a few system calls (epoll_wait,
// semop, sigtimedwait and others that signal(7) lists) end with EINTR when their
// thread was stopped meanwhile, as under every debugger.
//
// Memory is read with process_vm_readv(2), and where that may not, from
// /proc/PID/mem. Registers go through the decoder that also reads cores
// (arch.DecodeGRegSet).
//
// All ptrace calls of a Process are made on one thread of this program, which
// also waits for the target's events, notes them and lets the target go on.
// Should this program die, the kernel detaches and the target runs on.
//
// On other hosts than Linux everything answers ErrUnsupported.
package livestate
