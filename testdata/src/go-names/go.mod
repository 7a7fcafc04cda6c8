module names

go 1.18
