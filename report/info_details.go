package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// detailsHead writes what is known of the machine, the process and the dump, one fact a line.
func (t *textWriter) detailsHead(in *Info) {
	d := in.Details
	if d == nil {
		return
	}
	s := &d.System
	t.fact("system", s.Version, s.Product, orNothing("build ", s.Build))
	if r := s.Distribution; r != nil {
		t.fact("distribution", orElse(r.Description, strings.TrimSpace(r.ID+" "+r.Release)), r.Codename)
	}
	if s.WOW64 {
		t.fact("process", "32-bit, dumped from its 64-bit side (WOW64)")
	}
	cpus, mhz := "", ""
	if s.CPUs > 0 {
		cpus = plural(s.CPUs, "processor")
	}
	if s.MHz > 0 {
		mhz = fmt.Sprintf("%d MHz", s.MHz)
	}
	t.fact("processor", s.CPU, cpus, mhz, orNothing("microcode ", s.Microcode))
	t.fact("time zone", s.TimeZone)
	t.fact("started", startedText(d)...)
	t.fact("integrity", d.Integrity)
	if d.Mappings > 0 && in.Memory != nil {
		t.fact("process mappings", strconv.Itoa(d.Mappings))
	}
	t.fact("dump", dumpFacts(d)...)
	if c := d.Crashpad; c != nil {
		t.fact("Crashpad", orNothing("report ", c.ReportID), orNothing("client ", c.ClientID))
	}
	if e := d.Exception; e != nil {
		t.fact("exception", e.text()...)
	}
	t.fact("boot arguments", d.BootArgs)
	for _, c := range d.Comments {
		t.fact("comment", c)
	}
	if d.SoftErrors != "" {
		t.fact("problems of the dump writer", d.SoftErrors)
	}
}

// fact writes a line with those parts that are not empty; nothing if all are.
func (t *textWriter) fact(name string, parts ...string) {
	var known []string
	for _, p := range parts {
		if p != "" {
			known = append(known, brief(p, maxWords))
		}
	}
	if len(known) > 0 {
		t.put(plain, "  ")
		t.wrap(plain, 4, name+": "+strings.Join(known, ", "))
	}
}

func orNothing(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func startedText(d *Details) []string {
	var parts []string
	if !d.Started.IsZero() {
		parts = append(parts, d.Started.Format("2006-01-02 15:04:05 MST"))
	}
	if d.Uptime != nil {
		parts = append(parts, "ran "+(time.Duration(*d.Uptime)*time.Second).String())
	}
	if d.UserTime != 0 || d.KernelTime != 0 {
		parts = append(parts, fmt.Sprintf("%d s of user time, %d s of kernel time", d.UserTime, d.KernelTime))
	}
	return parts
}

func dumpFacts(d *Details) []string {
	var parts []string
	if d.RequestingThread != 0 {
		parts = append(parts, fmt.Sprintf("requested by thread %d", d.RequestingThread))
	}
	if d.WritingThread != 0 {
		parts = append(parts, fmt.Sprintf("written by thread %d", d.WritingThread))
	}
	if d.Flags != 0 {
		parts = append(parts, "flags "+d.Flags.String())
	}
	return parts
}

func (e *ExceptionRecord) text() []string {
	name := e.Code.String()
	if e.Name != "" && e.Name != name {
		name = e.Name + " (" + name + ")"
	}
	parts := []string{fmt.Sprintf("%s in thread %d", name, e.Thread), "address " + e.Address.String()}
	if e.Flags != 0 {
		parts = append(parts, "flags "+e.Flags.String())
	}
	if e.Nested != 0 {
		parts = append(parts, "earlier record at "+e.Nested.String())
	}
	if len(e.Parameters) > 0 {
		words := make([]string, len(e.Parameters))
		for i, p := range e.Parameters {
			words[i] = p.String()
		}
		parts = append(parts, "parameters "+strings.Join(words, " "))
	}
	return parts
}

// A section is a table of an Info with its title.
type section struct {
	title string
	count int
	more  string // text after the count
	table table
}

// minidumpSections returns the tables that only minidumps have.
func minidumpSections(in *Info) (before, after []section) {
	if len(in.Threads) > 0 {
		before = append(before, section{"Threads", len(in.Threads), "", threadsTable(in.Threads)})
	}
	if m := in.Memory; m != nil {
		before = append(before, section{"Memory ranges", m.Count, memorySum(m), rangesTable(m.Ranges)})
		if m.Pages > 0 {
			more := ""
			if len(m.Regions) == 0 {
				more = " (--memory lists them)"
			}
			before = append(before, section{"Page regions", m.Pages, more, regionsTable(m.Regions)})
		}
	}
	d := in.Details
	if d == nil {
		return before, nil
	}
	for _, s := range []section{
		{"Unloaded modules", len(d.UnloadedModules), "", unloadedTable(d.UnloadedModules)},
		{"Handles", len(d.Handles), "", handlesTable(d.Handles)},
		{"Annotations", len(d.Annotations), "", annotationsTable(d.Annotations)},
		{"Module messages", len(d.MacCrashes), "", macCrashesTable(d.MacCrashes)},
		{"Limits", len(d.Limits), "", limitsTable(d.Limits)},
	} {
		if s.count > 0 {
			after = append(after, s)
		}
	}
	return before, after
}

func memorySum(m *MemoryInfo) string {
	s := ", " + sizeText(m.Bytes)
	if m.Missing > 0 {
		s += ", " + sizeText(m.Missing) + " more were cut off"
	}
	if len(m.Ranges) == 0 && m.Count > 0 {
		s += " (--memory lists them)"
	}
	return s
}

func threadsTable(threads []ThreadInfo) table {
	tab := table{heads: []string{">id", "name", ">stack", ">end", ">in dump", ">teb", ">start", ">class", ">priority", ">suspended", ">user", ">kernel", "created", "last error", "notes"}}
	for i := range threads {
		th := &threads[i]
		low, high := th.StackLow, th.StackHigh
		if high == 0 {
			low, high = th.StackStart, th.StackStart+Addr(th.InDump)
		}
		created := ""
		if !th.Created.IsZero() {
			created = th.Created.Format("2006-01-02 15:04:05")
		}
		tab.add(strconv.Itoa(th.ID), brief(th.Name, maxName), known(low), known(high), number(int(min(th.InDump, 1<<62))), known(th.TEB), known(th.Start), known(th.PriorityClass),
			number(th.Priority), number(th.Suspended), seconds(th.UserTime), seconds(th.KernelTime), created, brief(th.LastError, 48), th.notes())
	}
	tab.dropEmpty()
	return tab
}

func known(a Addr) string {
	if a == 0 {
		return ""
	}
	return a.String()
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func seconds(s float64) string {
	if s == 0 {
		return ""
	}
	return strconv.FormatFloat(s, 'f', 2, 64) + "s"
}

func (th *ThreadInfo) notes() string {
	var words []string
	for _, n := range []struct {
		is   bool
		word string
	}{{th.Crashed, "crashed"}, {th.WroteDump, "wrote the dump"}, {th.Exited, "exited"}, {th.NoRegisters, "no registers"}} {
		if n.is {
			words = append(words, n.word)
		}
	}
	return strings.Join(words, ", ")
}

func rangesTable(ranges []Range) table {
	tab := table{heads: []string{">start", ">end", ">size", ">offset", "stream"}}
	for i := range ranges {
		r := &ranges[i]
		tab.add(r.Start.String(), r.End.String(), strconv.FormatUint(uint64(r.End-r.Start), 10), r.Offset.String(), brief(r.Stream, 32))
	}
	return tab
}

func regionsTable(regions []Region) table {
	tab := table{heads: []string{">start", ">end", "state", "protection", "type"}}
	for i := range regions {
		r := &regions[i]
		tab.add(r.Start.String(), r.End.String(), brief(r.State, 32), brief(r.Protect, 64), brief(r.Type, 32))
	}
	return tab
}

func unloadedTable(modules []UnloadedModule) table {
	tab := table{heads: []string{">base", ">end", "code id", "path"}}
	for i := range modules {
		u := &modules[i]
		tab.add(u.Base.String(), u.End.String(), brief(u.CodeID, 48), brief(u.Path, maxPath))
	}
	return tab
}

func handlesTable(handles []Handle) table {
	tab := table{heads: []string{">handle", "type", "object"}}
	for i := range handles {
		h := &handles[i]
		tab.add(h.Value.String(), brief(h.Type, 32), brief(h.Object, maxPath))
	}
	return tab
}

func annotationsTable(list []Annotation) table {
	tab := table{heads: []string{"module", "kind", "key", "value"}}
	for i := range list {
		a := &list[i]
		tab.add(briefBase(a.Module), brief(a.Kind, 32), brief(a.Key, 64), brief(a.Value, maxPath))
	}
	tab.dropEmpty()
	return tab
}

func macCrashesTable(list []MacCrash) table {
	tab := table{heads: []string{"module", "message", "more", "signature", "backtrace"}}
	for i := range list {
		c := &list[i]
		tab.add(briefBase(c.Module), brief(c.Message, maxPath), brief(c.Message2, maxPath), brief(c.Signature, maxPath), brief(c.Backtrace, maxPath))
	}
	tab.dropEmpty()
	return tab
}

func limitsTable(list []Limit) table {
	tab := table{heads: []string{"limit", ">soft", ">hard", "unit"}}
	for i := range list {
		l := &list[i]
		tab.add(brief(l.Name, 48), brief(l.Soft, 24), brief(l.Hard, 24), brief(l.Unit, 24))
	}
	return tab
}
