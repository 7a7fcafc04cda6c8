package native_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestLocks: locks that lie where they are easily taken for others.
func TestLocks(t *testing.T) {
	fixture.Long(t)
	for _, l := range libraries(t) {
		t.Run(l.name, func(t *testing.T) {
			exe := compile(t, "gcc", "locks.c", append([]string{"-g", "-O1", "-pthread"}, l.flags...)...)
			for kind, want := range map[string]string{
				"rwlocks": `
1 lock pthread_rwlock_t "1 readers" (readers are not recorded)
2 lock pthread_rwlock_t "1 readers" (readers are not recorded)
3 lock pthread_rwlock_t "1 readers" (readers are not recorded)
4 lock pthread_rwlock_t "1 readers" (readers are not recorded)
5 read-lock pthread_rwlock_t "1 readers" (readers are not recorded)
`,
			} {
				if got := "\n" + show(read(t, core(t, exe, kind), exe)); got != want {
					t.Errorf("%s: got %s\nwant %s", kind, got, want)
				}
			}
		})
	}
}
