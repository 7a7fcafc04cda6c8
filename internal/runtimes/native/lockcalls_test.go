package native

import (
	"reflect"
	"testing"
)

func TestLockCalls(t *testing.T) {
	lock := func(n ...int) *lockCall { return &lockCall{locks: n, guard: -1} }
	try := &lockCall{tries: true, locks: []int{0}, guard: -1}
	unlock := &lockCall{unlocks: true, locks: []int{0}, guard: -1}
	for name, want := range map[string]*lockCall{
		"pthread_mutex_lock":                                   lock(0),
		"__pthread_mutex_lock":                                 lock(0),
		"pthread_mutex_lock@GLIBC_2.2.5":                       lock(0),
		"pthread_rwlock_tryrdlock":                             try,
		"pthread_mutex_unlock":                                 unlock,
		"pthread_mutex_timedlock":                              try,
		"pthread_mutex_clocklock":                              try,
		"_ZNSt11timed_mutex8try_lockEv":                        try,
		"_ZNSt11unique_lockISt5mutexE8try_lockEv":              {tries: true},
		"_ZNSt11unique_lockISt5mutexEC2ERS0_St13try_to_lock_t": {tries: true, locks: []int{1}},
		"flockfile":                          lock(0),
		"mtx_unlock":                         unlock,
		"omp_unset_lock":                     unlock,
		"flock":                              nil,
		"block_signals":                      nil,
		"pthread_mutex_init":                 nil,
		"pthread_mutexattr_setlock":          nil,
		"_ZNSt5mutex4lockEv":                 lock(0), // std::mutex::lock()
		"_ZNSt5mutex6unlockEv":               unlock,
		"_ZNSt12shared_mutex11lock_sharedEv": lock(0),
		"_ZN6QMutex4lockEv":                  lock(0),
		"_ZN6QMutex6unlockEv":                unlock,
		"_ZN4absl5Mutex4LockEv":              lock(0),
		"_ZN4absl5Mutex6UnlockEv":            unlock,
		"_ZN4door4lockEv":                    nil,               // door::lock(): not a lock's
		"_ZNSt10lock_guardISt5mutexEC2ERS0_": {locks: []int{1}}, // std::lock_guard<std::mutex>::lock_guard(std::mutex&)
		"_ZNSt10lock_guardISt5mutexED2Ev":    {unlocks: true},
		"_ZNSt10lock_guardISt5mutexEC2ERS0_St12adopt_lock_t":           nil,
		"_ZNSt11unique_lockISt5mutexEC2ERS0_":                          {locks: []int{1}},
		"_ZNSt11unique_lockISt5mutexEC2EOS1_":                          nil, // moved
		"_ZNSt11unique_lockISt5mutexEC2Ev":                             nil,
		"_ZNSt11unique_lockISt5mutexEC2ERS0_St12defer_lock_t":          nil,
		"_ZNSt11unique_lockISt5mutexE4lockEv":                          {},
		"_ZNSt11unique_lockISt5mutexE6unlockEv":                        {unlocks: true},
		"_ZNSt11unique_lockISt5mutexE7releaseEv":                       {unlocks: true},
		"_ZNKSt11unique_lockISt5mutexE9owns_lockEv":                    nil,
		"_ZNSt11scoped_lockIJSt5mutexSt15recursive_mutexEEC2ERS0_RS1_": {locks: []int{1, 2}},
		"_ZSt4lockISt5mutexS0_JEEvRT_RT0_DpRT1_":                       lock(0, 1), // void std::lock<std::mutex, std::mutex>(std::mutex&, std::mutex&)
		"_ZN5boost10lock_guardINS_5mutexEEC2ERS1_":                     {locks: []int{1}},
		// Rust
		"_ZN3std4sync6poison5mutex14Mutex$LT$T$GT$4lock17h75a6e47d6ea109caE":                                                                                          {locks: []int{1}, guard: -1, rust: true, hidden: true},
		"_RNvMs5_NtNtNtCsjrHSEGnQ3l9_3std4sync6poison5mutexINtB5_5MutexINtNtCslNYArtu3iFV_5alloc3vec3VechEE4lockBb_":                                                  {locks: []int{1}, guard: -1, rust: true, hidden: true},
		"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended":                                                                             {locks: []int{0}, guard: -1, rust: true, slow: true},
		"_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex4wake":                                                                                        {locks: []int{0}, guard: -1, rust: true, slow: true, unlocks: true},
		"_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtNtNtCsjrHSEGnQ3l9_3std4sync6poison5mutex10MutexGuardINtNtCslNYArtu3iFV_5alloc3vec3VechEEEBP_":              {unlocks: true, rust: true},
		"_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCslNYArtu3iFV_5alloc4sync3ArcINtNtNtNtCsjrHSEGnQ3l9_3std4sync6poison5mutex5MutexINtNtBL_3vec3VechEEEEB1n_": nil, // of what is no guard
		"_ZN4core3mem4drop17h0123456789abcdefE": {locks: []int{0, 1}, guard: -1, rust: true, unlocks: true},
	} {
		got, ok := lockCallOf(name)
		if ok != (want != nil) || ok && !reflect.DeepEqual(got, *want) {
			t.Errorf("%s: %+v %v, want %+v", name, got, ok, want)
		}
	}
}
