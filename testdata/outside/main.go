// Command outside uses each public package alone, as a program outside of corewalk's
// module can: it makes its own process state, stepper, symbol lookup and source of module
// files, and prints stacks and variables.
//
//	outside made
//	outside core CORE DIRECTORY
//	outside toy CORE
//	outside format CORE DIRECTORY
package main

import (
	"fmt"
	"os"
)

func main() {
	err := fmt.Errorf("usage: outside made | core CORE DIRECTORY | toy CORE | format CORE DIRECTORY")
	switch {
	case len(os.Args) == 2 && os.Args[1] == "made":
		err = made(os.Stdout)
	case len(os.Args) == 4 && os.Args[1] == "core":
		err = core(os.Stdout, os.Args[2], os.Args[3])
	case len(os.Args) == 3 && os.Args[1] == "toy":
		err = toys(os.Stdout, os.Args[2])
	case len(os.Args) == 4 && os.Args[1] == "format":
		err = format(os.Stdout, os.Args[2], os.Args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "outside:", err)
		os.Exit(1)
	}
}
