// Package native says what the threads of a process wait for: locks, conditions, semaphores,
// other threads. It reads what the C library keeps of them.
//
// What a blocked thread waits for is in the registers of its system call, futex(2): the
// address of a word and the value that it must change from. Its stack says which function
// called it, and so of which object the word is part. Memory must agree: the word still has that value,
// and the lock says that it is held.
//
// Layouts are those of glibc 2.25 to 2.41 (nptl/, sysdeps/nptl/bits/thread-shared-types.h, struct_mutex.h,
// struct_rwlock.h) and musl 1.2 (src/internal/pthread_impl.h).
package native
