package lua

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

//go:embed jitlayouts.txt
var jitLayoutsText string

// jitTable are the layouts of LuaJIT.
var jitTable = lazy.Value[[]jitColumn]{Make: func() []jitColumn { return jitColumns(jitLayoutsText) }}

// A jitColumn is a layout of LuaJIT, and its instructions.
type jitColumn struct {
	name string
	layout
	opcodes []opcode
}

// jitColumns reads the table of LuaJIT's layouts. It has no versions of its own: what says "2.1.0-beta3" was made of the sources of six years.
func jitColumns(text string) (columns []jitColumn) {
	var instructions [][]opcode
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case f[0] == "field":
			for _, name := range f[1:] {
				columns = append(columns, jitColumn{name: name, layout: layout{}})
			}
		case f[0] == "instructions":
			instructions = append(instructions, jitOpcodes(f[2:]))
		default:
			for i, v := range f[1:] {
				number, narrow := strings.CutSuffix(v, "n")
				n, err := strconv.ParseUint(number, 10, 32)
				if err != nil || i >= len(columns) {
					continue
				}
				if narrow {
					n |= narrowField
				}
				columns[i].layout[f[0]] = n
			}
		}
	}
	for i := range columns {
		if n := columns[i].layout["opcodes"]; n < uint64(len(instructions)) {
			columns[i].opcodes = instructions[n]
		}
	}
	return columns
}

// jitOpcodes reads instructions: "name:how A is used:metamethod".
func jitOpcodes(list []string) (out []opcode) {
	for _, text := range list {
		name, rest, _ := strings.Cut(text, ":")
		a, calls, _ := strings.Cut(rest, ":")
		out = append(out, opcode{name: name, sets: a == "dst", from: a == "base", calls: strings.Trim(calls, "_")})
	}
	return out
}

// decide finds the layout that agrees with a state of LuaJIT; false if what is at an address is none.
func (r *runtime) decide(state uint64) bool {
	if state == 0 || state%8 != 0 {
		return false
	}
	head := r.Some(state, 16)
	found := -1
	for i := range r.columns {
		c := &r.columns[i]
		if at := c.layout["object.type"]; at >= uint64(len(head)) || head[at] != jitType(tagThread) {
			continue
		}
		if r.p.Spend(16) != nil {
			return false
		}
		r.layout, r.opcodes = c.layout, c.opcodes
		g := r.global(state)
		if g == 0 || !r.agrees(g) {
			continue
		}
		if found < 0 {
			found = i
		}
		if r.compiles(g) { // what is known of compiled code agrees, too
			found = i
			break
		}
	}
	if found < 0 {
		r.layout, r.opcodes = nil, nil
		return false
	}
	r.globalState = r.field(state, "state.global")
	r.layout, r.opcodes, r.columnName = r.columns[found].layout, r.columns[found].opcodes, r.columns[found].name
	return true
}

// agrees reports whether a global state is laid out as the table says: the registry is a table, the name of the first metamethod is known, and the
// instruction that calls functions of C is one that does.
func (r *runtime) agrees(g uint64) bool {
	registry, ok := r.valueAt(g + r.at("global.registry"))
	if !ok || registry.kind != kindTable || !r.is(registry.bits, tagTable) || r.name(r.element(g, "global.names", 0)) != "__index" {
		return false
	}
	op := r.op(instruction(r.number(g, "global.cfunction")))
	if op != "FUNCC" && op != "FUNCCW" {
		return false
	}
	current := r.field(g, "global.current")
	return current == 0 || r.is(current, tagThread) && r.field(current, "state.global") == g
}
