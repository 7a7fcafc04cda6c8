package corewalk_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// contexts is a Runtime of the program's own: fibers that swapcontext switches between, each
// suspended in a ucontext_t that is a global variable.
type contexts struct {
	p    *tasks.Process
	name string
	at   unwind.Address
}

// findContexts is the Finder. It is asked with the modules that the walked stacks began in, also
// with none, and returns nil if the program is not there.
func findContexts(p *tasks.Process) (tasks.Runtime, error) {
	for _, lib := range p.Modules {
		if s, ok := p.Symbols.SymbolByName(lib, "back"); ok && p.State.Arch() == arch.AMD64 {
			return &contexts{p, "back", s.Addr}, nil
		}
	}
	return nil, nil
}

func (c *contexts) Name() string { return "ucontext" }

// gregs is the offset in glibc's ucontext_t for x86-64 of the registers, 8 bytes each.
const gregs = 40

// Tasks yields a task for each fiber. What swapcontext saved are the registers after it returns,
// so that the pc is a return address.
func (c *contexts) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		start := &tasks.Start{AfterCall: true}
		for index, reg := range map[uint64]arch.Reg{
			4: arch.R12, 5: arch.R13, 6: arch.R14, 7: arch.R15, 10: arch.RBP, 11: arch.RBX, 15: arch.RSP, 16: arch.RIP,
		} {
			v, err := c.p.State.ReadWord(c.at + gregs + 8*index)
			if err != nil {
				yield(nil, err)
				return
			}
			start.Regs.Set(reg, v)
		}
		yield(&tasks.Task{
			Key: tasks.Key{Kind: tasks.KindFiber, ID: c.at}, Name: c.name, Runtime: c.Name(), Thread: unwind.NullThread,
			State: tasks.StateRunnable, Status: "switched away", Start: start,
		}, nil)
	}
}

// A program that crashed in a fiber is opened, and the context that it had switched away from, main's, is
// walked. With FactsOptions.Runtimes it is in the report, too. docs/library.md explains it.
func ExampleTarget_Tasks() {
	target, err := corewalk.Open(context.Background(), "testdata/cores/amd64-fiber/core.zst", corewalk.WithSysroot("testdata/sysroot/amd64"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer target.Close()
	walker, err := target.NewWalker()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for task, err := range target.Tasks(ctx, findContexts) {
		if err != nil || task.Kind != tasks.KindFiber {
			continue
		}
		fmt.Printf("%s: %s, %s\n", task.Key, task.Name, task.Status)
		stack, _ := corewalk.WalkTask(ctx, walker, task)
		for _, frame := range stack.Frames[:2] {
			name, _ := frame.Name()
			fmt.Println(" ", name)
		}
	}
	r, err := target.AnalyzeWith(ctx, corewalk.FactsOptions{Runtimes: []tasks.Finder{findContexts}}, corewalk.AnalyzeOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, task := range r.Tasks {
		fmt.Println(task.Kind, task.Frames[0].Function, task.Frames[0].Source.Line)
	}
	// Output:
	// fiber 0x557e538db060: back, switched away
	//   resume
	//   main
	// fiber resume 31
}
