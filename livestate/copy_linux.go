package livestate

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits on what a Snapshot copies besides the stacks of threads.
const (
	// maxMore is the limit in bytes.
	maxMore = 256 << 20
	// nearby ranges are copied as one, with what is between them, in bytes: that costs less than a range of its own.
	nearby = 1 << 10
	// maxVector is how many ranges one call of process_vm_readv takes.
	maxVector = 1024
)

// SnapshotWith is Snapshot with more memory of the same moment. more is called while all threads are stopped, so it must be fast:
// it calls take with the ranges that it wants, first and exclusive last address each, and reads what was copied from mem. What
// cannot be read is left out.
func (p *Process) SnapshotWith(more func(mem arch.Memory, take func([][2]arch.Address))) (*Snapshot, error) {
	return p.snapshot(func(s *Snapshot) { more(s, s.copyMore) })
}

// copyMore copies the parts of ranges that are not copied yet.
func (s *Snapshot) copyMore(ranges [][2]arch.Address) {
	spans := make([]span, 0, len(ranges))
	for _, r := range ranges {
		if r[0] < r[1] {
			spans = append(spans, span{r[0], r[1]})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	spans = s.without(joined(spans))
	var copied []run
	for len(spans) > 0 {
		n, size := 0, uint64(0)
		for n < len(spans) && n < maxVector && size < maxPiece {
			room := maxPiece - size
			if spans[n].end-spans[n].start > room {
				if room < pageSize && n > 0 {
					break
				}
				// Split what is larger than a piece.
				spans = slices.Insert(spans, n+1, span{spans[n].start + room, spans[n].end})
				spans[n].end = spans[n].start + room
			}
			size += spans[n].end - spans[n].start
			n++
		}
		if s.more += size; s.more > maxMore {
			break
		}
		copied = s.p.mem.vector(copied, spans[:n], size)
		spans = spans[n:]
	}
	s.runs = append(s.runs, copied...)
	slices.SortFunc(s.runs, func(a, b run) int { return cmp.Compare(a.start, b.start) })
	s.last.Store(0)
}

// joined merges ascending spans that overlap or are near each other. Pages between them that are not mapped would make the rest
// unreadable, so what lies between is less than a page.
func joined(spans []span) []span {
	out := spans[:0]
	for _, sp := range spans {
		if n := len(out); n > 0 && sp.start <= out[n-1].end+nearby {
			out[n-1].end = max(out[n-1].end, sp.end)
			continue
		}
		out = append(out, sp)
	}
	return out
}

// without returns the parts of ascending spans that no run has.
func (s *Snapshot) without(spans []span) []span {
	out := make([]span, 0, len(spans))
	i := 0
	for _, sp := range spans {
		for i < len(s.runs) && s.runs[i].start+uint64(len(s.runs[i].data)) <= sp.start {
			i++
		}
		for k := i; k < len(s.runs) && s.runs[k].start < sp.end && sp.start < sp.end; k++ {
			if r := s.runs[k]; sp.start < r.start {
				out = append(out, span{sp.start, r.start})
			}
			sp.start = min(sp.end, max(sp.start, s.runs[k].start+uint64(len(s.runs[k].data))))
		}
		if sp.start < sp.end {
			out = append(out, sp)
		}
	}
	return out
}

// vector appends the memory of spans, size bytes together, as it is now. A call of the kernel reads as many as it can, up to
// the first that is not mapped.
func (m *memory) vector(out []run, spans []span, size uint64) []run {
	buf := make([]byte, size)
	for len(spans) > 0 && !m.p.gone() {
		remote := make([]unix.RemoteIovec, len(spans))
		for i, sp := range spans {
			remote[i] = unix.RemoteIovec{Base: uintptr(sp.start), Len: int(sp.end - sp.start)}
		}
		got, late := m.wait.read(buf, func(b []byte) int {
			local := []unix.Iovec{{Base: &b[0]}}
			local[0].SetLen(len(b))
			n, _ := unix.ProcessVMReadv(m.p.living(), local, remote, 0)
			return n
		})
		if late {
			return out
		}
		for more := true; more; { // up to the first span of which a part is not mapped
			sp, size := spans[0], spans[0].end-spans[0].start
			n := min(uint64(max(got, 0)), size)
			if n > 0 {
				m.p.trap.Load().hide(sp.start, buf[:n])
				out = append(out, run{sp.start, buf[:n:n]})
			}
			buf, spans, got = buf[size:], spans[1:], got-int(n)
			more = n == size && len(spans) > 0
		}
	}
	return out
}
