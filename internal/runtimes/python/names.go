package python

import (
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

// unnamed is the name of a type whose name the dump lacks.
const unnamed = "?"

// typeSymbols are the types that have symbols, with their names.
var typeSymbols = lazy.Value[map[string]string]{Make: func() map[string]string {
	list := map[string]string{}
	for line := range strings.Lines(`PyAsyncGen_Type async_generator
PyBaseObject_Type object
PyBool_Type bool
PyByteArray_Type bytearray
PyBytes_Type bytes
PyCFunction_Type builtin_function_or_method
PyCell_Type cell
PyClassMethod_Type classmethod
PyCode_Type code
PyComplex_Type complex
PyCoro_Type coroutine
PyDict_Type dict
PyEllipsis_Type ellipsis
PyFloat_Type float
PyFrame_Type frame
PyFrozenSet_Type frozenset
PyFunction_Type function
PyGen_Type generator
PyList_Type list
PyLong_Type int
PyMethod_Type method
PyModule_Type module
PyProperty_Type property
PyRange_Type range
PySet_Type set
PySlice_Type slice
PyStaticMethod_Type staticmethod
PyTraceBack_Type traceback
PyTuple_Type tuple
PyType_Type type
PyUnicode_Type str
_PyNone_Type NoneType
`) {
		f := strings.Fields(line)
		list[f[0]] = f[1]
	}
	return list
}}

// nameWithout is the name of a type when the dump lacks the text of it, which is among the constants of a module whose file is not
// there. A built-in type is known by its symbol, or by a flag that it passes on to its subclasses: it is the only one with the flag
// whose base is object, which has no base.
func (r *runtime) nameWithout(t *typ) string {
	if r.byAddress == nil {
		r.byAddress = map[uint64]string{}
		for symbol, name := range typeSymbols.Get() {
			if s, ok := r.p.Symbols.SymbolByName(r.lib, symbol); ok {
				r.byAddress[s.Addr] = name
			}
		}
	}
	if name, ok := r.byAddress[t.at]; ok {
		return name
	}
	base := r.word(t.at + r.at("type.base"))
	if base == 0 || t.flags&flagHeap != 0 || r.bytes(base+r.at("type.base"), 8) == nil || r.field(base, "type.base") != 0 {
		return unnamed
	}
	for _, b := range [...]struct {
		flag uint64
		name string
	}{{flagLong, "int"}, {flagList, "list"}, {flagTuple, "tuple"}, {flagBytes, "bytes"}, {flagStr, "str"}, {flagDict, "dict"}, {flagException, "BaseException"}, {flagType, "type"}} {
		if t.flags&b.flag != 0 {
			return b.name
		}
	}
	return unnamed
}
