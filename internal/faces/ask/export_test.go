package ask

// Stored is for tests.
var Stored = stored
