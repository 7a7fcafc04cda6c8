// Package mono names the methods that Mono compiled in a process by the tables in which the runtime itself looks them up.
//
// No table of offsets is needed: what Mono exports for programs that embed it are functions of two instructions, which say where the fields are. What has
// no such function is where its neighbour is, in the versions that were tried (6.8, 6.12), and is proved by what memory says: a table names the domain that it is of, code
// that it lists contains the address that was asked for, a method leads to a class with an image.
package mono
