package steppers

// SymReg is symReg for tests.
var SymReg = symReg
