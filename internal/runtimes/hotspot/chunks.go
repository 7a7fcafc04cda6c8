package hotspot

import (
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/unwind"
)

// A chunk is an object that keeps frames of a virtual thread that no thread runs. What frames have in it of addresses on
// the stack are words from where they are stored.
type chunk struct {
	at         uint64 // of the object
	begin, end uint64 // of the stack in it
	pc, sp     uint64 // of the youngest frame; 0 if there is none
	parent     uint64 // the chunk with the callers of its frames; 0 for none
	// carrier is where on the stack of a thread the caller of all frames is; 0 if no thread runs the virtual one.
	carrier uint64
}

// chunks are those that were seen, by their addresses.
type chunks struct {
	mu     sync.Mutex
	list   []chunk
	sorted bool
}

// maxKeptChunks bounds the chunks that are remembered.
const maxKeptChunks = 1 << 20

func (c *chunks) add(n chunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) < maxKeptChunks {
		c.list, c.sorted = append(c.list, n), false
	}
}

// containing is the chunk in whose stack an address is.
func (c *chunks) containing(at uint64) (chunk, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 {
		return chunk{}, false
	}
	if !c.sorted {
		slices.SortStableFunc(c.list, func(a, b chunk) int {
			switch {
			case a.begin < b.begin:
				return -1
			case a.begin > b.begin:
				return 1
			}
			return 0
		})
		c.sorted = true
	}
	i := sort.Search(len(c.list), func(i int) bool { return c.list[i].begin > at })
	if i == 0 || at > c.list[i-1].end { // the caller of the oldest frame is at the end
		return chunk{}, false
	}
	return c.list[i-1], true // of two of one address the last
}

// maxChunk is the most bytes of a chunk.
const maxChunk = 1 << 28

// chunkAt reads a chunk; false if the object is none.
func (vm *VM) chunkAt(obj uint64) (c chunk, ok bool) {
	klass := vm.klassOf(obj)
	off, ok := vm.off("Klass._layout_helper")
	if !ok || vm.className(klass) != "jdk/internal/vm/StackChunk" {
		return c, false
	}
	helper, ok := vm.U32(klass + off)
	size, sp, bottom := vm.intIn(obj, "size"), vm.intIn(obj, "sp"), vm.intIn(obj, "bottom")
	if !ok || int32(helper) <= 0 || helper > 1<<10 || size <= 0 || size > maxChunk/8 || sp < 0 || sp > size || bottom > size {
		return c, false
	}
	c = chunk{at: obj, begin: obj + uint64(helper&^7), parent: vm.refIn(obj, "parent")}
	c.end = c.begin + 8*uint64(size)
	if sp >= 2 && sp < bottom {
		c.sp = c.begin + 8*uint64(sp)
		c.pc = vm.Word(c.sp - 8)
	}
	return c, true
}

// maxParents is the most chunks of a virtual thread.
const maxParents = 64

// youngest is the chunk with the youngest frame of those that a virtual thread has.
func (vm *VM) youngest(obj, carrier uint64) (chunk, bool) {
	for range maxParents {
		c, ok := vm.chunkAt(obj)
		if !ok {
			return c, false
		}
		if c.sp != 0 {
			c.carrier = carrier
			vm.chunks.add(c)
			return c, true
		}
		obj = c.parent
	}
	return chunk{}, false
}

// kept is the chunk with the youngest frame that a virtual thread left behind.
func (vm *VM) kept(thread, carrier uint64) (chunk, bool) {
	return vm.youngest(vm.refIn(vm.refIn(thread, "cont"), "tail"), carrier)
}

// framePointer is the frame pointer that a chunk's frame keeps: of interpreted callers alone, as words from where it is.
func (vm *VM) framePointer(at uint64) uint64 {
	v := vm.Word(at)
	if n := int64(v); n > 0 && n < maxChunk/8 {
		return at + 8*v
	}
	return v
}

// Names of code by which the frames of a virtual thread return: where the callers are kept elsewhere, and where there
// are none.
const (
	barrierBlob = "StubRoutines (continuation"
	entryMethod = "jdk/internal/vm/Continuation.enterSpecial"
)

// returnsTo finds the caller where a frame returns by the runtime's own code of virtual threads, or is the oldest of a
// chunk, which returns to 0. sp is the caller's stack pointer where that code is not meant. handled is false for other code.
func (vm *VM) returnsTo(out *unwind.Frame, ra, sp uint64, in chunk, inChunk bool) (handled bool, status unwind.Status) {
	if inChunk && ra == 0 {
		return true, vm.entered(out, in.carrier)
	}
	b := vm.blobAt(ra - 1)
	switch {
	case b == nil:
		return false, unwind.StatusNotMe
	case b.kind == kindRoutines && strings.HasPrefix(b.name, barrierBlob):
		next, ok := chunk{}, false
		if inChunk {
			next, ok = vm.youngest(in.parent, in.carrier)
		} else if thread := vm.threadOn(sp); thread != 0 {
			next, ok = vm.kept(vm.virtualOf(thread), sp)
		}
		if !ok {
			return false, unwind.StatusNotMe
		}
		out.SetRA(next.pc)
		out.SetRALocation(unwind.AtAddress(next.sp - 8))
		out.SetSP(next.sp)
		out.SetFP(vm.framePointer(next.sp - 16))
		out.SetTrust(unwind.TrustCFI)
		return true, unwind.StatusSuccess
	case inChunk && b.kind == kindNative && vm.isEntry(b):
		return true, vm.entered(out, in.carrier)
	}
	return false, unwind.StatusNotMe
}

// entered walks from the oldest frame of a virtual thread to the frame of the thread that runs it; carrier is where on its
// stack the frame between these two is.
func (vm *VM) entered(out *unwind.Frame, carrier uint64) unwind.Status {
	if carrier == 0 {
		return unwind.StatusStackBottom
	}
	b := vm.enters.Get(0, vm.entryCode)
	if b == nil || b.frameSize < 16 {
		return unwind.StatusNotMe
	}
	sender := carrier + b.frameSize
	return vm.setCaller(out, sender-8, sender-16, sender)
}

// entryCode is the code by which a thread begins to run a virtual one; nil if it is not found.
func (vm *VM) entryCode() *blob {
	off, ok := vm.off("InstanceKlass._methods")
	code, ok2 := vm.off("Method._code")
	klass := vm.classNamed(entryMethod[:strings.IndexByte(entryMethod, '.')])
	if !ok || !ok2 || klass == 0 {
		return nil
	}
	list := vm.Word(klass + off)
	n, _ := vm.U32(list)
	for i := range uint64(min(n, maxMethods)) {
		if vm.spend(1) != nil {
			return nil
		}
		at := vm.Word(list + 8 + 8*i)
		if m := vm.methodAt(at); m != nil && m.internal+"."+m.name == entryMethod {
			if b := vm.readBlob(vm.Word(at + code)); b != nil && b.kind == kindNative {
				return b
			}
		}
	}
	return nil
}

// isEntry reports whether code is that by which a thread begins to run a virtual one.
func (vm *VM) isEntry(b *blob) bool {
	m := vm.methodAt(b.method)
	return m != nil && m.internal+"."+m.name == entryMethod
}

// threadOn is the thread on whose stack an address is; 0 if there is none.
func (vm *VM) threadOn(at uint64) uint64 {
	base, ok := vm.off("JavaThread._stack_base", "Thread._stack_base")
	size, ok2 := vm.off("JavaThread._stack_size", "Thread._stack_size")
	if !ok || !ok2 {
		return 0
	}
	list, _ := vm.threadList()
	for _, t := range list {
		if high := vm.Word(t + base); at < high && at >= high-vm.Word(t+size) {
			return t
		}
	}
	return 0
}

// virtualOf is the java.lang.Thread that a thread runs now: a virtual one, or its own.
func (vm *VM) virtualOf(thread uint64) uint64 {
	off, ok := vm.off("JavaThread._vthread")
	if !ok {
		return 0
	}
	return vm.handle(vm.Word(thread + off))
}
