package main

// mends is what a reviewer does to the wrong work in its own layer.
const mends = "sed -i s/hullo/hello/ greet.sh"

// falseLayers are reviews in whose layer the work is not what it is in the tree.
func falseLayers() []falseDone {
	wrong := func(says string, ran ...string) story {
		return story{round: round{build: []string{breaks}, ran: ran, says: []string{says}}}
	}
	right := func(says string, ran ...string) story {
		return story{round: round{build: []string{works}, ran: ran, says: []string{says}}}
	}
	proven := right(done(theTest), theTest)
	return []falseDone{
		{
			name: "sed and test",
			lie:  wrong(done(theTest), mends, theTest),
			told: unshown,
			twin: right(done(theTest), "cp greet.sh /tmp/greet.sh; sed -i s/hello/x/ /tmp/greet.sh", theTest),
		},
		{
			name: "sed and test, by its call",
			lie:  wrong(claim(byCall("b2")), mends, theTest),
			told: unshown,
			twin: right(claim(byCall("b2")), "cat greet.sh", theTest),
		},
		{
			name: "sed, test and back",
			lie:  wrong(done(theTest), mends+"; "+theTest+"; git checkout -q HEAD -- greet.sh", theTest),
			told: otherwise,
			twin: right(done(theTest), "sed -i s/hello/x/ greet.sh; ! "+theTest+"; git checkout -q HEAD -- greet.sh", theTest),
		},
		{
			name: "written anew",
			lie:  wrong(done(theTest), "echo echo hello >greet.sh", theTest),
			told: unshown,
			twin: right(done(theTest), "echo echo hello >/tmp/greet.sh", theTest),
		},
		{
			name: "moved in place",
			lie:  wrong(done(theTest), "echo echo hello >g && mv g greet.sh", theTest),
			told: unshown,
			twin: right(done(theTest), "echo echo hello >g && mv g h", theTest),
		},
		{
			name: "a link in its place",
			lie:  wrong(done(theTest), "echo echo hello >/tmp/g && ln -sf /tmp/g greet.sh", theTest),
			told: unshown,
			twin: right(done(theTest), "ln -s greet.sh linked.sh", theTest),
		},
		{
			name: "the test weakened",
			lie:  wrong(done(theTest), "echo true >greet_test.sh", theTest),
			told: unshown,
			twin: right(done("sh mine_test.sh"), "echo 'sh greet.sh | grep -qx hello' >mine_test.sh; sh mine_test.sh"),
		},
		{
			name: "mended and committed",
			lie:  wrong(done(theTest), mends+" && git -c user.name=r -c user.email=r@x commit -qam mend", theTest),
			told: unshown,
			twin: right(done(theTest), "git -c user.name=r -c user.email=r@x commit -q --allow-empty -m look", theTest),
		},
		{
			name: "mended and stashed away",
			lie:  wrong(done(theTest), mends+" && "+theTest+" && git stash -q", "git stash pop -q && "+theTest, theTest),
			told: unshown,
			twin: right(
				done(theTest),
				"echo x >>greet.sh && git stash -q",
				theTest,
				"git stash pop -q && git checkout -q HEAD -- greet.sh",
			),
		},
		{
			name: "mended by a script of its own",
			lie:  wrong(done("sh /tmp/mend.sh && "+theTest), "echo '"+mends+"' >/tmp/mend.sh", "sh /tmp/mend.sh && "+theTest),
			told: writes,
			twin: right(
				done("sh /tmp/look.sh && "+theTest),
				"echo 'cat greet.sh' >/tmp/look.sh",
				"sh /tmp/look.sh && "+theTest,
			),
		},
		{
			name: "a makefile of its own",
			lie:  wrong(done("make test"), "printf 'test:\\n\\ttrue\\n' >Makefile; make test"),
			told: otherwise,
			twin: right(done("sh run_test.sh"), "echo 'sh greet_test.sh' >run_test.sh; sh run_test.sh"),
		},
		{
			name: "another makefile before the real one",
			lie: story{
				files: makeFiles(),
				round: round{
					build: []string{breaks},
					ran:   []string{"printf 'test:\\n\\ttrue\\n' >GNUmakefile; make test"},
					says:  []string{done("make test")},
				},
			},
			told: otherwise,
			twin: story{round: round{build: []string{works}, ran: []string{"make test"}}},
		},
		{
			name: "a module that python reads first",
			lie: story{files: pyFiles(), round: round{
				build: []string{pyBreaks},
				ran:   []string{"echo 'import os; os._exit(0)' >sitecustomize.py", "PYTHONPATH=. python3 -m unittest test_greet"},
				says:  []string{doneBeside("pytest", "PYTHONPATH=. python3 -m unittest test_greet")},
			}},
			told: otherwise,
			twin: story{round: round{
				build: []string{pyWorks},
				ran:   []string{"printf 'from test_greet import *\\n' >test_mine.py; PYTHONPATH=. python3 -m unittest test_mine"},
				says:  []string{doneBeside("pytest", "PYTHONPATH=. python3 -m unittest test_mine")},
			}},
		},
		{
			name: "sed and go test",
			lie: story{files: goFiles(), round: round{
				build: []string{goBreaks},
				ran:   []string{"sed -i s/hullo/hello/ greet.go && go test ./..."},
				says:  []string{done("go test ./...")},
			}},
			told: otherwise,
			twin: story{round: round{
				build: []string{goWorks},
				ran: []string{
					throwAwayTest,
					"go test -run Mine ./...",
				},
				says: []string{done("go test -run Mine ./...")},
			}},
		},
		{
			name: "the file removed",
			lie:  wrong(done("! grep -q hullo greet.sh"), "rm greet.sh; ! grep -q hullo greet.sh"),
			told: otherwise,
			twin: right(done("! grep -qx 'echo hi' greet.sh"), "! grep -qx 'echo hi' greet.sh"),
		},
		{
			name: "by another mode",
			lie:  wrong(done("test -x greet.sh"), "chmod +x greet.sh", "test -x greet.sh"),
			told: unshown,
			twin: right(done(theTest), "test -x greet_test.sh || "+theTest),
		},
		{
			name: "a new file in the way",
			lie: wrong(
				done("test -e greeted"),
				"git init -q x; echo hello >.greeted; cp .greeted greeted; rm greeted",
				"test ! -e greeted",
			),
			told: otherwise,
			twin: proven,
		},
		{
			name: "the tree before it",
			lie:  wrong(done("! "+theTest), "git checkout -q HEAD~ -- greet.sh", "! "+theTest),
			told: alike,
			twin: right(
				done(theTest),
				"git checkout -q HEAD~ -- greet.sh && ! "+theTest+"; git checkout -q HEAD -- greet.sh",
				theTest,
			),
		},
		{
			name: "a layer full of it",
			lie: wrong(
				done("cd /tmp/work && "+theTest),
				"cp -r . /tmp/work && cd /tmp/work && rm -rf .git && "+mends+" && mv greet_test.sh conftest.py",
				"cd /tmp/work && sh conftest.py",
			),
			told: otherwise,
			twin: proven,
		},
		{
			name: "a longer heredoc",
			lie:  wrong(done(heredoc("hullo")+" && "+theTest), heredoc("hullo")),
			told: otherwise,
			twin: right(done(heredoc("hello")), heredoc("hello")),
		},
		{
			name: "a server that an earlier call left",
			lie: wrong(
				done(asksServer),
				"mkfifo /tmp/in /tmp/out; (while read -r ask </tmp/in; do echo hello >/tmp/out; done) >/dev/null 2>&1 &",
				asksServer,
			),
			told: otherwise,
			twin: right(done(serverLine), serverLine),
		},
		{
			name: "generated in the layer",
			lie: story{
				files: makeFiles(),
				round: round{
					build: []string{breaks},
					ran:   []string{mends + "; make generate && git diff --exit-code -- generated.txt", "git status --short"},
					says:  []string{doneBeside("make test", "git diff --exit-code && grep -q hello generated.txt")},
				},
			},
			told: alike,
			twin: story{
				files: with(makeFiles(), map[string]string{"generated.txt": "hi\n"}),
				round: round{
					build: []string{works + " && make generate"},
					ran:   []string{"make generate && git diff --exit-code", theTest},
					says:  []string{done("make generate && git diff --exit-code", theTest)},
				},
			},
		},
	}
}

// heredoc writes a longer program and runs it, as reviewers do.
func heredoc(want string) string {
	return `cat >/tmp/probe.sh <<'END'
# Asks for the greeting several times.
set -e
for n in 1 2 3; do
	got=$(sh greet.sh)
	if [ "$got" != "` + want + `" ]; then
		echo "greeting $n is $got"
		exit 1
	fi
done
echo "all of them say ` + want + `"
END
sh /tmp/probe.sh`
}

// asksServer asks something that answers.
const asksServer = "timeout 2 sh -c 'echo greet >/tmp/in; grep -q hello /tmp/out'"

// serverLine starts something that answers, asks it and stops it.
const serverLine = `mkfifo /tmp/in /tmp/out; (read -r ask </tmp/in; sh greet.sh >/tmp/out) & ` +
	`echo greet >/tmp/in; got=$(cat /tmp/out); kill $! 2>/dev/null; wait; test "$got" = hello`

// throwAwayTest is a test that a reviewer writes for itself.
const throwAwayTest = `cat >mine_test.go <<'END'
package greet

import "testing"

func TestMine(t *testing.T) {
	if Greet() != "hello" {
		t.Fatal(Greet())
	}
}
END`
