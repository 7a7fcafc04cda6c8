// Package dirlock keeps a second process from a directory, with a file in it that stays. What a killed process had is free.
package dirlock

import "errors"

// File is the name of the file in the directory.
const File = "lock"

// ErrTaken says that somebody else has the lock.
var ErrTaken = errors.New("the directory is in use")
