package coro

import (
	"context"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A coroutine is one frame that was found.
type coroutine struct {
	at        unwind.Address
	fn        *function
	done      bool
	index     uint64
	place     place
	certainty tasks.Certainty

	awaiter *coroutine // that this one continues when it ends
	mutual  bool       // the awaiter has a pointer to this one
	awaited bool       // this is the awaiter of another
	emitted bool
}

// Limits on the search, in words and in bytes.
const (
	maxWords     = 1 << 19 // in all
	maxFrames    = 1 << 14 // coroutines
	maxStack     = 64 << 10
	maxData      = 1 << 20 // of the variables of one module
	maxObject    = 4 << 10
	defaultBytes = 128 // of an object of unknown size
	blockBytes   = 4 << 10
	wordsPerUnit = 16
)

// A reach follows words that may be pointers.
type reach struct {
	*runtime
	ctx    context.Context
	left   int // words
	seen   map[unwind.Address]bool
	queue  []span
	stacks []span
	active map[*function]bool // functions that stacks have return addresses of
	found  map[unwind.Address]*coroutine
	order  []*coroutine
	err    error

	futures *futures // of Rust; nil if C++'s coroutines are looked for
}

type span struct{ at, end unwind.Address }

func (r *runtime) newReach(ctx context.Context) *reach {
	return &reach{runtime: r, ctx: ctx, left: maxWords, seen: map[unwind.Address]bool{}, active: map[*function]bool{}, found: map[unwind.Address]*coroutine{}}
}

// run searches everything that threads reach.
func (s *reach) run() {
	ids, err := s.p.State.ThreadIDs()
	if err != nil {
		s.err = err
		return
	}
	for _, id := range ids {
		if s.stopped() {
			return
		}
		s.thread(id)
	}
	for _, lib := range s.list {
		s.variables(lib)
	}
	s.drain()
}

// drain searches the objects that were found and not searched.
func (s *reach) drain() {
	for len(s.queue) > 0 && !s.stopped() {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.scan(next, false)
	}
}

func (s *reach) stopped() bool {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err == nil { // a read may have had the last of the budget
		s.err = s.p.Spend(0)
	}
	return s.err != nil || s.left <= 0 || len(s.order) >= maxFrames
}

// thread scans the registers of a thread and the part of its stack that is in use.
func (s *reach) thread(id unwind.ThreadID) {
	regs, err := s.p.State.Registers(id)
	if err != nil {
		return
	}
	for reg := range arch.Reg(s.Arch.NumRegs()) {
		if v, ok := regs.Get(reg); ok {
			s.follow(v)
		}
	}
	sp, ok := regs.Get(s.Arch.SP)
	if !ok {
		return
	}
	sp &^= s.word - 1
	end := sp + maxStack
	if m, ok := s.mapping(sp); ok {
		end = min(end, m.End)
	}
	if end <= sp {
		return
	}
	s.stacks = append(s.stacks, span{sp, end})
	if s.futures != nil {
		s.threadLocals(&regs)
	}
	s.scan(span{sp, end}, true)
}

// mapping is the mapping at an address, where the process tells.
func (r *runtime) mapping(addr unwind.Address) (libstate.Mapping, bool) {
	if m, ok := r.p.State.(interface {
		MappingAt(unwind.Address) (libstate.Mapping, bool)
	}); ok {
		return m.MappingAt(addr)
	}
	return libstate.Mapping{}, false
}

// variables scans the writable data of a module.
func (s *reach) variables(lib *libstate.Library) {
	elf := s.libs[lib].ELF()
	if elf == nil {
		return
	}
	bias := s.libs[lib].Bias(lib.LoadBias)
	sections := elf.Sections()
	for i := range sections {
		if sec := &sections[i]; sec.Flags&shfWrite != 0 && sec.Flags&shfAlloc != 0 && sec.Flags&shfTLS == 0 && (sec.Name() == ".data" || sec.Name() == ".bss") {
			s.scan(span{sec.Addr + bias, sec.Addr + bias + min(sec.Size, maxData)}, false)
		}
	}
}

// Flags of sections (gABI).
const shfWrite, shfAlloc, shfTLS = 1, 2, 0x400

// scan looks at the words of memory: frames that lie there, pointers to frames and to other objects.
func (s *reach) scan(r span, stack bool) {
	at := (r.at + s.word - 1) &^ (s.word - 1)
	buf := make([]byte, blockBytes+s.word)
	for at < r.end && !s.stopped() {
		n := min(r.end-at, blockBytes)
		got, _ := s.ReadMem(at, buf[:min(n+s.word, uint64(len(buf)))])
		words := min(n, uint64(got)) / s.word
		if words == 0 {
			return
		}
		s.left -= int(words)
		if s.err = s.p.Spend(int(words)/wordsPerUnit + 1); s.err != nil {
			return
		}
		for i := range words {
			v := s.Arch.Word(buf[i*s.word:])
			if s.futures != nil {
				if next := (i + 1) * s.word; next+s.word <= uint64(got) {
					s.pair(v, s.Arch.Word(buf[next:]), stack)
				}
				s.follow(v)
				continue
			}
			if _, ok := s.code(v); ok {
				if stack {
					s.running(v)
				}
				if next := (i + 1) * s.word; next+s.word <= uint64(got) {
					if w := s.Arch.Word(buf[next:]); w != v {
						s.candidate(at+i*s.word, v, w)
					}
				}
				continue
			}
			s.follow(v)
		}
		at += words * s.word
	}
}

// running notes that a stack may have a frame of a resume function.
func (s *reach) running(pc unwind.Address) {
	lib, _ := s.code(pc)
	if sym, ok := s.p.Symbols.SymbolAt(lib, pc); ok && sym.Addr != pc {
		if f, resumes := s.function(sym.Addr); f != nil && resumes {
			s.active[f] = true
		}
	}
}

// follow looks at what a word points to, once.
func (s *reach) follow(v unwind.Address) {
	if v < 4096 || v%s.word != 0 || v>>47 != 0 || s.seen[v] {
		return
	}
	s.seen[v] = true
	for _, r := range s.stacks {
		if v >= r.at && v < r.end {
			return
		}
	}
	var buf [4 * 8]byte // the two words before and the two at v
	b := buf[:4*s.word]
	s.left -= 4
	if n, err := s.ReadMem(v-2*s.word, b); err != nil || n < len(b) {
		if n, err = s.ReadMem(v, b[2*s.word:]); err != nil || n < int(2*s.word) {
			return
		}
		clear(b[:2*s.word])
	}
	word := func(i uint64) uint64 { return s.Arch.Word(b[i*s.word:]) }
	if libs := s.p.State.LibraryTracker(); libs != nil {
		if _, ok := libs.LibraryAt(v); ok {
			return // its variables are scanned by themselves
		}
	}
	if s.futures != nil {
		if n := len(s.futures.tasks); s.isHeader(v) != nil && len(s.futures.tasks) > n {
			return // it is in the queue
		}
	}
	if s.futures == nil && (s.candidate(v, word(2), word(3)) || s.candidate(v-2*s.word, word(0), word(1))) {
		return
	}
	size := word(1) &^ 7 // of the C library's chunk, if it is one
	if size < 4*s.word || size > 64*maxObject {
		size = defaultBytes
	}
	s.queue = append(s.queue, span{v, v + min(size, maxObject)})
}

// candidate checks whether two words at an address begin a frame.
func (s *reach) candidate(at, resume, destroy unwind.Address) bool {
	if s.found[at] != nil {
		return true
	}
	if _, ok := s.code(destroy); !ok || at%(2*s.word) != 0 {
		return false
	}
	entry := resume
	if resume == 0 {
		entry = destroy
	}
	f, resumes := s.function(entry)
	if f == nil || resumes != (resume != 0) || !s.destroys(f, destroy) {
		return false
	}
	c := &coroutine{at: at, fn: f, done: resume == 0}
	if !s.read(c) {
		return false
	}
	s.found[at] = c
	s.order = append(s.order, c)
	return true
}

// read reads a frame; false if it was destroyed. The frame's own pointers are followed, too.
func (s *reach) read(c *coroutine) bool {
	size := uint64(defaultBytes)
	l := c.fn.layout
	if l != nil && l.size != 0 {
		size = min(l.size, maxObject)
	}
	b := s.Some(c.at, int(size))
	if l != nil && l.size != 0 && uint64(len(b)) < size {
		return false
	}
	if l != nil && l.indexBytes > 0 && l.indexBytes <= 8 && l.index+l.indexBytes <= uint64(len(b)) {
		v, ok := s.Uint(c.at+l.index, int(l.indexBytes))
		if !ok {
			return false
		}
		c.index = v
		// GCC makes the index odd before it destroys a frame.
		if c.fn.gcc && v&1 != 0 {
			return false
		}
	}
	if !c.done {
		c.place = s.placeOf(c.fn, c.index)
	}
	if s.err == nil {
		s.err = s.p.Spend(frameCost)
	}
	s.queue = append(s.queue, span{c.at + 2*s.word, c.at + uint64(len(b))})
	return true
}

// frameCost is what a frame costs of the budget.
const frameCost = 64
