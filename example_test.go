package corewalk_test

import (
	"context"
	"fmt"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/unwind"
)

// untilMain is a FrameStepper that ends every walk at main: what the C library
// does before is of no interest.
type untilMain struct{}

func (untilMain) Name() string     { return "UntilMain" }
func (untilMain) Priority() uint32 { return unwind.PriorityStackBottom - 1 } // asked first

func (untilMain) CallerFrame(in, _ *unwind.Frame) unwind.Status {
	if name, _ := in.Name(); name == "main" {
		return unwind.StatusStackBottom
	}
	return unwind.StatusNotMe
}

// A core is opened, a stepper of one's own added to the default ones, and the
// thread that crashed walked. docs/library.md explains it.
func Example() {
	target, err := corewalk.Open(context.Background(), "testdata/cores/amd64-asm-between/core.zst", corewalk.WithSysroot("testdata/sysroot/amd64"))
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
	walker.AddStepper(untilMain{})
	stack, _ := walker.WalkStack(unwind.NullThread) // of the thread that crashed
	for i, frame := range stack.Frames {
		name, _ := frame.Name()
		fmt.Printf("#%d %s [%s]\n", i, name, frame.Trust())
	}
	fmt.Println(stack.End)
	// Output:
	// #0 crash [context]
	// #1 on_item [cfi]
	// #2 each_item [cfi]
	// #3 walk [analysis]
	// #4 main [cfi]
	// bottom
}

// Of the thread that crashed, the youngest frames are named, and the variables of one are read. Nothing else is looked at.
func ExampleTarget_Facts() {
	target, err := corewalk.Open(context.Background(), "testdata/cores/amd64-asm-between/core.zst", corewalk.WithSysroot("testdata/sysroot/amd64"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer target.Close()
	facts, err := target.Facts(corewalk.FactsOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer facts.Close()
	defer facts.Ask(context.Background())()
	died, _ := target.Died()
	stack := facts.Thread(died)
	frames, all, err := stack.Entries(context.Background(), 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range frames[:3] {
		fmt.Printf("#%d %s\n", f.Index, f.Function)
	}
	fmt.Println("all:", all)
	// Output:
	// #0 crash
	// #1 on_item
	// #2 each_item
	// all: true
}
