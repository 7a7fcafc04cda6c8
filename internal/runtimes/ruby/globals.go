package ruby

import "strings"

// The table of global variables has no symbol. It is one of the tables of what names stand for (id_table.c) among the variables of the module: the
// one whose elements are records of variables, each with its own name, which begins with "$".
const (
	tableCapacity = 0 // its fields
	tableCount    = 4
	tableItems    = 16
	itemSize      = 16 // of an element: a name's number, and what it has
	itemValue     = 8

	recordVariable = 0 // of a record: what the variable has, which aliases share, and its name
	recordName     = 8
	variableData   = 8 // of that: its value, or where C has it

	maxGlobals = 1 << 12
	leastNames = 20 // Ruby itself has more
)

// A global is a global variable.
type global struct {
	name string
	at   uint64 // of what it has
}

// globalVariables calls give for those that have an object; it returns false if give did.
func (r *runtime) globalVariables(give func(name string, value uint64) bool) bool {
	h := r.objects.Known()
	for _, g := range r.globalTable() {
		if v := r.Word(g.at + variableData); h.holds(v) && !give(g.name, v) {
			return false
		}
	}
	return true
}

// globalTable finds the table; nil if it is not found.
func (r *runtime) globalTable() (list []global) {
	r.variablesNear(r.class, func(_, word uint64) bool {
		if word != 0 && word%8 == 0 {
			list = r.globalsIn(word)
		}
		return list == nil
	})
	return list
}

// globalsIn lists the global variables of a table; nil if it is of something else.
func (r *runtime) globalsIn(table uint64) (list []global) {
	capacity, known := r.U32(table + tableCapacity)
	count, _ := r.U32(table + tableCount)
	if !known || capacity&(capacity-1) != 0 || count < leastNames || count > capacity || capacity > maxGlobals {
		return nil
	}
	items := r.Bytes(r.Word(table+tableItems), int(capacity*itemSize))
	for ; len(items) > 0; items = items[itemSize:] {
		record := r.Arch.Word(items[itemValue:])
		if r.Arch.ByteOrder.Uint32(items) == 0 || record == 0 {
			continue
		}
		name := ""
		if record%8 == 0 {
			name = r.idName(r.Word(record + recordName))
		}
		if !strings.HasPrefix(name, "$") || r.p.Spend(1) != nil {
			return nil
		}
		list = append(list, global{name, r.Word(record + recordVariable)})
	}
	if len(list) < leastNames {
		return nil
	}
	return list
}
