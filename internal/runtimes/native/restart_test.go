package native

import (
	"testing"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestRestarted: without its code, which call goes on as restart_syscall is known by the name of the function that made it.
func TestRestarted(t *testing.T) {
	for name, c := range map[string]struct {
		function string
		timeout  uint64
		result   int64
		want     tasks.Wait // without holders
		holders  int
	}{
		"a lock": {"pthread_mutex_timedlock", 0x9000, -restartBlock,
			tasks.Wait{Kind: tasks.WaitLock, Reason: "pthread_mutex_timedlock", Object: tasks.Object{Address: lockAt, Type: "pthread_mutex_t"}, Timed: true, Proved: true}, 1},
		"without a time limit": {"pthread_mutex_lock", 0, -restartBlock, tasks.Wait{Kind: tasks.WaitTimer, Reason: "restart_syscall", Timed: true}, 0},
		"poll":                 {"__GI___poll", 0x9000, -restartBlock, tasks.Wait{Kind: tasks.WaitIO, Reason: "poll", Object: tasks.Object{Type: "descriptors 2, 2"}, Timed: true, Proved: true}, 0},
		"sleep":                {"__clock_nanosleep", 0, -restartBlock, tasks.Wait{Kind: tasks.WaitTimer, Reason: "clock_nanosleep", Proved: true}, 0},
		"no such call":         {"__read", 0, -restartBlock, tasks.Wait{Kind: tasks.WaitTimer, Reason: "restart_syscall", Timed: true}, 0},
		"not known":            {"work", 0x9000, -restartBlock, tasks.Wait{Kind: tasks.WaitTimer, Reason: "restart_syscall", Timed: true}, 0},
		"back":                 {"pthread_mutex_timedlock", 0x9000, 0, tasks.Wait{}, 0},
		"signalled":            {"pthread_mutex_timedlock", 0x9000, -restartSys, tasks.Wait{}, 0},
	} {
		task := waiting(t, c.function, func(_ map[uint64]uint32, r *arch.RegSet) {
			r.Set(arch.OrigRAX, 219)
			r.Set(arch.RAX, uint64(c.result))
			r.Set(arch.R10, c.timeout)
			if c.want.Kind == tasks.WaitIO {
				r.Set(arch.RSI, 2)
				r.Set(arch.RDX, 1000)
			}
		})
		if task == nil || task.Wait == nil {
			if c.want.Kind != "" {
				t.Errorf("%s: it does not wait", name)
			}
			continue
		}
		got := *task.Wait
		if len(got.Holders) != c.holders {
			t.Errorf("%s: held by %v", name, got.Holders)
		}
		if got.Holders = nil; !equalWaits(&got, &c.want) || task.State != tasks.StateWaiting {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestRestartNumbers: restart_syscall of each architecture.
func TestRestartNumbers(t *testing.T) {
	for a, numbers := range map[*arch.Arch][2]uint64{arch.AMD64: {219, 0x40000000 + 219}, arch.X32: {0x40000000 + 219, 128}, arch.X86: {0, 219}, arch.ARM64: {128, 219},
		arch.ARM: {0, 128}, arch.RISCV64: {128, 219}} {
		c, _ := conventionOf(a)
		mem := &codeAt{0x1000, callCode(a)[0]}
		for i, want := range []bool{true, false} {
			var regs arch.RegSet
			regs.Set(c.number, numbers[i])
			regs.Set(a.PC, 0x1000)
			result := int64(-restartBlock)
			if c.sameRegister {
				result = 5
			}
			regs.Set(c.result, a.Truncate(uint64(result)))
			in := callingOf(a, mem, &regs)
			if got := in.asRestart(a, &c, &regs); got != want {
				t.Errorf("%s, call %d: %v", a.Name, numbers[i], got)
			}
			regs.Set(a.PC, 0x3000) // a number that is left over of a call
			in = callingOf(a, mem, &regs)
			if c.sameRegister && in.asRestart(a, &c, &regs) {
				t.Errorf("%s, call %d: it runs elsewhere", a.Name, numbers[i])
			}
		}
	}
}

func equalWaits(a, b *tasks.Wait) bool {
	return a.Kind == b.Kind && a.Reason == b.Reason && a.Object == b.Object && a.Timed == b.Timed && a.Proved == b.Proved && a.Note == b.Note
}
