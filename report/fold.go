package report

import (
	"encoding/hex"
	"hash/fnv"
	"iter"
	"strings"
)

// StackKey returns a key that is equal for threads with the same stack: the walk ended for the same reason, and
// the frames are at the same places in the code (sameCode), whatever their addresses and variables. The key has
// 32 hexadecimal digits and does not depend on where modules were loaded.
func StackKey(t *Thread) string {
	h := fnv.New128a()
	b := append(make([]byte, 0, 256), t.End...)
	for i := range t.Frames {
		b = appendPlace(b, &t.Frames[i])
		h.Write(b)
		b = b[:0]
	}
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// shortStack is how many frames a stack may have of which the places themselves are the key in one report: to compare them takes
// less than to hash them.
const shortStack = 128

// appendKey appends a key like StackKey, but for one report only.
func appendKey(b []byte, t *Thread) []byte {
	if len(t.Frames) > shortStack {
		return append(b, StackKey(t)...)
	}
	b = append(b, t.End...)
	for i := range t.Frames {
		b = appendPlace(b, &t.Frames[i])
	}
	return b
}

// appendPlace appends a frame's place in the code.
func appendPlace(b []byte, f *Frame) []byte {
	b = append(append(b, 0), f.Function...)
	b = append(append(b, 0), f.Signal...)
	b = append(b, 0, kindBits(f))
	if f.LeftOut.Entries > 0 {
		b = appendWord(b, uint64(f.LeftOut.Entries))
	}
	if f.Source.Line != 0 {
		b = append(append(b, f.Source.File...), 0)
		return appendWord(b, uint64(f.Source.Line))
	}
	b = append(append(b, f.Module...), 1)
	return appendWord(b, uint64(codeOffset(f)))
}

func appendWord(b []byte, v uint64) []byte {
	for range 8 {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}

// kindBits distinguishes physical, inlined and tail-called frames.
func kindBits(f *Frame) byte {
	var b byte = 'a'
	if f.Inlined {
		b |= 2
	}
	if f.Tail {
		b |= 4
	}
	return b
}

// codeOffset is the frame's offset in its module, or its pc outside of modules.
func codeOffset(f *Frame) Addr {
	if f.Module == "" {
		return f.PC
	}
	return f.Offset
}

// sameCode reports whether the text shows two frames at the same place in the code: the same function and
// source line or, without a line, the same offset in the same module.
func sameCode(a, b *Frame) bool {
	if a.Source.Line != b.Source.Line || a.Inlined != b.Inlined || a.Tail != b.Tail ||
		a.Function != b.Function || a.Signal != b.Signal {
		return false
	}
	if a.Source.Line != 0 {
		return a.Source.File == b.Source.File
	}
	return codeOffset(a) == codeOffset(b) && a.Module == b.Module
}

func sameStack(a, b *Thread) bool {
	if len(a.Frames) != len(b.Frames) || a.End != b.End {
		return false
	}
	for i := range a.Frames {
		if !sameCode(&a.Frames[i], &b.Frames[i]) || a.Frames[i].LeftOut != b.Frames[i].LeftOut {
			return false
		}
	}
	return true
}

// groupThreads groups threads with the same stack. The crashed thread comes first and alone, then the groups in
// the order of their first threads.
func groupThreads(threads []Thread, fold bool) [][]*Thread {
	var groups [][]*Thread
	for i := range threads {
		if threads[i].Crashed {
			groups = append(groups, []*Thread{&threads[i]})
		}
	}
	byKey := make(map[string]int)
	byFrames := make(map[*Frame]int) // of threads that share frames
	var key []byte
	for i := range threads {
		t := &threads[i]
		if t.Crashed {
			continue
		}
		if !fold {
			groups = append(groups, []*Thread{t})
			continue
		}
		if t.Alike && len(t.Frames) > 0 {
			if g, ok := byFrames[&t.Frames[0]]; ok {
				groups[g] = append(groups[g], t)
				continue
			}
		}
		key = appendKey(key[:0], t)
		if g, ok := byKey[string(key)]; ok && sameStack(groups[g][0], t) {
			groups[g] = append(groups[g], t)
			if t.Alike && len(t.Frames) > 0 {
				byFrames[&t.Frames[0]] = g
			}
			continue
		}
		byKey[string(key)] = len(groups)
		groups = append(groups, []*Thread{t})
	}
	return groups
}

// A row is what the text shows for the frames first to last of a stack.
type row struct {
	first, last int // indexes, both inclusive
	cycle       int // number of frames in the cycle that this row repeats; 0 if the row is not a folded recursion
	elided      bool
	missing     int  // number of frames missing from the report before first; the row stands for them
	parked      bool // the frames of Go's runtime in which a goroutine waits
}

// alone reports whether the row is of one frame, which is shown in full.
func (r *row) alone() bool { return r.cycle == 0 && !r.elided && r.missing == 0 && !r.parked }

// MaxCycle is the longest cycle of a recursion, in frames, that is recognised. CommonCycle is the least number of frames
// of which every such cycle goes in.
const (
	MaxCycle    = 8
	CommonCycle = 840
)

// foldFrames makes one row for each frame. Of a cycle of calls that repeats it keeps the first and the last
// round, with one row for the rounds between.
func foldFrames(frames []Frame, fold bool) []row {
	rows := make([]row, 0, min(len(frames), 1024))
	single := func(from, n int) {
		for i := range n {
			rows = append(rows, row{first: from + i, last: from + i})
		}
	}
	for i := 0; i < len(frames); {
		cycle, times := 0, 0
		if fold {
			cycle, times = findCycle(frames[i:])
		}
		if cycle == 0 {
			single(i, 1)
			i++
			continue
		}
		single(i, cycle)
		last := i + cycle*(times-1)
		rows = append(rows, row{first: i + cycle, last: last - 1, cycle: cycle})
		single(last, cycle)
		i = last + cycle
	}
	return rows
}

// findCycle returns the cycle at the start of frames that covers the most of them, and how many times it
// repeats; 0 if folding saves no line. It looks at no more than about MaxCycle times the frames that the cycle
// covers.
func findCycle(frames []Frame) (cycle, times int) {
	for n := 1; n <= MaxCycle && 4*n <= len(frames); n++ {
		if cycle > 0 && n%cycle == 0 && n <= cycle*times {
			continue // several rounds of the cycle repeat as far as one does
		}
		k := Repeating(len(frames), n, func(i, j int) bool { return sameCode(&frames[i], &frames[j]) }) / n
		if k >= 4 && (k-2)*n >= 3 && k*n > cycle*times {
			cycle, times = n, k
		}
	}
	return cycle, times
}

// Repeating returns how many items at the start of a sequence of n repeat with a period: each of them, from the
// second round on, is the same as the one a period before it. The result is at least min(period, n) and at most n.
func Repeating(n, period int, same func(i, j int) bool) int {
	i := min(period, n)
	for i < n && same(i, i-period) {
		i++
	}
	return i
}

// Recursion finds the cycle of calls that covers the most of a stack: it starts at frames[first], is length
// frames long and repeats times times, those that are left out of frames included. A length of 0 means that no cycle repeats often enough for the text to
// fold it.
func Recursion(frames []Frame) (first, length, times int) {
	for c := range cycles(frames) {
		if all := count(frames, c.first, c.last); all > length*times {
			first, length, times = c.first, c.cycle, all/c.cycle
		}
	}
	return first, length, times
}

// cycles iterates over the cycles of calls that the text folds: the rows have all their rounds.
func cycles(frames []Frame) iter.Seq[row] {
	return func(yield func(row) bool) {
		for i := 0; i < len(frames); {
			n, k := findCycle(frames[i:])
			if n == 0 {
				i++
				continue
			}
			if !yield(row{first: i, last: i + n*k - 1, cycle: n}) {
				return
			}
			i += n * k
		}
	}
}

// roundsKept is how many frames of a recursion InRounds leaves out at its start, and how many at its end.
const roundsKept = 64

// InRounds iterates over the indexes of the frames that are in the middle rounds of a recursion: all but its first and last
// 64 frames. Their variables say little that those do not.
func InRounds(frames []Frame) iter.Seq[int] {
	return func(yield func(int) bool) {
		for c := range cycles(frames) {
			for i := c.first + roundsKept; i <= c.last-roundsKept; i++ {
				if !yield(i) {
					return
				}
			}
		}
	}
}

// elide keeps the first three quarters and the last quarter of limit rows, with one row for the rest. A limit
// of 0 keeps all rows.
func elide(rows []row, limit int) []row {
	if limit <= 0 || len(rows) <= limit+1 {
		return rows
	}
	tail := limit / 4
	head := limit - tail
	out := append(make([]row, 0, limit+1), rows[:head]...)
	out = append(out, row{first: rows[head].first, last: rows[len(rows)-tail-1].last, elided: true})
	return append(out, rows[len(rows)-tail:]...)
}

// foldParked makes one row of those of the functions of Go's runtime in which a goroutine waits. Go leaves them out of
// its own traces, too.
func foldParked(rows []row, frames []Frame) []row {
	n := 0
	for n < len(rows) && rows[n].alone() && ofGoRuntime(frames[rows[n].first].Function) {
		n++
	}
	if n < 2 || n == len(rows) || frames[0].Function != "runtime.gopark" {
		return rows
	}
	return append([]row{{first: 0, last: rows[n-1].last, parked: true}}, rows[n:]...)
}

// ofGoRuntime reports whether a function is of Go's runtime, whatever package sees it: sync.runtime_SemacquireMutex.
func ofGoRuntime(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "internal/runtime/") || strings.Contains(function, ".runtime_")
}
