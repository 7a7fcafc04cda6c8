package perl

// What stands for names that are not there, as caller has it.
const (
	unknownName = "(unknown)"
	noPackage   = "__ANON__"
)

// packageName is the name of a package (a stash); "" if there is none.
func (r *runtime) packageName(stash uint64) string {
	return r.packages.Get(stash, func() string {
		f, ok := r.flags(stash)
		if !ok || uint64(f&typeMask) != r.at("type.hv") || uint64(f)&r.at("flag.aux") == 0 {
			return ""
		}
		body := r.body(stash)
		if body == 0 {
			return ""
		}
		aux := body + r.at("body.aux")
		if !r.has("body.aux") { // it is behind the lists of entries
			last := r.Word(body + r.at("body.max"))
			aux = r.Word(stash+valueHere) + 8*(last+1)
			if last > maxLength {
				return ""
			}
		}
		name := r.field(aux, "aux.name")
		if r.number(aux, "aux.count") != 0 { // it has several
			name = r.Word(name)
		}
		s, _ := r.key(name)
		return s
	})
}

// globName is the name of a glob, "Shop::pay"; "" if there is none.
func (r *runtime) globName(at uint64) string {
	if !r.is(at, "gv") {
		return ""
	}
	body := r.body(at)
	name, ok := r.key(r.field(body, "body.gvname"))
	if !ok || name == "" {
		return ""
	}
	return join(r.packageName(r.field(body, "body.gvstash")), name)
}

func join(in, name string) string {
	if in == "" {
		in = noPackage
	}
	return in + "::" + name
}

// subName is the name of a sub, as caller has it; false if there is no sub.
func (r *runtime) subName(cv uint64) (string, bool) {
	if !r.is(cv, "cv") && !r.is(cv, "format") {
		return "", false
	}
	name := r.subs.Get(cv, func() string {
		body := r.body(cv)
		if body == 0 {
			return ""
		}
		flags := uint64(r.number(body, "body.cvflags"))
		of := r.field(body, "body.cvgv")
		if of == 0 {
			return unknownName
		}
		if flags&r.at("cv.named") != 0 {
			name, ok := r.key(of)
			switch {
			case !ok || name == "":
				return ""
			case flags&r.at("cv.lexical") != 0:
				return name
			}
			return join(r.packageName(r.field(body, "body.cvstash")), name)
		}
		if effective := r.field(r.Word(of+valueHere), "gp.egv"); effective != 0 && r.is(of, "gv") {
			if s := r.globName(effective); s != "" {
				return s
			}
		}
		return r.globName(of)
	})
	return name, name != ""
}

// A place is a file and a line of the program.
type place struct {
	file string
	line int
	seq  uint32 // which variables there are is told by it
}

// maxLine is the last line that is believed.
const maxLine = 1 << 30

// placeOf reads a place (a COP); false if there is none.
func (r *runtime) placeOf(cop uint64) (place, bool) {
	if cop == 0 || cop%8 != 0 {
		return place{}, false
	}
	line := r.number(cop, "cop.line")
	p := place{line: int(line & (maxLine - 1)), seq: r.number(cop, "cop.seq")}
	if line == 0 || line >= maxLine { // nothing of the program
		return place{}, false
	}
	if r.has("cop.file") {
		file, ended := r.CString(r.field(cop, "cop.file"), maxName)
		if !ended {
			return place{}, false
		}
		p.file = string(file)
	} else {
		gv := r.field(cop, "cop.filegv")
		name, ok := r.key(r.field(r.body(gv), "body.gvname"))
		if !r.is(gv, "gv") || !ok || len(name) < 2 || name[:2] != "_<" {
			return place{}, false
		}
		p.file = name[2:]
	}
	return p, p.file != ""
}
