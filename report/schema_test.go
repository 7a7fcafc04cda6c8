package report

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// contract lists keys that other programs rely on. Lines may be added, never
// changed or removed.
const contract = `
schema
dump: path format arch os pid command time truncated
crash: signal exception code address reason message thread instruction
crash.instruction: address text registers access
modules[]: path base end build_id debug_id file status symbols
threads[]: id name crashed registers end frames
threads[].frames[]: index physical pc sp cfa module offset function source inlined tail signal trust stepper return_address_location args locals explain
threads[].frames[].source: file line column
threads[].frames[].args[]: name type value status reason location data
threads[].frames[].args[].data: kind type text address error children truncated
threads[].frames[].args[].data.children[]: name key repeat data
threads[].frames[].locals[]: name type value status reason location
threads[].frames[].explain: asked rule registers notes
threads[].frames[].explain.asked[]: stepper status detail
threads[].frames[].explain.registers[]: name value location
threads[].frames[].verify: agree differ
threads[].frames[].verify.differ[]: stepper ra sp
warnings[]: code message module
`

// keys lists the paths of all keys that t's JSON can have; the keys of a tree's nodes once.
func keys(t reflect.Type, path string, in ...reflect.Type) []string {
	switch {
	case t.Kind() == reflect.Pointer:
		return keys(t.Elem(), path, in...)
	case t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[Location](), t == reflect.TypeFor[Registers]():
		return nil
	case t.Kind() == reflect.Slice:
		return keys(t.Elem(), path+"[]", in...)
	case t.Kind() != reflect.Struct, slices.Contains(in, t):
		return nil
	}
	var list []string
	in = append(slices.Clip(in), t)
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "-" {
			continue
		}
		key = strings.TrimPrefix(path+"."+key, ".")
		list = append(append(list, key), keys(f.Type, key, in...)...)
	}
	return list
}

func TestContract(t *testing.T) {
	have := keys(reflect.TypeFor[Report](), "")
	for line := range strings.Lines(contract) {
		path, names, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			path, names = "", path
		}
		for _, name := range strings.Fields(names) {
			if key := strings.TrimPrefix(path+"."+name, "."); !slices.Contains(have, key) {
				t.Errorf("key %s is gone", key)
			}
		}
	}
	for _, key := range have {
		if strings.ToLower(key) != key || strings.HasSuffix(key, ".") {
			t.Errorf("key %q is not in snake case", key)
		}
	}
}

// TestSchemaKeys turns every change of the JSON's shape into a change of a file.
func TestSchemaKeys(t *testing.T) {
	list := slices.Concat([]string{Schema}, keys(reflect.TypeFor[Report](), ""), []string{"", InfoSchema}, keys(reflect.TypeFor[Info](), ""), []string{"", MemorySchema}, keys(reflect.TypeFor[Memory](), ""), []string{"", MemoryDiffSchema}, keys(reflect.TypeFor[MemoryDiff](), ""))
	golden(t, "schema.txt", []byte(strings.Join(list, "\n")+"\n"))
}
