package triage

// A Watch is a Source of the dumps in directories, and of those that arrive there later. It
// ends with its context only.
type Watch struct {
	Paths     []string // directories
	Recursive bool     // subdirectories too, also those that are made later
	// Ready, if set, is called once everything that was there has been given.
	Ready func()
}
