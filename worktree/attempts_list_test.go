package worktree_test

// attempt is a way to have git run EVIL, a program of the tree. Both scripts are for a
// shell in the repository: one plants it, one has git as it is run it. Meets is the
// operation of plan's that comes past it.
type attempt struct{ name, plant, raw, meets string }

// attempts are ways that work with git as it is. What they plant stays, for plan's
// git to meet all of it.
var attempts = []attempt{
	{"fsmonitor", `git config core.fsmonitor "EVIL"`, `git status`, "standing"},
	{
		"hooks path",
		`git config core.hooksPath .husky; cp PROG .husky/reference-transaction`,
		`git update-ref refs/x/a HEAD`,
		"snapshot",
	},
	{"editor", `git config core.editor "EVIL"`, `git commit --allow-empty`, "commit here"},
	{"sequence editor", `git config sequence.editor "EVIL"`, `git commit -qam x; git rebase -i HEAD~1`, "commit here"},
	{"ssh", `git config core.sshCommand "EVIL"`, `git fetch ssh://nowhere.invalid/x`, "clone and fetch"},
	{"git proxy", `git config core.gitProxy "PROG"`, `git fetch git://nowhere.invalid/x`, "clone and fetch"},
	{
		"credentials",
		`git config credential.helper "EVIL"`,
		`printf 'protocol=https\nhost=h\n\n' | git credential fill`,
		"clone and fetch",
	},
	{
		"credentials of",
		`git config credential.https://h.helper "EVIL"`,
		`printf 'protocol=https\nhost=h\n\n' | git credential fill`,
		"clone and fetch",
	},
	{"gpg", `git config gpg.program "PROG"`, `git commit-tree -S -m x HEAD^{tree}`, "commit"},
	{
		"gpg, openpgp",
		`git config gpg.openpgp.program "PROG"`,
		`git -c gpg.format=openpgp commit-tree -S -m x HEAD^{tree}`,
		"commit",
	},
	{
		"gpg, ssh",
		`git config gpg.ssh.program "PROG"`,
		`git -c gpg.format=ssh -c user.signingkey=k commit-tree -S -m x HEAD^{tree}`,
		"commit",
	},
	{
		"gpg, x509",
		`git config gpg.x509.program "PROG"`,
		`git -c gpg.format=x509 commit-tree -S -m x HEAD^{tree}`,
		"commit",
	},
	{"external diff", `git config diff.external "EVIL"`, `echo y >>f.txt; git diff HEAD`, "diff"},
	{"diff command", `git config diff.evil.command "EVIL"`, `echo y >>f.txt; git diff HEAD`, "diff"},
	{"text of a diff", `git config diff.evil.textconv "EVIL"`, `git grep --textconv one`, "patch"},
	{"clean filter", `git config filter.evil.clean "EVIL"`, `echo y >>f.txt; git add f.txt`, "tree"},
	{"smudge filter", `git config filter.evil.smudge "EVIL"`, `git cat-file --filters HEAD:f.txt`, "restore"},
	{"filter process", `git config filter.other.process "EVIL"`, `echo y >>f.dat; git add f.dat`, "tree"},
	{"merge driver", `git config merge.evil.driver "EVIL"`, `git merge-tree --write-tree one two`, "merge"},
	{"alias", `git config alias.ours '!EVIL'`, `git ours`, "files"},
	{"upload-pack", `git config remote.far.uploadpack "EVIL"`, `git fetch far`, "clone and fetch"},
	{"receive-pack", `git config remote.far.receivepack "EVIL"`, `git push far HEAD:x`, "push by a user's command"},
	{
		"instead of a URL",
		`git config url."ext::EVIL ".insteadOf https:; git config protocol.ext.allow always`,
		`git fetch https://x/y`,
		"clone and fetch",
	},
	{
		"instead, pushed",
		`git config url."ext::EVIL ".pushInsteadOf http:; git config protocol.ext.allow always`,
		`git push http://x/y HEAD`,
		"push by a user's command",
	},
	{
		"submodule update",
		`git config submodule.lib.update '!EVIL'`,
		`rm -r lib/*; git submodule update --force lib`,
		"a work tree",
	},
	{
		"submodule filter",
		`git -C lib config filter.sub.clean "EVIL"; echo '* filter=sub' >lib/.gitattributes; echo two >lib/f`,
		`git -C lib add -A; touch lib/f; git -C lib add f`,
		"submodules",
	},
	{"submodule status", `git -C lib config core.fsmonitor "EVIL"`, `git status`, "standing"},
	{
		"include",
		`git config filter.inc.clean x; printf '[filter "inc"]\n clean = EVIL\n' >inc; git config include.path ../inc`,
		`echo y >>f.inc; git add f.inc`,
		"tree",
	},
	{
		"include if",
		`printf '[trailer "t"]\n command = EVIL\n' >inc2; git config includeIf.gitdir:/.path ../inc2`,
		`echo | git interpret-trailers --trailer t=x`,
		"commit",
	},
	{
		"config.worktree",
		`git config extensions.worktreeConfig true; git config --worktree filter.wt.clean "EVIL"`,
		`echo y >>f.wt; git add f.wt`,
		"tree",
	},
	{"trailer", `git config trailer.c.cmd "EVIL"`, `echo | git interpret-trailers --trailer c=x`, "commit"},
	{"archive", `git config tar.evil.command "EVIL"`, `git archive --format=evil HEAD`, "a view"},
	{
		"diff tool",
		`git config difftool.evil.cmd "EVIL"; git config diff.tool evil`,
		`echo x >>f.raw; git difftool -y -- f.raw`,
		"diff",
	},
	{"a hook", `cp PROG .git/hooks/post-checkout`, `git -c core.hooksPath=.git/hooks checkout -q HEAD`, "restore"},
	{
		"a linked hook",
		`ln -s PROG .git/hooks/pre-push`,
		`git -c core.hooksPath=.git/hooks push ../far.git HEAD:y`,
		"push by a user's command",
	},
	{"a nested repository", `PROMISE nested`, `git -C nested ls-files -o --exclude-standard`, "files"},
	{
		"a bare folder",
		`PROMISE shape; mv shape/.git/* shape/; rm -r shape/.git; git -C shape config core.bare false; git -C shape config core.worktree .`,
		`git -C shape --git-dir=. ls-files -o --exclude-standard; GIT_DIR=. ls shape >/dev/null`,
		"files",
	},
	{
		"what a clone lacks",
		`git config core.sshCommand "EVIL"; git config remote.far.promisor true; git config remote.far.url ssh://nowhere.invalid/x`,
		`git cat-file -p 1111111111111111111111111111111111111111`,
		"missing",
	},
	{
		"ask for a password",
		`git config core.askPass PROG`,
		`printf 'protocol=https\nhost=h\n\n' | git credential fill`,
		"clone and fetch",
	},
	{
		"credentials by a shell",
		`git config credential.helper '!f() { EVIL; }; f'`,
		`printf 'protocol=https\nhost=h\n\n' | git credential fill`,
		"clone and fetch",
	},
	{
		"key to sign with",
		`git config gpg.ssh.defaultKeyCommand "EVIL"`,
		`git -c gpg.format=ssh commit-tree -S -m x HEAD^{tree}`,
		"commit",
	},
	{
		"signed commits",
		`git config commit.gpgSign true; git config gpg.program "PROG"`,
		`git commit -q --allow-empty -m x`,
		"commit here",
	},
	{"signed tags", `git config tag.gpgSign true; git config gpg.program "PROG"`, `git tag -m x signed`, "snapshot"},
	{
		"remote that is a program",
		`git config remote.prog.url "ext::EVIL"; git config protocol.ext.allow always`,
		`git fetch prog`,
		"clone and fetch",
	},
	{
		"remote of a branch",
		`git config branch.main.remote "ext::EVIL"; git config branch.main.merge refs/heads/main; git config protocol.ext.allow always`,
		`git fetch`,
		"clone and fetch",
	},
	{
		"where to push",
		`git config remote.pushDefault "ext::EVIL"; git config protocol.ext.allow always`,
		`git push`,
		"push by a user's command",
	},
	{
		"attributes in .git",
		`git config filter.info.clean "EVIL"; mkdir -p .git/info; echo '*.raw filter=info' >.git/info/attributes`,
		`echo z >>f.raw; git add f.raw`,
		"tree",
	},
	{
		"file of attributes",
		`git config filter.attrs.clean "EVIL"; git config core.attributesFile .attrs; echo '*.dat filter=attrs' >.attrs; mv .gitattributes .was; grep -v dat .was >.gitattributes`,
		`echo z >>f.dat; git add f.dat; mv .was .gitattributes`,
		"tree",
	},
	{
		"include on a branch",
		`printf '[diff]\n external = EVIL\n' >inc3; git config includeIf.onbranch:main.path ../inc3`,
		`echo q >>f.raw; git diff HEAD`,
		"diff",
	},
	{"hook of the index", `cp PROG .git/hooks/post-index-change`, `echo i >>f.raw; git add f.raw`, "restore"},
	{
		"hook of refs",
		`cp PROG .git/hooks/reference-transaction`,
		`git update-ref refs/x/b HEAD; rm .git/hooks/reference-transaction`,
		"snapshot",
	},
	{
		"hook before a commit",
		`cp PROG .git/hooks/pre-commit`,
		`git commit -q --allow-empty -m x; rm .git/hooks/pre-commit`,
		"commit here",
	},
	{
		"hook of messages",
		`cp PROG .git/hooks/commit-msg`,
		`git commit -q --allow-empty -m x; rm .git/hooks/commit-msg`,
		"commit here",
	},
	{"hook after a commit", `cp PROG .git/hooks/post-commit`, `git commit -q --allow-empty -m x`, "commit here"},
	{
		"hook of work trees",
		`cp PROG .git/hooks/post-checkout`,
		`git worktree add -q --detach ../wt-hook`,
		"a work tree",
	},
	{
		"hook of a submodule",
		`cp PROG .git/modules/lib/hooks/post-checkout`,
		`git -C lib checkout -q HEAD`,
		"a work tree",
	},
	{
		"diff of a submodule",
		`git -C lib config diff.external "EVIL"`,
		`echo q >>lib/f; git diff --submodule=diff`,
		"submodules",
	},
	{
		"checked-out files",
		`git config filter.evil.process "EVIL"`,
		`rm f.txt; git checkout -q f.txt`,
		"a view of snapshots",
	},
	{"browser", `git config browser.evil.cmd "EVIL"`, `git web--browse -b evil http://x`, "survey"},
	{
		"merge tool",
		`git config mergetool.evil.cmd "EVIL"; git config merge.tool evil`,
		`git stash -q; git merge -q one; git mergetool -y; git merge --abort`,
		"merge",
	},
}

// promise makes a repository in a folder that lacks the .gitignore of its index, and
// would fetch it.
const promise = `git init -q FOLDER; cd FOLDER; echo a >.gitignore; git add -A; git commit -qm x; ` +
	`git config core.sshCommand "EVIL"; git config remote.o.url ssh://nowhere.invalid/x; git config remote.o.promisor true; ` +
	`git config extensions.partialClone o; git config core.repositoryFormatVersion 1; git update-index --skip-worktree .gitignore; ` +
	`rm .gitignore; rm -f .git/objects/*/*; echo x >f`
