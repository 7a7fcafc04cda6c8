module go-mixed

go 1.18
