package analysis

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
)

// moduleList lists the libraries of the process, and warns of those that contain frames and whose files are
// missing or wrong.
func (in *Engine) moduleList(r *report.Report) {
	libs := in.Proc.LibraryTracker()
	if libs == nil {
		return
	}
	list, err := libs.Libraries(false)
	if err != nil {
		r.Warnings = append(r.Warnings, report.Warning{Code: "no-modules", Message: err.Error()})
		return
	}
	used := map[string]int{}
	for _, t := range r.Threads {
		for i := range t.Frames {
			used[t.Frames[i].Module]++
		}
	}
	again := mappedAgain(list)
	for _, lib := range list {
		m, res := in.module(lib)
		r.Modules = append(r.Modules, m)
		if res.Image != nil {
			for _, w := range res.Image.Warnings() {
				r.Warnings = append(r.Warnings, report.Warning{Code: "module-file", Message: w, Module: lib.Path})
			}
		}
		if m.Symbols == report.SymbolsBreakpad && m.Status == report.ModuleMissing && served(r.Threads, m.Path) {
			continue
		}
		if w, ok := moduleWarning(lib, res, used[lib.Path]); ok && !(res.Match == modules.Missing && again[lib]) { // else it is said
			if unwound(r.Threads, lib.Path) { // by the tables in the dump's memory
				w.Message = strings.Replace(w.Message, "unwind tables and symbols", "symbols", 1)
			}
			if w.Code == "module-missing" && leftOut(r.Threads, lib.Path) {
				w.Message += "; frames may be left out at [fp?]"
			}
			r.Warnings = append(r.Warnings, w)
		}
	}
}

// leftOut reports whether the caller of a frame in a module was found by a frame pointer that nothing proves to be the frame's own: it may be that of a function
// further out, and those between are not told.
func leftOut(threads []report.Thread, path string) bool {
	for i := range threads {
		frames := threads[i].Frames
		for k := 1; k < len(frames); k++ {
			if f := &frames[k]; f.Trust == report.TrustFramePointer && f.Doubtful && frames[k-1].Module == path {
				return true
			}
		}
	}
	return false
}

// mappedAgain are libraries that are memory which a process mapped once more of the file of another one, as V8 does with its own functions.
func mappedAgain(list []*libstate.Library) map[*libstate.Library]bool {
	identified := map[string]bool{}
	for _, lib := range list {
		if len(lib.BuildID) > 0 {
			identified[lib.Path] = true
		}
	}
	again := map[*libstate.Library]bool{}
	for _, lib := range list {
		if len(lib.BuildID) == 0 && identified[lib.Path] {
			again[lib] = true
		}
	}
	return again
}

// served reports whether a module's symbol file did all that its file could have done: every frame in it has a
// name, and the stacks that go through it were walked to their bottom.
func served(threads []report.Thread, path string) bool {
	for i := range threads {
		for k := range threads[i].Frames {
			f := &threads[i].Frames[k]
			if f.Module == path && (f.Function == "" || threads[i].End != report.EndBottom) {
				return false
			}
		}
	}
	return true
}

// unwound reports whether the caller of every frame in a module was found by unwind tables.
func unwound(threads []report.Thread, path string) bool {
	for i := range threads {
		frames := threads[i].Frames
		for k := range frames {
			if frames[k].Module == path && (k+1 == len(frames) && threads[i].End != report.EndBottom || k+1 < len(frames) && frames[k+1].Trust != report.TrustCFI) {
				return false
			}
		}
	}
	return true
}

// main lists the main module alone.
func (in *Engine) main() []report.Module {
	if libs := in.Proc.LibraryTracker(); libs != nil {
		list, _ := libs.Libraries(false)
		for _, lib := range list {
			if lib.Kind == libstate.Executable {
				return []report.Module{{Path: lib.Path, Main: true}}
			}
		}
	}
	return nil
}

// Modules describes the libraries of a process without walking its stacks.
func Modules(p Parts) []report.Module {
	in := &question{Engine: &Engine{Parts: p}}
	libs := p.Proc.LibraryTracker()
	if libs == nil {
		return nil
	}
	list, _ := libs.Libraries(false)
	out := make([]report.Module, 0, len(list))
	for _, lib := range list {
		m, _ := in.module(lib)
		out = append(out, m)
	}
	return out
}

func (in *Engine) module(lib *libstate.Library) (report.Module, modules.Resolution) {
	m := report.Module{
		Path: lib.Path, Base: report.Addr(lib.Start), End: report.Addr(lib.End),
		BuildID: hex.EncodeToString(lib.BuildID), GoBuildID: lib.GoBuildID, Status: report.ModuleMissing, Symbols: report.SymbolsNone,
		Main: lib.Kind == libstate.Executable,
	}
	identify(&m, lib.Module)
	if in.Files == nil {
		return m, modules.Resolution{}
	}
	res := in.Files.Resolve(lib)
	m.Status = res.Match.String()
	m.File = res.Path
	if res.Image == nil {
		return m, res
	}
	if m.DebugID == "" && res.Match == modules.Matched {
		identifyPE(&m, (*image.Image)(res.Image))
	}
	m.Symbols = symbolsOf((*image.Image)(res.Image))
	if d := res.Image.DebugPath(); d != res.Path {
		m.DebugFile = d
	}
	return m, res
}

// identify adds the identity that the dump's own list gives a module.
func identify(m *report.Module, id *libstate.ModuleID) {
	if id == nil {
		return
	}
	m.Version = id.Version
	if id.Number > 0 {
		m.Listed = &report.ListedModule{Number: id.Number, Name: id.Name, Size: id.Size}
	}
	// Symbol files of ELF go by the module's name: that is no news.
	if name := find.BaseName(id.DebugFile); id.Format != libstate.FormatELF || name != find.BaseName(m.Path) {
		m.DebugName = name
	}
	if m.BuildID == "" {
		m.DebugID, m.CodeID = id.DebugID, id.CodeID
	}
}

// identifyPE adds from a PE file what writers like Wine's leave out of the dump: the debug file that it was
// linked with.
func identifyPE(m *report.Module, im *image.Image) {
	pe := im.PE()
	if pe == nil {
		return
	}
	if v, err := pe.CodeView(); err == nil {
		m.DebugID, m.DebugName = v.DebugID(), find.BaseName(v.Path)
	}
}

func symbolsOf(im *image.Image) string {
	switch {
	case im.HasDWARF():
		return report.SymbolsDWARF
	case im.HasPDB():
		return report.SymbolsPDB
	case im.HasBreakpad():
		return report.SymbolsBreakpad
	case im.GoTable() != nil:
		return report.SymbolsGo
	case im.HasSymTab():
		return report.SymbolsSymtab
	case im.HasDynSym():
		return report.SymbolsExports
	}
	return report.SymbolsNone
}

// moduleWarning returns the warning about a module whose file is missing or wrong, if it is.
func moduleWarning(lib *libstate.Library, res modules.Resolution, frames int) (report.Warning, bool) {
	name := find.BaseName(lib.Path)
	if lib.Path == "" {
		name = fmt.Sprintf("module at %#x", lib.Start)
	}
	w := report.Warning{Module: lib.Path}
	switch {
	case res.Forced && res.Match == modules.NoID:
		if frames == 0 {
			return w, false
		}
		w.Code = "module-forced"
		w.Message = fmt.Sprintf("%s: using %s although nothing proves that it is the file that ran: %s; %s in it may be wrong", name, res.Path, res.Why, frameCount(frames))
	case res.Forced:
		w.Code = "module-forced"
		w.Message = fmt.Sprintf("%s: using %s although it is from a different build: %s; %s in it may be wrong", name, res.Path, res.Why, frameCount(frames))
	case res.Match == modules.Mismatched && res.Why == modules.WhyPEInELF:
		w.Code = report.WarnMismatched
		w.Message = fmt.Sprintf("%s: %s is a PE image that the process mapped itself, as .NET does: its names and unwind tables are not read", name, res.Path)
	case res.Match == modules.Mismatched:
		w.Code = report.WarnMismatched
		w.Message = fmt.Sprintf("%s: %s is from a different build and was not used: %s", name, res.Path, res.Why)
		w.Advice = "Find the right file (corewalk info --missing lists " + wantedBy(lib) + "), or use this one with --force-mismatched"
		if wantedBy(lib) == "" {
			w.Advice = "The dump has no build-id to find the right file by: find the file of that build, or use this one with --force-mismatched"
		}
	case res.Match == modules.Missing && frames > 0 && !(reason.SharedMemory(lib.Path) && wantedBy(lib) == ""): // code in memory has no file
		w.Code = "module-missing"
		w.Message = fmt.Sprintf("%s: no file found; %s in it %s walked without its unwind tables and symbols", name, frameCount(frames), were(frames))
		if res.Image != nil {
			w.Message = fmt.Sprintf("%s: no file found, only its debug information; %s in it %s walked without its code", name, frameCount(frames), were(frames))
		}
		if res.Why != "" {
			w.Message += " (" + res.Why + ")"
		}
		w.Advice = "Name its directory with --search or --sysroot; corewalk info --missing lists " + wantedBy(lib)
		if wantedBy(lib) == "" {
			w.Advice = "Name its directory with --search or --sysroot; the dump has no build-id of it"
		}
	default:
		return w, false
	}
	return w, true
}

// wantedBy returns what identifies a library's file; "" for nothing.
func wantedBy(lib *libstate.Library) string {
	if lib.Module != nil && len(lib.BuildID) == 0 {
		switch lib.Module.Format {
		case libstate.FormatPE:
			return "its symbol server path"
		case libstate.FormatMachO:
			return "its UUID"
		}
	}
	if len(lib.BuildID) == 0 {
		return ""
	}
	return "its build-id"
}

func frameCount(n int) string {
	if n == 1 {
		return "1 frame"
	}
	return fmt.Sprintf("%d frames", n)
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
