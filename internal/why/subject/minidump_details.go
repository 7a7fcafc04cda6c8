package subject

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Details returns what the dump says about the process and its machine.
func (m minidumpSubject) Details() *report.Details {
	d := minidumpDetails(m.dump)
	if e := d.Exception; e != nil {
		e.Name = m.exceptionName(int(e.Code))
	}
	return d
}

// exceptionName returns the name of the exception record's code.
func (m minidumpSubject) exceptionName(code int) string {
	if e := m.Exception(); e != nil {
		return e.Name(m.Arch())
	}
	if minidump.Of(m).System.Platform.Linux() {
		return Numbering(m).Name(code)
	}
	return ""
}

func minidumpDetails(m *corestate.Minidump) *report.Details {
	f := minidump.Of(m)
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

func systemOf(m *corestate.Minidump) report.System {
	f := minidump.Of(m)
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
		// The bias is the number of minutes to add to local time to get UTC.
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
