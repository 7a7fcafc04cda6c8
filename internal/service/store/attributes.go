package store

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Attribute is something by which dumps are searched, counted and compared. A dump may have several of one name.
type Attribute struct{ Name, Value string }

// The names of attributes that have a meaning here.
const (
	AttrRelease = "release"
	AttrChannel = "channel"
	AttrModule  = "module" // the name of a module and its version
	AttrLacks   = "lacks"  // the name of a module, and at which path below a project's symbols its file would be found that is missing
	AttrUses    = "uses"   // the name of a module, and at which path below a project's symbols its file was found
)

// Limits of attributes. Whoever may send dumps chooses their names and values.
const (
	MaxAttributes = 48  // of a dump
	MaxAttrName   = 64  // bytes
	MaxAttrValue  = 200 // bytes; longer texts are no values to count by
	// MaxCountedNames and MaxCountedValues are how many names of a project are counted, and how many values of each. Dumps are found by others, too.
	MaxCountedNames  = 64
	MaxCountedValues = 1000
)

// synonyms are the names that clients have for what has one name here; the first that a dump has counts. Lower case.
func synonyms(name string) []string {
	switch name {
	case AttrRelease:
		return []string{"release", "version", "ver", "_version", "app_version", "tag.release"}
	case AttrChannel:
		return []string{"channel", "releasechannel", "environment", "_environment", "tag.channel"}
	case "product":
		return []string{"product", "prod", "productname", "_productname"}
	case IDUser:
		return []string{"user_id", "user.id", "userid"}
	case IDMachine:
		return []string{"machine_id", "machine.id", "guid", "client_id", "installation_id"}
	}
	return nil
}

// The kinds of identifiers by which users and machines are counted. They are not kept as they came.
const (
	IDUser    = "user"
	IDMachine = "machine"
)

// TakeID removes the identifiers of a kind from annotations, and returns the first of them.
func TakeID(annotations map[string]string, kind string) (id string) {
	for _, want := range synonyms(kind) {
		for name, value := range annotations {
			if strings.ToLower(name) != want {
				continue
			}
			delete(annotations, name)
			if id == "" {
				id = strings.ToLower(strings.Trim(value, "{} \t\r\n"))
			}
		}
	}
	return id
}

// unnamed are annotations that are no attributes: they are another for each dump, or say something of the others.
func unnamed(name string) bool {
	return name == "event_id" || name == "corewalk_left_out" || slices.Contains(synonyms(IDUser), name) || slices.Contains(synonyms(IDMachine), name)
}

// isFact reports whether an attribute that was read in a dump is of the machine.
func isFact(name string) bool {
	switch name {
	case "os", "os_version", "arch", "cpu", "distribution", AttrModule, AttrLacks, AttrUses:
		return true
	}
	return false
}

// ofModules are the names of what is said of modules, the most important first.
var ofModules = []string{AttrLacks, AttrModule, AttrUses}

// AttributesOf returns the attributes of a dump, sorted: what was read in it comes before what came with it. What is too long, or more than a dump may
// have, is left out.
func AttributesOf(annotations map[string]string, read []Attribute) []Attribute {
	var list []Attribute
	have := map[string]bool{}
	add := func(name, value string) {
		name, value = attrName(name), strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(value, "\ufffd"), "\x00", "\ufffd"))
		a := Attribute{name, value}
		if name == "" || value == "" || len(value) > MaxAttrValue || strings.ContainsFunc(value, unicode.IsControl) || len(list) >= MaxAttributes || slices.Contains(list, a) {
			return
		}
		list = append(list, a)
		have[name] = true
	}
	lower := make(map[string]string, len(annotations))
	for _, a := range read { // what a program told the writer of the dump is as what came with it
		if !isFact(a.Name) {
			lower[strings.ToLower(a.Name)] = a.Value
		}
	}
	for _, name := range sortedNames(annotations) {
		lower[strings.ToLower(name)] = annotations[name]
	}
	for _, a := range read {
		if isFact(a.Name) && !slices.Contains(ofModules, a.Name) {
			add(a.Name, a.Value)
		}
	}
	used := map[string]bool{}
	for _, name := range []string{AttrRelease, AttrChannel, "product"} {
		for _, other := range synonyms(name) {
			if value := lower[other]; value != "" && !have[name] {
				add(name, value)
				used[other] = true
			}
		}
	}
	mine := len(list)
	for _, name := range sortedNames(lower) {
		short := attrName(strings.TrimPrefix(name, "tag."))
		if !used[name] && !unnamed(name) && short != AttrLacks && short != AttrUses && !slices.ContainsFunc(list[:mine], func(a Attribute) bool { return a.Name == short }) {
			add(short, lower[name])
		}
	}
	for _, of := range ofModules {
		for _, a := range read {
			if a.Name == of {
				add(a.Name, a.Value)
			}
		}
	}
	slices.SortFunc(list, func(a, b Attribute) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value)) })
	return list
}

func sortedNames(m map[string]string) []string {
	list := make([]string, 0, len(m))
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// attrName is a name as attributes have them: small letters, digits and a few signs; "" for one that is too long.
func attrName(name string) string {
	if len(name) > MaxAttrName {
		return ""
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r == utf8.RuneError:
			return -1
		}
		return '_'
	}, name)
}

// Value returns the first value of a name; "" if there is none.
func Value(list []Attribute, name string) string {
	for _, a := range list {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}
