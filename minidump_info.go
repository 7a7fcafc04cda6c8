package corewalk

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// details are what the target tells besides threads, modules and memory; nil when that
// is nothing.
func (t *Target) details() *report.Details {
	if m := t.Minidump(); m != nil {
		d := minidumpDetails(m)
		if e := d.Exception; e != nil {
			e.Name = t.exceptionName(int(e.Code))
		}
		return d
	}
	if t.subject.system() != "Linux" {
		return nil
	}
	if n := len(t.subject.Mappings()); n > 0 {
		return &report.Details{Mappings: n}
	}
	return nil
}

// exceptionName names what a minidump's exception record has the code of.
func (t *Target) exceptionName(code int) string {
	if e := t.exception(); e != nil {
		return e.Name(t.subject.Arch())
	}
	if t.Minidump().File().System.Platform.Linux() {
		return t.numbering().Name(code)
	}
	return ""
}

// addDetails adds the details to a report, with what they tell of its threads.
func (t *Target) addDetails(r *report.Report) {
	r.Details = t.details()
	m := t.Minidump()
	if m == nil {
		return
	}
	for i := range r.Threads {
		th := &r.Threads[i]
		if info, ok := m.Thread(unwind.ThreadID(th.ID)); ok {
			th.LastError = lastError(info)
		}
	}
}

func lastError(t corestate.MinidumpThread) string {
	if !t.HasLastError {
		return ""
	}
	return reason.WinErrorName(t.LastError)
}

func minidumpDetails(m *corestate.Minidump) *report.Details {
	f := m.File()
	d := &report.Details{System: systemOf(m), Mappings: len(f.Linux.Maps), Flags: report.Addr(f.Flags),
		BootArgs: f.Mac.BootArgs, SoftErrors: string(bytes.TrimSpace(f.SoftErrors)), Limits: limitsOf(f), Integrity: integrity(f.Misc)}
	if created := f.Misc.CreateTime; created != 0 {
		d.Started = time.Unix(int64(created), 0).UTC()
	}
	if up, ok := f.Uptime(); ok {
		seconds := int(up)
		d.Uptime = &seconds
	}
	d.UserTime, d.KernelTime = int(f.Misc.UserTime), int(f.Misc.KernelTime)
	if b := f.Breakpad; b != nil {
		d.RequestingThread, d.WritingThread = int(b.RequestingThread), int(b.DumpThread)
	}
	if e := f.Exception; e != nil {
		d.Exception = &report.ExceptionRecord{Thread: int(e.ThreadID), Code: report.Addr(e.Code), Flags: report.Addr(e.Flags),
			Address: report.Addr(e.Address), Nested: report.Addr(e.Nested)}
		for _, p := range e.Params {
			d.Exception.Parameters = append(d.Exception.Parameters, report.Addr(p))
		}
	}
	for _, u := range clipped(f.Unloaded) {
		d.UnloadedModules = append(d.UnloadedModules, report.UnloadedModule{Path: u.Path, Base: report.Addr(u.Base), End: report.Addr(u.Base + u.Size), CodeID: u.CodeID()})
	}
	for _, h := range clipped(f.Handles) {
		d.Handles = append(d.Handles, report.Handle{Value: report.Addr(h.Value), Type: h.Type, Object: h.Object})
	}
	for _, c := range f.Comments {
		if c != "" {
			d.Comments = append(d.Comments, c)
		}
	}
	for _, c := range f.Mac.CrashInfo {
		d.MacCrashes = append(d.MacCrashes, report.MacCrash{Module: c.ModulePath, Message: c.Message, Message2: c.More2, Signature: c.Signature,
			Backtrace: c.Backtrace, Thread: report.Addr(c.Thread), DialogMode: report.Addr(c.DialogMode), AbortCause: report.Addr(c.AbortCause)})
	}
	addCrashpad(d, f)
	return d
}

// clipped is as much of a list as is listed.
func clipped[T any](list []T) []T { return list[:min(len(list), maxListed)] }

func systemOf(m *corestate.Minidump) report.System {
	f := m.File()
	s := &f.System
	out := report.System{WOW64: f.WOW64() && m.Arch() == arch.X86, Version: s.Version(), CPUs: s.Processors, Microcode: f.Linux.Microcode(), MHz: int(f.Misc.MaxMHz), Build: f.Misc.BuildString}
	if !s.Known {
		return out
	}
	if s.CPU.Arch(f.Big) != nil && s.Processor() != s.CPU.String() {
		out.CPU = s.Processor()
	}
	if strings.HasPrefix(s.Platform.String(), "platform ") {
		out.Platform = report.Addr(s.Platform)
	}
	if s.Platform.Windows() {
		out.Product = map[uint8]string{1: "workstation", 2: "domain controller", 3: "server"}[s.ProductType]
	}
	if r := f.Linux.Release(); r != (minidump.Release{}) {
		out.Distribution = &report.Distribution{ID: r.ID, Release: r.Version, Codename: r.Codename, Description: r.Description}
	}
	if m := &f.Misc; m.Flags&minidump.MiscTimeZone != 0 {
		// The bias is what is to be added to local time, in minutes.
		out.TimeZone = fmt.Sprintf("UTC%+03d:%02d", -m.Bias/60, max(m.Bias, -m.Bias)%60)
		if m.StandardName != "" {
			out.TimeZone += " " + m.StandardName
		}
	}
	return out
}

// integrity names the levels of SECURITY_MANDATORY_..._RID (winnt.h).
func integrity(m minidump.Misc) string {
	if m.Flags&minidump.MiscIntegrity == 0 {
		return ""
	}
	switch m.Integrity {
	case 0:
		return "untrusted"
	case 0x1000:
		return "low"
	case 0x2000:
		return "medium"
	case 0x2100:
		return "medium plus"
	case 0x3000:
		return "high"
	case 0x4000:
		return "system"
	case 0x5000:
		return "protected process"
	}
	return fmt.Sprintf("%#x", m.Integrity)
}

func limitsOf(f *minidump.File) []report.Limit {
	var list []report.Limit
	for _, l := range clipped(f.Linux.ParseLimits()) {
		list = append(list, report.Limit{Name: l.Name, Soft: l.Soft, Hard: l.Hard, Unit: l.Unit})
	}
	return list
}

func addCrashpad(d *report.Details, f *minidump.File) {
	c := f.Crashpad
	if c == nil {
		return
	}
	d.Crashpad = &report.Crashpad{Version: int(c.Version)}
	if !c.ReportID.IsZero() {
		d.Crashpad.ReportID = c.ReportID.String()
	}
	if !c.ClientID.IsZero() {
		d.Crashpad.ClientID = c.ClientID.String()
	}
	for _, a := range c.Annotations {
		d.Annotations = append(d.Annotations, report.Annotation{Kind: report.AnnotationSimple, Key: a.Key, Value: a.Value})
	}
	for _, m := range c.Modules {
		index, path := m.Index, ""
		if index >= 0 && index < len(f.Modules) {
			path = f.Modules[index].Path
		}
		add := func(kind, key, value string) {
			d.Annotations = append(d.Annotations, report.Annotation{Kind: kind, Module: path, ModuleIndex: &index, Key: key, Value: value})
		}
		for _, text := range m.List {
			add(report.AnnotationList, "", text)
		}
		for _, a := range m.Annotations {
			add(report.AnnotationSimple, a.Key, a.Value)
		}
		for _, o := range m.Objects {
			value, text := o.Text()
			if !text {
				value = hex.EncodeToString(o.Value)
			}
			add(report.AnnotationObject, o.Name, value)
		}
	}
}

// threadInfos describe the threads of a minidump, in its order.
func threadInfos(m *corestate.Minidump) []report.ThreadInfo {
	threads := clipped(m.File().Threads)
	crashed, _ := m.DefaultThread()
	_, died := m.Exception()
	out := make([]report.ThreadInfo, 0, len(threads))
	for i := range threads {
		th := &threads[i]
		info, _ := m.Thread(unwind.ThreadID(th.ID))
		x := report.ThreadInfo{ID: int(th.ID), Name: th.Name, Crashed: died && th.ID == uint32(crashed), TEB: report.Addr(th.TEB),
			StackLow: report.Addr(info.StackLow), StackHigh: report.Addr(info.StackHigh), Suspended: info.SuspendCount, PriorityClass: report.Addr(th.PriorityClass),
			Priority: info.Priority, LastError: lastError(info), Start: report.Addr(info.StartAddress), Created: info.CreateTime,
			UserTime: info.UserTime.Seconds(), KernelTime: info.KernelTime.Seconds(), Exited: info.Exited, WroteDump: info.WroteDump, NoRegisters: !info.Context}
		if th.StackSize > 0 {
			x.StackStart = report.Addr(th.StackStart)
			x.InDump = m.InDump(th.StackStart, th.StackStart+th.StackSize)
		}
		out = append(out, x)
	}
	return out
}

// memoryInfo tells what memory a minidump has, with lists of it or without.
func memoryInfo(m *corestate.Minidump, lists bool) *report.MemoryInfo {
	f := m.File()
	out := &report.MemoryInfo{Pages: len(f.Regions)}
	for _, s := range f.Memory.Spans() {
		out.Bytes += uint64(len(s.Data))
	}
	type place struct{ start, off uint64 }
	listed := make(map[place]bool, len(f.Memory.Ranges))
	for i := range f.Memory.Ranges {
		r := &f.Memory.Ranges[i]
		if listed[place{r.Start, r.Off}] {
			continue // a stack that the list of memory has too
		}
		listed[place{r.Start, r.Off}] = true
		out.Count++
		out.Missing += r.Size - uint64(len(r.Data))
		if lists && out.Count <= maxListed {
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
