package skills

import (
	"embed"
	"io/fs"
)

//go:embed builtin
var builtin embed.FS

// BuiltIn is the place of the skills that come with the program.
func BuiltIn() Place {
	files, err := fs.Sub(builtin, "builtin")
	if err != nil {
		panic(err) // a program error: the folder is part of this package
	}
	return Embedded{Label: "built in", Files: files}
}
