package native_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestLocks: locks that lie where they are easily taken for others.
func TestLocks(t *testing.T) {
	fixture.Long(t)
	const stdio = `
1 lock pthread_mutex_t "" held by 2 certain
2 lock FILE "descriptor 3" held by 1 certain
deadlock certain: 1 2
`
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
				"stopped": `
1 lock pthread_mutex_t "" timed held by 0 certain
2 condition pthread_cond_t "" timed
3 io descriptor 0 "" timed
4 timer  ""
5 address  "" timed unproved
`,
				"stdio fprintf": stdio, "stdio fputs": stdio, "stdio fputc": stdio, "stdio fflush": stdio, "stdio all": stdio,
			} {
				if got := "\n" + show(read(t, core(t, exe, strings.Fields(kind)...), exe)); got != want {
					t.Errorf("%s: got %s\nwant %s", kind, got, want)
				}
			}
		})
	}
}

// TestCancelledJoin: a circle of joins ends if a thread cancels one of those that wait, so it is only possible while one goes on.
func TestCancelledJoin(t *testing.T) {
	exe := compile(t, "gcc", "locks.c", "-g", "-O1", "-pthread")
	if err := exec.Command(exe, "joins", "cancel").Run(); err != nil {
		t.Errorf("the circle was not broken: %v", err)
	}
	want := `
0 join  "" held by 1 certain
1 join  "" held by 0 certain
deadlock possible: 0 1
`
	if got := "\n" + show(read(t, core(t, exe, "joins", "abort"), exe)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestFileOfMusl: musl's FILEs have the owner's id in the word on which threads sleep; its mutexes have no owner. As a library musl has no symbol
// for the function that waits.
func TestFileOfMusl(t *testing.T) {
	fixture.Long(t)
	exe := compile(t, "musl-gcc", "locks.c", "-static", "-g", "-O1")
	want := `
1 lock pthread_mutex_t "" held by 2 possible (musl does not record who holds such a mutex)
2 lock lock of a FILE "" held by 1 certain
deadlock possible: 1 2
`
	if got := "\n" + show(read(t, core(t, exe, "stdio", "fputs"), exe)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
