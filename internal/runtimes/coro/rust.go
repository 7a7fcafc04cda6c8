package coro

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// futures are the async functions of Rust in a process. A future is an enum: the variables that are alive at each
// suspension point, and a discriminant that says at which one it is. The type of one behind Box<dyn Future>
// is that of the first parameter of poll, in the vtable of the pointer.
type futures struct {
	found map[unwind.Address]*future
	order []*future
	tasks map[unwind.Address]*ownedTask // of executors
	cells map[cellKey]*cell
	// lists are the schedulers of tokio whose lists were walked, and whether to the end.
	lists map[unwind.Address]bool
	// guards are the tasks that have a guard of a lock, by what the lock waits in.
	guards map[unwind.Address][]tasks.Key
}

// A future is one that is found behind a pair of a pointer and a vtable.
type future struct {
	at    unwind.Address
	typ   *types.Type
	owner *future // in whose variables the pair is, or in what they point to

	task    *ownedTask // that it is the future of; nil if it is none of an executor's
	awaited bool       // by another in this list
	emitted bool
}

// FindRust finds the modules that have async functions of Rust; nil if none has.
func FindRust(p *tasks.Process) (tasks.Runtime, error) {
	if len(p.Modules) == 0 || p.Symbols == nil {
		return nil, nil
	}
	var r *runtime
	for _, lib := range p.Modules {
		im := (*image.Image)(p.Files.Image(lib))
		if im == nil || !hasAsync(im) {
			continue
		}
		if r == nil {
			r = newRuntime(p)
			r.polls = map[unwind.Address]*types.Type{}
		}
		if r.libs[lib] == nil {
			r.libs[lib] = im
			r.list = append(r.list, lib)
		}
	}
	if r == nil {
		return nil, nil
	}
	r.useTypes()
	return &rust{r}, nil
}

// maxNames limits how much of a module's strings is searched.
const maxNames = 64 << 20

// hasAsync reports whether a module is Rust's, which its compiler says in .comment, and describes async functions.
func hasAsync(im *image.Image) bool {
	elf := im.ELF()
	if elf == nil {
		return false
	}
	s := elf.Section(".comment")
	if s == nil || s.Size > 1<<16 {
		return false
	}
	comment, err := elf.SectionData(s)
	if err != nil || !bytes.Contains(comment, []byte("rustc version")) {
		return false
	}
	d := im.DWARF()
	if d == nil {
		return false
	}
	names, err := d.Bytes(dwarf.SecStr)
	return err == nil && (len(names) > maxNames || bytes.Contains(names, []byte("{async_")))
}

// rust lists the futures of a process.
type rust struct{ *runtime }

func (r *rust) Name() string { return "rust" }

// Tasks yields the futures that await no other task, each with those that await it.
func (r *rust) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		s := r.newReach(ctx)
		s.futures = &futures{found: map[unwind.Address]*future{}, tasks: map[unwind.Address]*ownedTask{}, cells: map[cellKey]*cell{}, guards: map[unwind.Address][]tasks.Key{}, lists: map[unwind.Address]bool{}}
		s.run()
		s.owned()
		s.drain()
		s.executed()
		chains := map[*future]*chain{}
		for _, f := range s.futures.order {
			c := s.unroll(f)
			chains[f] = c
			for _, in := range c.boxes {
				in.awaited = true // it is inside f's own chain
			}
		}
		s.owners()
		for _, f := range s.futures.order {
			if c := chains[f]; f.owner != nil && f.owner != f && !f.awaited && len(c.levels) > 0 {
				f.owner.awaited = true
			}
		}
		var found []*tasks.Task
		for _, cycle := range []bool{false, true} {
			for _, f := range s.futures.order {
				if f.emitted || f.awaited && f.task == nil && !cycle {
					continue
				}
				if t := s.asyncTask(f, chains); t != nil {
					found = append(found, t)
				}
			}
		}
		s.holders(found)
		for _, t := range found {
			if !yield(t, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, fmt.Errorf("not all async tasks are listed: %w", s.err))
		}
	}
}

// pair notes a future if two words are a pointer to one and its vtable. On a stack, two words that have nothing to do
// with each other may be neighbours: there the future must have been polled, which zeros do not say.
func (s *reach) pair(data, vtable unwind.Address, stack bool) {
	if data < 4096 || data>>47 != 0 || s.futures.found[data] != nil {
		return
	}
	t := s.dynamic(vtable)
	if t == nil || len(s.futures.order) >= maxFrames {
		return
	}
	size := t.Size()
	if size == 0 || size > maxObject*16 {
		return
	}
	if state, ok := s.state(t, data); !ok || stack && state < suspended {
		return
	}
	f := &future{at: data, typ: t}
	s.futures.found[data] = f
	s.futures.order = append(s.futures.order, f)
	s.queue = append(s.queue, span{data, data + min(size, maxObject)})
	if s.err == nil {
		s.err = s.p.Spend(frameCost)
	}
}

// dynamic returns the type of the objects of a vtable of futures: drop, size, alignment, poll.
func (s *reach) dynamic(vtable unwind.Address) *types.Type {
	lib := s.data(vtable)
	if lib == nil || vtable%s.word != 0 {
		return nil
	}
	s.lock.Lock()
	t, ok := s.polls[vtable]
	s.lock.Unlock()
	if ok {
		return t
	}
	t = s.polled(lib, vtable)
	s.lock.Lock()
	s.polls[vtable] = t
	s.lock.Unlock()
	return t
}

// data returns the module, one with async functions, in whose data an address is.
func (r *runtime) data(addr unwind.Address) *libstate.Library {
	for _, lib := range r.list {
		if addr < lib.Start || addr >= lib.End {
			continue
		}
		if _, code := r.code(addr); !code {
			return lib
		}
	}
	return nil
}

func (s *reach) polled(lib *libstate.Library, vtable unwind.Address) *types.Type {
	w, ok := s.Words(vtable, 4)
	if !ok {
		return nil
	}
	drop, size, align, poll := w[0], w[1], w[2], w[3]
	if size == 0 || size > 1<<24 || align == 0 || align&(align-1) != 0 || align > 4096 {
		return nil
	}
	if _, ok := s.code(drop); drop != 0 && !ok {
		return nil
	}
	if _, ok := s.code(poll); !ok {
		return nil
	}
	im := s.libs[lib]
	bias := im.Bias(lib.LoadBias)
	fn, ok := im.DWARF().FuncAt(poll - bias)
	if !ok || fn.Entry != poll-bias {
		return nil
	}
	t := s.self(fn.DIE)
	if t == nil || !isAsync(t) || t.Size() != size {
		return nil
	}
	return t
}

// self returns what the first parameter of a function points to: it is a Pin<&mut T>.
func (r *runtime) self(fn dwarf.DIE) *types.Type {
	var e dwarf.Entry
	u := fn.Unit
	c := u.Cursor(fn.Off)
	c.Next(&e)
	for n := 0; n < maxChildren && c.Level() > 0 && c.Next(&e); n++ {
		if e.Tag == dwarf.TagFormalParameter {
			_, ref := declared(u, e.Off)
			t := r.types.Of(ref).Strip()
			for range 4 {
				if t.Pointer() {
					return t.Target().Strip()
				}
				if f := t.Members().Fields; !t.Aggregate() || len(f) != 1 {
					return nil
				} else {
					t = r.types.OfField(&f[0]).Strip()
				}
			}
			return nil
		}
		c.SkipChildren()
	}
	return nil
}

// owners finds the futures that have others: in their variables, or in what those point to, as the elements of a Vec.
func (s *reach) owners() {
	for _, f := range s.futures.order {
		s.ownedIn(f, f.at, min(f.typ.Size(), maxObject), true)
	}
}

func (s *reach) ownedIn(f *future, at unwind.Address, size uint64, direct bool) {
	b := s.Some(at, int(size))
	n := len(b)
	if n == 0 || s.p.Spend(n/int(s.word)/wordsPerUnit+1) != nil {
		return
	}
	for i := uint64(0); i+s.word <= uint64(n); i += s.word {
		v := s.Arch.Word(b[i:])
		if in := s.futures.found[v]; in != nil {
			if i+2*s.word <= uint64(n) && in != f && in.owner == nil && !f.within(in) && s.dynamic(s.Arch.Word(b[i+s.word:])) == in.typ {
				in.owner = f
			}
		} else if direct && v >= 4096 && v%s.word == 0 && v>>47 == 0 {
			chunk, err := s.ReadWord(v - s.word)
			if chunk &^= 7; err == nil && chunk >= 4*s.word && chunk <= 64*maxObject {
				s.ownedIn(f, v, min(chunk-s.word, maxObject), false)
			}
		}
	}
}

// within reports whether f is owned by other, directly or not.
func (f *future) within(other *future) bool {
	for n := 0; f != nil && n < maxChain; f, n = f.owner, n+1 {
		if f == other {
			return true
		}
	}
	return false
}
