package dwarfvars

func rustPrinter(t *Type) printer { return nil }
