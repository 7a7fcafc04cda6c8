package dwarfvars

// A printer shows a class of a library as what it means. It answers nil when the
// object is not of that class, or its members are not what they should be.
type printer func(b *builder, o *object, t *Type, depth int) *Value

// print asks the printers of the type's language.
func (b *builder) print(o *object, t *Type, depth int) *Value {
	return nil
}
