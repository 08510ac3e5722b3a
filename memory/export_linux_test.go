package memory

// OfMagic is for tests: no machine has all file systems.
func OfMagic(magic uint32) (name string, network bool) { return filesystemOf(magic) }
