package triage

import (
	"path"
	"strings"

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
	d.Attributes, d.Client = nil, ""
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
	modules, lacks, uses := 0, 0, 0
	for _, m := range usedModules(r) {
		// Of what a module lacks the first is what it lacks most: the program before its debug information.
		if paths := m.StorePaths(); len(paths) > 0 && lacks < maxModules {
			lacks++
			add("lacks", find.BaseName(m.Path)+" "+paths[0])
		}
		for _, file := range []string{m.File, m.DebugFile} {
			if at := storedAt(file); at != "" && uses < maxModules {
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

// storedAt returns the path below a project's symbols at which a file lies there that was read: buildid/ID/debuginfo, buildid/ID/executable or
// NAME/ID/FILE; "" if it lies as files of no store do. What was fetched from a store lies as there.
func storedAt(file string) string {
	dir, name := path.Split(file)
	dir = strings.TrimSuffix(dir, "/")
	above, id := path.Split(dir)
	above = strings.TrimSuffix(above, "/")
	switch {
	case !isHex(id):
		return ""
	case path.Base(above) == ".build-id" && len(id) == 2:
		rest, kind := name, "executable"
		if debug, ok := strings.CutSuffix(name, ".debug"); ok {
			rest, kind = debug, "debuginfo"
		}
		if !isHex(rest) {
			return ""
		}
		return "buildid/" + id + rest + "/" + kind
	case name == find.KindDebugInfo || name == find.KindExecutable:
		return "buildid/" + id + "/" + name
	case len(id) < 8 || path.Base(above) == "/" || path.Base(above) == ".":
		return ""
	}
	return path.Base(above) + "/" + strings.ToUpper(id) + "/" + name
}

func isHex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == "" }
