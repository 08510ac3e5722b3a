package review

// IsTest reports whether a file is a test, by its name. The path is relative to
// the root of the repository, with slashes.
func IsTest(path string) bool { return isTest(path) }
