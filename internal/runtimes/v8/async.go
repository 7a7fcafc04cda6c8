package v8

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits of the search for async functions.
const (
	maxObjects = 1 << 19 // objects that are looked at
	maxStack   = 1 << 18 // bytes of a stack in which V8's frames are looked for
	maxChain   = 1 << 16 // frames of one stack
	maxAwaits  = 1 << 10 // async functions that await each other
)

// Where a suspended function has its parts.
const (
	generatorFunction = 24
	generatorOffset   = 48 // into the bytecode, as a frame has it
	generatorState    = 64 // number of the place at which it is suspended; less than 0 if it runs or has ended
	generatorSaved    = 72 // its parameters and registers
	generatorRequests = 80 // of an async generator: for its next values
	generatorAwaits   = 88 // of an async generator: whether it awaits
)

// Where promises have what.
const (
	promiseReactions = 24
	promiseFlags     = 32
	reactionFulfil   = 16 // behind the next reaction
	reactionDerived  = 24 // behind the next reaction: the promise that then made
	requestNext      = 8
	requestPromise   = 32
)

// asyncTypes are the types of the objects on the way to async functions.
type asyncTypes struct {
	function, generator, reaction, request uint16
	capability, properties                 uint16 // 0 if it is not known
	prototype                              uint64 // of a Map; 0 if it is not known
	tables, structs, weak                  []uint16
}

// readAsync reads what async functions need; without it none are listed.
func (l *layout) readAsync(v *variables) {
	t := &l.async
	t.function, t.generator = v.typ("JSAsyncFunctionObject", "JS_ASYNC_FUNCTION_OBJECT"), v.typ("JSAsyncGeneratorObject", "JS_ASYNC_GENERATOR_OBJECT")
	t.reaction, t.request = v.typ("PromiseReaction", "PROMISE_REACTION"), v.typ("AsyncGeneratorRequest", "ASYNC_GENERATOR_REQUEST")
	some := func(to *[]uint16, names ...string) {
		for _, n := range names {
			if x, ok := v.get("type_" + n + "_TYPE"); ok {
				*to = append(*to, uint16(x))
			}
		}
	}
	t.tables = slices.Clone(l.types.fixedArrays)
	some(&t.tables, "PropertyArray__PROPERTY_ARRAY", "HashTable__HASH_TABLE", "NameDictionary__NAME_DICTIONARY", "NumberDictionary__NUMBER_DICTIONARY",
		"GlobalDictionary__GLOBAL_DICTIONARY", "OrderedHashMap__ORDERED_HASH_MAP", "OrderedHashSet__ORDERED_HASH_SET", "ScriptContextTable__SCRIPT_CONTEXT_TABLE",
		"ObjectBoilerplateDescription__OBJECT_BOILERPLATE_DESCRIPTION")
	some(&t.structs, "Cell__CELL", "PropertyCell__PROPERTY_CELL", "PromiseCapability__PROMISE_CAPABILITY", "AccessorPair__ACCESSOR_PAIR",
		"SourceTextModule__SOURCE_TEXT_MODULE", "ContextCell__CONTEXT_CELL")
	t.structs = append(t.structs, t.reaction, t.request)
	t.prototype, _ = v.get("class_Map__prototype__HeapObject", "class_Map__prototype__Tagged_HeapObject_", "class_Map__prototype__Tagged_JSPrototype_", "class_Map__prototype__Object")
	if x, ok := v.get("type_PropertyArray__PROPERTY_ARRAY_TYPE"); ok {
		t.properties = uint16(x)
	}
	if x, ok := v.get("type_PromiseCapability__PROMISE_CAPABILITY_TYPE"); ok {
		t.capability = uint16(x)
	}
	some(&t.weak, "JSWeakRef__JS_WEAK_REF", "JSWeakMap__JS_WEAK_MAP", "JSWeakSet__JS_WEAK_SET", "JSFinalizationRegistry__JS_FINALIZATION_REGISTRY")
}

// errObjects says that some async functions may be missing.
var errObjects = errors.New("async functions of JavaScript: the program has more objects than are looked at, the list may lack some")

// Tasks implements tasks.Runtime. It yields the async functions that are suspended at an await and lead to a function
// that nothing awaits, as far as objects that V8's frames refer to lead to them. The threads of JavaScript are the system's.
func (j *JavaScript) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		e := j.anywhere()
		if e == nil || e.noValues != "" || e.noAsync != "" {
			return
		}
		s := &search{engine: e, seen: map[uint64]bool{}, awaited: map[uint64]uint64{}, of: map[uint64]uint64{}, from: map[uint64][]passed{},
			above: map[uint64]uint64{}, asked: map[uint64]bool{}, listed: map[uint64]bool{}}
		ids, err := e.p.State.ThreadIDs()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, id := range ids {
			s.roots(id)
		}
		err = s.walk(ctx)
		if ctx.Err() != nil {
			return
		}
		for _, g := range s.suspended {
			if s.above[g] == 0 && !yield(s.task(g), nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// A search follows references from frames to suspended functions.
type search struct {
	*engine
	queue     []uint64
	seen      map[uint64]bool
	suspended []uint64            // in the order in which they are found
	awaited   map[uint64]uint64   // the promise that a suspended function awaits
	of        map[uint64]uint64   // the suspended function whose end, or next value, a promise is
	from      map[uint64][]passed // the promises whose values are passed on to a promise
	above     map[uint64]uint64   // a suspended function that awaits a suspended function
	listed    map[uint64]bool     // tables
	asked     map[uint64]bool     // words that may be Isolates
	tried     int
}

// passed is a promise whose value is passed on to another: by then, by an async function that returned it, by Promise.race;
// or with those of others, by Promise.all.
type passed struct {
	promise uint64
	all     bool
	left    int // how many Promise.all waits for
}

func (s *search) push(w uint64) {
	if isObject(w) && !s.seen[w] && len(s.seen) <= maxObjects {
		s.seen[w] = true
		s.queue = append(s.queue, w)
	}
}

// roots adds what V8's frames of a thread have: function, context, receiver and arguments, registers. These are the
// places that the collector keeps right.
func (s *search) roots(id unwind.ThreadID) {
	regs, err := s.p.State.Registers(id)
	if err != nil {
		return
	}
	sp, _ := regs.Get(arch.RSP)
	first := s.Some(sp, maxStack)
	defer s.isolates(sp, first)
	for at := 0; at+16 <= len(first); at += 8 {
		fp := sp + uint64(at)
		if m := s.marker(fp); (m == "Exit" || m == "BuiltinExit" || m == "ApiCallbackExit" || m == "ApiAccessorExit") && s.chain(fp) {
			return // the youngest leads to the others of its entry, which are all that is followed
		}
	}
}

// chain follows frame pointers up to the frame by which C++ called JavaScript, and adds what is in the frames. It reports whether it is there.
func (s *search) chain(fp uint64) bool {
	var frames []uint64
	for range maxChain {
		if s.p.Spend(1) != nil {
			return false
		}
		switch m := s.marker(fp); {
		case m == "Entry" || m == "ConstructEntry":
			for _, f := range frames {
				s.frame(f)
			}
			return len(frames) > 0
		case m == "" && s.isFunction(s.Word(from(fp, frameFunction))):
			frames = append(frames, fp)
		case m == "":
			return false
		}
		next := s.Word(fp)
		if next%8 != 0 || next <= fp || next-fp > maxFrame {
			return false
		}
		fp = next
	}
	return false
}

// frame adds what a frame of a function has.
func (s *search) frame(fp uint64) {
	s.push(s.Word(from(fp, frameContext)))
	s.push(s.Word(from(fp, frameFunction)))
	if n := s.Word(from(fp, frameCount)); n <= maxGiven {
		for i := range n {
			s.push(s.Word(fp + 16 + 8*i))
		}
	}
	if _, ok := s.interpreted(fp); ok {
		size, _ := s.U32(s.Word(from(fp, frameBytecode)) - 1 + s.frameSize)
		for i := range min(uint64(size/8), maxRegisters) {
			s.push(s.Word(fp - s.firstRegister - 8*i))
		}
	}
}

// walk looks at all objects that are reached.
func (s *search) walk(ctx context.Context) error {
	for i := 0; i < len(s.queue); i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.p.Spend(1); err != nil {
			return err
		}
		s.object(s.queue[i])
	}
	for _, g := range s.suspended {
		if below, _ := s.below(s.awaited[g]); below != 0 && below != g {
			s.above[below] = g
		}
	}
	if len(s.seen) > maxObjects {
		return errObjects
	}
	return nil
}

// object adds what an object refers to.
func (s *search) object(w uint64) {
	t := s.typeOf(w)
	switch {
	case t == 0 || slices.Contains(s.async.weak, t):
		return
	case t >= s.types.firstContext && t <= s.types.lastContext, slices.Contains(s.async.tables, t):
		n, ok := smi(s.at(w, 8))
		if t == s.async.properties {
			n &= 1<<10 - 1 // above is a hash
		}
		if ok {
			s.words(w-1+16, n)
		}
		return
	case t < s.types.firstObject && !slices.Contains(s.async.structs, t):
		return
	}
	size, _ := s.U8(s.Word(w-1) - 1 + 8)
	if size > 1 {
		s.words(w-1+8, int(size)-1)
	}
	if t >= s.types.firstObject {
		s.tables(w, t)
	}
	switch t {
	case s.async.function, s.async.generator:
		s.generator(w, t)
	case s.types.promise:
		s.promise(w)
	}
}

// tables adds what an object of JavaScript keeps in tables: many properties, elements far apart, what a Map or a Set has. V8 does not
// tell the types of tables: they are known by where they are, and what is in them has maps of its own.
func (s *search) tables(w uint64, t uint16) {
	m := s.Word(w - 1)
	if bits, ok := s.U32(m - 1 + s.mapField3); ok && bits&mapDictionary != 0 {
		s.table(s.at(w, s.properties))
	}
	if s.async.prototype != 0 && !s.listed[m] {
		s.listed[m] = true
		s.push(s.at(m, s.async.prototype))
	}
	if t == s.types.jsMap || t == s.types.jsSet {
		s.table(s.at(w, 24))
	}
	if list := s.at(w, s.elementsAt); t != s.types.typedArray && !slices.Contains(s.types.fixedArrays, s.typeOf(list)) && s.typeOf(list) != s.types.fixedDoubles {
		s.table(list)
	}
}

func (s *search) table(w uint64) {
	if s.typeOf(w) == 0 || s.listed[w] || len(s.listed) > maxObjects {
		return
	}
	s.listed[w] = true
	if n, ok := smi(s.at(w, 8)); ok {
		s.words(w-1+16, n)
	}
}

func (s *search) words(at uint64, n int) {
	const block = 1 << 10
	for n > 0 && len(s.seen) <= maxObjects && s.p.Spend(block/16) == nil {
		b := s.Bytes(at, 8*min(n, block))
		if b == nil {
			return
		}
		at, n = at+8*block, n-block
		for ; len(b) >= 8; b = b[8:] {
			s.push(littleEndian.Uint64(b))
		}
	}
}

// generator notes a suspended function.
func (s *search) generator(g uint64, t uint16) {
	if !s.isSuspended(g) {
		return
	}
	switch {
	case t == s.async.function:
		if p := s.at(g, s.asyncPromise); s.typeOf(p) == s.types.promise {
			s.of[p] = g
		}
	default:
		if awaits, ok := smi(s.at(g, generatorAwaits)); !ok || awaits != 1 {
			return // at a yield
		}
		for r, i := s.at(g, generatorRequests), 0; i < maxAwaits && s.typeOf(r) == s.async.request; r, i = s.at(r, requestNext), i+1 {
			if p := s.at(r, requestPromise); s.typeOf(p) == s.types.promise {
				s.of[p] = g
			}
		}
	}
	s.suspended = append(s.suspended, g)
}

// isSuspended reports whether a function is suspended: its place lies in its bytecode, and as many values are saved as it has.
func (s *search) isSuspended(g uint64) bool {
	state, ok := smi(s.at(g, generatorState))
	fn := s.at(g, generatorFunction)
	if !ok || state < 0 || !s.isFunction(fn) {
		return false
	}
	shared := s.at(fn, s.shared)
	f := s.functionOf(shared)
	if f == nil || f.script == nil {
		return false
	}
	bytecode := s.bytecodeOf(shared)
	size, ok := s.U32(bytecode - 1 + s.frameSize)
	count, ok2 := s.parameterCount(f)
	n, _, ok3 := s.array(s.at(g, generatorSaved), s.types.fixedArrays)
	if !ok || !ok2 || !ok3 || n < int(size/8) || n > int(size/8)+count {
		return false
	}
	_, ok = s.suspendedAt(g, bytecode)
	return ok
}

// suspendedAt is the offset into its bytecode at which a function is suspended.
func (s *search) suspendedAt(g, bytecode uint64) (int, bool) {
	offset, ok := smi(s.at(g, generatorOffset))
	n, ok2 := smi(s.at(bytecode, 8))
	offset -= int(s.bytecodeData) - 1
	return offset, ok && ok2 && s.typeOf(bytecode) == s.types.bytecode && offset >= 0 && offset < n
}

// promise notes which suspended functions await a promise: its reactions have functions of V8's own, whose contexts have those.
func (s *search) promise(p uint64) {
	if flags, ok := smi(s.at(p, promiseFlags)); !ok || flags&3 != 0 {
		return
	}
	r := s.at(p, promiseReactions)
	for range maxAwaits {
		if s.typeOf(r) != s.async.reaction || s.p.Spend(1) != nil {
			return
		}
		if !s.resumes(s.at(r, s.reactionNext+reactionFulfil), p) {
			s.pass(p, s.at(r, s.reactionNext+reactionDerived), 0)
		}
		r = s.at(r, s.reactionNext)
	}
}

// resumes notes what a function of V8's own does with the value of a promise; false if the function is none of these.
func (s *search) resumes(fn, p uint64) bool {
	if !s.isFunction(fn) {
		return false
	}
	f := s.functionOf(s.at(fn, s.shared))
	c := s.at(fn, s.functionContext)
	n, ok := smi(s.at(c, 8))
	if t := s.typeOf(c); f == nil || f.script != nil || t < s.types.firstContext || t > s.types.lastContext || !ok || n <= firstContextSlot || n > firstContextSlot+maxResumed {
		return false
	}
	slot := func(i uint64) uint64 { return s.at(c, s.contextSlot(i)) }
	switch w := slot(firstContextSlot); s.typeOf(w) {
	case s.async.function, s.async.generator:
		if n == firstContextSlot+1 {
			s.awaited[w] = p
			return true
		}
	case s.types.promise: // it fulfils this one
		return s.pass(p, w, 0)
	}
	if left, ok := smi(slot(firstContextSlot)); ok && left > 0 && n > firstContextSlot+1 { // one of several that Promise.all waits for
		return s.pass(p, slot(firstContextSlot+1), left)
	}
	return false
}

// maxResumed is the most variables of V8's own functions that go on when a promise is fulfilled.
const maxResumed = 4

// pass notes that the value of a promise is passed on to another; false if that is none.
func (s *search) pass(p, to uint64, left int) bool {
	if s.async.capability != 0 && s.typeOf(to) == s.async.capability {
		to = s.at(to, 8)
	}
	if s.typeOf(to) != s.types.promise {
		return false
	}
	s.from[to] = append(s.from[to], passed{p, left > 0, left})
	return true
}

// below is the suspended function whose end fulfils a promise, directly or by other promises; else the promise that is waited
// for in the end, which may wait for several.
func (s *search) below(p uint64) (g, last uint64) {
	for range maxAwaits {
		if g := s.of[p]; g != 0 {
			return g, p
		}
		from := s.from[p]
		if len(from) != 1 || from[0].left > 1 {
			return 0, p
		}
		p = from[0].promise
	}
	return 0, p
}

// task describes a suspended function that nothing awaits, with what it awaits.
func (s *search) task(g uint64) *tasks.Task {
	t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindAsync, ID: g - 1}, Runtime: "V8", Thread: unwind.NullThread, State: tasks.StateWaiting, Status: "await",
		Certainty: tasks.Certain}
	seen := map[uint64]bool{}
	for range maxAwaits {
		if seen[g] || s.p.Spend(8) != nil {
			break
		}
		seen[g] = true
		t.Suspended = append(t.Suspended, s.suspendedFrame(g))
		p := s.awaited[g]
		below, last := s.below(p)
		if below == 0 {
			t.Wait = s.wait(last)
			break
		}
		if s.of[p] == 0 {
			t.Suspended[len(t.Suspended)-1].Note = "by another promise"
		}
		g = below
	}
	t.System = !slices.ContainsFunc(t.Suspended, func(f tasks.SuspendedFrame) bool { return !ofLoader(f.File) })
	slices.Reverse(t.Suspended)
	return t
}

// ofLoader reports whether a file is of Node's loader of modules, whose functions wait as long as a module's own await does.
func ofLoader(file string) bool {
	return strings.HasPrefix(file, "node:internal/modules/") || strings.HasPrefix(file, "node:internal/process/") || strings.HasPrefix(file, "node:internal/main/")
}

// wait is the wait for a promise that no suspended function fulfils by itself; nil if it is not known for which.
func (s *search) wait(p uint64) *tasks.Wait {
	if p == 0 {
		return nil
	}
	w := &tasks.Wait{Kind: tasks.WaitFuture, Reason: "await", Object: tasks.Object{Address: p - 1, Type: "Promise", Language: Language}, Proved: true, Open: true}
	for i, f := range s.from[p] {
		if f.all {
			w.All = true
			w.Object.Detail = fmt.Sprintf("all of %d", f.left)
		} else if i > 0 {
			w.Object.Detail = fmt.Sprintf("the first of %d", len(s.from[p]))
		}
		g, _ := s.below(f.promise)
		for range maxAwaits {
			if g == 0 || s.above[g] == 0 {
				break
			}
			g = s.above[g]
		}
		if g != 0 && len(w.Holders) < maxHolders {
			w.Holders = append(w.Holders, tasks.Holder{Key: tasks.Key{Kind: tasks.KindAsync, ID: g - 1}, Certainty: tasks.Certain})
		}
	}
	return w
}

// maxHolders is the most tasks that are told to be waited for.
const maxHolders = 64

// suspendedFrame is a suspended function as a report has it.
func (s *search) suspendedFrame(g uint64) tasks.SuspendedFrame {
	fn := s.at(g, generatorFunction)
	shared := s.at(fn, s.shared)
	a := activation{s.functionOf(shared), -1}
	bytecode := s.bytecodeOf(shared)
	if offset, ok := s.suspendedAt(g, bytecode); ok {
		if pos, _, ok := lookUp(s.byteArray(s.at(bytecode, s.bytecodePositions)), offset); ok {
			a.pos = pos
		}
	}
	c := s.call(a, fn, tasks.CallInterpreted)
	return tasks.SuspendedFrame{Function: c.Function, File: c.File, Line: c.Line, Approximate: c.Approximate, Language: Language, Object: g - 1, Awaits: tasks.Certain}
}
