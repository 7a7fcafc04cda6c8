package triage

import (
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// Limits of what a dump says of itself by which it may be searched.
const (
	maxAttributes    = 64
	maxAttributeText = 256 // bytes of a name and a value
	maxModules       = 12
)

// attributes fills in what a dump says of the machine, what the program told Crashpad, the versions of the modules on the stack,
// which of their files were not found, and which of those found are from a store of symbols.
func attributes(d *ledger.Dump, r *report.Report) {
	d.Attributes, d.Client, d.Needed = nil, "", nil
	add := func(name, value string) {
		if name != "" && value != "" && len(name)+len(value) <= maxAttributeText && len(d.Attributes) < maxAttributes {
			d.Attributes = append(d.Attributes, [2]string{name, value})
		}
	}
	add("os", r.Dump.OS)
	add("arch", r.Dump.Arch)
	if x := r.Details; x != nil {
		add("os_version", x.System.Version)
		if dist := x.System.Distribution; dist != nil && dist.ID != "" {
			add("distribution", dist.ID+" "+dist.Release)
		}
		add("cpu", x.System.CPU)
		if x.Crashpad != nil {
			d.Client = x.Crashpad.ClientID
		}
		for _, a := range x.Annotations {
			if a.Kind != report.AnnotationList {
				add(a.Key, a.Value)
			}
		}
	}
	of := map[string]int{} // frames, by their modules
	for _, f := range frames(r) {
		of[f.Module]++
	}
	modules, lacks, uses := 0, 0, 0
	for _, m := range usedModules(r) {
		// Of what a module lacks the first is what it lacks most: the program before its debug information.
		if paths := m.StorePaths(); len(paths) > 0 && lacks < maxModules {
			lacks++
			add("lacks", find.BaseName(m.Path)+" "+paths[0])
			if d.Needed == nil {
				d.Needed = map[string]int{}
			}
			d.Needed[paths[0]] += of[m.Path]
		}
		for _, file := range []string{m.File, m.DebugFile} {
			if at := find.StoredAt(file); at != "" && uses < maxModules {
				uses++
				add("uses", find.BaseName(m.Path)+" "+at)
			}
		}
		version := firstOf(m.Version, m.BuildID, m.DebugID)
		if m.Main || version == "" || modules == maxModules {
			continue
		}
		modules++
		if m.Version == "" {
			version = version[:min(len(version), 12)]
		}
		add("module", find.BaseName(m.Path)+" "+version)
	}
}
