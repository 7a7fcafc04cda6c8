module asleep

go 1.18
