package remote

// Limits of the tree of a value: those of text are too narrow for who looks for one element.
const (
	TreeElements = 200
	TreeDepth    = 6
	TreeParts    = 2000
)
