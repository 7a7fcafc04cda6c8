// Command corewalkd is a crash service on many machines: a PostgreSQL database, a queue in it and S3-compatible storage.
package main

import (
	"github.com/corewalk/corewalk/internal/command"
	"github.com/corewalk/corewalk/internal/command/fleet"
)

func main() { command.Main(fleet.New()) }
