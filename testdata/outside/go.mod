// A program outside of corewalk's module: internal/systemtest builds and runs it.
module outside

go 1.26.0

require github.com/corewalk/corewalk v0.0.0

replace github.com/corewalk/corewalk => ../..
