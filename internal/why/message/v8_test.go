package message

import (
	"testing"

	"github.com/corewalk/corewalk/unwind"
)

func TestV8Words(t *testing.T) {
	const heap, v8 = "v8::internal::Heap::FatalProcessOutOfMemory", "v8::internal::V8::FatalProcessOutOfMemory"
	for _, c := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"the heap", []string{"node::OOMErrorHandler", v8, heap, "v8::internal::Factory::NewFillerObject"}, "JavaScript heap out of memory"},
		{"with parameters", []string{v8 + "(v8::internal::Isolate*, char const*)", heap + "(char const*)"}, "JavaScript heap out of memory"},
		{"other memory", []string{v8, "v8::internal::ArrayBufferAllocate"}, "out of memory in V8"},
		{"another function", []string{"v8::internal::Heap::CollectGarbage"}, ""},
	} {
		p := make(fakeMemory, 16).process(nil)
		for _, f := range c.frames {
			p.Stack = append(p.Stack, Frame{Frame: new(unwind.Frame), Names: []string{f}})
		}
		got := v8Words(p)
		if got.Message != c.want || (got.Cause == OutOfMemory) != (c.want != "") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
