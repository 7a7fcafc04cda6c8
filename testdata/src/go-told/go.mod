module told

go 1.18
