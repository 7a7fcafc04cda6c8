//go:build !unix

package command

import "os"

// terminalColumns returns 0: the width of a terminal is known on Unix only.
func terminalColumns(*os.File) int { return 0 }
