package dap

import "reflect"

// Arguments are the names of the arguments of launch that are ours.
func Arguments() (names []string) {
	t := reflect.TypeFor[arguments]()
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("json"); name != "coreFile" && name != "program" {
			names = append(names, name)
		}
	}
	return names
}
