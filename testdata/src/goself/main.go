// A Go program that walks its own goroutine's stack. It prints a line for each call:
// function, file and line, and its own variables. Expected: descend from 3 to 0, each
// at its call, under main.start on a goroutine of its own.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/corewalk/corewalk"
)

//go:noinline
func descend(n int) (*corewalk.Target, error) {
	if n == 0 {
		return corewalk.Self(context.Background()) // the youngest frame
	}
	target, err := descend(n - 1)
	n++ // so that the call is no tail
	return target, err
}

// grow moves the stack.
func grow(n int) int {
	var room [1 << 10]byte
	room[n%len(room)] = byte(n)
	if n == 0 {
		return int(room[0])
	}
	return grow(n-1) + int(room[n%len(room)])
}

func start(done chan error) {
	target, err := descend(3)
	if err == nil {
		grow(1000)
		err = show(target)
	}
	done <- err
}

func show(target *corewalk.Target) error {
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
	if err != nil {
		return err
	}
	fmt.Println("first party", target.ProcessState().IsFirstParty(), "threads", len(r.Threads))
	for _, f := range r.Threads[0].Frames {
		fmt.Print(f.Function, " ", filepath.Base(f.Source.File), ":", f.Source.Line)
		for _, v := range f.Args {
			fmt.Print(" ", v.Name, "=", v.Value)
		}
		fmt.Println()
	}
	fmt.Println("end", r.Threads[0].End)
	return nil
}

func main() {
	done := make(chan error)
	go start(done)
	if err := <-done; err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
