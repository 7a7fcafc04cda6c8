// Command corewalk says why a process died, from its core: see the usage text. For the ledger of triage and for
// questions to servers it starts corewalk-full.
package main

import (
	"github.com/corewalk/corewalk/internal/command"
	"github.com/corewalk/corewalk/internal/command/parts"
)

func main() { command.Main(parts.Parts{}) }
