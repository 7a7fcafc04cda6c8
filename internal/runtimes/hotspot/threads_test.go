package hotspot

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
)

// A list that has one thread 65,536 times is charged for each: what is read of it ends with the budget.
func TestThreadsAreCharged(t *testing.T) {
	r := read(t, "java17-interpreted.zst")
	vm := r.java().machine()
	list := vm.Word(vm.static("ThreadsSMRSupport._java_thread_list"))
	length, _ := vm.off("ThreadsList._length")
	threads, _ := vm.off("ThreadsList._threads")
	one := vm.Word(vm.Word(list + threads))
	if one == 0 {
		t.Fatal("no thread")
	}
	const many = 0x700000000000
	c := r.changed(map[uint64]uint64{list + threads: many})
	p := c.Pages[(list+length)&^(page-1)]
	binary.LittleEndian.PutUint32(p[(list+length)%page:], maxThreads)
	same := make([]byte, page)
	for i := 0; i < page; i += 8 {
		binary.LittleEndian.PutUint64(same[i:], one)
	}
	for at := uint64(0); at < 8*maxThreads; at += page {
		c.Pages[many+at] = same
	}
	const afford = 2000
	for _, units := range []int64{1 << 40, 1<<14 + 4*maxThreads + afford*threadCost} {
		c.reads = 0
		vm, err := Open(&tasks.Process{State: c, Symbols: c, Modules: r.java().process().Modules, Budget: budget.Of(units)}, &libstate.Library{Path: "/jdk/lib/server/libjvm.so"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := vm.Threads()
		if all := units == 1<<40; all != (err == nil) || all != (len(got) == maxThreads) || !all && (!errors.Is(err, budget.ErrSpent) || len(got) > 2*afford || len(got) < afford/8) {
			t.Errorf("%d units: %d threads, %v; %d reads", units, len(got), err, c.reads)
		}
	}
}
