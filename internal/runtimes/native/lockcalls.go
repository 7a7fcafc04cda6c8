package native

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/demangle"
)

// A lockCall is what a call does to locks.
type lockCall struct {
	unlocks bool
	tries   bool // it may come back without the lock
	// locks are the arguments with the addresses of locks; none if only the guard tells.
	locks []int
	guard int // the argument with the address of an object that unlocks when it is destroyed; -1 for none
	// rust says that the lock is one of Rust's, whose guard is what the call returns. If it comes back through memory,
	// the address of that memory is an argument before the others where hidden is set, or has a register of its own.
	rust, hidden bool
	// slow says that the call is only made where the lock is contended: the jump to it decides.
	slow bool
}

var (
	// lockers and unlockers are functions whose first argument is the lock, without leading underscores.
	lockers = []string{"pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_timedlock", "pthread_mutex_clocklock",
		"pthread_rwlock_rdlock", "pthread_rwlock_tryrdlock", "pthread_rwlock_timedrdlock", "pthread_rwlock_clockrdlock",
		"pthread_rwlock_wrlock", "pthread_rwlock_trywrlock", "pthread_rwlock_timedwrlock", "pthread_rwlock_clockwrlock",
		"pthread_spin_lock", "pthread_spin_trylock", "mtx_lock", "mtx_trylock", "mtx_timedlock", "flockfile", "ftrylockfile", "IO_flockfile",
		"omp_set_lock", "omp_set_nest_lock"}
	unlockers = []string{"pthread_mutex_unlock", "pthread_rwlock_unlock", "pthread_spin_unlock", "mtx_unlock", "funlockfile", "IO_funlockfile",
		"omp_unset_lock", "omp_unset_nest_lock"}

	// guards are C++ classes, of std and of boost, that lock in their constructors.
	guards = []string{"lock_guard", "unique_lock", "shared_lock", "scoped_lock"}
	// locking and unlocking are methods of classes whose names end in "mutex".
	locking   = []string{"lock", "try_lock", "try_lock_for", "try_lock_until", "lock_shared", "try_lock_shared", "tryLock", "Lock", "ReaderLock", "WriterLock"}
	unlocking = []string{"unlock", "unlock_shared", "Unlock", "ReaderUnlock", "WriterUnlock"}
)

// maxScoped is how many locks of one std::scoped_lock are looked at.
const maxScoped = 4

// lockCallOf says what a function does to locks, by its linkage name; false for other functions.
func lockCallOf(linkage string) (lockCall, bool) {
	if !strings.Contains(linkage, "lock") && !strings.Contains(linkage, "Lock") && !strings.Contains(linkage, "Guard") && !strings.Contains(linkage, "mem4drop") &&
		!strings.Contains(linkage, "_contended") && !strings.Contains(linkage, "4wake") && !strings.Contains(linkage, "wake_writer") {
		return lockCall{}, false // demangling costs more
	}
	name, _, _ := strings.Cut(linkage, "@")
	if b := bare(name); slices.Contains(lockers, b) || slices.Contains(unlockers, b) {
		return lockCall{unlocks: slices.Contains(unlockers, b), tries: tries(b), locks: []int{0}, guard: -1}, true
	}
	if !demangle.Mangled(name) {
		return lockCall{}, false
	}
	whole := demangle.Func(name)
	if c, ok := rustLockCall(whole); ok {
		return c, true
	}
	class, method := splitMethod(whole)
	base, _, _ := strings.Cut(class, "<")
	base = base[strings.LastIndexByte(base, ':')+1:]
	switch {
	case class == "std" && method == "lock": // of several
		c := lockCall{guard: -1}
		for n := range min(arguments(parameters(demangle.Name(name))), maxScoped) {
			c.locks = append(c.locks, n)
		}
		return c, true
	case slices.Contains(guards, base):
		return guardCall(base, method, parameters(demangle.Name(name)))
	case !strings.HasSuffix(strings.ToLower(base), "mutex"):
	case slices.Contains(locking, method), slices.Contains(unlocking, method):
		return lockCall{unlocks: slices.Contains(unlocking, method), tries: tries(method), locks: []int{0}, guard: -1}, true
	}
	return lockCall{}, false
}

// tries reports whether a function gives up if it does not get the lock, by its name.
func tries(name string) bool {
	return strings.Contains(name, "try") || strings.Contains(name, "timed") || strings.Contains(name, "clock")
}

// guardCall says what a method of a guard does.
func guardCall(class, method, params string) (lockCall, bool) {
	switch {
	case method == class:
		if params == "" || strings.Contains(params, "defer_lock_t") || strings.Contains(params, "adopt_lock_t") || strings.Contains(params, "&&") {
			return lockCall{}, false // it locks nothing
		}
		c := lockCall{locks: []int{1}, tries: strings.Contains(params, ",") && class != "scoped_lock"} // or a time limit
		if class == "scoped_lock" {
			for n := 2; n <= min(arguments(params), maxScoped); n++ {
				c.locks = append(c.locks, n)
			}
		}
		return c, true
	case method == "~"+class || slices.Contains(unlocking, method) || method == "release":
		return lockCall{unlocks: true}, true
	case slices.Contains(locking, method):
		return lockCall{tries: tries(method)}, true
	}
	return lockCall{}, false
}

// splitMethod splits "ns::class<a::b>::method<c>" into its class and its method.
func splitMethod(name string) (class, method string) {
	class, last, ok := demangle.SplitScope(name)
	if !ok {
		return "", name
	}
	method, _, _ = strings.Cut(last, "<")
	return class, method
}

// parameters are what is in the last brackets of a name.
func parameters(name string) string {
	end := strings.LastIndexByte(name, ')')
	for i, depth := end, 0; i >= 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return name[i+1 : end]
			}
		}
	}
	return ""
}

// arguments counts parameters.
func arguments(params string) int {
	n, depth := 1, 0
	for _, c := range params {
		switch c {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ',':
			if depth == 0 {
				n++
			}
		}
	}
	return n
}
