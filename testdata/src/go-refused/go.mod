module fixtures/go-refused

go 1.20
