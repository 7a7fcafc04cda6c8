package python

import (
	"slices"
	"strconv"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// A treeBuilder makes the tree of a value.
type treeBuilder struct {
	r     *runtime
	asked tasks.Limits
	most  tasks.Limits
	all   int // values within the value that may be read
	parts int
	seen  []uint64 // the containers that the current value is in
}

// tree reads a value with its parts.
func (r *runtime) tree(at uint64, limits tasks.Limits) report.Data {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := treeBuilder{r: r, asked: limits, most: limits.Or(tasks.Limits{Elements: remote.TreeElements, Depth: remote.TreeDepth}), all: limits.Parts(remote.TreeParts)}
	return p.value(at)
}

// ValueAt implements tasks.Valuer.
func (r *runtime) ValueAt(at uint64, limits tasks.Limits) (report.Data, bool) {
	v := r.tree(at, limits)
	return v, v.Type != ""
}

func (p *treeBuilder) value(at uint64) report.Data {
	r := p.r
	if p.parts++; p.parts > p.all || r.p.Spend(4) != nil {
		p.parts = p.all // nothing more is read
		return report.Data{Kind: kindText, Text: "...", Truncated: true}
	}
	t := r.typeAt(r.field(at, "object.type"))
	if t == nil {
		return p.leaf(at, kindText, "")
	}
	v := report.Data{Kind: r.kindOfType(t), Type: t.name, Address: report.Addr(at)}
	switch {
	case v.Kind != "sequence" && v.Kind != "map" && v.Kind != "struct":
		return p.leaf(at, v.Kind, t.name)
	case len(p.seen) >= p.most.Depth || slices.Contains(p.seen, at):
		v.Text, v.Truncated = "...", true
		return v
	}
	p.seen = append(p.seen, at)
	switch v.Kind {
	case "sequence":
		p.sequence(&v, at, t)
	case "map":
		p.dict(&v, at, t)
	default:
		p.instance(&v, at, t)
	}
	p.seen = p.seen[:len(p.seen)-1]
	return v
}

// kindText is a note that is not a value of the program.
const kindText = "text"

// kindOfType says what sort of value the objects of a type are, in the words of reports.
func (r *runtime) kindOfType(t *typ) string {
	switch t.name {
	case "NoneType":
		return "void"
	case "bool":
		return "bool"
	case "float", "complex":
		return "float"
	case "function", "builtin_function_or_method", "method":
		return "function"
	case "ellipsis", "module", "numpy.ndarray":
		return kindText
	case "bytearray", "range", "slice":
		if t.flags&flagHeap == 0 {
			return kindText
		}
	}
	if s, ok := r.scalarOf(t); ok {
		return s.data()
	}
	switch {
	case t.flags&flagLong != 0:
		return "int"
	case t.flags&(flagStr|flagBytes) != 0:
		return "string"
	case t.flags&flagType != 0:
		return kindText
	case t.flags&(flagTuple|flagList|flagException) != 0, isSet(t), isDeque(t):
		return "sequence"
	case t.flags&flagDict != 0:
		return "map"
	}
	return "struct"
}

// leaf is a value without parts, as text shows it.
func (p *treeBuilder) leaf(at uint64, kind, name string) report.Data {
	w := newPrinter(p.r, p.asked)
	w.value(at, 0)
	v := report.Data{Kind: kind, Type: name, Text: w.String(), Address: report.Addr(at)}
	if kind == "string" {
		// The length of both is that of their first field after the type: characters of text, bytes of bytes.
		v.Truncated = p.r.field(at, "str.length") > uint64(w.most.String)
	}
	return v
}

// sequence reads a tuple, a list, a set, or the arguments of an exception.
func (p *treeBuilder) sequence(v *report.Data, at uint64, t *typ) {
	items, n := p.r.items(at, t, p.most.At(len(p.seen)-1))
	v.Text = short(t.name) + " of length " + strconv.FormatUint(n, 10)
	if t.flags&flagException != 0 {
		v.Text = short(t.name)
	}
	var names []string
	if t.flags&flagTuple != 0 {
		names = p.r.fieldNames(t)
	}
	for i, item := range items {
		if p.parts >= p.all {
			break
		}
		part := report.Child{Data: p.value(item)}
		if uint64(len(names)) == n {
			part.Name = names[i]
		}
		v.Children = append(v.Children, part)
	}
	v.Truncated = uint64(len(v.Children)) < n
}

func (p *treeBuilder) dict(v *report.Data, at uint64, t *typ) {
	list, all, ok := p.r.pairs(at, p.most.At(len(p.seen)-1))
	v.Text = short(t.name) + " of length " + strconv.FormatUint(p.r.field(at, "dict.used"), 10)
	for _, e := range list {
		if p.parts >= p.all {
			all = false
			break
		}
		key := p.value(e.key)
		v.Children = append(v.Children, report.Child{Key: &key, Data: p.value(e.value)})
	}
	v.Truncated = !ok || !all
}

func (p *treeBuilder) instance(v *report.Data, at uint64, t *typ) {
	list, all := p.r.fields(at, t, p.most.At(len(p.seen)-1))
	v.Text = short(t.name)
	if len(list) == 0 {
		v.Text = "<" + short(t.name) + " at " + address(at) + ">"
	}
	for _, f := range list {
		if p.parts >= p.all {
			all = false
			break
		}
		v.Children = append(v.Children, report.Child{Name: f.name, Data: p.value(f.value)})
	}
	v.Truncated = !all
}
