package values

import (
	"fmt"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// More of Rust's library: times, names of files, cells, locks and channels.

// rustCore returns the printer for a type of the crate core.
func rustCore(name, full string) printer {
	switch {
	case full == "core::time::Duration":
		return rustDuration
	case strings.HasPrefix(full, "core::sync::atomic::Atomic"):
		return rustAtomic
	case strings.HasPrefix(full, "core::cell::Cell<"):
		return rustCell
	case strings.HasPrefix(full, "core::cell::UnsafeCell<"):
		return rustUnsafeCell
	case strings.HasPrefix(full, "core::cell::RefCell<"):
		return rustRefCell
	case strings.HasPrefix(full, "core::num::nonzero::NonZero"):
		return rustNonZero
	case strings.HasPrefix(full, "core::ops::range::Range<"), strings.HasPrefix(full, "core::ops::range::RangeInclusive<"):
		return rustRange
	}
	return rustStruct
}

// rustStd returns the printer for a type of the crates alloc and std; nil if there is none here.
func rustStd(name, full string) printer {
	switch full {
	case "std::ffi::os_str::OsString", "std::path::PathBuf":
		return rustOsString
	case "std::time::Instant", "std::time::SystemTime":
		return rustTime
	}
	switch rustName(name) {
	case "CString":
		return rustCString
	case "LinkedList":
		return rustLinkedList
	case "BinaryHeap":
		return rustHeap
	case "Mutex", "RwLock":
		if strings.HasPrefix(full, "std::sync::") && strings.Contains(name, "<") {
			return rustLock
		}
	case "LazyLock", "OnceLock":
		if strings.HasPrefix(full, "std::sync::") {
			return rustOnce
		}
	case "Sender", "SyncSender", "Receiver":
		if strings.HasPrefix(full, "std::sync::mpsc::") {
			return rustChannel
		}
	}
	return nil
}

// rustDuration prints a duration as its Debug does: 1.5s, 250ns.
func rustDuration(b *builder, o *Object, t *types.Type, depth int) *Value {
	secs, ok := b.num(o, "secs")
	part, ok2 := b.member(o, "nanos")
	if !ok || !ok2 {
		return nil
	}
	nanos, ok := b.pointer0(&part)
	if !ok || nanos >= 1e9 {
		return nil
	}
	return b.text(o, rustDurationText(secs, nanos))
}

func rustDurationText(secs, nanos uint64) string {
	fraction := func(whole, part uint64, digits int, unit string) string {
		s := fmt.Sprintf("%d.%0*d", whole, digits, part)
		return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + unit
	}
	switch {
	case secs > 0:
		return fraction(secs, nanos, 9, "s")
	case nanos >= 1e6:
		return fraction(nanos/1e6, nanos%1e6, 6, "ms")
	case nanos >= 1e3:
		return fraction(nanos/1e3, nanos%1e3, 3, "µs")
	}
	return fmt.Sprintf("%dns", nanos)
}

// rustTime prints a point in time, of the clock of the day or of the monotonic one.
func rustTime(b *builder, o *Object, t *types.Type, depth int) *Value {
	at := *o
	for _, name := range [...]string{"__0", "t"} {
		if next, ok := b.member(&at, name); ok {
			at = next
		}
	}
	secs, ok := b.num(&at, "tv_sec")
	part, ok2 := b.member(&at, "tv_nsec")
	if !ok || !ok2 {
		return nil
	}
	nanos, ok := b.pointer0(&part)
	if !ok || nanos >= 1e9 {
		return nil
	}
	if t.BareName == "SystemTime" {
		const far = 1 << 37 // seconds: some thousand years
		if int64(secs) > far || int64(secs) < -far {
			return nil
		}
		return b.text(o, time.Unix(int64(secs), int64(nanos)).UTC().Format("2006-01-02 15:04:05.999999999 UTC"))
	}
	return b.text(o, fmt.Sprintf("%d.%09ds on the monotonic clock", int64(secs), nanos))
}

// rustAtomic prints an atomic as its value.
func rustAtomic(b *builder, o *Object, t *types.Type, depth int) *Value {
	v, ok := b.path(o, "v", "value")
	if !ok {
		return nil
	}
	if strings.HasPrefix(t.BareName, "AtomicBool") {
		if n, err := b.uint(&v, false); err == nil && n <= 1 {
			return b.text(o, fmt.Sprint(n == 1))
		}
	}
	return b.named(o, b.value(&v, depth))
}

// named gives the value of a part the type of the whole.
func (b *builder) named(o *Object, v *Value) *Value {
	v.typ = o.Type
	return v
}

func rustCell(b *builder, o *Object, t *types.Type, depth int) *Value {
	v, ok := b.path(o, "value", "value")
	if !ok {
		return nil
	}
	out := b.text(o, "Cell")
	out.Compound, out.style = true, record
	out.Parts = []Part{{Name: "value", Value: b.value(&v, depth+1)}}
	return out
}

// rustUnsafeCell prints what is in the cell: it only tells the compiler something.
func rustUnsafeCell(b *builder, o *Object, t *types.Type, depth int) *Value {
	v, ok := b.member(o, "value")
	if !ok {
		return nil
	}
	return b.named(o, b.value(&v, depth))
}

// rustRefCell prints a cell with its borrows.
func rustRefCell(b *builder, o *Object, t *types.Type, depth int) *Value {
	flag, ok := b.member(o, "borrow")
	v, ok2 := b.path(o, "value", "value")
	if !ok || !ok2 {
		return nil
	}
	n, ok := b.pointer0(&flag)
	if !ok {
		return nil
	}
	borrowed := fmt.Sprintf("borrow=%d", n)
	if int64(n) < 0 {
		borrowed = fmt.Sprintf("borrow_mut=%d", -int64(n))
	}
	out := b.text(o, "RefCell("+borrowed+")")
	out.Compound = true
	out.Parts = []Part{{Name: "value", Value: b.value(&v, depth+1)}}
	return out
}

func rustNonZero(b *builder, o *Object, t *types.Type, depth int) *Value {
	at := *o
	for range 3 {
		next, ok := b.member(&at, "__0")
		if !ok {
			break
		}
		at = next
	}
	if at.Type == o.Type || at.Type.Strip().Aggregate() {
		return nil
	}
	return b.named(o, b.value(&at, depth))
}

// rustRange prints a range as the source writes it: 1..5, 1..=5.
func rustRange(b *builder, o *Object, t *types.Type, depth int) *Value {
	start, ok := b.member(o, "start")
	end, ok2 := b.member(o, "end")
	if !ok || !ok2 {
		return nil
	}
	from, to := b.value(&start, depth+1), b.value(&end, depth+1)
	if from.Compound || to.Compound || from.Err != nil || to.Err != nil {
		return nil
	}
	dots, out := "..", ""
	if strings.HasPrefix(t.BareName, "RangeInclusive") {
		dots = "..="
		if done, ok := b.num(o, "exhausted"); ok && done == 1 {
			out = " (exhausted)"
		}
	}
	return b.text(o, from.Text+dots+to.Text+out)
}

// rustOsString prints the name of a file or another string of the system.
func rustOsString(b *builder, o *Object, t *types.Type, depth int) *Value {
	at := *o
	for range 3 {
		next, ok := b.member(&at, "inner")
		if !ok {
			return nil
		}
		if at = next; rustName(at.Type.Strip().BareName) == "Vec" {
			addr, ok := b.rustBuffer(&at)
			n, ok2 := b.num(&at, "len")
			if !ok || !ok2 {
				return nil
			}
			return b.utf8(o, addr, n)
		}
	}
	return nil
}

func rustCString(b *builder, o *Object, t *types.Type, depth int) *Value {
	addr, ok := b.num(o, "inner", "data_ptr")
	n, ok2 := b.num(o, "inner", "length")
	if !ok || !ok2 || n == 0 {
		return nil
	}
	return b.utf8(o, addr, n-1) // without the zero
}

func rustHeap(b *builder, o *Object, t *types.Type, depth int) *Value {
	vec, ok := b.member(o, "data")
	elem := t.TypeArg(0)
	if !ok || elem == nil {
		return nil
	}
	addr, ok := b.rustBuffer(&vec)
	n, ok2 := b.num(&vec, "len")
	if !ok || !ok2 {
		return nil
	}
	return b.rustList(o, fmt.Sprintf("BinaryHeap(size=%d)", n), elem, addr, n, depth)
}

// rustLinkedList prints a list of nodes, each of which has the address of the next, or zero.
func rustLinkedList(b *builder, o *Object, t *types.Type, depth int) *Value {
	n, ok := b.num(o, "len")
	head, ok2 := b.member(o, "head")
	elem := t.TypeArg(0)
	if !ok || !ok2 || elem == nil || head.Size != b.word() || n > maxLength {
		return nil
	}
	at, err := b.uint(&head, false)
	if err != nil {
		return Failed(o.Type, err)
	}
	node := b.nodeOf(&head)
	if node == nil {
		return nil
	}
	v := b.counted(b.text(o, fmt.Sprintf("LinkedList(size=%d)", n)), n)
	v.style = brackets
	return b.sequence(v, elem, n, depth, func() (uint64, bool) {
		if at == 0 {
			return 0, false
		}
		ob, err := b.inMemory(node, at)
		if err != nil {
			return 0, false
		}
		value, ok := b.member(&ob, "element")
		next, ok2 := b.member(&ob, "next")
		if !ok || !ok2 {
			return 0, false
		}
		at, err = b.uint(&next, false)
		return value.Addr, err == nil
	})
}

// nodeOf returns what an Option of a pointer that is not null points to.
func (b *builder) nodeOf(o *Object) *types.Type {
	p := o.Type.Strip().Members().Variant
	if p == nil {
		return nil
	}
	for i := range p.Variants {
		for j := range p.Variants[i].Fields {
			at := b.p.Types.OfField(&p.Variants[i].Fields[j])
			for range 4 {
				if s := at.Strip(); s.Pointer() {
					return s.Target()
				}
				fields := at.Strip().Members().Fields
				if len(fields) == 0 {
					break
				}
				at = b.p.Types.OfField(&fields[0])
			}
		}
	}
	return nil
}

// rustReaders are the readers in the state of an RwLock on Linux, which waits with futexes; all of them: a writer.
const rustReaders = 1<<30 - 1

// rustLock prints a lock with who has it and the value that it guards.
func rustLock(b *builder, o *Object, t *types.Type, depth int) *Value {
	value, ok := b.path(o, "data", "value")
	if !ok {
		return nil
	}
	state := ""
	if futex, ok := b.path(o, "inner", "futex"); ok {
		n, ok := b.pointer0(&futex)
		switch {
		case !ok || n > 2:
			return nil
		case n == 0:
			state = "unlocked"
		case n == 1:
			state = "locked"
		default:
			state = "locked, contended"
		}
	} else if word, ok := b.path(o, "inner", "state"); ok {
		n, ok := b.pointer0(&word)
		switch {
		case !ok:
			return nil
		case n&rustReaders == 0:
			state = "unlocked"
		case n&rustReaders == rustReaders:
			state = "write-locked"
		default:
			state = fmt.Sprintf("%d reader%s", n&rustReaders, plural(n&rustReaders))
		}
	} else {
		return nil
	}
	if poison, ok := b.path(o, "poison", "failed"); ok {
		if n, ok := b.pointer0(&poison); ok && n != 0 {
			state += ", poisoned"
		}
	}
	v := b.text(o, rustName(t.BareName)+"("+state+")")
	v.Compound = true
	v.Parts = []Part{{Name: "data", Value: b.value(&value, depth+1)}}
	return v
}

// rustOnce prints what is set once. Its bytes are a value only in a state whose number differs between versions of the library: they
// are not shown, as nothing tells which state this is.
func rustOnce(b *builder, o *Object, t *types.Type, depth int) *Value {
	state := ""
	if at, ok := b.path(o, "once", "inner", "state_and_queued"); ok {
		if n, ok := b.pointer0(&at); ok {
			state = fmt.Sprintf(" in state %d", n)
		}
	}
	return b.text(o, rustName(t.BareName)+state+" (whether it is set is not known)")
}

// Of std's channels: the messages that one block of a list has and one more, and the bit of an index that is a mark.
const (
	rustLap   = 32
	rustShift = 1
)

// rustChannel prints an end of a channel: how many ends there are, and how many messages wait.
func rustChannel(b *builder, o *Object, t *types.Type, depth int) *Value {
	flavor, ok := b.path(o, "inner", "flavor")
	if !ok {
		return nil
	}
	p := flavor.Type.Strip().Members().Variant
	if p == nil {
		return nil
	}
	chosen, err := b.alternative(&flavor, p)
	if err != nil || chosen == nil || len(chosen.Fields) == 0 {
		return nil
	}
	kind := chosen.Fields[0].Name
	variant, err := b.field(&flavor, &chosen.Fields[0])
	if err != nil {
		return Failed(o.Type, err)
	}
	ptr, ok := b.path(&variant, "__0", "counter")
	if !ok || !ptr.Type.Strip().Pointer() {
		return nil
	}
	addr, err := b.uint(&ptr, false)
	if err != nil {
		return Failed(o.Type, err)
	}
	counter, err := b.inMemory(ptr.Type.Strip().Target(), addr)
	if err != nil {
		return Failed(o.Type, err)
	}
	number := func(names ...string) uint64 {
		at, found := b.path(&counter, names...)
		n, read := b.pointer0(&at)
		ok = ok && found && read
		return n
	}
	senders, receivers := number("senders"), number("receivers")
	head, tail := []string{"chan", "head", "value"}, []string{"chan", "tail", "value"}
	waiting, bound := uint64(0), ""
	switch kind {
	case "List":
		waiting = rustListed(number(append(head, "index")...), number(append(tail, "index")...))
	case "Array":
		room := number("chan", "cap")
		waiting = rustRinged(number(head...), number(tail...), number("chan", "mark_bit"), room)
		bound = fmt.Sprintf(" of %d", room)
	case "Zero":
		bound = " of 0"
	default:
		return nil
	}
	if !ok {
		return nil
	}
	return b.text(o, fmt.Sprintf("%s(%d message%s%s, %d sender%s, %d receiver%s)", rustName(t.BareName), waiting, plural(waiting), bound, senders, plural(senders), receivers, plural(receivers)))
}

// rustListed is how many messages are in a list channel by its indexes, as its len counts.
func rustListed(head, tail uint64) uint64 {
	head, tail = head>>rustShift, tail>>rustShift
	if tail%rustLap == rustLap-1 {
		tail++
	}
	if head%rustLap == rustLap-1 {
		head++
	}
	first := head / rustLap * rustLap
	head, tail = head-first, tail-first
	return tail - head - tail/rustLap
}

// rustRinged is how many messages are in an array channel.
func rustRinged(head, tail, mark, room uint64) uint64 {
	if mark == 0 {
		return 0
	}
	from, to := head&(mark-1), tail&(mark-1)
	switch {
	case from < to:
		return to - from
	case from > to:
		return room - from + to
	case tail&^mark == head:
		return 0
	}
	return room
}
