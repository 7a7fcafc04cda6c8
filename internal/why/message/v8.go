package message

import "strings"

// v8Words tells that V8 ended the process for want of memory: Node writes no more of it than the name of what was in the way. Only
// Heap::FatalProcessOutOfMemory is about the heap of JavaScript; V8 gives up so for memory that the system refuses, too.
func v8Words(p *Process) Words {
	const heap, v8 = "v8::internal::Heap::FatalProcessOutOfMemory", "v8::internal::V8::FatalProcessOutOfMemory"
	w := Words{}
	for i := range p.Stack {
		for _, name := range p.Stack[i].Names {
			switch name, _, _ := strings.Cut(name, "("); name {
			case heap:
				return Words{Message: "JavaScript heap out of memory", Source: "the call to " + heap, Cause: OutOfMemory}
			case v8:
				w = Words{Message: "out of memory in V8", Source: "the call to " + v8, Cause: OutOfMemory}
			}
		}
	}
	return w
}
