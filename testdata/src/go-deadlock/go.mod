module example.com/go-deadlock

go 1.18
