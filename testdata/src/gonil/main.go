// A Go program that follows a nil pointer, run with GOTRACEBACK=crash.
//
// The runtime turns the fault into a panic, prints it and raises SIGABRT.
// Expected stack of the dying goroutine's thread: frames of the runtime, then
//
//	main.(*queue).pop (main.(*node).payload inlined), main.drain, main.main, runtime.main, runtime.goexit
package main

type node struct {
	next  *node
	value int
}

type queue struct {
	head *node
}

func (n *node) payload() int { return n.value }

//go:noinline
func (q *queue) pop() int {
	v := q.head.payload()
	q.head = q.head.next
	return v
}

//go:noinline
func drain(q *queue, n int) int {
	sum := 0
	for range n {
		sum += q.pop()
	}
	return sum
}

func main() {
	parked := make(chan int)
	go func() { <-parked }()
	q := &queue{head: &node{value: 1}}
	println(drain(q, 3))
}
