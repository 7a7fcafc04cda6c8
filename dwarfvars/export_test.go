package dwarfvars

// Locate evaluates where a variable is and throws the answer away.
func (a *Activation) Locate(v *LocalVar) error {
	_, err := a.locate(v)
	return err
}
