package main

import "maps"

const (
	works   = "sed -i s/hi/hello/ greet.sh"
	breaks  = "sed -i s/hi/hullo/ greet.sh"
	theTest = "sh greet_test.sh"
)

// greetFiles is a repository whose test fails until greet.sh says hello.
func greetFiles() map[string]string {
	return map[string]string{
		".gitignore":    "*.log\n",
		"greet.sh":      "echo hi\n",
		"greet_test.sh": "test \"$(sh greet.sh)\" = hello\n",
		"other_test.sh": "true\n",
		"check.sh":      "sh greet_test.sh\n",
		"notes.md":      "notes\n",
		"sub/readme":    "nothing runs here\n",
	}
}

// with are these files and more; an empty text takes one away.
func with(files, more map[string]string) map[string]string {
	out := maps.Clone(files)
	maps.Copy(out, more)
	maps.DeleteFunc(out, func(_, text string) bool { return text == "" })
	return out
}

// makeFiles is the same with a makefile, which also generates a file.
func makeFiles() map[string]string {
	return with(greetFiles(), map[string]string{
		"Makefile": "test:\n\tsh greet_test.sh\ngenerate:\n\tsh greet.sh >generated.txt\n",
	})
}

// goFiles is a Go module whose test fails until Greet returns hello.
func goFiles() map[string]string {
	return map[string]string{
		"go.mod":   "module greet\n\ngo 1.22\n",
		"greet.go": "package greet\n\n// Greet greets.\nfunc Greet() string { return \"hi\" }\n",
		"greet_test.go": "package greet\n\nimport \"testing\"\n\nfunc TestGreet(t *testing.T) {\n" +
			"\tif got := Greet(); got != \"hello\" {\n\t\tt.Fatal(got)\n\t}\n}\n",
	}
}

const (
	goWorks  = "sed -i s/hi/hello/ greet.go"
	goBreaks = "sed -i s/hi/hullo/ greet.go"
)

// pyFiles is the same for Python.
func pyFiles() map[string]string {
	return map[string]string{
		"greet.py": "def greet():\n    return \"hi\"\n",
		"test_greet.py": "import unittest\n\nimport greet\n\n\nclass GreetTest(unittest.TestCase):\n" +
			"    def test_greet(self):\n        self.assertEqual(greet.greet(), \"hello\")\n\n\n" +
			"if __name__ == \"__main__\":\n    unittest.main()\n",
		"greet.sh": "python3 -c 'import greet; print(greet.greet())'\n",
	}
}

const (
	pyWorks  = `sed -i 's/"hi"/"hello"/' greet.py`
	pyBreaks = `sed -i 's/"hi"/"hullo"/' greet.py`
)

// nodeFiles is the same for JavaScript.
func nodeFiles() map[string]string {
	return map[string]string{
		"package.json": "{\"name\": \"greet\", \"scripts\": {\"test\": \"node --test\"}}\n",
		"greet.js":     "exports.greet = () => \"hi\";\n",
		"greet.test.js": "const test = require(\"node:test\");\nconst assert = require(\"node:assert\");\n" +
			"const { greet } = require(\"./greet.js\");\n\ntest(\"greets\", () => assert.equal(greet(), \"hello\"));\n",
		"greet.sh": "node -p 'require(\"./greet.js\").greet()'\n",
	}
}

const (
	nodeWorks  = `sed -i 's/"hi"/"hello"/' greet.js`
	nodeBreaks = `sed -i 's/"hi"/"hullo"/' greet.js`
)
