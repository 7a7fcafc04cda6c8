// Command corewalk-full is corewalk with a database and an HTTP client. corewalk starts it where they are needed; it
// can also be used in place of corewalk, and then each start takes longer.
package main

import (
	"github.com/corewalk/corewalk/internal/command"
	"github.com/corewalk/corewalk/internal/command/full"
)

func main() { command.Main(full.Parts()) }
