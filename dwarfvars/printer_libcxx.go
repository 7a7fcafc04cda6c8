package dwarfvars

// libcxxClass finds the printer of a class of libc++ by its name.
func libcxxClass(name string) printer { return nil }
