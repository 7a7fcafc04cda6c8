package corewalk

import (
	"context"
	"fmt"
	"github.com/corewalk/corewalk/dwarfvars"
	"slices"

	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/symlookup"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Info lists what is in a dump: its notes, the mappings of its process with how much of
// each was dumped, and its modules with the files found for them. If another process
// truncates a file meanwhile, Info leaves out what it could not read and warns.
func (t *Target) Info() *report.Info { return t.InfoWith(InfoOptions{}) }

// InfoOptions select what Info lists.
type InfoOptions struct {
	// Memory lists a minidump's ranges of memory, and the regions of pages that it
	// describes.
	Memory bool
	// OnStack lists only the modules of the youngest 256 frames of each stack. The stacks are walked with the files that are
	// on this machine: what lies behind a missing file may be missing, too.
	OnStack bool
}

// InfoWith is like Info, with options.
func (t *Target) InfoWith(o InfoOptions) *report.Info {
	in := &report.Info{Schema: report.InfoSchema}
	// What can be told without reading the file again comes first.
	fault := t.guard(func() {
		in.Mappings = subject.Mappings(t.subject)
		p := t.parts(t.subject, dwarfvars.Options{})
		in.Dump, in.Warnings = p.Dump, p.Warnings
		in.Notes = t.subject.Notes()
		in.Modules = analysis.Modules(p)
		in.Details = t.subject.Details()
		in.Runtimes = t.describeRuntimes()
		in.MissingFile = t.wanted(in.Modules)
		if o.OnStack {
			on := t.onStacks()
			in.Modules = slices.DeleteFunc(in.Modules, func(m report.Module) bool { return !on[m.Path] })
		}
		in.Threads, in.Memory = t.subject.ThreadInfos(), t.subject.MemoryInfo(o.Memory)
		for _, list := range []struct {
			name string
			n    int
		}{{"notes", len(in.Notes)}, {"mappings", len(in.Mappings)}} {
			if list.n == subject.MaxListed {
				in.Warnings = append(in.Warnings, report.Warning{Code: "list", Message: fmt.Sprintf("only the first %d %s are listed", list.n, list.name)})
			}
		}
	})
	if fault != nil {
		in.Warnings = append(in.Warnings, report.Warning{Code: report.WarnChanged, Message: fault.Error()})
	}
	return in
}

// here is the files of modules without what would have to be fetched.
type here struct{ *modules.Set }

func (h here) Image(lib *libstate.Library) *modules.Image { return h.LocalImage(lib) }

// local is here for code that would ask the Set for more.
type local struct{ files *modules.Set }

func (l local) Image(lib *libstate.Library) *modules.Image { return l.files.LocalImage(lib) }

// describeRuntimes lists the runtimes that say what they are, with the number of their tasks. Nothing is fetched for it.
func (t *Target) describeRuntimes() []report.Runtime {
	libs := t.subject.LibraryTracker()
	if libs == nil || t.subject.Arch() == nil {
		return nil
	}
	ctx, limit := context.Background(), t.budget(false)
	names := symlookup.New(libs, here{t.images})
	p := &tasks.Process{State: t.subject, Files: here{t.images}, Symbols: names, Names: names, Budget: limit}
	all, _ := libs.Libraries(false)
	for _, lib := range all {
		if !t.images.Lacks(lib) { // its symbols would be fetched
			p.Modules = append(p.Modules, lib)
		}
	}
	var list []report.Runtime
	for _, r := range findRuntimes(p, everything(nil)) {
		d, ok := r.(tasks.Describer)
		u, bad := r.(unusable)
		if !ok && !bad {
			continue
		}
		about := report.Runtime{Name: r.Name()}
		if bad {
			about.Name, about.Problem = "unknown", u.err.Error()
		} else {
			about.Description = d.Describe()
			for _, err := range r.Tasks(ctx) {
				if err == nil {
					about.Tasks++
				} else if about.Problem == "" {
					about.Problem = err.Error()
				}
			}
		}
		list = append(list, about)
	}
	return list
}

// wantedFrames is how many frames of each stack are walked to see which file is missing most.
const wantedFrames = 256

// wanted says which file would help most, if several are missing. Stacks are walked with the files that are there.
func (t *Target) wanted(mods []report.Module) *report.MissingFile {
	missing := 0
	for i := range mods {
		if s := mods[i].Status; s == report.ModuleMissing || s == report.ModuleMismatched {
			missing++
		}
	}
	libs := t.subject.LibraryTracker()
	if missing < 2 || libs == nil {
		return nil
	}
	all, _ := libs.Libraries(false)
	if slices.ContainsFunc(all, t.images.Lacks) { // servers would be asked for what the walk reads
		return nil
	}
	return analysis.Wanted(mods, t.stacksOfModules(libs))
}

// onStacks returns the paths of the modules of all stacks.
func (t *Target) onStacks() map[string]bool {
	on := map[string]bool{}
	if libs := t.subject.LibraryTracker(); libs != nil {
		for _, th := range t.stacksOfModules(libs) {
			for i := range th.Frames {
				on[th.Frames[i].Module] = true
			}
		}
	}
	return on
}

// stacksOfModules walks all stacks with the files that are there, and says which modules their frames are in.
func (t *Target) stacksOfModules(libs libstate.LibraryState) []report.Thread {
	group, err := steppers.DefaultGroup(t.subject.Arch(), local{t.images})
	if err != nil {
		return nil
	}
	limit := t.budget(false)
	w, err := unwind.NewWalker(t.subject, unwind.WithGroup(group), unwind.WithBudget(limit), unwind.WithMaxFrames(wantedFrames))
	if err != nil {
		return nil
	}
	defer w.Close()
	ids, _ := t.subject.ThreadIDs()
	crashed, _ := t.subject.DefaultThread()
	var threads []report.Thread
	for _, id := range ids {
		stack, _ := w.WalkStack(id)
		if stack == nil {
			continue
		}
		th := report.Thread{ID: int(id), Crashed: id == crashed}
		for _, f := range stack.Frames {
			if lib, ok := libs.LibraryAt(f.LookupAddr()); ok {
				th.Frames = append(th.Frames, report.Frame{Module: lib.Path})
			}
		}
		threads = append(threads, th)
	}
	return threads
}
