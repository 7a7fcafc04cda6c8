module fixtures/go-panics

go 1.20
