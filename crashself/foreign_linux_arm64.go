package crashself

// Signals on threads that Go does not know are not told to the watcher.
func foreign(int) {}
func unforeign()  {}
