module fixtures/go-faults

go 1.20
