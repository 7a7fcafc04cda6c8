package subject

import (
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// ThreadInfos describes the threads, in the dump's order.
func (m minidumpSubject) ThreadInfos() []report.ThreadInfo {
	threads := clipped(minidump.Of(m).Threads)
	crashed, _ := m.DefaultThread()
	_, died := m.dump.Exception()
	out := make([]report.ThreadInfo, 0, len(threads))
	for i := range threads {
		th := &threads[i]
		info, _ := m.Thread(unwind.ThreadID(th.ID))
		x := report.ThreadInfo{ID: int(th.ID), Name: th.Name, Crashed: died && th.ID == uint32(crashed), TEB: report.Addr(th.TEB),
			StackLow: report.Addr(info.StackLow), StackHigh: report.Addr(info.StackHigh), Suspended: info.SuspendCount, PriorityClass: report.Addr(th.PriorityClass),
			Priority: info.Priority, LastError: m.LastError(unwind.ThreadID(th.ID)), Start: report.Addr(info.StartAddress), Created: info.CreateTime,
			UserTime: info.UserTime.Seconds(), KernelTime: info.KernelTime.Seconds(), Exited: info.Exited, WroteDump: info.WroteDump, NoRegisters: !info.Context}
		if th.StackSize > 0 {
			x.StackStart = report.Addr(th.StackStart)
			x.InDump = m.InDump(th.StackStart, th.StackStart+th.StackSize)
		}
		out = append(out, x)
	}
	return out
}

// MemoryInfo says which memory the dump has.
func (m minidumpSubject) MemoryInfo(lists bool) *report.MemoryInfo {
	f := minidump.Of(m)
	out := &report.MemoryInfo{Pages: len(f.Regions)}
	for _, s := range f.Memory.Spans() {
		out.Bytes += uint64(len(s.Data))
	}
	type place struct{ start, off uint64 }
	listed := make(map[place]bool, len(f.Memory.Ranges))
	for i := range f.Memory.Ranges {
		r := &f.Memory.Ranges[i]
		if listed[place{r.Start, r.Off}] {
			continue // a stack that the memory list includes too
		}
		listed[place{r.Start, r.Off}] = true
		out.Count++
		out.Missing += r.Size - uint64(len(r.Data))
		if lists && out.Count <= MaxListed {
			out.Ranges = append(out.Ranges, report.Range{Start: report.Addr(r.Start), End: report.Addr(r.Start + r.Size), Offset: report.Addr(r.Off), Stream: r.Source.String()})
		}
	}
	if !lists {
		return out
	}
	for i := range clipped(f.Regions) {
		out.Regions = append(out.Regions, regionOf(&f.Regions[i]))
	}
	return out
}

func regionOf(r *minidump.Region) report.Region {
	out := report.Region{Start: report.Addr(r.Base), End: report.Addr(r.Base + r.Size), State: r.StateName(), Type: r.TypeName()}
	if r.State == minidump.MemCommit {
		out.Protect = r.Protection()
	}
	return out
}
