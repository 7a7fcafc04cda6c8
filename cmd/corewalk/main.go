// Command corewalk says why a process died, from its core: see the usage text. It does everything that is done on one machine.
package main

import "github.com/corewalk/corewalk/internal/command"

func main() { command.Main(nil) }
