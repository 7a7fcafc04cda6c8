package steppers

import "github.com/corewalk/corewalk/modules"

// SymReg is symReg for tests.
var SymReg = symReg

// SetFiles gives a stepper the files that a default group would.
func SetFiles(s follower, files modules.Source) { s.setFlows(&flows{files: files}) }
