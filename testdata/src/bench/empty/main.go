// Command empty is the least that a Go program takes.
package main

func main() {}
