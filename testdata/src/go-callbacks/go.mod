module fixtures/go-callbacks

go 1.20
