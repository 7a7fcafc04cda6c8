package report

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strings"
)

// WriteStackwalk writes r in the JSON format of rust-minidump's minidump-stackwalk, for programs that read that
// format: https://github.com/rust-minidump/rust-minidump, file minidump-processor/json-schema.md.
// docs/minidump-stackwalk.md maps the fields. r needs its Details. Unknown values are null. The error is w's.
func WriteStackwalk(w io.Writer, r *Report) error {
	s := &stackwalk{jsonWriter: jsonWriter{w: w, buf: make([]byte, 0, flushAt+4<<10)}, r: r, digits: pointerDigits(r.Dump.Arch)}
	if s.d = r.Details; s.d == nil {
		s.d = &Details{}
	}
	s.orderModules()
	s.document()
	s.buf = append(s.buf, '\n')
	s.flush()
	return s.err
}

// A stackwalk writes one document in minidump-stackwalk's format.
type stackwalk struct {
	jsonWriter
	r       *Report
	d       *Details
	digits  int                  // hexadecimal digits of an address
	modules []*Module            // the main module first
	byPath  map[string][]*Module // by ascending base
	used    map[*Module]bool     // frames are in it
}

func (s *stackwalk) document() {
	s.open('{', false)
	s.str("status", "OK")
	s.numOrNull("pid", s.r.Dump.PID)
	s.intOrNull("process_uptime", s.d.Uptime)
	s.crashInfo()
	s.systemInfo()
	s.numOrNull("linux_memory_map_count", s.d.Mappings)
	s.num("thread_count", len(s.r.Threads))
	array(&s.jsonWriter, "threads", s.r.Threads, func(_ *jsonWriter, t *Thread) { s.thread(t, -1) })
	if i := s.crashingThread(); i >= 0 {
		s.key("crashing_thread")
		s.thread(&s.r.Threads[i], i)
	} else {
		s.null("crashing_thread")
	}
	if len(s.modules) > 0 && s.modules[0].Main {
		s.num("main_module", 0)
	} else {
		s.null("main_module")
	}
	s.bool("modules_contains_cert_info", false)
	array(&s.jsonWriter, "modules", s.modules, func(_ *jsonWriter, m **Module) { s.module(*m) })
	array(&s.jsonWriter, "unloaded_modules", s.d.UnloadedModules, func(_ *jsonWriter, u *UnloadedModule) { s.unloadedModule(u) })
	s.handles()
	s.lsbRelease()
	s.macCrashInfo()
	s.strOrNull("mac_boot_args", s.d.BootArgs)
	s.procLimits()
	s.softErrors()
	s.crashpadInfo()
	s.close('}')
}

// orderModules puts the modules in the order of the dump's list, as minidump-stackwalk does, and the main module
// first if there is no list. It builds a sorted list for each path for lookups, and finds out in which modules
// frames are.
func (s *stackwalk) orderModules() {
	for i := range s.r.Modules {
		s.modules = append(s.modules, &s.r.Modules[i])
	}
	s.byPath = make(map[string][]*Module, len(s.modules))
	for _, m := range s.modules {
		s.byPath[m.Path] = append(s.byPath[m.Path], m)
	}
	for _, list := range s.byPath {
		slices.SortFunc(list, func(a, b *Module) int { return cmp.Compare(a.Base, b.Base) })
	}
	s.used = make(map[*Module]bool)
	for i := range s.r.Threads {
		if s.skips(&s.r.Threads[i]) {
			continue
		}
		for k := range s.r.Threads[i].Frames {
			if f := &s.r.Threads[i].Frames[k]; f.Module != "" {
				s.used[s.moduleAt(f.Module, f.PC)] = true
			}
		}
	}
	listed := slices.ContainsFunc(s.modules, func(m *Module) bool { return m.Listed != nil })
	if listed {
		slices.SortStableFunc(s.modules, func(a, b *Module) int { return cmp.Compare(a.listNumber(), b.listNumber()) })
		return
	}
	for i, m := range s.modules {
		if m.Main {
			copy(s.modules[1:i+1], s.modules[:i])
			s.modules[0] = m
			break
		}
	}
}

// listNumber returns the module's place in the dump's list; those that are not in it come last.
func (m *Module) listNumber() int {
	if m.Listed == nil {
		return math.MaxInt
	}
	return m.Listed.Number
}

// moduleAt returns the module named path with the nearest base at or below addr, nil if there is none. Mappings
// of one library may lie apart, with other modules between them.
func (s *stackwalk) moduleAt(path string, addr Addr) *Module {
	list := s.byPath[path]
	i, found := slices.BinarySearchFunc(list, addr, func(m *Module, a Addr) int { return cmp.Compare(m.Base, a) })
	if found {
		return list[i]
	} else if i == 0 {
		return nil
	}
	return list[i-1]
}

// crashingThread returns the index of the thread that crashed, else of the one that requested the dump, else
// -1.
func (s *stackwalk) crashingThread() int {
	id := s.d.RequestingThread
	if s.r.Crash != nil {
		id = s.r.Crash.Thread
	} else if id == 0 {
		return -1
	}
	return slices.IndexFunc(s.r.Threads, func(t Thread) bool { return t.ID == id })
}

// skips reports whether minidump-stackwalk does not walk a thread: the one that wrote the dump.
func (s *stackwalk) skips(t *Thread) bool { return t.ID == s.d.WritingThread && t.ID != 0 }

// maxCopied is how many of the youngest frames of the crashing thread, and of the oldest, its copy has.
const maxCopied = 2048

func (s *stackwalk) thread(t *Thread, index int) {
	s.open('{', false)
	s.strOrNull("thread_name", t.Name)
	s.num("thread_id", t.ID)
	s.strOrNull("last_error_value", t.LastError)
	frames := physicalFrames(t.Frames)
	if s.skips(t) {
		frames = nil
	}
	left := 0
	if index >= 0 {
		left = max(0, len(frames)-2*maxCopied)
	}
	s.num("frame_count", len(frames)-left)
	s.key("frames")
	s.open('[', false)
	for i := range frames {
		if i >= maxCopied && i < maxCopied+left {
			continue
		}
		s.next()
		var regs Registers
		if index >= 0 && i == 0 {
			regs = t.Registers
		}
		s.frame(i, t.Frames, frames[i], regs)
	}
	s.close(']')
	if index >= 0 {
		s.num("threads_index", index)
	}
	s.close('}')
}

// physicalFrames returns the indexes of the frames that are on the stack. Inlined calls become fields of those
// frames; minidump-stackwalk does not know tail calls.
func physicalFrames(frames []Frame) []int {
	list := make([]int, 0, len(frames))
	for i := range frames {
		if !frames[i].virtual() {
			list = append(list, i)
		}
	}
	return list
}

func (s *stackwalk) frame(n int, frames []Frame, at int, regs Registers) {
	f := &frames[at]
	addr := instruction(f, s.r.Dump.Arch)
	s.open('{', true)
	s.num("frame", n)
	s.str("trust", trustWord(f.Trust))
	if regs != nil {
		s.registers(regs)
	}
	s.hex("offset", addr)
	m := s.moduleAt(f.Module, addr)
	if f.Module == "" || m == nil {
		s.null("module")
		s.null("module_offset")
		s.unloadedAt(addr)
	} else {
		s.str("module", m.listName())
		s.hex("module_offset", addr-m.Base)
		s.null("unloaded_modules")
	}
	s.inlines(frames, at)
	s.strOrNull("function", f.Function)
	if f.Function != "" && f.Entry != 0 && f.Entry <= addr {
		s.hex("function_offset", addr-f.Entry)
	} else {
		s.null("function_offset")
	}
	s.source(&f.Source)
	s.bool("missing_symbols", f.Function == "")
	s.close('}')
}

// instruction returns the address of a frame as minidump-stackwalk gives it. For a frame that made a call this
// is the return address minus the length of the architecture's shortest call, so that it lies in the call
// instruction.
func instruction(f *Frame, arch string) Addr {
	if f.Lookup == f.PC || f.Lookup == 0 || f.PC == 0 {
		return f.PC
	}
	back := Addr(1)
	switch arch {
	case "aarch64", "ppc", "ppc64", "ppc64le":
		back = 4
	case "arm":
		back = 2
	case "mips", "mipsel", "mips64", "mips64el", "sparc64":
		back = 8 // the call and its delay slot
	}
	return f.PC - min(back, f.PC)
}

// trustWord returns minidump-stackwalk's word for how a frame was found.
func trustWord(trust string) string {
	switch trust {
	case TrustContext:
		return "context"
	case TrustCFI, TrustSymCFI, TrustEXIDX, TrustPEUnwind, TrustSignal, TrustInstrumentation:
		return "cfi"
	case TrustFrameSize, TrustFramePointer, TrustAnalysis:
		return "frame_pointer"
	case TrustScan, TrustWildPC:
		return "scan"
	case TrustUser:
		return "prewalked"
	}
	return "none"
}

// inlines writes the calls inlined into a frame, which come before it in frames. Calls inlined into a
// tail-called function belong to that function instead.
func (s *stackwalk) inlines(frames []Frame, at int) {
	first := at
	for first > 0 && frames[first-1].Inlined && frames[first-1].Physical == frames[at].Physical {
		first--
	}
	if first == at {
		s.null("inlines")
		return
	}
	array(&s.jsonWriter, "inlines", frames[first:at], func(_ *jsonWriter, f *Frame) {
		s.open('{', true)
		s.strOrNull("function", f.Function)
		s.source(&f.Source)
		s.close('}')
	})
}

func (s *stackwalk) source(at *Source) {
	s.strOrNull("file", at.File)
	s.numOrNull("line", at.Line)
}

// registers writes the general registers under minidump-stackwalk's names.
func (s *stackwalk) registers(regs Registers) {
	s.key("registers")
	s.open('{', true)
	for _, r := range regs {
		if name := registerName(s.r.Dump.Arch, r.Name); name != "" {
			s.hex(name, r.Value)
		}
	}
	s.close('}')
}

// registerName returns minidump-stackwalk's name of a register, "" for one that it leaves out.
func registerName(arch, name string) string {
	general := name == "sp" || name == "pc" || name == "lr"
	switch arch {
	case "x86-64", "x32":
		general = strings.HasPrefix(name, "r") && name != "rflags"
	case "i386":
		general = strings.HasPrefix(name, "e") && len(name) == 3 || name == "eflags"
	case "aarch64":
		switch name {
		case "x29":
			return "fp"
		case "x30":
			return "lr"
		}
		general = general || name[0] == 'x'
	case "arm":
		if name == "r11" {
			return "fp"
		}
		general = general || name[0] == 'r'
	default:
		general = !strings.HasPrefix(name, "orig_")
	}
	if !general {
		return ""
	}
	return name
}

// unloadedAt lists the unloaded modules that had been at an address.
func (s *stackwalk) unloadedAt(addr Addr) {
	at := map[string][]Addr{}
	for i := range s.d.UnloadedModules {
		if u := &s.d.UnloadedModules[i]; addr >= u.Base && addr < u.End {
			name := base(u.Path)
			at[name] = append(at[name], addr-u.Base)
		}
	}
	if len(at) == 0 {
		s.null("unloaded_modules")
		return
	}
	names := make([]string, 0, len(at))
	for name := range at {
		names = append(names, name)
	}
	slices.Sort(names)
	array(&s.jsonWriter, "unloaded_modules", names, func(_ *jsonWriter, name *string) {
		offsets := at[*name]
		slices.Sort(offsets)
		s.open('{', true)
		s.str("module", *name)
		array(&s.jsonWriter, "offsets", slices.Compact(offsets), func(_ *jsonWriter, a *Addr) { s.hexValue(*a) })
		s.close('}')
	})
}

// pointerDigits returns how many hexadecimal digits an address has.
func pointerDigits(arch string) int {
	switch arch {
	case "i386", "x32", "arm", "ppc", "mips", "mipsel", "riscv32", "s390", "m68k", "hppa", "sparc":
		return 8
	}
	return 16
}

func (s *stackwalk) hex(k string, v Addr) {
	s.key(k)
	s.hexValue(v)
}

func (s *stackwalk) hexValue(v Addr) {
	s.buf = append(s.buf, `"0x`...)
	digits := s.digits
	for digits < 16 && v>>(4*digits) != 0 {
		digits++
	}
	for digits--; digits >= 0; digits-- {
		s.buf = append(s.buf, "0123456789abcdef"[v>>(4*digits)&15])
	}
	s.buf = append(s.buf, '"')
}

func (s *stackwalk) strOrNull(k, v string) {
	if v == "" {
		s.null(k)
	} else {
		s.str(k, v)
	}
}

func (s *stackwalk) numOrNull(k string, v int) {
	if v == 0 {
		s.null(k)
	} else {
		s.num(k, v)
	}
}

func (s *stackwalk) intOrNull(k string, v *int) {
	if v == nil {
		s.null(k)
	} else {
		s.num(k, *v)
	}
}
