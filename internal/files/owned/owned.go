// Package owned makes directories that only this user, and root, can lead elsewhere.
package owned

import "errors"

// ErrOthers is wrapped by errors for a path on which somebody else may put something in place of a directory.
var ErrOthers = errors.New("others may write there")
