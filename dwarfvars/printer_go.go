package dwarfvars

func goPrinter(t *Type) printer { return nil }
